/*
 * Holding back until a worker runs dry. A thread that brings work in from outside (io/service.c) competes with the
 * workers for processors: each piece that it fetches while they are all busy costs two switches between threads, and
 * nobody is free to run it. So it waits until one of them has nothing to do; what has come meanwhile is fetched in one
 * go.
 *
 *   the thread                                  a worker that runs dry
 *   1. awaited = 1                              1. searches, and later is a sleeper: idle.state says so
 *   -- fence --                                 -- fence --
 *   2. does anybody search or sleep? Then on.   2. is it awaited? Wake the thread
 *   3. sleeps, for a while at most
 *
 * The last look at 2. is that of a worker that goes to sleep, behind the fence that it has there. While all workers
 * have plenty to do the bound is what brings the thread on.
 *
 * When a worker begins to search it first does itself what the thread would do: it fetches. If that brings something,
 * the thread is left alone, and there was no switch between threads at all.
 */
#include "base/sys.h"
#include "sched/cluster.h"

_Atomic uint32_t weft__dry_awaited;
static bool (*_Atomic fetch_in_stead)(void);

WEFT_COLD void weft__dry_tell(void) {
    if (xchg_ar(&weft__dry_awaited, 0)) weft__futex_wake(&weft__dry_awaited, 1); /* pairs with await */
}

WEFT_COLD bool weft__dry_fetch(void) {
    bool (*fetch)(void) = load_acq(&fetch_in_stead); /* pairs with await */
    if (fetch && fetch()) return true;
    weft__dry_tell();
    return false;
}

/* False: it has a worker with nothing to do. */
static bool is_busy(struct weft__cluster *c, void *busy) {
    if (load_acq(&c->idle.state) & (WEFT_IDLE_SLEEPERS | WEFT_IDLE_SEARCHERS)) return false;
    *(bool *)busy = true;
    return true;
}

void weft__dry_await(uint64_t most, bool (*fetch)(void)) {
    bool busy = false;
    store_rel(&fetch_in_stead, fetch); /* pairs with fetch */
    store_rlx(&weft__dry_awaited, 1);
    fence_sc(); /* pairs with the fence of a sleeper */
    if (weft__each_cluster(is_busy, &busy) && busy) weft__futex_wait(&weft__dry_awaited, 1, weft__clock() + most);
    store_rlx(&weft__dry_awaited, 0);
}
