/* SPDX-License-Identifier: MIT */
/*
 * Explores sleeping and waking with the real idle.c, futex.c, steal.c (the last look), resize.c (more workers) and
 * make_ready.c (mail, injector), io_backpressure.c: a worker that goes to sleep, or retires, while work comes by every
 * way. In the end it does not sleep over any. Clocks stand still: what only a timeout would find is not found here.
 * More workers: sleep.pml.
 */
#include "workers.h"

#include "driver/futex.c"
#include "sched/balance/steal.c"
#include "sched/balance/work.c"
#include "sched/dispatch/make_ready.c"
#include "sched/dispatch/sharing.c"
#include "sched/dispatch/timers.c"
#include "sched/elastic/resize.c"
#include "sched/loop/poll.c"
#include "sched/loop/search.c"
#include "sched/loop/sleep.c"
#include "sched/wake/idle.c"
#include "sched/wake/io_backpressure.c"
#include "sched/wake/seen.c"

enum { SLEEPER, WAKER };
enum { MAIL, INJECT, PUSH, MORE, STOP, HOLDS_BACK };
enum { NO_DUTIES, DUTIES };

static struct {
    uint8_t way, wants, got;
    uint8_t duties, dozes;
    struct weft__queue_seen seen[WORKERS];
} s;

/* --- what is underneath ---------------------------------------------------------------------------------- */

unsigned weft__stack_flush(struct weft__stack_cache *c, unsigned keep) { return (void)c, (void)keep, 0; }
void weft__slab_flush(struct weft__slab *slab, struct weft__slab_cache *c) { (void)slab, (void)c; }
void weft__tasks_flush(struct weft__worker *w, bool all) { (void)w, (void)all; }
void weft__tasks_ask(struct weft__cluster *c) { (void)c; }
void weft__tasks_slept(struct weft__cluster *c) { (void)c; }
bool weft__tasks_in_sight(struct weft__worker *w) { return (void)w, false; }
bool weft__stack_trim(void) { return false; }
void weft__deque_trim(void) {}
void weft__quiet_notify(void) {}
bool weft__each_cluster(bool (*fn)(struct weft__cluster *, void *), void *arg) { return fn(&weft__cluster, arg); }
void weft__timed_put(struct weft__timed *t, struct weft__fiber *f) { (void)t, (void)f; }
uint64_t weft__timed_take(struct weft__timed *t, struct weft__fiber *f) { return (void)t, (void)f, 0; }
void weft__age_mark(struct weft__worker *w) { (void)w; }
struct weft__fiber *weft__aside_next(struct weft__worker *w, struct weft__fiber *self, struct weft__waits_for what) {
    (void)what, (void)self;
    return (void)w, NULL;
}
struct weft__fiber *weft__aside_steal(struct weft__worker *w, struct weft__worker *from) {
    return (void)w, (void)from, NULL;
}
bool weft__uring_needs_reap(const struct weft__uring *r) { return (void)r, false; }
void weft__uring_sleep(struct weft__uring *r, _Atomic uint32_t *state, uint32_t asleep, uint64_t deadline) {
    (void)r, (void)state, (void)asleep, (void)deadline;
}
int weft__thread_create(pthread_t *t, void *(*fn)(void *), void *arg) { return (void)t, (void)fn, (void)arg, -EAGAIN; }
void explored_switch(struct weft__context *from, struct weft__context *to) { (void)from, (void)to; }
bool weak_goes_too_far(void) { return false; }

/* The poller, which never has anything to report. */
static bool fetch(void) { return false; }
static int begin(void) { return 5; }
static bool doze(uint64_t deadline) {
    (void)deadline;
    s.dozes = true;
    while (!load_acq(&rung)) weak_futex_wait(&rung, 0, false);
    store_rlx(&rung, 0);
    s.dozes = false;
    return false;
}
static void end(void) {}
static bool has_duties(void) { return s.duties; }
static const struct weft__poll_duty in_stead = {fetch, begin, doze, end, has_duties};

/* --- what the threads do ----------------------------------------------------------------------------------- */

/* What a worker finds that looks for work: mail, the injector, its own queue, another's. */
static bool finds_something(struct weft__worker *w) {
    void *items[1];
    weft__mail_take(w, w);
    if (weft__is_wanted(w)) weft__injector_take(w);
    if (weft__pop(w)) return true;
    if (!weft__is_wanted(w)) return false;
    return load_acq(&worker[1].sharing) == WEFT_SHARED && weft__ready_take(&worker[1].ready, items, 1);
}

static void sleep_until_done(struct weft__worker *w) {
    while (s.got < s.wants) {
        bool wanted = weft__is_wanted(w);
        if (finds_something(w))
            s.got++;
        else if (load_acq(&w->cluster->stopping) || (s.way == MORE && wanted))
            return;
        else if (wanted)
            weft__idle_sleep(w);
        else
            weft__idle_retire(w);
    }
}

