/* SPDX-License-Identifier: MIT */
/*
 * Explores taking from a queue alone, or shared: the real sharing.c, dispatch.h and queue/ready_queue.h, with a worker
 * that retires and comes back (idle.c), or takes from a queue that its owner begins to keep, and the monitor. No fiber
 * is held twice.
 */
#include "sched/dispatch/dispatch.h"
#include "workers.h"

#include "sched/dispatch/sharing.c"
#include "sched/elastic/resize.c"
#include "sched/loop/sleep.c"
#include "sched/wake/idle.c"

enum { OWNER, MONITOR, OTHER };
#define NOW WEFT_SECOND

static struct {
    uint8_t held[FIBERS];
    uint8_t rounds, claims, steals_first, thefts;
    struct weft__fiber *entered; /* by the owner; NULL: it is at home */
} s;

/* --- what is underneath ---------------------------------------------------------------------------------- */

void weft__queue_give_away(struct weft__worker *w) { (void)w; }
unsigned weft__stack_flush(struct weft__stack_cache *c, unsigned keep) { return (void)c, (void)keep, 0; }
void weft__slab_flush(struct weft__slab *slab, struct weft__slab_cache *c) { (void)slab, (void)c; }
void weft__tasks_flush(struct weft__worker *w, bool all) { (void)w, (void)all; }
bool weft__driver_sleep(struct weft__driver *d, struct weft__uring *ring, uint64_t deadline) {
    (void)d, (void)ring, (void)deadline;
    weak_pause(); /* it is woken at any moment */
    return true;
}
void weft__driver_wake(struct weft__driver *d) { (void)d; }
void weft__quiet_notify(void) {}
_Atomic uint32_t weft__poll_duty_state;
void weft__poll_duty_notify(void) {}
struct weft__fiber *weft__next_slow(struct weft__worker *w) {
    return (void)w, NULL;
}
struct weft__fiber *weft__aside_next(struct weft__worker *w, struct weft__fiber *self, struct weft__waits_for what) {
    (void)what, (void)self;
    return (void)w, NULL;
}
struct weft__stack *weft__stack_get_slow(struct weft__stack_cache *c, unsigned class) {
    return (void)c, (void)class, NULL;
}
void weft__push_slow(struct weft__worker *w, struct weft__fiber *f) {
    (void)w, (void)f, claim(false, "a queue is full");
}
bool weft__work_in_sight(struct weft__worker *w) { return (void)w, false; }
bool weft__work_for_sleeper(struct weft__worker *w) { return (void)w, false; }
bool weak_goes_too_far(void) { return false; }

/* --- what the threads do ----------------------------------------------------------------------------------- */

static GHOST void take(struct weft__fiber *f) {
    claim(!s.held[f - fiber], "a fiber is taken twice");
    s.held[f - fiber] = 1;
}
static GHOST void let_go(struct weft__fiber *f) { s.held[f - fiber] = 0; }

void explored_switch(struct weft__context *from, struct weft__context *to) {
    (void)from;
    s.entered = to == &worker[0].home.context ? NULL : container_of(to, struct weft__fiber, context);
}

/* The fiber yields, and perhaps finds itself ready again before it left; or it is time to go home. */
static struct weft__fiber *yields(struct weft__worker *w, struct weft__fiber *self) {
    w->pace.until_poll = weak_choice(2) ? 1 : 1000;
    s.entered = self;
    let_go(self);
    weft__push(w, self);
    weft__suspend_plain(w, self);
    if (s.entered) take(s.entered);
    return s.entered;
}

static void own(void) {
    struct weft__worker *w = weft__self();
    struct weft__fiber *f = NULL;
    for (unsigned i = 0; i < s.rounds; i++) {
        if (!f) {
            w->pace.until_poll = 1000;
            weft__sharing_update(w, NOW);
            f = weft__choose(w, weft__next(w));
            if (f) take(f);
        } else
            f = yields(w, f);
    }
}

static void force(void) {
    for (unsigned i = 0; i < s.claims; i++) weft__sharing_end_by_force(&worker[0]);
}

static void steal(void) {
    void *items[1];
    if (weft__shared_take(&worker[0], items, 1, NOW)) take(items[0]);
}

/* As a worker that helps: takes what the owner shares, asks for what it keeps, or loses its patience. */
static void want(void) {
    for (unsigned i = 0; i < s.thefts; i++) steal();
}

/* As retire_worker() and find() in worker.c. */
static void come_and_go(void) {
    struct weft__worker *w = weft__self();
    if (w->sleeper.is_retired) { /* from the beginning: the second half of weft__idle_retire */
        weft__lock(&w->cluster->idle.lock);
        call_back(&w->cluster->idle, w);
        weft__unlock(&w->cluster->idle.lock);
    } else {
        if (s.steals_first) steal();
        weft__idle_retire(w);
    }
    fence_sc();
    steal();
}

