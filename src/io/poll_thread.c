/* SPDX-License-Identifier: MIT */
/*
 * See poll_thread.h. The runtime needs the thread while it runs, and so does each holder. The last holder, and a stop
 * of the runtime, check under a mutex whether it is still needed.
 */
#define _GNU_SOURCE
#include "io/poll_thread.h"

#include "io/readiness.h"
#include "sched/core/layers.h"
#include "sched/dispatch/make_ready.h"
#include "sched/wake/io_backpressure.h"

static pthread_mutex_t change = PTHREAD_MUTEX_INITIALIZER; /* held while the thread starts or ends */
static _Atomic bool serving;
static _Atomic bool quits;
static unsigned holders;
static pthread_t thread;
static struct weft__poller poller = WEFT_POLLER_INIT;
static _Atomic uint64_t heard;
static void (*_Atomic on_watched)(void);

/* --- the thread ----------------------------------------------------------------------------------- */

static void set_mask(sigset_t *mask) {
    uint64_t set = load_rlx(&heard);
    sigfillset(mask);
    for (int i = 1; i <= 64; i++)
        if (set >> (i - 1) & 1) sigdelset(mask, i);
}

static void poll_thread_hand_on(const struct weft__report *reports, unsigned n) {
    struct weft__list won = {NULL, NULL};
    for (unsigned i = 0; i < n; i++) {
        if (reports[i].round)
            weft__readiness_fire(&reports[i], &won);
        else
            load_acq (&on_watched)(); /* pairs with weft__poll_thread_watch */
    }
    weft__make_all_ready(&won);
}

/* A worker fetches in place of the thread (sched/wake/io_backpressure.c). Reports of the watched descriptor are left to
 * the thread. */
static _Atomic bool fetching;
static bool fetch_events(void) {
    enum { FETCHED = 128 }; /* on the carrier's stack */
    struct weft__report reports[FETCHED];
    struct weft__list won = {NULL, NULL};
    bool none = false, watched = false;
    if (!cas_sc(&fetching, &none, true)) return false;
    unsigned n = load_sc(&serving) ? weft__poller_fetch(&poller, reports, FETCHED) : 0; /* pairs with end_if_idle */
    for (unsigned i = 0; i < n; i++) {
        if (reports[i].round)
            weft__readiness_fire(&reports[i], &won);
        else
            watched = true;
    }
    store_rel(&fetching, false); /* pairs with end_if_idle */
    if (watched) weft__poll_duty_notify();
    if (!won.first) return false;
    weft__make_all_ready(&won);
    return true;
}

/* A worker sleeps in place of the thread. */
static _Atomic bool dozing;
static int begin_doze(void) {
    bool none = false;
    if (!cas_sc(&dozing, &none, true)) return -1; /* an earlier worker is just leaving */
    if (load_sc(&serving)) return poller.doze_fd; /* pairs with end_if_idle */
    store_rel(&dozing, false);
    return -1;
}
static bool poll_thread_doze(uint64_t deadline) { return weft__poller_doze(&poller, deadline); }
static void end_doze(void) { store_rel(&dozing, false); /* pairs with end_if_idle */ }

/* Only the thread handles signals and its own end. The end of the poller ends a doze. */
static bool has_duties(void) { return load_rlx(&heard) || load_acq(&quits); /* pairs with give_duty */ }

/* Notifies the thread of a change that it must handle. */
static void give_duty(void) {
    fence_sc(); /* pairs with weft__poll_duty_hold_back: the thread sees the change, or this thread sees that it holds
                   back */
    weft__poll_duty_notify();
    weft__poller_wake(&poller);
}

static const struct weft__poll_duty in_stead = {fetch_events, begin_doze, poll_thread_doze, end_doze, has_duties};

enum { WEFT_AT_ONCE = 64, WEFT_HELD_BACK = 500 * 1000 /* ns, while all workers are busy */ };

