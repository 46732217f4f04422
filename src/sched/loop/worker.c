/* SPDX-License-Identifier: MIT */
/*
 * The carrier: a kernel thread that drives a worker. Its loop, on its own stack:
 *
 *     1. find a fiber
 *     2. enter it. Fibers then switch to each other directly, and come back here only when the worker runs dry, or
 *        when it is time to poll for timers, mail, the injector and the ring
 */
#define _GNU_SOURCE
#include "arch/thread_pointer.h"
#include "base/assert.h"
#include "base/probe.h"
#include "sched/dispatch/delay.h"
#include "sched/dispatch/dispatch.h"
#include "sched/life/stack_overflow.h"
#include "sched/life/stack_shortage.h"
#include "sched/loop/loop.h"
#include "sched/place/placement.h"
#include "sched/record/record.h"
#include "sched/rings/rings.h"
#include "sched/tasks/tasks.h"
#include "sched/wake/helpers.h"

#include <unistd.h>

#define WEFT_SPARE_SLICE (300 * WEFT_MICROSECOND)

/* libstdc++'s record of the exceptions that this thread handles. Programs without C++ do not have it. */
struct weft__exceptions *__cxa_get_globals(void) __attribute__((weak));

static struct weft__exceptions *thread_exceptions(void) {
    static _Thread_local struct weft__exceptions none;
    return __cxa_get_globals ? __cxa_get_globals() : &none;
}

/* Prepares f so that this carrier can enter it. False: f's last carrier still uses f's stack, and f is back in the
 * queue; or there is no free stack, and f waits for one. */
static bool try_enter(struct weft__worker *w, struct weft__fiber *f, unsigned *turn) {
    if (likely(weft__prepare(w, f))) return true;
    if (load_rlx(&f->context.on_stack) == WEFT_FRESH) return weft__fiber_try_begin(w, f);
    weft__push(w, f);
    weft__backoff(turn);
    return false;
}

/* For a fiber that weft__next has not returned: weft__next records the fibers that it returns. */
static struct weft__fiber *record_dispatch(struct weft__worker *w, struct weft__fiber *f) {
    if (f && unlikely(weft__is_recorded(w))) weft__record_run(w, f, false);
    return f;
}

static struct weft__fiber *find_quickly(struct weft__worker *w) {
    struct weft__fiber *f = w->home.handed;
    w->home.handed = NULL;
    if (f) return f;
    if (w->pace.until_poll <= 0) weft__poll(w, weft__clock());
    f = weft__next(w);
    return f || likely(!load_rlx(&w->cluster->tasks.suspended)) ? f : record_dispatch(w, weft__tasks_steal_here(w));
}

static void now_idle(struct weft__worker *w) {
    uint64_t since = load_rlx(&w->progress.busy_since);
    if (!since) return;
    w->search.idle_since = weft__clock();
    weft__burden_dry(w, w->search.idle_since - since);
    count_add(&w->numbers.busy_ns, w->search.idle_since - since);
    store_rlx(&w->progress.busy_since, 0);
}

static void now_busy(struct weft__worker *w) {
    if (load_rlx(&w->progress.busy_since)) return; /* the worker came home only to poll */
    weft__idle_end(w);
    uint64_t now = weft__clock();
    store_rlx(&w->progress.polled_at, now);
    store_rlx(&w->progress.busy_since, now);
    weft__burden_busy(w);
    w->search.idle_since = 0;
    w->search.tick = 0;
    weft__fence_light(); /* pairs with the fence of the monitor before it rests */
    if (unlikely(load_rlx(&weft__monitor_rests))) weft__monitor_wake();
}

/* The queue is empty: looks everywhere else. */
static struct weft__fiber *find_slowly(struct weft__worker *w, bool once) {
    now_idle(w);
    if (weft__idle_start_searching(w)) return record_dispatch(w, weft__search(w, once));
    weft__poll(w, weft__clock());
    return weft__next(w);
}

/*
 * Spares compete with hogs for processors. If spares have short slices, the kernel switches between them often. So a
 * spare that runs quick fibers waits less, and a spare that runs the next hog delays the others less.
 */
static void set_slice(struct weft__worker *w) {
    bool is_spare = w->index >= load_rlx(&w->cluster->configured);
    if (is_spare == w->carrier.has_short_slices) return;
    w->carrier.has_short_slices = is_spare;
    weft__thread_set_slice(is_spare ? WEFT_SPARE_SLICE : 0);
}