void run_thread(unsigned t) {
    if (t == OWNER) own();
    if (t == MONITOR) force();
    if (t == OTHER && s.thefts) want();
    if (t == OTHER && !s.thefts) come_and_go();
}

/* --- scenes -------------------------------------------------------------------------------------------------- */

static unsigned fibers;

static void set_up_with(unsigned n, unsigned rounds, unsigned claims) {
    set_up_workers(2);
    driven[OWNER] = &worker[0];
    driven[OTHER] = &worker[1];
    driven[MONITOR] = NULL;
    fibers = n;
    for (unsigned i = 0; i < n; i++) weft__ready_push(&worker[0].ready, &fiber[i]);
    s.rounds = (uint8_t)rounds;
    s.claims = (uint8_t)claims;
    store_rlx(&weft__cluster.wanted, 1);
    worker[0].next_keep = UINT64_MAX;
}
static void set_up_alone(void) {
    store_rlx(&weft__cluster.idle.state, WEFT_IDLE_RETIREE);
    worker[1].sleeper.is_retired = true;
    store_rlx(&worker[0].sharing, WEFT_ALONE);
    store_rlx(&worker[0].ready.alone, WEFT_ALONE);
}
static void becomes_alone(void) { set_up_with(1, 2, 0); }
static void shares_again(void) {
    set_up_with(1, 3, 0);
    set_up_alone();
}
static void steals_before(void) {
    set_up_with(1, 2, 0);
    s.steals_first = true;
}
static void is_forced(void) {
    set_up_with(1, 3, 1);
    set_up_alone();
}
static void two_are_forced(void) {
    set_up_with(2, 3, 1);
    set_up_alone();
}
static void everything(void) {
    set_up_with(2, 3, 1);
    s.steals_first = true;
}
/* Two workers run; the owner keeps its queue as soon as it may, or does so already. */
static void set_up_kept(unsigned n, unsigned rounds, unsigned claims, unsigned thefts) {
    set_up_with(n, rounds, claims);
    store_rlx(&weft__cluster.wanted, 2);
    worker[0].next_keep = 0;
    s.thefts = (uint8_t)thefts;
}
static void is_kept_already(void) {
    store_rlx(&worker[0].sharing, WEFT_KEPT);
    store_rlx(&worker[0].ready.alone, WEFT_KEPT);
}
static void begins_to_keep(void) { set_up_kept(2, 3, 0, 1); }
static void is_asked(void) {
    set_up_kept(1, 4, 0, 2);
    is_kept_already();
}
static void is_taken_by_force(void) {
    set_up_kept(2, 3, 0, 1);
    is_kept_already();
    store_rlx(&worker[0].age.wanted_at, 1); /* a thief asked long ago */
}
static void keeps_beside_all(void) {
    set_up_kept(2, 3, 1, 2);
    store_rlx(&worker[0].age.wanted_at, 1);
}

static void check(void) {
    unsigned found = (unsigned)weft__ready_length(&worker[0].ready);
    for (unsigned i = 0; i < FIBERS; i++) found += s.held[i];
    for (unsigned t = 0; t < THREADS; t++) claim(!weak_goes_on(t), "waits for ever");
    claim(found == fibers, "a fiber is lost");
}

static bool all_scenes(void) {
    return weak_explore(&(struct weak_scene){"share, a worker becomes alone", 3, becomes_alone, check}) &&
           weak_explore(&(struct weak_scene){"share, after a theft", 3, steals_before, check}) &&
           weak_explore(&(struct weak_scene){"share, another comes back", 3, shares_again, check}) &&
           weak_explore(&(struct weak_scene){"share, by force, one fiber", 3, is_forced, check}) &&
           weak_explore(&(struct weak_scene){"share, by force, two fibers", 3, two_are_forced, check}) &&
           weak_explore(&(struct weak_scene){"share, begins to keep", 3, begins_to_keep, check}) &&
           weak_explore(&(struct weak_scene){"share, is asked for what it keeps", 3, is_asked, check}) &&
           weak_explore(&(struct weak_scene){"share, kept, a thief by force", 3, is_taken_by_force, check}) &&
           weak_explore(
               &(struct weak_scene){"share, keeps, monitor and thief", 3, keeps_beside_all, check, .large = true}) &&
           weak_explore(&(struct weak_scene){"share, becomes alone, by force", 3, everything, check, .large = true});
}

int main(int argc, char **argv) {
    share_workers(2);
    weak_share(&s, sizeof s);
    return weak_main(argc, argv, all_scenes);
}
