/* SPDX-License-Identifier: MIT */
/*
 * Explores the placement of a fiber, with the real cluster.c (rehouse, begin_end, cluster_hand_on) and make_ready.c
 * (mail, injector). A fiber becomes ready while it is moved to another cluster and the old cluster ends. It arrives
 * once, in the right cluster, or runs where it was.
 */
#define HAS_SLAB
#include "workers.h"

#include <pthread.h>

static int lock_mutex(pthread_mutex_t *m);
static int unlock_mutex(pthread_mutex_t *m);
#define pthread_mutex_lock lock_mutex
#define pthread_mutex_unlock unlock_mutex
#include "sched/control/cluster.c"
#include "sched/control/quiescence.c"
#include "sched/core/clusters.c"
#include "sched/core/records.c"
#include "sched/dispatch/make_ready.c"

enum { WAKER, MOVER, CARRIER };

static struct weft__cluster other; /* the cluster that the fiber leaves */
static struct weft__fiber *const f = &fiber[0];
static struct { struct weft__lock mutex; } s;

/* --- what is underneath ---------------------------------------------------------------------------------- */

static int lock_mutex(pthread_mutex_t *m) { return (void)m, weft__lock(&s.mutex), 0; }
static int unlock_mutex(pthread_mutex_t *m) { return (void)m, weft__unlock(&s.mutex), 0; }
void weft__timed_put(struct weft__timed *t, struct weft__fiber *x) { (void)t, (void)x; }
uint64_t weft__timed_take(struct weft__timed *t, struct weft__fiber *x) { return (void)t, (void)x, 0; }
void weft__idle_wake(struct weft__worker *w) { (void)w; }
void weft__idle_wake_one(struct weft__cluster *c) { (void)c; }
void weft__aside_put(struct weft__worker *w, unsigned which, struct weft__fiber *x) {
    (void)which, weft__ready_push(&w->ready, x);
}
void explored_switch(struct weft__context *from, struct weft__context *to) { (void)from, (void)to; }
bool weak_goes_too_far(void) { return false; }

/* --- what the threads do ----------------------------------------------------------------------------------- */

/* The last poll of a worker of the ending cluster. If the fiber arrives here, it runs until it is ready again and goes
 * to its new cluster. The carrier does not end before that. */
static void poll_once(struct weft__worker *w) {
    weft__mail_take(w, w);
    weft__injector_take(w);
    if (!weft__pop(w)) return;
    while (weft__cluster_of(load_rlx(&f->context.placement)) == &other) continue;
    weft__push_slow(w, f);
}

/* As weft_cluster_move, and weft_cluster_destroy, which waits for the carriers like join_carriers. */
static void move_and_end(void) {
    claim(!rehouse_fiber(f, weft__handle(f), &weft__cluster), "not moved");
    claim(!begin_end(&other, weft__cluster_handle(&other)), "a fiber lives there");
    weak_block();
    cluster_hand_on(&other);
}

void run_thread(unsigned t) {
    if (t == WAKER) weft__make_ready_elsewhere(NULL, f);
    if (t == MOVER) move_and_end();
    if (t != CARRIER) return;
    poll_once(weft__self());
    weak_release(MOVER);
}

/* --- scenes -------------------------------------------------------------------------------------------------- */

static void set_up_with(uint32_t pin) {
    set_up_workers(2);
    driven[WAKER] = driven[MOVER] = NULL;
    driven[CARRIER] = &worker[1];
    store_rlx(&weft__cluster.count, 1);
    other.placement = 1u << WEFT_PLACEMENT_CLUSTER_SHIFT;
    other.workers[0] = &worker[1];
    store_rlx(&other.count, 1);
    store_rlx(&other.wanted, 1);
    store_rlx(&other.running, true);
    store_rlx(&weft__clusters[1], &other);
    worker[1].cluster = &other;
    worker[1].index = 0;
    worker[1].placement = other.placement;
    store_rlx(&f->context.placement, other.placement | pin);
    for (unsigned i = 1; i < FIBERS; i++) store_rlx(&fiber[i].slot.life, i);
}
static void ordinary(void) { set_up_with(0); }
static void pinned(void) { set_up_with(1); }

static void check(void) {
    for (unsigned t = 0; t < 3; t++) claim(!weak_goes_on(t), "waits for ever");
    unsigned here = (unsigned)load_rlx(&weft__cluster.injector.length);
    claim(here == 1, "the fiber is not where it belongs, once");
    claim(weft__mailbox_is_empty(&worker[1].mailbox) && !load_rlx(&other.injector.length), "left where it was");
}

static bool all_scenes(void) {
    return weak_explore(&(struct weak_scene){"place, moved, and the cluster ends", 3, ordinary, check}) &&
           weak_explore(&(struct weak_scene){"place, a pinned fiber is moved, and the cluster ends", 3, pinned, check});
}

int main(int argc, char **argv) {
    share_workers(2);
    weak_share(&s, sizeof s);
    weak_share(&other.count, offsetof(struct weft__cluster, workers));
    weak_share(&other.placement, sizeof other - offsetof(struct weft__cluster, placement));
    return weak_main(argc, argv, all_scenes);
}