/* The worker is no longer wanted. If nothing is left that only this worker can do, it sleeps until that changes. */
static void retire_worker(struct weft__worker *w) {
    weft__poll(w, weft__clock());
    if (weft__aside_count(w) || load_rlx(&w->cluster->stopping)) return;
    now_idle(w);
    weft__idle_retire(w);
    set_slice(w);
    fence_sc(); /* pairs with try_alone: a worker that does not share its queue sees that we are back */
}

/* A function of a library above, which is called before a worker sleeps: src/dist asks other ranks for work. */
static int (*_Atomic before_sleep)(int);

WEFT_PUBLIC void weft__before_sleep(int (*fn)(int)) { store_rel(&before_sleep, fn); }

/* Calls that function. True: it has made a fiber ready. */
static bool work_from_above(struct weft__worker *w) {
    int (*fn)(int) = load_acq(&before_sleep); /* pairs with weft__before_sleep */
    return unlikely(fn != NULL) && fn(weft__takes_calls(w));
}

/* If another rank may have work, a worker without neighbours searches only once, and so asks that rank sooner. */
static bool searches_once(struct weft__worker *w) {
    return unlikely(load_rlx(&before_sleep) != NULL) && load_rlx(&w->cluster->wanted) == 1;
}

/* May the carrier, which has found no fiber, end? Not with a fiber in its own queue. weft__next may leave a fiber there
 * that has become ready in the last search: the fiber is the timed fiber, or the monitor has summoned the worker. */
static bool may_end(struct weft__worker *w) { return load_rlx(&w->cluster->stopping) && !weft__has_ready(w); }

/* The next fiber to enter; NULL: the runtime stops. */
static struct weft__fiber *carrier_find(struct weft__worker *w) {
    bool woken = true;
    unsigned turn = 0;
    for (;;) {
        while (unlikely(!weft__is_wanted(w)) && !w->home.handed && !weft__aside_count(w) &&
               !load_rlx(&w->cluster->stopping))
            retire_worker(w);
        if (unlikely(load_rlx(&weft__stack_is_scarce))) weft__starved_help(w);
        unsigned rate = load_rlx(&w->cluster->overload_rate);
        if (unlikely(rate)) weft__overload_rest(w, rate);
        struct weft__fiber *f = find_quickly(w);
        if (!f && unlikely(!weft__is_wanted(w)) && !load_rlx(&w->cluster->stopping)) continue;
        if (!f) f = find_slowly(w, !woken || searches_once(w));
        if (f && (weft__reserve_leaves(w, f) || !try_enter(w, f, &turn))) continue;
        if (f || may_end(w)) {
            now_busy(w);
            return f;
        }
        woken = work_from_above(w) || weft__idle_sleep(w);
    }
}

static void carrier_enter(struct weft__worker *w, struct weft__fiber *f) {
    WEFT_ASSERT(f->stack != NULL);
    WEFT_ASSERT(load_rlx(&f->context.on_stack) == WEFT_STOOD_ON);
    WEFT_ASSERT(!w->search.is_searcher);
    store_rel(&w->current, f); /* pairs with weft__sharing_end_by_force */
    count_add(&w->numbers.switches, 1);
    san_leave(&w->home.san, &f->stack->san, false);
    weft__switch(&w->home.context, &f->context, w);
    san_enter(&w->home.san, &w->home.san);
}

void *weft__carrier_main(void *worker) {
    struct weft__worker *w = worker;
    struct weft__signal_stack signal_stack;
    weft__tls = w;
    san_carrier(&w->home.san);
    w->carrier.exceptions = w->carrier.own_exceptions = thread_exceptions();
    w->carrier.thread_pointer = weft__thread_pointer();
    weft__signal_stack_begin(&signal_stack);
    store_rlx(&w->carrier.tid, gettid());
    weft__probe1(worker_begin, w->index);
    weft__carrier_bind(w);
    set_slice(w);
    w->pace.until_poll = w->pace.poll_from = WEFT_POLL_EVERY;
    if (w->cluster->helping) weft__age_begin(w);
    fence_sc(); /* pairs with try_alone */
    for (struct weft__fiber *f; (f = carrier_find(w));) carrier_enter(w, f);
    weft__probe1(worker_end, w->index);
    weft__ring_worker_ends(w);
    weft__tasks_flush(w, true);
    weft__slab_flush(&weft__fibers, &w->cache.records);
    weft__stack_flush(w->cache.stacks, 0);
    weft__signal_stack_end(&signal_stack);
    weft__tls = NULL;
    return NULL;
}
