/* SPDX-License-Identifier: MIT */
/* Parts about scopes: trees of scopes that grow, fail, time out and are cancelled at random. */
#include "crowd.h"

#include <stdlib.h>

/* --- scopes ---------------------------------------------------------------------------------------
 *
 * Every fiber waits, spawns, begins scopes and shields, and fails at random. It also cancels other fibers, by handles
 * that may be stale. Each spawned child begins and ends once, each clean-up handler runs or is popped once, no wait
 * ends for a wrong reason, and a scope with a failed child returns the failure.
 */

enum { HEADS = 6, THREADS = 3, CANCELLERS = 2, DEEP = 4, KNOWN = 64 };

static _Atomic uint64_t made, refused, begun, ended, pushed, cleaned, taken_back, sent, received;
static _Atomic uint64_t known[KNOWN]; /* ids of fibers, of the living and the dead */
static struct weft_sem sem;
static struct weft_cluster second;

/* A scope, and the fibers and threads that spawn into it. */
struct grove {
    struct weft_scope scope;
    _Atomic unsigned failures;
    unsigned depth;
};

struct sapling {
    struct grove *grove;
    uint64_t random;
};

static int grow(struct grove *g, uint64_t *random);

/* The wait was cancelled, and not in a shield; or it succeeded. */
static void may_have(int err) { SO(!err || ((err == -ECANCELED || err == -ETIMEDOUT) && weft_cancelled())); }

static void clean(void *unused) {
    (void)unused;
    atomic_fetch_add(&cleaned, 1);
}
static void clean_slowly(void *unused) {
    if (weft_self().id && !weft_cancelled()) weft_sleep_for(2000);
    clean(unused);
}

static int sapling(void *arg) {
    struct sapling *own = arg;
    struct grove *g = own->grove;
    uint64_t random = own->random;
    free(own);
    atomic_fetch_add(&begun, 1);
    atomic_store(&known[below(&random, KNOWN)], weft_self().id);
    int err = grow(g, &random);
    if (err) atomic_fetch_add(&g->failures, 1);
    atomic_fetch_add(&ended, 1);
    moved();
    if (below(&random, 8)) return err;
    struct weft_cleanup c;
    OK(weft_cleanup_push(&c, clean_slowly, NULL));
    atomic_fetch_add(&pushed, 1);
    weft_fiber_exit((void *)(intptr_t)err);
}

static void plant(struct grove *g, uint64_t *random) {
    struct sapling *own = malloc(sizeof *own);
    *own = (struct sapling){g, roll(random)};
    struct weft_attr attr = {.priority = below(random, 8) ? WEFT_NORMAL : (unsigned)below(random, 3)};
    if (!below(random, 4)) attr.cluster = second;
    int err = weft_scope_spawn(&g->scope, &attr, sapling, own);
    if (err) {
        WANT(err, -ECANCELED);
        free(own);
    }
    atomic_fetch_add(err ? &refused : &made, 1);
}

static void wait_somehow(uint64_t *random) {
    switch (below(random, 4)) {
    case 0: weft_yield(); break;
    case 1: may_have(weft_sleep_for(below(random, 20000))); break;
    case 2: {
        int err = weft_sem_wait_until(&sem, weft_now() + below(random, 20000));
        if (!err) atomic_fetch_add(&received, 1);
        SO(!err || err == -ETIMEDOUT || (err == -ECANCELED && weft_cancelled()));
        break;
    }
    case 3:
        atomic_fetch_add(&sent, 1);
        OK(weft_sem_post(&sem));
        break;
    }
}

/* In a shield nothing ends a wait, and a scope in it is independent. */
static void take_shelter(uint64_t *random) {
    struct weft_shield shield;
    OK(weft_shield_begin(&shield));
    WANT(weft_cancelled(), 0);
    OK(weft_sleep_for(below(random, 5000)));
    if (below(random, 2)) {
        struct grove g = {.depth = DEEP};
        OK(weft_scope_begin(&g.scope, WEFT_FOREVER));
        OK(weft_sleep_for(0));
        OK(weft_scope_end(&g.scope));
    }
    OK(weft_shield_end(&shield));
}