static void wake(void) {
    struct weft__worker *w = weft__self();
    switch (s.way) {
    case MAIL: weft__mail(&worker[0], &fiber[0]); break;
    case INJECT: weft__inject(&weft__cluster, &fiber[0]); break;
    case PUSH:
        for (unsigned i = 0; i < 2; i++) {
            weft__push(w, &fiber[i]);
            weft__notify(w);
        }
        break;
    case HOLDS_BACK: weft__poll_duty_hold_back(&in_stead, 1); break; /* and then brings it in */
    case MORE: set_wanted(&weft__cluster, 1); break;
    case STOP:
        store_rel(&weft__cluster.stopping, true);
        fence_sc(); /* as join_carriers in cluster.c */
        weft__idle_wake(&worker[0]);
        break;
    }
}

void run_thread(unsigned t) {
    if (t == WAKER)
        wake();
    else
        sleep_until_done(weft__self());
}

/* --- scenes -------------------------------------------------------------------------------------------------- */

static void set_up_for(unsigned way, unsigned workers, unsigned wants) {
    set_up_workers(workers);
    driven[SLEEPER] = &worker[0];
    driven[WAKER] = way == PUSH ? &worker[1] : NULL;
    s.way = (uint8_t)way;
    s.wants = (uint8_t)wants;
    if (way != PUSH) return;
    worker[0].seen.queue = s.seen; /* the other queue stands still, as far as it has seen */
    worker[0].seen.size = WORKERS;
    s.seen[1].at = 1;
}
static void mail(void) { set_up_for(MAIL, 1, 1); }
static void inject(void) { set_up_for(INJECT, 1, 1); }
static void push(void) { set_up_for(PUSH, 2, 1); }
static void stop(void) { set_up_for(STOP, 1, 1); }
static void set_up_dry(unsigned way, unsigned duties, unsigned awaited) {
    set_up_for(way, 1, 1);
    s.duties = (uint8_t)duties;
    s.dozes = 0;
    store_rlx(&rung, 0);
    store_rlx(&stead, &in_stead);
    store_rlx(&weft__poll_duty_state, awaited);
}
static void holds_back(void) { set_up_dry(HOLDS_BACK, NO_DUTIES, WEFT_POLL_DUTY_SERVED); }
static void holds_back_for_a_while(void) { set_up_dry(HOLDS_BACK, DUTIES, WEFT_POLL_DUTY_SERVED); }
static void dozing_mail(void) { set_up_dry(MAIL, NO_DUTIES, WEFT_POLL_DUTY_HELD); }
static void dozing_stop(void) { set_up_dry(STOP, NO_DUTIES, WEFT_POLL_DUTY_HELD); }
static void more(void) {
    set_up_for(MORE, 1, 1);
    store_rlx(&weft__cluster.wanted, 0);
}
static void retired_mail(void) {
    set_up_for(MAIL, 1, 1);
    store_rlx(&weft__cluster.wanted, 0);
}
static void retired_stop(void) {
    set_up_for(STOP, 1, 1);
    store_rlx(&weft__cluster.wanted, 0);
}

static void check(void) {
    for (unsigned t = 0; t < 2; t++) claim(!weak_goes_on(t), "sleeps over work");
}

/* The worker sleeps. It does so in the poller, or the thread has been told and does not wait for its bound. */
static void check_waiter(void) {
    bool dozes = s.dozes && load_rlx(&weft__poll_duty_state) == WEFT_POLL_DUTY_DOZED;
    claim(dozes || !weak_goes_on(WAKER), "neither the thread nor a worker is in the poller");
}

static bool all_scenes(void) {
    return weak_explore(&(struct weak_scene){"sleep, mail", 2, mail, check}) &&
           weak_explore(&(struct weak_scene){"sleep, something in the injector", 2, inject, check}) &&
           weak_explore(&(struct weak_scene){"sleep, another pushes two", 2, push, check}) &&
           weak_explore(&(struct weak_scene){"sleep, a stop", 2, stop, check}) &&
           weak_explore(&(struct weak_scene){"sleep, a thread that holds back", 2, holds_back, check_waiter}) &&
           weak_explore(&(struct weak_scene){"sleep, it has duties", 2, holds_back_for_a_while, check_waiter}) &&
           weak_explore(&(struct weak_scene){"asleep in the poller, mail", 2, dozing_mail, check}) &&
           weak_explore(&(struct weak_scene){"asleep in the poller, a stop", 2, dozing_stop, check}) &&
           weak_explore(&(struct weak_scene){"retired, more are wanted", 2, more, check}) &&
           weak_explore(&(struct weak_scene){"retired, mail", 2, retired_mail, check}) &&
           weak_explore(&(struct weak_scene){"retired, a stop", 2, retired_stop, check});
}

int main(int argc, char **argv) {
    share_workers(2);
    weak_share(&s, sizeof s);
    weak_share((void *)&weft__poll_duty_state, sizeof weft__poll_duty_state);
    weak_share((void *)&rung, sizeof rung);
    return weak_main(argc, argv, all_scenes);
}
