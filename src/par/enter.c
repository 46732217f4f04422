/* SPDX-License-Identifier: MIT */
/*
 * Entering a loop from a thread: a new fiber runs the loop, and the thread waits for that fiber. The request is on the
 * thread's stack, so the wait must not fail: all resources are acquired before, and a shield keeps a cancellation of
 * the thread's scope away. The fiber is cancelled instead.
 *
 * This file also makes fibers that work for another fiber, and lets a loop yield. A loop keeps its worker for WEFT_TURN
 * or one piece at a time.
 */
#include "par/par.h"

#include "sched/life/spawn.h"
#include "sched/life/stack_shortage.h"
#include "sched/tasks/tasks.h"
#include "sched/wait/cancel.h"

#define WEFT_TURN (20 * WEFT_MICROSECOND)

struct request {
    int (*fn)(void *);
    void *arg;
    struct weft__scope *scope;
    int result;
};

static void enter_call(void *p) {
    struct request *r = p;
    r->result = r->fn(r->arg);
}

static void *run_request(void *p) {
    struct request *r = p;
    weft__par_run_in_scope(r->scope, enter_call, r);
    return NULL;
}

WEFT_CALLS int weft__par_enter(int (*fn)(void *), void *arg, const char *name) {
    if (likely(weft__par_is_in_fiber())) {
        weft__exit_must_look(load_rlx(&weft__self()->current));
        WEFT_BARRIER(barrier, name); /* for functions without their own barrier: comparisons, combinations */
        int result = fn(arg);
        barrier = NULL;
        return likely(!result) ? 0 : weft__refused_if_cancelled(load_rlx(&weft__self()->current), result);
    }
    struct request r = {fn, arg, weft__scope_here(), 0};
    struct weft_fiber fiber;
    struct weft_shield shield;
    int err = weft_shield_begin(&shield);
    if (err) return err;
    err = weft_spawn_at(&fiber, NULL, run_request, &r, name);
    if (!err) err = weft_join(fiber, NULL);
    weft_shield_end(&shield);
    return err ? err : r.result;
}

int weft__par_create_fiber(struct weft__fiber **fiber, void *(*fn)(void *), void *arg, const char *name) {
    struct weft__worker *w = weft__self();
    struct weft__fiber *me = load_rlx(&w->current);
    if (unlikely(load_rlx(&weft__stack_is_scarce)) && weft__spawn_scarce(w, me->context.stack_class)) return -EAGAIN;
    struct weft__fiber *f = weft__fiber_get(w);
    if (unlikely(!f)) return -ENOMEM;
    uint32_t placement = load_rlx(&w->cluster->fibers) | (load_rlx(&me->context.placement) & WEFT_PLACEMENT_PRIORITY);
    weft__fiber_init(f, fn, arg, name, me->context.stack_class, placement, WEFT_JOIN_DETACHED);
    count_add(&w->numbers.spawned, 1);
    *fiber = f;
    return 0;
}

WEFT_CALLS void weft__par_run_in_scope(struct weft__scope *scope, void (*fn)(void *), void *arg) {
    struct weft__region member;
    struct weft__fiber *me = load_rlx(&weft__self()->current);
    weft__exit_must_look(me);
    if (scope) weft__scope_inherit(&member, me, scope);
    fn(arg);
    fence_compiler(); /* no tail call: weft_fiber_exit looks for this frame */
    if (scope) weft__scope_disinherit(&member, me);
}

WEFT_COLD void weft__par_yield_slow(struct weft__worker *w) {
    if (weft__clock() < w->pace.next_loop_turn) return;
    struct weft__link *parents = weft__parents_take(w);
    weft_yield();
    w = weft__self();
    w->pace.next_loop_turn = weft__clock() + WEFT_TURN;
    weft__parents_put(w, parents);
}
