/* SPDX-License-Identifier: MIT */
/*
 * Explores the rescue of what only a stuck worker could run: the real rescue.c (rescue, came_back), make_ready.c
 * (mail), priority.c (pinned fibers), steal.c (the last look), idle.c and futex.c. The monitor finds a worker with a
 * hog, another worker goes to sleep, and the hog may come back at any moment. Each fiber is taken once, and none is
 * left while the other sleeps.
 */
#include "workers.h"

#include "driver/futex.c"
#include "sched/balance/steal.c"
#include "sched/balance/work.c"
#include "sched/dispatch/make_ready.c"
#include "sched/dispatch/priority.c"
#include "sched/dispatch/timers.c"
#include "sched/elastic/rescue.c"
#include "sched/loop/poll.c"
#include "sched/loop/search.c"
#include "sched/loop/sleep.c"
#include "sched/wake/idle.c"
#include "sched/wake/seen.c"

enum { HELPER, MONITOR, OWNER };
enum { MAIL, PINNED };

static struct { uint8_t what, got[2]; } s;

/* --- what is underneath ---------------------------------------------------------------------------------- */

void weft__tasks_ask(struct weft__cluster *c) { (void)c; }
void weft__tasks_slept(struct weft__cluster *c) { (void)c; }
bool weft__tasks_in_sight(struct weft__worker *w) { return (void)w, false; }
bool weft__tasks_wait_at(struct weft__worker *w) { return (void)w, false; }
bool weft__stack_trim(void) { return false; }
void weft__deque_trim(void) {}
void weft__quiet_notify(void) {}
_Atomic uint32_t weft__poll_duty_state;
void weft__timed_put(struct weft__timed *t, struct weft__fiber *f) { (void)t, (void)f; }
uint64_t weft__timed_take(struct weft__timed *t, struct weft__fiber *f) { return (void)t, (void)f, 0; }
bool weft__uring_needs_reap(const struct weft__uring *r) { return (void)r, false; }
bool weft__sharing_end_by_force(struct weft__worker *w) {
    return load_rlx(&w->sharing) == WEFT_SHARED;
} /* see share.c */
bool weft__hog_look(struct weft__worker *w, uint64_t now) { return (void)w, (void)now, true; }
void explored_switch(struct weft__context *from, struct weft__context *to) { (void)from, (void)to; }
bool weak_goes_too_far(void) { return false; }

/* --- what the threads do ----------------------------------------------------------------------------------- */

static GHOST bool take_it(unsigned t, struct weft__fiber *f) {
    if (!f) return false;
    claim(f == &fiber[0], "another fiber");
    claim(!s.got[0] && !s.got[1], "a fiber is taken twice");
    return s.got[t == OWNER] = true;
}
static GHOST bool is_taken(void) { return s.got[0] || s.got[1]; }

static struct weft__fiber *own(struct weft__worker *w) {
    weft__mail_take(w, w);
    return weft__has_ready(w) ? weft__next(w) : NULL;
}

/* The part of look_round in steal.c that is about a stuck worker. */
static struct weft__fiber *help(struct weft__worker *w) {
    weft__serve_stuck(w, &worker[1]);
    struct weft__fiber *f = weft__has_ready(w) ? weft__next(w) : NULL;
    if (!f) f = weft__aside_steal(w, &worker[1]);
    return f || !weft__has_ready(w) ? f : weft__next(w);
}

void run_thread(unsigned t) {
    struct weft__worker *w = weft__self();
    if (t == OWNER) take_it(t, own(w));
    if (t == MONITOR) {
        struct sight sight = {.free = true};
        struct weft__rescue r = {.now = 2, .processors = 2};
        rescue_worker(&worker[1], &sight, &r);
        if (load_rlx(&worker[1].current) == NULL) came_back(&worker[1], 3);
    }
    if (t == HELPER)
        while (!is_taken() && !take_it(t, help(w))) weft__idle_sleep(w);
}

/* --- scenes -------------------------------------------------------------------------------------------------- */

static void set_up_with(unsigned what) {
    set_up_workers(2);
    driven[HELPER] = &worker[0];
    driven[MONITOR] = NULL;
    driven[OWNER] = &worker[1];
    s.what = (uint8_t)what;
    store_rlx(&worker[1].current, &fiber[1]);
    store_rlx(&worker[1].hog.fiber, &fiber[1]);
    if (what == MAIL) {
        store_rlx(&worker[1].mailbox.top, &fiber[0].slot.link);
        return;
    }
    store_rlx(&fiber[0].context.placement, 2);
    weft__aside_put(&worker[1], WEFT_ASIDE_PINNED, &fiber[0]);
}
static void mail(void) { set_up_with(MAIL); }
static void pinned(void) { set_up_with(PINNED); }

static void check(void) {
    claim(!weak_goes_on(MONITOR), "the monitor waits");
    claim(is_taken(), "a fiber is left, and all sleep");
}

static bool all_scenes(void) {
    return weak_explore(&(struct weak_scene){"stuck, mail", 2, mail, check}) &&
           weak_explore(&(struct weak_scene){"stuck, a pinned fiber", 2, pinned, check}) &&
           weak_explore(&(struct weak_scene){"stuck, mail, the hog comes back", 3, mail, check, .large = true}) &&
           weak_explore(&(struct weak_scene){"stuck, a pinned fiber, the hog comes back", 3, pinned, check});
}

int main(int argc, char **argv) {
    share_workers(2);
    weak_share(&s, sizeof s);
    for (unsigned i = 0; i < 2; i++) weak_share(&worker[i].hog, sizeof worker[i].hog);
    return weak_main(argc, argv, all_scenes);
}
