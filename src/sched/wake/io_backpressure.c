/* SPDX-License-Identifier: MIT */
/*
 * Decides which thread asks the poller for ready descriptors: the poll thread (io/poll_thread.c) or a worker.
 *
 * The poll thread competes with the workers for processors. Each report that it fetches while all workers are busy
 * costs two switches between threads, and no worker is free to run the fibers that it makes ready. So the poll thread
 * holds back while all workers are busy, and the workers ask the poller themselves: a worker that runs dry asks, a busy
 * worker asks now and then, and a worker that has nothing to do sleeps in the poller. So the poll thread never runs
 * while a server is busy, nor beside a single worker that sleeps between two requests.
 *
 * The states of weft__poll_duty_state:
 *
 *   SERVED    the thread is on duty: it sleeps in the poller, or makes fibers ready for the poller's reports
 *   HELD      the thread holds back, and the workers are on duty
 *   DOZED     the thread holds back, and a worker sleeps in the poller
 *   AWAITED   the thread holds back for a limited time, and wants to be notified when a worker has nothing to do. It
 *             chooses this state when it has other duties than descriptors, such as signals
 *
 *   the thread                                  a worker that goes to sleep
 *   1. state = HELD                             1. becomes a sleeper, counted in idle.state
 *   -- fence --                                 -- fence --
 *   2. if a worker sleeps: state = SERVED, and  2. by the state:
 *      it polls again. Otherwise, if it has        HELD: state = DOZED, and the worker sleeps in the poller
 *      other duties: state = AWAITED               AWAITED, or HELD and the worker must sleep elsewhere: notifies the
 *   3. sleeps until it is notified                    thread
 *                                                  DOZED or SERVED: sleeps elsewhere
 *                                               3. after its sleep: if other workers sleep, notifies the thread;
 *                                                  otherwise DOZED becomes HELD again
 *
 * Either the thread sees the sleeper in its step 2, or the sleeper sees HELD in its step 2. The thread is also notified
 * by the monitor, when no worker has asked the poller since the last tick because a fiber computes; by a worker that
 * retires; and by the end of a cluster.
 */
#include "sched/wake/io_backpressure.h"
#include "base/sys.h"
#include "sched/wake/idle.h"

#define WEFT_POLL_DUTY_ASKED_EVERY (100 * WEFT_MICROSECOND) /* how often busy workers ask the poller */
#define WEFT_POLL_DUTY_PATIENCE (1 * WEFT_MILLISECOND)      /* added if the queue is long; less than a tick */

_Atomic uint32_t weft__poll_duty_state;
static _Atomic(const struct weft__poll_duty *) stead;
static _Atomic bool asked; /* has a worker asked the poller since the last tick of the monitor? */
static _Atomic uint64_t next_ask;

WEFT_COLD bool weft__poll_duty_is_used(void) { return load_rlx(&stead) != NULL; }

WEFT_COLD void weft__poll_duty_notify(void) {
    if (xchg_ar(&weft__poll_duty_state, WEFT_POLL_DUTY_SERVED))
        weft__futex_wake(&weft__poll_duty_state, 1); /* pairs with weft__poll_duty_hold_back */
}

static bool poller_ask(void) {
    const struct weft__poll_duty *by = load_acq(&stead); /* pairs with weft__poll_duty_hold_back */
    store_rlx(&asked, true);
    return by && by->fetch();
}

WEFT_COLD bool weft__poll_duty_fetch(void) {
    if (load_rlx(&weft__poll_duty_state) == WEFT_POLL_DUTY_DOZED) return false;
    if (poller_ask()) return true;
    if (load_rlx(&weft__poll_duty_state) == WEFT_POLL_DUTY_AWAITED) weft__poll_duty_notify();
    return false;
}

/*
 * A worker with a long queue asks more rarely. The fibers of the reports would wait behind the queue anyway, and the
 * kernel would load the sockets into the cache twice: when it reports them, and when their fibers run. (Echo, 10,000
 * connections: 9.2 -> 8.8 us of the server.)
 */
static bool has_plenty(struct weft__worker *w) {
    enum { PLENTY = 32 };
    return weft__ready_length(&w->ready) >= PLENTY;
}

