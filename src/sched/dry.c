/*
 * Which thread asks for descriptors that have become ready. A thread of its own (io/service.c) competes with the
 * workers for processors: each report that it fetches while they are all busy costs two switches between threads, and
 * no worker is free to run what it brings. So the thread holds back while all workers are busy, and the workers ask
 * themselves: a worker that runs dry, a busy one now and then, and a worker that has nothing to do sleeps where the
 * thread would sleep. Then a server that is busy, and one worker that sleeps between two requests, never see the thread
 * at all.
 *
 * The word weft__dry_awaited says how it is:
 *
 *   SERVED    the thread is on duty: it sleeps in the poller, or hands on what that has told
 *   HELD      the thread holds back, and the workers are on duty
 *   DOZED     the thread holds back, and a worker sleeps in the poller
 *   AWAITED   the thread holds back for a while, and wants to be told when a worker has nothing to do. So it is as long
 *             as the thread has other duties than descriptors: it takes signals
 *
 *   the thread                                  a worker that goes to sleep
 *   1. awaited = HELD                           1. is a sleeper: idle.state says so
 *   -- fence --                                 -- fence --
 *   2. does a worker sleep, or has              2. HELD: becomes DOZED, and the worker sleeps in the poller.
 *      the thread other duties? Then it goes       AWAITED, or the worker must sleep elsewhere: the worker tells the
 *      on, SERVED or AWAITED                       thread. DOZED or SERVED: the worker sleeps elsewhere
 *   3. sleeps until it is told                  3. woken: DOZED becomes HELD again; if others sleep, the worker
 *                                                tells the thread
 *
 * Either the thread sees the sleeper in its step 2, or the sleeper sees HELD in its step 2. The other ways to be told:
 * from the monitor, when no worker has asked since its last tick, because a fiber computes; from a worker that retires;
 * from the end of a cluster.
 */
#include "sched/dry.h"
#include "base/sys.h"
#include "sched/cluster.h"

#define WEFT_DRY_ASKED_EVERY (100 * WEFT_MICROSECOND) /* by workers that have plenty to do */

_Atomic uint32_t weft__dry_awaited;
static _Atomic(const struct weft__dry *) stead;
static _Atomic bool asked; /* a worker has, since the last tick of the monitor */
static _Atomic uint64_t next_ask;

WEFT_COLD void weft__dry_tell(void) {
    if (xchg_ar(&weft__dry_awaited, WEFT_DRY_SERVED)) weft__futex_wake(&weft__dry_awaited, 1); /* pairs with await */
}

static bool ask(void) {
    const struct weft__dry *by = load_acq(&stead); /* pairs with await */
    store_rlx(&asked, true);
    return by && by->fetch();
}

WEFT_COLD bool weft__dry_fetch(void) {
    if (load_rlx(&weft__dry_awaited) == WEFT_DRY_DOZED) return false;
    if (ask()) return true;
    if (load_rlx(&weft__dry_awaited) == WEFT_DRY_AWAITED) weft__dry_tell();
    return false;
}

WEFT_COLD void weft__dry_look(uint64_t now) {
    if (load_rlx(&weft__dry_awaited) != WEFT_DRY_HELD || now < load_rlx(&next_ask)) return;
    store_rlx(&next_ask, now + WEFT_DRY_ASKED_EVERY);
    ask();
}

void weft__dry_tick(void) {
    if (load_rlx(&weft__dry_awaited) != WEFT_DRY_HELD) return;
    if (!load_rlx(&asked)) weft__dry_tell();
    store_rlx(&asked, false);
}

/* --- sleeping in the poller ---------------------------------------------------------------------------------- */

WEFT_COLD bool weft__dry_take(struct weft__worker *w) {
    uint32_t is = load_rlx(&weft__dry_awaited);
    if (is == WEFT_DRY_SERVED || is == WEFT_DRY_DOZED) return false;
    if (is == WEFT_DRY_HELD && !weft__ring_in_use(&w->ring) && cas_ar(&weft__dry_awaited, &is, WEFT_DRY_DOZED))
        return true; /* pairs with await: the poller is open */
    if (is != WEFT_DRY_DOZED) weft__dry_tell();
    return false;
}

WEFT_COLD void weft__dry_leave(struct weft__worker *w) {
    uint32_t is = WEFT_DRY_DOZED;
    if (load_rlx(&w->cluster->idle.state) & WEFT_IDLE_SLEEPERS)
        weft__dry_tell();
    else
        cas_ar(&weft__dry_awaited, &is, WEFT_DRY_HELD); /* pairs with take; it may be SERVED meanwhile */
}

WEFT_COLD bool weft__dry_sleep(struct weft__worker *w, uint64_t deadline) {
    const struct weft__dry *by = load_acq(&stead); /* pairs with await */
    int bell = by->begin();
    if (bell < 0) {
        weft__driver_stay(&w->driver);
        return true;
    }
    bool woken = weft__driver_doze(&w->driver, bell, by->doze, deadline);
    by->end();
    return woken;
}

/* --- the thread ------------------------------------------------------------------------------------------------ */

/* False: it has a worker that sleeps. One that searches goes to sleep before it runs anything, or is busy. */
static bool is_busy(struct weft__cluster *c, void *busy) {
    if (load_acq(&c->idle.state) & WEFT_IDLE_SLEEPERS) return false;
    *(bool *)busy = true;
    return true;
}

static void hold_back(const struct weft__dry *by, uint64_t most) {
    uint32_t held = WEFT_DRY_HELD;
    if (!by->has_duties()) {
        while ((held = load_acq(&weft__dry_awaited))) weft__futex_wait(&weft__dry_awaited, held, WEFT_FOREVER);
        return; /* pairs with tell */
    }
    if (cas_ar(&weft__dry_awaited, &held, WEFT_DRY_AWAITED)) /* else a worker sleeps in the poller, or has told */
        weft__futex_wait(&weft__dry_awaited, WEFT_DRY_AWAITED, weft__clock() + most);
}

void weft__dry_await(const struct weft__dry *by, uint64_t most) {
    bool busy = false;
    store_rel(&stead, by);                        /* pairs with ask and sleep */
    store_rel(&weft__dry_awaited, WEFT_DRY_HELD); /* pairs with take */
    fence_sc(); /* pairs with the fence of a sleeper, and with the fence of a thread that gives it a duty */
    if (weft__each_cluster(is_busy, &busy) && busy) hold_back(by, most);
    store_rlx(&weft__dry_awaited, WEFT_DRY_SERVED);
}
