/* SPDX-License-Identifier: MIT */
/*
 * Explores the real quiescence.c (weft__is_quiet, weft__quiet_notify) with idle.c and wheel.c. The fiber of a worker
 * waits for a timer. The worker sleeps, wakes, runs the fiber to its end and sleeps again, while a stop checks. The
 * stop never reports a fiber as blocked for ever that is not, and it is notified when the last worker falls asleep.
 */
#define HAS_SLAB
#include "workers.h"

#include "driver/wheel.c"
#include "sched/control/quiescence.c"
#include "sched/core/quiescence.c"
#include "sched/core/records.c"
#include "sched/loop/sleep.c"
#include "sched/wake/idle.c"

enum { CARRIER, STOP };

static struct {
    struct weft__timer timer;
    uint64_t ticket;
    uint8_t has_ended; /* the fiber has ended */
    uint8_t looks_once;
    uint8_t found;
    uint8_t sleeps;
} s;
static struct weft__fiber *const f = &fiber[0];

/* --- what is underneath ---------------------------------------------------------------------------------- */

unsigned weft__stack_flush(struct weft__stack_cache *c, unsigned keep) { return (void)c, (void)keep, 0; }
void weft__slab_flush(struct weft__slab *slab, struct weft__slab_cache *c) { (void)slab, (void)c; }
void weft__tasks_flush(struct weft__worker *w, bool all) { (void)w, (void)all; }
void weft__tasks_ask(struct weft__cluster *c) { (void)c; }
void weft__tasks_slept(struct weft__cluster *c) { (void)c; }
bool weft__stack_trim(void) { return false; }
void weft__deque_trim(void) {}
bool weft__driver_sleep(struct weft__driver *d, struct weft__uring *ring, uint64_t deadline) {
    (void)ring, (void)deadline;
    if (s.sleeps++) weak_block(); /* and for ever */
    weak_pause();
    return xchg_ar(&d->state, WEFT_AWAKE) == WEFT_AWAKE;
}
void weft__driver_wake(struct weft__driver *d) { xchg_ar(&d->state, WEFT_AWAKE); }
bool weft__work_in_sight(struct weft__worker *w) { return (void)w, false; }
bool weft__work_for_sleeper(struct weft__worker *w) { return (void)w, false; }
_Atomic uint32_t weft__poll_duty_state;
void weft__poll_duty_notify(void) {}
void weft__queue_give_away(struct weft__worker *w) { (void)w; }
struct weft__fiber *weft__next_slow(struct weft__worker *w) {
    return (void)w, NULL;
}
struct weft__fiber *weft__aside_next(struct weft__worker *w, struct weft__fiber *self, struct weft__waits_for what) {
    (void)what, (void)self;
    return (void)w, NULL;
}
void weft__push_slow(struct weft__worker *w, struct weft__fiber *x) {
    (void)w, (void)x, claim(false, "a queue is full");
}
void weft__make_ready_elsewhere(struct weft__worker *w, struct weft__fiber *x) { (void)w, (void)x; }
void weft__make_all_ready(struct weft__list *won) { (void)won; }
void explored_switch(struct weft__context *from, struct weft__context *to) { (void)from, (void)to; }
bool weak_goes_too_far(void) { return false; }

/* --- what the threads do ----------------------------------------------------------------------------------- */

static GHOST void note_end(void) { s.has_ended = true; }
static GHOST bool ended(void) { return s.has_ended; }

/* The fiber sleeps. Its worker has no other fiber. */
static void wait_for_time(struct weft__worker *w) {
    weft__wait_begin(f, 0, &s.ticket);
    weft__wheel_arm(&w->wheel, &s.timer, 0, (struct weft__due){NULL, f, s.ticket});
}

/* As weft__expire; the fiber then runs to its end. */
static void time_has_come(struct weft__worker *w) {
    struct weft__due due;
    uint64_t left = WEFT_WHEEL_LOOK;
    if (!weft__wheel_expire(&w->wheel, 1, &due, 1, &left)) return;
    if (weft__wait_win(due.arg, due.ticket, WEFT_WON_DEADLINE)) weft__push(w, due.arg);
    if (weft__next(w) != f) return;
    note_end(); /* other threads see only that the fiber was about to end */
    store_rel(&f->join, weft__join_of(weft__handle(f), WEFT_JOIN_ENDED));
}

void run_thread(unsigned t) {
    if (t == CARRIER) {
        struct weft__worker *w = weft__self();
        wait_for_time(w);
        weft__idle_sleep(w);
        time_has_come(w);
        weft__idle_sleep(w);
    } else {
        /* wait_for_end of runtime.c; the kernel compares and goes to sleep in one step. */
        add_ar(&weft__quiet.waiting, 1);
        fence_sc();
        for (;;) {
            uint32_t told = load_acq(&weft__quiet.notified);
            if (weft__is_quiet(&weft__cluster)) break;
            if (s.looks_once) return;
            weft__futex_wait(&weft__quiet.notified, told, WEFT_FOREVER);
        }
        claim(ended(), "a fiber that will go on is taken for blocked");
        s.found = true;
    }
}

/* --- scenes -------------------------------------------------------------------------------------------------- */

static void set_up(void) {
    set_up_workers(1);
    weft__wheel_init(&worker[0].wheel, 1);
    driven[CARRIER] = &worker[0];
    driven[STOP] = NULL;
    store_rlx(&f->join, weft__join_of(weft__handle(f), WEFT_JOIN_NOBODY));
    for (unsigned i = 1; i < FIBERS; i++) store_rlx(&fiber[i].slot.life, i);
}
static void set_up_once(void) {
    set_up();
    s.looks_once = true;
}
static void check(void) {
    claim(weak_is_blocked(CARRIER) && !weak_goes_on(STOP), "waits for ever");
    claim(s.found || s.looks_once, "nothing happens any more, and the stop does not know");
}

static bool all_scenes(void) {
    return weak_explore(&(struct weak_scene){"quiet, one look", 2, set_up_once, check}) &&
           weak_explore(&(struct weak_scene){"quiet, until it is", 2, set_up, check});
}

int main(int argc, char **argv) {
    share_workers(1);
    weak_share(&s, sizeof s);
    weak_share(&weft__quiet, sizeof weft__quiet);
    weak_share(&lock, sizeof lock);
    weak_share(&worker[0].wheel, offsetof(struct weft__wheel, slot));
    weak_share(&worker[0].wheel.overdue, offsetof(struct weft__wheel, armed) - offsetof(struct weft__wheel, overdue));
    return weak_main(argc, argv, all_scenes);
}
