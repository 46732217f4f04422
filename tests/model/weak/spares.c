/* SPDX-License-Identifier: MIT */
/*
 * Explores sleepers of which some take no forked calls: the real idle.c (weft__idle_wake_for_calls), futex.c and
 * tasks.c (weft__tasks_pushed, weft__tasks_in_sight). A worker forks a call and computes; a regular worker and a spare
 * go to sleep, in any order. The call is never left with all others asleep, also if the spare was lent until just now,
 * if forks wake no worker for a while because the last wake-ups were in vain, if no sleeper has asked the forker, and
 * if the spare is the watchman while more workers are awake than there are processors.
 */
#include "workers.h"

#include "driver/futex.c"
#include "sched/loop/sleep.c"
#include "sched/tasks/steal_worth.c"
#include "sched/tasks/stolen.c"
#include "sched/tasks/suspended.c"
#include "sched/tasks/task_scopes.c"
#include "sched/tasks/tasks.c"
#include "sched/wake/idle.c"

enum { FORKER, REGULAR, SPARE, MONITOR };

static struct {
    _Atomic uint32_t calls; /* that wait */
    struct weft__deque deque;
    struct weft_call call[4];
    uint8_t sleeps; /* this worker sleeps at first, without a watchman; 0: none does */
    uint8_t lends;  /* so many spares are lent from some moment on */
    uint8_t finds;  /* the spare searches, and finds a fiber */
    uint8_t quiet;  /* the fork notifies only if it is asked */
    uint8_t ticks;  /* time passes: the spare sleeps twice, once after the fork at the latest */
    uint8_t turns;
} s;

/* --- what is underneath ---------------------------------------------------------------------------------- */

/* A deque that holds one call. What thieves and owner owe to each other is explored in split.c. */
static void push_one(struct weft__deque *d, struct weft_call *c) {
    (void)d, (void)c;
    if (!s.quiet) store_rel(&s.calls, 1); /* else it is there already; see fork_one */
}
static bool has_one(struct weft__deque *d) { return (void)d, load_acq(&s.calls); }
static void ask_for_one(struct weft__deque *d, uint64_t now) { (void)now, store_rlx(weft__deque_span(d), 0); }
static const struct weft__deque_variant one_call = {.push = push_one, .some = has_one, .press = ask_for_one};
const struct weft__deque_variant weft__deque_kept;

bool weft__parents_wait_at(struct weft__worker *w) { return (void)w, false; }
bool weft__stack_trim(void) { return false; }
void weft__deque_trim(void) {}
void weft__quiet_notify(void) {}
_Atomic uint32_t weft__poll_duty_state;
/* The part of steal.c that is about calls. */
bool weft__work_in_sight(struct weft__worker *w) { return weft__tasks_in_sight(w); }
bool weft__work_for_sleeper(struct weft__worker *w) { return weft__tasks_in_sight(w); }
void explored_switch(struct weft__context *from, struct weft__context *to) { (void)from, (void)to; }
bool weak_goes_too_far(void) { return s.turns > 3; } /* the regular worker is the watchman, and looks at every tick */

/* --- what the threads do ----------------------------------------------------------------------------------- */

static bool takes_call(struct weft__worker *w) {
    uint32_t one = 1;
    return weft__takes_calls(w) && cas_ar(&s.calls, &one, 0);
}

static void work(struct weft__worker *w) {
    while (!takes_call(w)) {
        if (s.ticks) s.turns++;
        weft__idle_sleep(w);
    }
    weft__idle_end(w);
}

static void tick(struct weft__worker *w) {
    weft__idle_sleep(w);
    while (!weak_has_ended(FORKER)) weak_pause();
    weft__idle_sleep(w);
}

/* From the middle of weft__idle_sleep on. */
static void go_on_sleeping(struct weft__worker *w) {
    weft__driver_sleep(&w->driver, &w->ring, WEFT_FOREVER);
    weft__idle_leave(w);
}

/* As weft__task_push in weft/task.h. */
static void fork_one(void) {
    if (s.quiet) {
        store_rel(&s.calls, 1);
        weft__fence_light();
        if (load_rlx(weft__deque_span(&s.deque))) return;
    }
    weft__tasks_pushed(&s.deque, s.call);
}

