/* SPDX-License-Identifier: MIT */
/* Operations that make actors and wait for their end: fibers, detached fibers, tasks, threads. */
#include "actors.h"

#include "weft/io.h"

#include <pthread.h>

struct birth {
    struct weft_fiber fiber;
    struct weft_task task;
    pthread_t thread;
    struct weft_counter counter;
    bool counted;  /* the counter is completed when the fiber has ended */
    bool detached; /* from the start; else, if `lets_go`, later */
    bool lets_go;
};

/* --- attributes --------------------------------------------------------------------------------------------------- */

void choose_attributes(struct program *p, struct actor *a) {
    static const char *const names[] = {NULL, "x", "a name of fifteen and more"};
    static const size_t sizes[] = {0, 0, 64 << 10, 100000, 256 << 10, 1 << 20, 32 << 10};
    size_t most = sizeof sizes / sizeof *sizes - (TEST_ASAN || TEST_TSAN); /* these make frames larger */
    a->attr.name = names[choose(p, 3)];
    a->attr.stack_size = sizes[choose(p, most)];
    a->attr.priority = choose(p, 3) ? WEFT_NORMAL : (unsigned)choose(p, 3);
    a->attr.node = choose(p, 8) == 0;
    a->attr.own_tls = choose(p, 5) == 0 && storage_is_possible();
    a->cluster = (unsigned)choose(p, p->n_clusters + 1);
    if (!a->cluster) tells(p, &a->birth->actor[0]->pushed, &a->pushed); /* it begins where that one is */
    a->pinned = choose(p, 6) == 0;
}

/* Completes the attributes when the actor is made, and notes where it will run. */
struct weft_attr attributes(struct party *p, struct weft_counter *counter) {
    struct actor *a = p->op->child;
    struct weft_attr attr = a->attr;
    struct weft_cluster cluster = is_thread(p->actor) ? p->program->cluster[0] : weft_cluster_self();
    if (a->cluster) attr.cluster = cluster = p->program->cluster[a->cluster - 1];
    a->where = cluster.id;
    if (a->pinned) attr.pinned = a->pin = 1 + (unsigned)below(p, (unsigned)weft_cluster_workers(cluster));
    attr.counter = counter;
    return attr;
}

/* The cluster may have fewer workers meanwhile. */
bool unpinned(struct party *p, int err, struct weft_attr *attr) {
    bool changes = p->program->resizes || p->op->child->pushed;
    if (err != -EINVAL || !attr->pinned || !changes) return false;
    p->op->child->pin = attr->pinned = 0;
    return true;
}

/* --- fibers ------------------------------------------------------------------------------------------------------- */

static bool make_fiber(struct program *p, struct op *op) {
    struct birth *b = op->data;
    struct actor *a = actor_new(p, FIBER, op);
    if (!a) return false;
    choose_attributes(p, a);
    b->counted = choose(p, 3) == 0;
    b->lets_go = choose(p, 8) == 0;
    b->counted |= b->lets_go;
    return true;
}

static bool make_detached(struct program *p, struct op *op) {
    struct birth *b = op->data;
    if (!make_fiber(p, op)) return false;
    b->counted = b->lets_go = b->detached = true;
    return true;
}

static void spawn(struct party *p, struct birth *b) {
    struct weft_attr attr = attributes(p, b->counted ? &b->counter : NULL);
    struct weft_fiber *handle = &b->fiber;
    if (b->detached && one_in(p, 2)) handle = NULL;
    attr.detached = b->detached && handle;
    if (b->counted) OK(weft_counter_add(&b->counter, 1));
    int err = weft_spawn(handle, &attr, actor_main, p->op->child);
    if (unpinned(p, err, &attr)) err = weft_spawn(handle, &attr, actor_main, p->op->child);
    OK(err);
}

struct joined {
    struct weft_fiber fiber;
    void *result;
};
static int wait_for_end(void *context, uint64_t deadline) {
    struct joined *j = context;
    return deadline == WEFT_FOREVER ? weft_join(j->fiber, &j->result) : weft_join_until(j->fiber, &j->result, deadline);
}

static void check_result(struct actor *a, int result) {
    WANT(atomic_load(&a->ended), 1);
    if (a->exits_if_told && a->told && (result == -ECANCELED || result == -ETIMEDOUT)) return;
    WANT(result, actor_result(a));
}

static void run_fiber(struct party *p) {
    struct birth *b = p->op->data;
    if (p->role == 0) {
        spawn(p, b);
        return;
    }
    if (!b->lets_go) {
        struct joined j = {b->fiber, NULL};
        OK(insist(p, wait_for_end, &j));
        check_result(p->op->child, (int)(intptr_t)j.result);
        WANT(weft_join(b->fiber, NULL), -ESRCH);
    } else if (!b->detached) {
        OK(weft_detach(b->fiber));
    }
    if (!b->counted) return;
    OK(insist(p, wait_for_counter, &b->counter));
    WANT(atomic_load(&p->op->child->ended), 1);
}

/* --- threads ------------------------------------------------------------------------------------------------------ */

static bool make_thread(struct program *p, struct op *op) {
    unsigned threads = 0;
    for (unsigned i = 0; i < p->n_actors; i++) threads += p->actors[i].type == THREAD && p->actors[i].live;
    return !p->stops_early && threads < 6 && actor_new(p, THREAD, op);
}

static void *join_thread(void *thread) {
    void *result = NULL;
    OK(pthread_join(*(pthread_t *)thread, &result));
    return result;
}

struct call {
    void *(*fn)(void *);
    void *arg, *result;
};
static int wait_for_call(void *context, uint64_t deadline) {
    struct call *c = context;
    (void)deadline; /* it has none */
    return weft_blocking(c->fn, c->arg, &c->result);
}

static void run_thread(struct party *p) {
    struct birth *b = p->op->data;
    if (p->role == 0) {
        OK(pthread_create(&b->thread, NULL, actor_main, p->op->child));
        return;
    }
    struct call c = {join_thread, &b->thread, NULL};
    OK(insist(p, wait_for_call, &c));
    WANT((intptr_t)c.result, actor_result(p->op->child));
}

/* --- tasks -------------------------------------------------------------------------------------------------------- */

static bool make_task(struct program *p, struct op *op) {
    struct actor *a = actor_new(p, TASK, op);
    if (!a) return false;
    p->awaits_tasks = true;
    tells(p, &op->actor[0]->told, &a->told);
    tells(p, &op->actor[0]->pushed, &a->pushed);
    return true;
}

static void task_main(void *actor) { actor_main(actor); }

static void run_task(struct party *p) {
    struct birth *b = p->op->data;
    if (p->role == 0) {
        OK(weft_task_fork(&b->task, task_main, p->op->child));
        return;
    }
    OK(weft_task_join(&b->task));
    WANT(atomic_load(&p->op->child->ended), 1);
    WANT(weft_task_join(&b->task), -EINVAL);
}

static const struct kind kinds[] = {
    {"fiber", 120, BY_THREADS | LATER, 1, 1, sizeof(struct birth), make_fiber, run_fiber, NULL},
    {"detached", 30, BY_THREADS | LATER | MAY_STAY, 1, 1, sizeof(struct birth), make_detached, run_fiber, NULL},
    {"thread", 20, BY_THREADS | LATER, 1, 1, sizeof(struct birth), make_thread, run_thread, NULL},
    {"task", 40, NESTED, 1, 1, sizeof(struct birth), make_task, run_task, NULL},
    {0},
};
const struct family family_actors = {kinds, NULL, NULL};
