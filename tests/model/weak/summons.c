/* SPDX-License-Identifier: MIT */
/*
 * Explores fibers that stand aside, and the summons in the same word: the real sched/dispatch/priority.c, with the
 * dispatches of the owner, the monitor that summons it, and another worker that takes what is loose. A summons is met
 * by a poll, or stays; no change of the count loses it, and it changes no count. Each fiber runs once.
 */
#include "workers.h"

#include "sched/dispatch/priority.c"

enum { OWNER, MONITOR, THIEF };

static struct { uint8_t dispatches, puts, polled, held[FIBERS]; } s;

/* --- what is underneath ---------------------------------------------------------------------------------- */

struct weft__fiber *weft__next_slow(struct weft__worker *w) {
    return (void)w, NULL;
}
void weft__timed_put(struct weft__timed *t, struct weft__fiber *f) { (void)t, (void)f; }
uint64_t weft__timed_take(struct weft__timed *t, struct weft__fiber *f) { return (void)t, (void)f, 0; }
void explored_switch(struct weft__context *from, struct weft__context *to) { (void)from, (void)to; }
bool weak_goes_too_far(void) { return false; }

/* --- what the threads do ----------------------------------------------------------------------------------- */

static GHOST void take_it(struct weft__fiber *f) {
    if (!f) return;
    claim(!s.held[f - fiber], "a fiber is taken twice");
    s.held[f - fiber] = 1;
}

/* As find_quickly in worker.c, and weft__poll. */
static void dispatch(struct weft__worker *w) {
    struct weft__fiber *f = weft__next(w);
    take_it(f);
    if (f || w->pace.until_poll > 0) return;
    s.polled++;
    weft__summons_clear(w);
    w->pace.until_poll = w->pace.poll_from = 1000;
}

static void own(struct weft__worker *w) {
    for (unsigned i = 0; i < s.puts; i++) weft__aside_put(w, i ? WEFT_ASIDE_PINNED : WEFT_ASIDE_HIGH, &fiber[i]);
    for (unsigned i = 0; i < s.dispatches; i++) dispatch(w);
}

void run_thread(unsigned t) {
    if (t == OWNER) own(weft__self());
    if (t == MONITOR) weft__worker_summon(&worker[0]);
    if (t == THIEF) take_it(weft__aside_steal(weft__self(), &worker[0]));
}

/* --- scenes -------------------------------------------------------------------------------------------------- */

static void set_up_with(unsigned puts, unsigned dispatches) {
    set_up_workers(2);
    driven[OWNER] = &worker[0];
    driven[MONITOR] = NULL;
    driven[THIEF] = &worker[1];
    worker[0].pace.poll_from = worker[0].pace.until_poll;
    s.puts = (uint8_t)puts;
    s.dispatches = (uint8_t)dispatches;
}
static void one(void) { set_up_with(1, 2); }
static void two(void) { set_up_with(2, 2); }

static void check(void) {
    struct weft__worker *w = &worker[0];
    unsigned left = weft__aside_count(w), held = 0;
    for (unsigned i = 0; i < FIBERS; i++) held += s.held[i];
    claim(left + held == s.puts, "the count is not that of the fibers");
    bool summoned = load_rlx(&w->aside.state) & WEFT_ASIDE_SUMMONED;
    claim(summoned || s.polled, "a summons is lost");
    unsigned before = s.polled;
    weft__tls = w;
    dispatch(w);
    claim(!summoned || s.polled == before + 1, "a summons is not heeded");
    claim(!(load_rlx(&w->aside.state) & WEFT_ASIDE_SUMMONED), "a summons stays after it was met");
    for (unsigned i = 0; i < left; i++) dispatch(w);
    for (unsigned i = 0; i < s.puts; i++) claim(s.held[i], "a fiber is lost");
}

static bool all_scenes(void) {
    return weak_explore(&(struct weak_scene){"summons, one stands aside", 3, one, check}) &&
           weak_explore(&(struct weak_scene){"summons, two stand aside", 3, two, check});
}

int main(int argc, char **argv) {
    share_workers(2);
    weak_share(&s, sizeof s);
    return weak_main(argc, argv, all_scenes);
}