void run_thread(unsigned t) {
    struct weft__worker *w = weft__self();
    if (t == FORKER) fork_one();
    if (t == MONITOR) store_rlx(&weft__cluster.lent, s.lends);
    if (t != REGULAR && t != SPARE) return;
    if (s.sleeps == t) go_on_sleeping(w);
    if (t == SPARE && s.finds)
        weft__idle_end(w); /* and the fiber computes */
    else if (t == SPARE && s.ticks)
        tick(w);
    else
        work(w);
}

/* --- scenes -------------------------------------------------------------------------------------------------- */

static void set_up_with(unsigned lent, unsigned sleeps) {
    struct weft__idle *idle = &weft__cluster.idle;
    set_up_workers(3);
    time_passes = false;
    for (unsigned t = 0; t < 3; t++) driven[t] = &worker[t];
    driven[MONITOR] = NULL;
    store_rlx(&weft__cluster.configured, 2);
    store_rlx(&weft__cluster.lent, lent);
    s.deque.variant = &one_call;
    s.deque.calls = s.deque.in.head = s.call;
    store_rlx(&worker[FORKER].calls.deque, &s.deque);
    s.sleeps = (uint8_t)sleeps;
    if (!sleeps) return;
    idle->top = &worker[sleeps];
    worker[sleeps].sleeper.is_listed = true;
    store_rlx(&idle->state, WEFT_IDLE_SLEEPER);
    weft__driver_announce(&worker[sleeps].driver);
}
static void one_after_the_other(void) { set_up_with(0, 0); }
static void spare_sleeps(void) { set_up_with(0, SPARE); }
static void regular_sleeps(void) { set_up_with(0, REGULAR); }
static void set_up_search(unsigned lent, bool finds) {
    set_up_with(lent, REGULAR);
    s.finds = finds;
    worker[SPARE].search.is_searcher = true;
    store_rlx(&weft__cluster.idle.state, WEFT_IDLE_SLEEPER + WEFT_IDLE_SEARCHER);
}
static void searches(void) { set_up_search(0, false); }
static void finds_a_fiber(void) { set_up_search(0, true); }
static void lent_no_more(void) { set_up_search(1, false); }
static void lent_now(void) {
    set_up_search(0, false);
    s.lends = 1;
}
static void lent_and_finds(void) {
    set_up_search(0, true);
    s.lends = 1;
}

/* The spare computes. */
static void patient_forks(void) {
    set_up_with(0, REGULAR);
    store_rlx(&weft__cluster.tasks.patience, 7);
}
/* Another fork has answered the sleeper, and the worker that searched then becomes busy. */
static void asks_no_more(void) {
    set_up_search(0, true);
    s.quiet = 1;
    store_rlx(weft__deque_span(&s.deque), 1);
}
/* The forker alone keeps the only processor busy, so all others leave its call to the watchman. */
static void spare_watches(void) {
    set_up_with(0, REGULAR);
    store_rlx(&weft__cluster.run_capacity, 1);
    s.ticks = time_passes = true;
}

static void check(void) { claim(!load_rlx(&s.calls), "all sleep over a call"); }

static bool all_scenes(void) {
    return weak_explore(&(struct weak_scene){"spares, a spare sleeps", 3, spare_sleeps, check}) &&
           weak_explore(&(struct weak_scene){"spares, a regular worker sleeps", 3, regular_sleeps, check}) &&
           weak_explore(&(struct weak_scene){"spares, one searches in vain", 3, searches, check}) &&
           weak_explore(&(struct weak_scene){"spares, one finds a fiber", 3, finds_a_fiber, check}) &&
           weak_explore(&(struct weak_scene){"spares, forks are patient", 2, patient_forks, check}) &&
           weak_explore(&(struct weak_scene){"spares, the forker is asked no more", 3, asks_no_more, check}) &&
           weak_explore(&(struct weak_scene){"spares, one is the watchman", 3, spare_watches, check}) &&
           weak_explore(&(struct weak_scene){"spares, one is lent no more", 4, lent_no_more, check, .large = true}) &&
           weak_explore(&(struct weak_scene){"spares, one is lent now", 4, lent_now, check, .large = true}) &&
           weak_explore(&(struct weak_scene){"spares, one is lent now and finds a fiber", 4, lent_and_finds, check}) &&
           weak_explore(&(struct weak_scene){"spares, all in any order", 3, one_after_the_other, check, .large = true});
}

int main(int argc, char **argv) {
    share_workers(3);
    weak_share(&s, sizeof s);
    return weak_main(argc, argv, all_scenes);
}
