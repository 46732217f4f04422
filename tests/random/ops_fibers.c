/* SPDX-License-Identifier: MIT */
/* Operations of one or two fibers: yield, sleep, park, unpark, local values, errno, statistics. */
#include "random.h"

#include "weft/io.h"

#include <string.h>
#include <unistd.h>

/* --- yield, sleep ----------------------------------------------------------------------------- */

static void run_yield(struct party *p) {
    for (uint64_t n = 1 + below(p, 20); n; n--) weft_yield();
}

static void run_sleep(struct party *p) {
    uint64_t begun = weft_now(), length = below(p, 200 * WEFT_MICROSECOND);
    int err;
    switch (below(p, 3)) {
    case 0: err = weft_sleep_until(begun + length); break;
    case 1: err = weft_sleep_for(length); break;
    default: err = weft_usleep((unsigned)(length / 1000)) ? -errno : 0, length = length / 1000 * 1000;
    }
    if (is_thread(p->actor) && err == -EINTR) return;
    if (done_or_told(p, err)) SO(weft_now() >= begun + length);
}

/* This need not wait, but a cancelled fiber gets an error. */
static void run_sleep_past(struct party *p) { done_or_told(p, weft_sleep_until(below(p, weft_now()))); }

static void run_compute(struct party *p) {
    for (uint64_t n = below(p, 20000); n; n--) __asm__ volatile("" ::: "memory");
}

/* --- spinning: the others come although one spins --------------------------------------------- */

struct spin {
    _Atomic unsigned arrived;
    bool hard;
};

/*
 * `hard`: without a yield. Then other fibers run only if another worker takes them over from the stuck worker. That
 * worker takes no forked calls, so these fibers must not wait for a forked call.
 */
static bool make_spin(struct program *p, struct op *op) {
    struct spin *s = op->data;
    s->hard = p->rescues && !p->awaits_tasks && choose(p, 4) == 0;
    return true;
}

static void run_spin(struct party *p) {
    struct spin *s = p->op->data;
    unsigned others = p->op->parties - 1;
    if (p->role) pause_a_bit(p);
    if (p->role) atomic_fetch_add(&s->arrived, 1);
    while (p->role == 0 && atomic_load(&s->arrived) < others)
        if (!s->hard) weft_yield();
}

/* --- park and unpark -------------------------------------------------------------------------- */

struct parking {
    _Atomic uint64_t id; /* of the fiber that parks */
    uint64_t given[PARTIES];
    _Atomic unsigned arrived;
    struct weft_latch there;
};

static bool make_parking(struct program *p, struct op *op) {
    (void)p;
    if (is_thread(op->actor[0]) || op->actor[0]->type == TASK) return false;
    ((struct parking *)op->data)->there = (struct weft_latch)WEFT_LATCH_INIT(1);
    return true;
}

struct parked {
    struct parking *parking;
    unsigned others;
};
/* A permit may be left from another operation, and two unparks make one permit. So it checks the number. */
static int wait_for_unparks(void *context, uint64_t deadline) {
    struct parked *w = context;
    int err = 0;
    while (!err && atomic_load(&w->parking->arrived) < w->others)
        err = deadline == WEFT_FOREVER ? weft_park() : weft_park_until(deadline);
    return err;
}

static void run_parking(struct party *p) {
    struct parking *k = p->op->data;
    if (p->role) {
        pause_a_bit(p);
        OK(insist(p, wait_for_latch, &k->there));
        k->given[p->role] = p->op->seed + p->role;
        atomic_fetch_add(&k->arrived, 1);
        int err = weft_unpark((struct weft_fiber){atomic_load(&k->id)});
        SO(!err || (err == -ESRCH && atomic_load(&p->op->actor[0]->ended)));
        return;
    }
    struct parked w = {k, p->op->parties - 1};
    atomic_store(&k->id, weft_self().id);
    OK(weft_latch_count_down(&k->there, 1));
    OK(insist(p, wait_for_unparks, &w));
    for (unsigned i = 1; i < p->op->parties; i++) WANT(k->given[i], p->op->seed + i);
}

static void run_park_until(struct party *p) {
    uint64_t deadline = one_in(p, 4) ? AT_ONCE : soon(p);
    int err = weft_park_until(deadline);
    if (err == -ETIMEDOUT && weft_now() >= deadline) return;
    done_or_told(p, err);
}

/* A stray permit for a fiber that runs, waits for something else, or has ended. */
struct nudge {
    struct actor *target;
};
static bool make_nudge(struct program *p, struct op *op) {
    struct nudge *n = op->data;
    n->target = &p->actors[choose(p, p->n_actors)];
    op->needs = n->target->birth;
    return !is_thread(n->target) && n->target->type != TASK;
}
static void run_nudge(struct party *p) {
    struct actor *target = ((struct nudge *)p->op->data)->target;
    struct weft_fiber f = {atomic_load(&target->id)};
    if (!f.id) return;
    int err = weft_unpark(f);
    SO(!err || (err == -ESRCH && atomic_load(&target->ended)));
}

/* --- a burst of fibers ------------------------------------------------------------------------ */

struct burst {
    struct party *party;
    struct weft_counter counter;
    _Atomic uint64_t ran;
};
static void *one_of_many(void *burst) {
    struct burst *b = burst;
    struct party p = party_for(b->party, weft_self().id);
    if (one_in(&p, 2)) weft_yield();
    atomic_fetch_add_explicit(&b->ran, 1, memory_order_relaxed);
    return NULL;
}

