/* SPDX-License-Identifier: MIT */
/*
 * Explores the trimmer's handshakes, the real elastic/trim.c, helpers.c and flush.c: it does not rest for ever over
 * memory that a worker returns, it looks at once when fibers begin to wait for stacks, also if it rests until the end
 * of a period, and it ends when it is told to.
 */
#include "workers.h"

static int join_thread(void);
#define pthread_join(thread, result) join_thread()
#include "sched/elastic/trim.c"
#include "sched/wake/helpers.c"
#undef pthread_join
#include "sched/loop/flush.c"

enum { TRIMMER, WORKER, STARVER };

static struct {
    _Atomic uint8_t pooled; /* a worker has returned memory */
    uint8_t stops;
    uint8_t seen; /* the trimmer has seen that stacks are scarce */
} s;
_Atomic bool weft__stack_is_scarce, weft__stack_has_bare;

/* --- what is underneath ---------------------------------------------------------------------------------- */

static int join_thread(void) { return 0; }
bool weft__stacks_trim(void) { return false; }
bool weft__slab_trim(struct weft__slab *slab) { return (void)slab, false; }
bool weft__stacks_end_period(void) { return load_rlx(&s.pooled); }
bool weft__slab_end_period(struct weft__slab *slab) { return (void)slab, false; }
void weft__deque_trim(void) {}
void weft__overrun_look(void) {}
uint64_t weft__stacks_count_pooled(void) { return 0; }
uint64_t weft__starved_tend(uint64_t now) {
    if (!load_rlx(&weft__stack_is_scarce)) return WEFT_FOREVER;
    s.seen = 1;
    return now + WEFT_SECOND;
}
void weft__tasks_flush(struct weft__worker *w, bool all) { (void)w, (void)all; }
unsigned weft__stack_flush(struct weft__stack_cache *caches, unsigned keep) { return (void)caches, (void)keep, 0; }
void weft__slab_flush(struct weft__slab *slab, struct weft__slab_cache *c) {
    (void)slab, (void)c;
    store_rlx(&s.pooled, 1);
}
void weft__ready_shrink(struct weft__ready *q, uint64_t least) { (void)q, (void)least; }
void explored_switch(struct weft__context *from, struct weft__context *to) { (void)from, (void)to; }
bool weak_goes_too_far(void) { return false; }

/* --- what the threads do ----------------------------------------------------------------------------------- */

void run_thread(unsigned t) {
    if (t == TRIMMER)
        trimmer_main(NULL);
    else if (s.stops)
        weft__trimmer_stop();
    else if (t == WORKER)
        weft__worker_flush(weft__self(), weft__clock());
    else { /* as starve_for_stack */
        store_rlx(&weft__stack_is_scarce, true);
        fence_sc();
        weft__trimmer_wake(true);
    }
}

/* --- scenes -------------------------------------------------------------------------------------------------- */

static void set_up(void) {
    set_up_workers(1);
    driven[TRIMMER] = driven[STARVER] = NULL;
    driven[WORKER] = &worker[0];
}
static void stops(void) {
    set_up();
    s.stops = 1;
}
/* The trimmer rests until the end of a period, and not for ever. */
static void grown_old(void) {
    set_up();
    grows_old = true;
    next_turn = WEFT_SECOND;
}

static void check_returned(void) {
    claim(!weak_goes_on(WORKER), "waits for ever");
    claim(load_rlx(&weft__trimmer_rests) == WEFT_TRIMMER_RESTS, "the trimmer rests for ever over memory");
}
static void check_starved(void) {
    check_returned();
    claim(s.seen, "the trimmer rests while fibers wait for stacks");
}
static void check_stopped(void) { claim(!weak_goes_on(TRIMMER), "the trimmer rests over its end"); }

static bool all_scenes(void) {
    return weak_explore(&(struct weak_scene){"trimmer, memory is returned", 2, set_up, check_returned}) &&
           weak_explore(&(struct weak_scene){"trimmer, and stacks are scarce", 3, set_up, check_starved}) &&
           weak_explore(&(struct weak_scene){"trimmer, the same while it waits", 3, grown_old, check_starved}) &&
           weak_explore(&(struct weak_scene){"trimmer, stopped", 2, stops, check_stopped});
}

int main(int argc, char **argv) {
    share_workers(1);
    weak_share(&s, sizeof s);
    weak_share((void *)&weft__trimmer_rests, sizeof weft__trimmer_rests);
    weak_share((void *)&weft__stack_is_scarce, sizeof weft__stack_is_scarce);
    weak_share((void *)&quits, sizeof quits);
    weak_share(&next_turn, sizeof next_turn);
    weak_share(&grows_old, sizeof grows_old);
    return weak_main(argc, argv, all_scenes);
}