static int begin_grove(unsigned depth, uint64_t *random) {
    struct grove g = {.depth = depth};
    uint64_t deadline = below(random, 3) ? WEFT_FOREVER : weft_now() + below(random, 100000);
    OK(weft_scope_begin(&g.scope, deadline));
    uint64_t n = below(random, 6);
    for (uint64_t i = 0; i < n; i++) plant(&g, random);
    int err = below(random, 2) ? grow(&g, random) : 0;
    if (err) {
        weft_scope_fail(&g.scope, err);
        atomic_fetch_add(&g.failures, 1);
    } else if (!below(random, 8)) {
        weft_scope_cancel(&g.scope);
    }
    int result = weft_scope_end(&g.scope);
    SO(result || !atomic_load(&g.failures));
    SO(result <= 0);
    return result;
}

/* The work of a fiber in a scope. Returns 0, or a failure. */
static int grow(struct grove *g, uint64_t *random) {
    struct weft_cleanup c;
    bool fiber = weft_self().id != 0, has = fiber && below(random, 3) == 0;
    int err = 0;
    if (has) {
        OK(weft_cleanup_push(&c, below(random, 2) ? clean : clean_slowly, NULL));
        atomic_fetch_add(&pushed, 1);
    }
    for (uint64_t turns = below(random, 6); turns && !err; turns--) {
        switch (below(random, 6)) {
        case 0:
            if (g->depth < DEEP) begin_grove(g->depth + 1, random);
            break;
        case 1: take_shelter(random); break;
        case 2:
            if (below(random, 3) == 0 && g->depth < DEEP) plant(g, random); /* beside itself */
            break;
        case 3:
            if (below(random, 10) == 0) err = -1000 - (int)below(random, 100);
            break;
        default: wait_somehow(random);
        }
        if (fiber && !below(random, 64)) {
            struct weft_cluster here = weft_cluster_self();
            OK(weft_cluster_move((struct weft_fiber){0}, second));
            wait_somehow(random);
            OK(weft_cluster_move((struct weft_fiber){0}, here));
        }
    }
    if (has) {
        bool run = below(random, 2);
        OK(weft_cleanup_pop(&c, run));
        if (!run) atomic_fetch_add(&taken_back, 1);
    }
    return err;
}

static void *head(void *arg) {
    uint64_t *random = arg;
    while (!over()) {
        begin_grove(0, random);
        moved();
        if (!weft_self().id) WANT(weft_cancelled(), 0); /* no fiber can cancel a thread, and its scopes have ended */
    }
    return NULL;
}

static void *cancel_some(void *arg) {
    uint64_t *random = arg;
    while (!over()) {
        int err = weft_cancel((struct weft_fiber){atomic_load(&known[below(random, KNOWN)])});
        SO(!err || err == -ESRCH);
        pause_a_bit(random);
    }
    return NULL;
}

static void *head_or_canceller(void *arg) {
    uint64_t *random = arg;
    return *random % (HEADS + CANCELLERS) < CANCELLERS ? cancel_some(arg) : head(arg);
}

static void scopes_round(uint64_t random) {
    uint64_t each[HEADS + CANCELLERS + THREADS];
    for (unsigned i = 0; i < sizeof each / sizeof *each; i++) each[i] = roll(&random);
    OK(weft_cluster_create(&second, &(struct weft_config){.workers = 2}));
    crowd(HEADS + CANCELLERS, THREADS, head_or_canceller, each, sizeof *each);
    WANT(atomic_load(&begun), atomic_load(&made));
    WANT(atomic_load(&ended), atomic_load(&made));
    WANT(atomic_load(&cleaned) + atomic_load(&taken_back), atomic_load(&pushed));
    while (!weft_sem_try(&sem)) atomic_fetch_add(&received, 1);
    WANT(atomic_load(&received), atomic_load(&sent));
    int err;
    while ((err = weft_cluster_destroy(second)) == -EBUSY)
        weft_sleep_for(100000); /* the last fibers are on their way out */
    OK(err);
}

const struct part parts_of_scopes[] = {{"scopes", scopes_round, false, false}, {NULL, NULL, false, false}};