static void run_burst(struct party *p) {
    struct burst b = {.party = p};
    unsigned n = 1 + (unsigned)below(p, test_size(300));
    OK(weft_counter_add(&b.counter, n));
    for (unsigned i = 0; i < n; i++) {
        struct weft_attr attr = {.stack_size = 16384 << below(p, 3), .counter = &b.counter};
        attr.priority = (unsigned)below(p, 3);
        OK(weft_spawn(NULL, &attr, one_of_many, &b));
    }
    OK(insist(p, wait_for_counter, &b.counter));
    WANT(atomic_load(&b.ran), n);
}

/* --- local values, errno ---------------------------------------------------------------------- */

static void count_value(void *value) { atomic_fetch_add((_Atomic unsigned *)value, 1); }

struct values {
    struct weft_key key;
    _Atomic unsigned destroyed;
};
static void *has_value(void *values) {
    struct values *v = values;
    SO(!weft_local_get(v->key));
    OK(weft_local_set(v->key, &v->destroyed));
    weft_yield();
    SO(weft_local_get(v->key) == &v->destroyed);
    return NULL;
}
static int wait_for_fiber(void *fiber, uint64_t deadline) {
    return weft_join_until(*(struct weft_fiber *)fiber, NULL, deadline);
}

static void run_values(struct party *p) {
    struct values v = {.destroyed = 0};
    struct weft_fiber f[4];
    int err = weft_key_create(&v.key, count_value);
    if (err == -EAGAIN) return; /* others use all keys */
    OK(err);
    unsigned n = 1 + (unsigned)below(p, 4);
    for (unsigned i = 0; i < n; i++) OK(weft_spawn(&f[i], NULL, has_value, &v));
    for (unsigned i = 0; i < n; i++) OK(insist(p, wait_for_fiber, &f[i]));
    WANT(atomic_load(&v.destroyed), n);
    OK(weft_key_delete(v.key));
    WANT(weft_key_delete(v.key), -EINVAL);
}

/* errno is that of the kernel thread on which the fiber is now. */
static void run_errno(struct party *p) {
    for (int i = 0; i < 10; i++) {
        pause_a_bit(p);
        errno = 0;
        WANT(close(-1), -1);
        WANT(errno, EBADF);
        WANT(lseek(-1, 0, 77), -1);
        SO(errno == EBADF || errno == EINVAL);
    }
}

/* --- looking around --------------------------------------------------------------------------- */

static void run_look(struct party *p) {
    struct weft_stats s, later;
    struct weft_delays d;
    struct weft_hog hogs[4];
    struct weft_cancellation c[4];
    struct weft_cluster cluster = p->program->cluster[below(p, p->program->n_clusters)];
    SO(!strcmp(weft_version(), "0.1.0"));
    OK(weft_stats_read(&s));
    SO(s.completed <= s.spawned);
    OK(weft_delays_read(cluster, &d));
    SO(d.p50 <= d.p99 && d.p99 <= d.p999);
    SO(weft_hogs(cluster, hogs, 4) >= 0);
    SO(weft_cancellations(c, 4) >= 0);
    SO(weft_cluster_workers(cluster) >= 1);
    SO(weft_workers() >= 1);
    WANT(weft_self().id != 0, !is_thread(p->actor));
    WANT(weft_worker() >= 0, !is_thread(p->actor));
    OK(weft_stats_read(&later));
    SO(later.spawned >= s.spawned && later.completed >= s.completed && later.parks >= s.parks);
}

/* There is only one runtime, and a fiber cannot stop it. */
static int never(void *unused) { return (void)unused, 0; }
static void refuses_itself(void) {
    int err = weft_join(weft_self(), NULL);
    SO(err == -EDEADLK || err == -EINVAL || err == -EBUSY); /* it may be detached, or another is joining it */
}
static void run_refused(struct party *p) {
    WANT(weft_start(NULL), -EBUSY);
    WANT(weft_run(never, NULL, NULL), -EBUSY);
    if (!is_thread(p->actor)) WANT(weft_stop(), -EDEADLK);
    if (!is_thread(p->actor)) refuses_itself();
    WANT(weft_join((struct weft_fiber){0}, NULL), -ESRCH);
    if (is_thread(p->actor)) WANT(weft_park(), -EPERM);
}

static const struct kind kinds[] = {
    {"yield", 30, BY_THREADS, 1, 1, 0, NULL, run_yield, NULL},
    {"sleep", 30, BY_THREADS, 1, 1, 0, NULL, run_sleep, NULL},
    {"sleep_past", 5, BY_THREADS, 1, 1, 0, NULL, run_sleep_past, NULL},
    {"compute", 20, BY_THREADS, 1, 1, 0, NULL, run_compute, NULL},
    {"spin", 20, BY_THREADS | GREEDY, 2, 4, sizeof(struct spin), make_spin, run_spin, NULL},
    {"refused", 10, BY_THREADS, 1, 1, 0, NULL, run_refused, NULL},
    {"parking", 40, BY_THREADS, 2, 5, sizeof(struct parking), make_parking, run_parking, NULL},
    {"park_until", 20, 0, 1, 1, 0, NULL, run_park_until, NULL},
    {"nudge", 20, BY_THREADS, 1, 1, sizeof(struct nudge), make_nudge, run_nudge, NULL},
    {"burst", 20, BY_THREADS, 1, 1, 0, NULL, run_burst, NULL},
    {"values", 10, BY_THREADS, 1, 1, 0, NULL, run_values, NULL},
    {"errno", 10, BY_THREADS, 1, 1, 0, NULL, run_errno, NULL},
    {"look", 15, BY_THREADS, 1, 1, 0, NULL, run_look, NULL},
    {0},
};
const struct family family_fibers = {kinds, NULL, NULL};
