/*
 * See service.h. Who needs it: the runtime, as long as it runs, and each holder. Whether it is still
 * needed is asked under a mutex, by the last holder and by the stop of the runtime.
 */
#define _GNU_SOURCE
#include "io/service.h"

#include "io/readiness.h"
#include "sched/dry.h"

static pthread_mutex_t change = PTHREAD_MUTEX_INITIALIZER; /* held while it starts or ends */
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

static void hand_on(const struct weft__report *reports, unsigned n) {
    struct weft__list won = {NULL, NULL};
    for (unsigned i = 0; i < n; i++) {
        if (reports[i].round)
            weft__readiness_fire(&reports[i], &won);
        else
            load_acq (&on_watched)(); /* pairs with watch */
    }
    weft__make_all_ready(&won);
}

/* A worker fetches in the thread's stead (sched/dry.c). What is watched always is left to the thread. */
static _Atomic bool fetching;
static bool fetch(void) {
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
    if (watched) weft__dry_tell();
    if (!won.first) return false;
    weft__make_all_ready(&won);
    return true;
}

/* And sleeps in its stead. */
static _Atomic bool dozing;
static int begin_doze(void) {
    bool none = false;
    if (!cas_sc(&dozing, &none, true)) return -1; /* of an earlier post; it is just being left */
    if (load_sc(&serving)) return poller.post;    /* pairs with end_if_idle */
    store_rel(&dozing, false);
    return -1;
}
static bool doze(uint64_t deadline) { return weft__poller_doze(&poller, deadline); }
static void end_doze(void) { store_rel(&dozing, false); /* pairs with end_if_idle */ }

/* Signals come to the thread alone. Its end, too; not that of the poller, which ends a doze. */
static bool has_duties(void) { return load_rlx(&heard) || load_acq(&quits); /* pairs with give_duty */ }

/* The thread must look at something that was changed just now. */
static void give_duty(void) {
    fence_sc(); /* pairs with weft__dry_await: the thread sees the change, or we see that it holds back */
    weft__dry_tell();
    weft__poller_ring(&poller);
}

static const struct weft__dry in_stead = {fetch, begin_doze, doze, end_doze, has_duties};

enum { WEFT_AT_ONCE = 64, WEFT_HELD_BACK = 500 * 1000 /* ns, while all workers are busy */ };

static void *serve(void *unused) {
    struct weft__report reports[WEFT_AT_ONCE];
    while (!load_acq(&quits)) { /* pairs with end */
        sigset_t mask;
        set_mask(&mask);
        unsigned n = weft__poller_wait(&poller, reports, WEFT_AT_ONCE, &mask);
        hand_on(reports, n);
        if (n && n < WEFT_AT_ONCE) weft__dry_await(&in_stead, WEFT_HELD_BACK);
    }
    return unused;
}

/* --- start and end: locked ------------------------------------------------------------------------ */

static int start(void) {
    if (load_rlx(&serving)) return 0;
    int err = weft__poller_open(&poller);
    if (err) return err;
    store_rlx(&quits, false);
    if ((err = weft__thread_create_deaf(&thread, serve, NULL)))
        weft__poller_close(&poller);
    else
        store_rel(&serving, true); /* pairs with hold */
    return err;
}

/* A runtime may start meanwhile: its fibers see that nobody serves, or we see that it runs. */
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
    weft__eventfd_ring(poller.post);
    pthread_join(thread, NULL);
    for (unsigned turn = 0; load_sc(&fetching) || load_sc(&dozing);) weft__backoff(&turn); /* pairs with both */
    weft__poller_close(&poller);
}

/* --- for those who wait --------------------------------------------------------------------------- */

static bool is_fiber(const struct weft__fiber *me) { return me && load_rlx(&me->context.kind) == WEFT_KIND_FIBER; }

int weft__service_hold(const struct weft__fiber *me) {
    if (is_fiber(me) && likely(load_acq(&serving))) return 0; /* pairs with start: the poller is open */
    pthread_mutex_lock(&change);
    int err = start();
    if (!err && !is_fiber(me)) holders++;
    pthread_mutex_unlock(&change);
    return err;
}

void weft__service_release(const struct weft__fiber *me) {
    if (is_fiber(me)) return;
    pthread_mutex_lock(&change);
    holders--;
    end_if_idle();
    pthread_mutex_unlock(&change);
}

int weft__service_arm(int fd, uint32_t events, uint32_t round) { return weft__poller_arm(&poller, fd, events, round); }

int weft__service_watch(int fd, void (*fn)(void)) {
    store_rel(&on_watched, fn); /* pairs with hand_on */
    return weft__poller_watch(&poller, fd);
}

void weft__service_hear(uint64_t signals) {
    store_rlx(&heard, signals);
    give_duty();
}

/* --- the runtime stops, or the process is a forked child ------------------------------------------- */

static void stopped(void) {
    pthread_mutex_lock(&change);
    end_if_idle();
    pthread_mutex_unlock(&change);
}

/* The thread is the parent's, and so is what our copies of its descriptors stand for. */
static void forked(void) {
    pthread_mutex_init(&change, NULL);
    weft__poller_close(&poller); /* also one that the parent was just about to open */
    store_rlx(&serving, false);
    store_rlx(&fetching, false);
    store_rlx(&dozing, false);
    store_rlx(&weft__dry_awaited, WEFT_DRY_SERVED);
    store_rlx(&heard, 0);
    holders = 0;
    weft__readiness_forked();
}

static struct weft__layer layer = {stopped, forked, NULL};
__attribute__((constructor)) static void add(void) { weft__layer_add(&layer); }
