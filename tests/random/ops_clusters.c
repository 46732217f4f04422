/* SPDX-License-Identifier: MIT */
/* Clusters: made and destroyed, resized, drained; fibers that move between them. */
#include "random.h"

/* --- a cluster of one's own
 * ------------------------------------------------------------------------------------------- */

struct resident {
    struct weft_cluster home;
    unsigned pin;
    _Atomic unsigned ran;
};
static void *reside(void *resident) {
    struct resident *r = resident;
    for (int i = 0; i < 3; i++) {
        WANT(weft_cluster_self().id, r->home.id);
        if (r->pin) WANT(weft_worker(), r->pin - 1);
        weft_yield();
    }
    WANT(weft_cluster_destroy(r->home), -EDEADLK);
    atomic_fetch_add(&r->ran, 1);
    return NULL;
}

static int wait_for_fiber(void *fiber, uint64_t deadline) {
    return weft_join_until(*(struct weft_fiber *)fiber, NULL, deadline);
}
static int wait_for_quiet(void *cluster, uint64_t deadline) {
    return weft_cluster_drain_until(*(struct weft_cluster *)cluster, deadline);
}

static void live_in(struct party *p, struct weft_cluster cluster) {
    struct resident residents[6];
    struct weft_fiber fibers[6];
    unsigned n = (unsigned)below(p, 7);
    for (unsigned i = 0; i < n; i++) {
        residents[i] = (struct resident){.home = cluster};
        struct weft_attr attr = {.cluster = cluster, .priority = (unsigned)below(p, 3)};
        if (one_in(p, 3)) attr.pinned = residents[i].pin = 1; /* there is one, whatever its size */
        OK(weft_spawn(&fibers[i], &attr, reside, &residents[i]));
    }
    if (one_in(p, 3)) OK(weft_cluster_resize(cluster, 1 + (unsigned)below(p, 5)));
    if (one_in(p, 3)) OK(insist(p, wait_for_quiet, &cluster));
    for (unsigned i = 0; i < n; i++) {
        OK(insist(p, wait_for_fiber, &fibers[i]));
        WANT(atomic_load(&residents[i].ran), 1);
    }
}

static void run_cluster(struct party *p) {
    struct weft_cluster cluster;
    struct weft_config config = {.workers = 1 + (unsigned)below(p, 4), .no_helping = one_in(p, 4)};
    OK(weft_cluster_create(&cluster, &config));
    SO(cluster.id);
    for (uint64_t rounds = below(p, 3); rounds; rounds--) live_in(p, cluster);
    OK(weft_cluster_destroy(cluster));
    WANT(weft_cluster_destroy(cluster), -ESRCH);
    WANT(weft_cluster_workers(cluster), -ESRCH);
    WANT(weft_spawn(NULL, &(struct weft_attr){.cluster = cluster}, reside, NULL), -ESRCH);
}

/* -EBUSY: nothing has happened, and its fiber goes on. */
static void *linger(void *sem) {
    while (weft_sem_wait(sem)) weft_yield();
    return NULL;
}
static void run_busy_cluster(struct party *p) {
    struct weft_cluster cluster;
    struct weft_config config = {.workers = 1 + (unsigned)below(p, 2)};
    struct weft_sem sem = WEFT_SEM_INIT(0);
    struct weft_fiber fiber;
    OK(weft_cluster_create(&cluster, &config));
    OK(weft_spawn(&fiber, &(struct weft_attr){.cluster = cluster}, linger, &sem));
    WANT(weft_cluster_destroy(cluster), -EBUSY);
    pause_a_bit(p);
    WANT(weft_cluster_destroy(cluster), -EBUSY);
    OK(weft_sem_post(&sem));
    OK(insist(p, wait_for_fiber, &fiber));
    OK(weft_cluster_destroy(cluster));
}

/* --- moves
 * ------------------------------------------------------------------------------------------------------------- */

/* Goes to another cluster, and stays or comes back. A pin is forgotten. */
static void run_move(struct party *p) {
    struct actor *a = p->actor;
    uint64_t before = weft_cluster_self().id;
    for (uint64_t times = 1 + below(p, 3); times; times--) {
        struct weft_cluster to = p->program->cluster[below(p, p->program->n_clusters)];
        OK(weft_cluster_move((struct weft_fiber){0}, to));
        a->pin = 0;
        a->where = to.id;
        if (!a->pushed) WANT(weft_cluster_self().id, to.id);
        pause_a_bit(p);
    }
    if (one_in(p, 2) && !a->pushed) {
        OK(weft_cluster_move((struct weft_fiber){0}, (struct weft_cluster){before}));
        a->where = before;
    }
}

struct push {
    struct actor *target;
};
static bool make_push(struct program *p, struct op *op) {
    struct push *m = op->data;
    m->target = &p->actors[choose(p, p->n_actors)];
    op->needs = m->target->birth;
    if (!m->target->live || is_thread(m->target) || m->target->type == TASK) return false;
    return m->target->pushed = true;
}
static void run_push(struct party *p) {
    struct actor *target = ((struct push *)p->op->data)->target;
    struct weft_fiber f = {atomic_load(&target->id)};
    if (!f.id) return;
    int err = weft_cluster_move(f, p->program->cluster[below(p, p->program->n_clusters)]);
    SO(!err || (err == -ESRCH && atomic_load(&target->ended)));
}

/* --- sizes
 * ------------------------------------------------------------------------------------------------------------- */

static bool make_resize(struct program *p, struct op *op) {
    (void)op;
    return p->resizes = true;
}
static void run_resize(struct party *p) {
    struct weft_cluster cluster = p->program->cluster[below(p, p->program->n_clusters)];
    OK(weft_cluster_resize(cluster, (unsigned)below(p, 10)));
    SO(weft_cluster_workers(cluster) >= 1);
}

static void run_drain(struct party *p) {
    struct weft_cluster cluster = p->program->cluster[below(p, p->program->n_clusters)];
    uint64_t deadline = soon(p);
    int err = weft_cluster_drain_until(cluster, deadline); /* others may never rest */
    if (err != -ETIMEDOUT || weft_now() < deadline) done_or_told(p, err);
}

static const struct kind kinds[] = {
    {"cluster", 12, BY_THREADS, 1, 1, 0, NULL, run_cluster, NULL},
    {"busy_cluster", 8, BY_THREADS, 1, 1, 0, NULL, run_busy_cluster, NULL},
    {"move", 20, BY_LASTING, 1, 1, 0, NULL, run_move, NULL},
    {"push", 10, BY_THREADS, 1, 1, sizeof(struct push), make_push, run_push, NULL},
    {"resize", 15, BY_THREADS, 1, 1, 0, make_resize, run_resize, NULL},
    {"drain", 15, BY_THREADS, 1, 1, 0, NULL, run_drain, NULL},
    {0},
};
const struct family family_clusters = {kinds, NULL, NULL};