static void *poll_thread_serve(void *unused) {
    struct weft__report reports[WEFT_AT_ONCE];
    while (!load_acq(&quits)) { /* pairs with end_if_idle */
        sigset_t mask;
        set_mask(&mask);
        unsigned n = weft__poller_wait(&poller, reports, WEFT_AT_ONCE, &mask);
        poll_thread_hand_on(reports, n);
        if (n && n < WEFT_AT_ONCE) weft__poll_duty_hold_back(&in_stead, WEFT_HELD_BACK);
    }
    return unused;
}

/* --- start and end: locked ------------------------------------------------------------------------ */

static int poll_thread_start(void) {
    if (load_rlx(&serving)) return 0;
    int err = weft__poller_open(&poller);
    if (err) return err;
    store_rlx(&quits, false);
    weft__readiness_reset();
    if ((err = weft__thread_create_masked(&thread, poll_thread_serve, NULL)))
        weft__poller_close(&poller);
    else
        store_rel(&serving, true); /* pairs with weft__poll_thread_hold */
    return err;
}

/* Ends the thread if it is not needed. If a runtime starts at the same time, its fibers see that the thread has ended,
 * or the thread sees the runtime. */
static void end_if_idle(void) {
    if (!load_rlx(&serving) || holders) return;
    store_rlx(&serving, false);
    fence_sc(); /* pairs with the fences of a spawn, after the start of the runtime */
    if (load_acq(&weft__cluster.running)) {
        store_rel(&serving, true);
        return;
    }
    store_rel(&quits, true);
    give_duty();
    weft__eventfd_notify(poller.doze_fd);
    pthread_join(thread, NULL);
    for (unsigned turn = 0; load_sc(&fetching) || load_sc(&dozing);)
        weft__backoff(&turn); /* pairs with fetch_events, begin_doze and end_doze */
    weft__poller_close(&poller);
}

/* --- for waiters ---------------------------------------------------------------------------------- */

static bool is_fiber(const struct weft__fiber *me) { return me && load_rlx(&me->context.kind) == WEFT_KIND_FIBER; }

int weft__poll_thread_hold(const struct weft__fiber *me) {
    if (is_fiber(me) && likely(load_acq(&serving))) return 0; /* pairs with poll_thread_start */
    pthread_mutex_lock(&change);
    int err = poll_thread_start();
    if (!err && !is_fiber(me)) holders++;
    pthread_mutex_unlock(&change);
    return err;
}

void weft__poll_thread_release(const struct weft__fiber *me) {
    if (is_fiber(me)) return;
    pthread_mutex_lock(&change);
    holders--;
    end_if_idle();
    pthread_mutex_unlock(&change);
}

int weft__poll_thread_arm(int fd, uint32_t events, uint32_t round) {
    return weft__poller_arm(&poller, fd, events, round);
}

int weft__poll_thread_add_edge(int fd, uint32_t round) { return weft__poller_edge(&poller, fd, round, true); }
int weft__poll_thread_check_edge(int fd, uint32_t round) { return weft__poller_edge(&poller, fd, round, false); }

int weft__poll_thread_watch(int fd, void (*fn)(void)) {
    store_rel(&on_watched, fn); /* pairs with poll_thread_hand_on */
    return weft__poller_watch(&poller, fd);
}

void weft__poll_thread_set_signals(uint64_t signals) {
    store_rlx(&heard, signals);
    give_duty();
}

/* --- the runtime stops, or the process is a forked child ------------------------------------------- */

static void poll_thread_stopped(void) {
    pthread_mutex_lock(&change);
    end_if_idle();
    pthread_mutex_unlock(&change);
}

/* The thread, and the files behind our copies of its descriptors, belong to the parent. */
static void poll_thread_after_fork(void) {
    pthread_mutex_init(&change, NULL);
    weft__poller_close(&poller); /* also if the parent was just opening it */
    store_rlx(&serving, false);
    store_rlx(&fetching, false);
    store_rlx(&dozing, false);
    store_rlx(&weft__poll_duty_state, WEFT_POLL_DUTY_SERVED);
    store_rlx(&heard, 0);
    holders = 0;
    weft__readiness_after_fork();
}

static struct weft__layer layer = {poll_thread_stopped, poll_thread_after_fork, NULL};
__attribute__((constructor)) static void register_poll_thread(void) { weft__layer_add(&layer); }