WEFT_COLD void weft__poll_duty_look(struct weft__worker *w, uint64_t now) {
    uint64_t next = load_rlx(&next_ask);
    if (load_rlx(&weft__poll_duty_state) != WEFT_POLL_DUTY_HELD || now < next) return;
    if (has_plenty(w) && now < next + WEFT_POLL_DUTY_PATIENCE) return;
    store_rlx(&next_ask, now + WEFT_POLL_DUTY_ASKED_EVERY);
    poller_ask();
}

void weft__poll_duty_tick(void) {
    if (load_rlx(&weft__poll_duty_state) != WEFT_POLL_DUTY_HELD) return;
    if (!load_rlx(&asked)) weft__poll_duty_notify();
    store_rlx(&asked, false);
}

/* --- sleeping in the poller ---------------------------------------------------------------------------------- */

WEFT_COLD bool weft__poll_duty_take(struct weft__worker *w) {
    uint32_t is = load_rlx(&weft__poll_duty_state);
    if (is == WEFT_POLL_DUTY_SERVED || is == WEFT_POLL_DUTY_DOZED) return false;
    if (is == WEFT_POLL_DUTY_HELD && !weft__uring_is_in_use(&w->ring) &&
        cas_ar(&weft__poll_duty_state, &is, WEFT_POLL_DUTY_DOZED))
        return true; /* pairs with weft__poll_duty_hold_back: the poller is open */
    if (is != WEFT_POLL_DUTY_DOZED) weft__poll_duty_notify();
    return false;
}

WEFT_COLD void weft__poll_duty_leave(struct weft__worker *w) {
    uint32_t is = WEFT_POLL_DUTY_DOZED;
    if (load_rlx(&w->cluster->idle.state) & WEFT_IDLE_SLEEPERS)
        weft__poll_duty_notify();
    else
        cas_ar(&weft__poll_duty_state, &is,
               WEFT_POLL_DUTY_HELD); /* pairs with weft__poll_duty_take; fails if it is SERVED by now */
}

WEFT_COLD bool weft__poll_duty_sleep(struct weft__worker *w, uint64_t deadline) {
    const struct weft__poll_duty *by = load_acq(&stead); /* pairs with weft__poll_duty_hold_back */
    int event_fd = by->begin();
    if (event_fd < 0) {
        weft__driver_cancel_sleep(&w->driver);
        return true;
    }
    bool woken = weft__driver_doze(&w->driver, event_fd, by->doze, deadline);
    by->end();
    return woken;
}

/* --- the thread ------------------------------------------------------------------------------------------------ */

/* For each cluster. False, which ends the loop: a worker of it sleeps. A searching worker counts as busy: it will run a
 * fiber, or sleep. */
static bool is_busy(struct weft__cluster *c, void *busy) {
    if (load_acq(&c->idle.state) & WEFT_IDLE_SLEEPERS) return false;
    *(bool *)busy = true;
    return true;
}

static void hold_back(const struct weft__poll_duty *by, uint64_t most) {
    uint32_t held = WEFT_POLL_DUTY_HELD;
    if (!by->has_duties()) {
        while ((held = load_acq(&weft__poll_duty_state))) weft__futex_wait(&weft__poll_duty_state, held, WEFT_FOREVER);
        return; /* pairs with weft__poll_duty_notify */
    }
    if (cas_ar(&weft__poll_duty_state, &held,
               WEFT_POLL_DUTY_AWAITED)) /* else a worker sleeps in the poller, or has notified */
        weft__futex_wait(&weft__poll_duty_state, WEFT_POLL_DUTY_AWAITED, weft__clock() + most);
}

void weft__poll_duty_hold_back(const struct weft__poll_duty *by, uint64_t most) {
    bool busy = false;
    store_rel(&stead, by);                                  /* pairs with poller_ask and weft__poll_duty_sleep */
    store_rel(&weft__poll_duty_state, WEFT_POLL_DUTY_HELD); /* pairs with weft__poll_duty_take */
    fence_sc(); /* pairs with the fence of a sleeper, and with that of a thread that gives the poll thread a duty */
    if (weft__each_cluster(is_busy, &busy) && busy) hold_back(by, most);
    store_rlx(&weft__poll_duty_state, WEFT_POLL_DUTY_SERVED);
}
