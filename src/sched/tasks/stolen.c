/* SPDX-License-Identifier: MIT */
/*
 * Stolen calls, and joins that wait for them.
 *
 * A thief takes one call and makes a fiber for it, with a stack of the victim's size and a deque of its own. It obtains
 * all of these before it takes the call, so a call that was taken will run.
 *
 *   the thief's fiber                               the owner's join, when it cannot pop the call
 *   1. state: FREE -> TAKEN, or finds `by`.         1. begins a wait
 *      If it finds SELF there is nothing to run     2. state: FREE or TAKEN -> by. If it finds DONE it goes to 4
 *   2. runs the call; the result is in the call     3. parks
 *   3. swaps DONE into the state. If it was `by`,   4. state = FREE: the slot can be used again
 *      wakes that fiber
 *
 * A join that waits runs no other call on its stack. Otherwise it could run, on top of its own frame, a call that waits
 * for the joining fiber, and neither would ever end. Instead its worker runs other fibers, or steals.
 */
#include "sched/life/spawn.h"
#include "sched/life/stack_shortage.h"
#include "sched/record/record.h"
#include "sched/tasks/deques.h"
#include "sched/wait/block.h"
#include "sched/wait/cancel.h"
#include "sched/wake/seen.h"

#define WEFT_JOIN_PATIENCE (20 * WEFT_MICROSECOND)
#define WEFT_JOIN_LOOKS 16
#define WEFT_CALLS_UNMOVED (200 * WEFT_MICROSECOND)

/* For how long has no public call been added to this deque or taken from it, as far as w has seen? */
static uint64_t calls_unmoved(struct weft__worker *w, struct weft__worker *other, uint64_t public, uint64_t now) {
    if (!weft__seen_make_room(w, other->index)) return UINT64_MAX;
    struct weft__queue_seen *seen = &w->seen.queue[other->index];
    if (!seen->public_at || seen->public != public) {
        seen->public = public;
        seen->public_at = now;
    }
    return now - seen->public_at;
}

/* The call has run: lets its owner go on, and use the slot again. */
void weft__call_finish(struct weft_call *c) {
    uint64_t was = xchg_ar(weft__call_state(c), WEFT_CALL_DONE); /* pairs with weft__tasks_await, and the next use */
    struct weft__fiber *joiner = was > WEFT_CALL_SELF ? weft__join_win(was) : NULL;
    if (joiner) weft__make_ready(joiner);
}

/* False: the owner has run the call itself. */
bool weft__call_begin(struct weft_call *c) {
    uint64_t state = WEFT_CALL_FREE;
    if (cas_ar(weft__call_state(c), &state, WEFT_CALL_TAKEN)) return true; /* pairs with a join out of order */
    return state != WEFT_CALL_SELF && c->run; /* without `run` there is nothing to run; the owner waits for our DONE */
}

WEFT_CALLS void weft__generic_run(struct weft_deque *d, struct weft_call *c) {
    (void)d;
    weft__generic_call(c);
}

/* A typed call has a pointer to the deque, so its fiber must keep the deque until it returns (`entered`). The fiber of
 * a generic call may give the deque back to the worker earlier. */
static void task_run(struct weft__deque *d, struct weft_call *c) {
    bool typed = c->run != weft__generic_run;
    if (!typed) weft__exit_must_look(d->owner);
    d->entered = typed;
    c->run(&d->in, c);
    if (typed) d->entered = 0;
}

void *weft__stolen_run(void *deque) {
    struct weft__deque *d = deque;
    struct weft__worker *w = weft__self();
    struct weft_call *c = d->stolen;
    struct weft__scope *scope = d->around;
    struct weft__fiber *me = d->owner;
    struct weft__region member;
    if (scope) weft__scope_inherit(&member, me, scope);
    store_rel(&w->calls.deque, d); /* pairs with thieves */
    if (weft__call_begin(c)) task_run(d, c);
    if (scope) weft__scope_disinherit(&member, me);
    weft__worth_ran(weft__self(), me);
    weft__call_finish(c);
    return NULL;
}

/* Takes a stack without a guard of its own only if there is no other. */
static struct weft__stack *get_stack(struct weft__worker *w, unsigned class) {
    struct weft__stack *s = weft__stack_get(w->cache.stacks, class);
    return likely(s != NULL) || load_rlx(&weft__stack_is_scarce) ? s : weft__stack_get_any(w->cache.stacks, class);
}

/* Steals a call from the deque and makes a fiber for it. NULL: there is no call to steal, or no memory. now: the time
 * of the steal, which is judged later (steal_worth.c); 0: it is not judged. */
static struct weft__fiber *steal_into_fiber(struct weft__worker *w, struct weft__deque *victim, uint64_t now) {
    if (!victim->variant->ready(victim) || !weft__tasks_have_deque(w)) return NULL;
    unsigned class = w->cluster->stack_class;
    struct weft__stack *stack = get_stack(w, class);
    struct weft__fiber *f = stack ? weft__fiber_get(w) : NULL;
    if (!f) goto put_stack;
    count_add(&w->numbers.steals_tried, 1);
    struct weft_call *call = victim->variant->steal(victim);
    if (!call) goto put_fiber;
    /* From here on the owner cannot end before the call has run. */
    struct weft__fiber *owner = victim->owner;
    struct weft__deque *d = weft__tasks_take_deque(w);
    d->owner = f;
    d->stolen = call;
    d->marks = 0;
    d->mark[0] = (struct weft__deque_mark){0, NULL};
    d->around = weft__tasks_scope_of(victim, call);
    if (owner->context.stack_class != class) {
        struct weft__stack *as_large = get_stack(w, owner->context.stack_class);
        if (as_large) {
            weft__stack_put(w->cache.stacks, stack);
            stack = as_large;
        }
    }
    uint32_t placement =
        load_rlx(&w->cluster->fibers) | (load_rlx(&owner->context.placement) & WEFT_PLACEMENT_PRIORITY);
    weft__fiber_init(f, weft__stolen_run, d, owner->where, stack->class, placement, WEFT_JOIN_DETACHED);
    weft__adopt_any(f, stack);
    store_rlx(&f->context.on_stack, WEFT_AT_REST);
    count_add(&w->numbers.spawned, 1);
    count_add(&w->numbers.tasks_stolen, 1);
    weft__record(WEFT_HAPPENED_TASK_TAKEN, weft__life(f), weft__life(owner), 0);
    if (load_rlx(&w->cluster->tasks.woken)) store_rlx(&w->cluster->tasks.woken, false);
    if (now) weft__worth_stole(w, f, now);
    return f;
put_fiber:
    weft__slab_put(&weft__fibers, &w->cache.records, &f->slot);
put_stack:
    if (stack) weft__stack_put(w->cache.stacks, stack);
    return NULL;
}

struct weft__fiber *weft__tasks_steal(struct weft__worker *w, struct weft__worker *from, uint64_t now) {
    if (unlikely(!weft__takes_calls(w))) return NULL;
    struct weft__deque *d = load_acq(&from->calls.deque); /* pairs with weft__tasks_begin */
    if (!d) return NULL;
    if (d->variant == &weft__deque_kept) return weft__parents_steal(w, from, now);
    if (unlikely(weft__is_crowd(w->cluster, 1)) &&
        calls_unmoved(w, from, load_rlx(&d->public), now) < WEFT_CALLS_UNMOVED)
        return NULL;
    uint64_t patience = weft__worth_patience(w);
    if (unlikely(patience) && weft__calls_left_alone(w, from, now) < patience) return NULL;
    struct weft__fiber *f = steal_into_fiber(w, d, now);
    if (!f && d->variant->press) d->variant->press(d, now);
    return f;
}

/*
 * The fiber of the deque may go on at this moment; stealing from it is safe anyway.
 *
 * A worker that takes no calls makes one exception: a fiber that is parked for anything other than a join may wait for
 * a call that it has forked itself, and cannot run that call while it is parked.
 */
struct weft__fiber *weft__tasks_steal_suspended(struct weft__worker *w, uint64_t now) {
    struct weft__tasks *t = &w->cluster->tasks;
    bool all = weft__takes_calls(w);
    if (likely(!load_rlx(all ? &t->suspended : &t->parked))) return NULL;
    bool is_here;
    struct weft__deque *d = weft__suspended_find(w, all ? WEFT_SUSPENDED_ALL : WEFT_SUSPENDED_PARKED, now, &is_here);
    return d ? steal_into_fiber(w, d, is_here ? 0 : now) : NULL;
}

/* For a worker that has just run dry: calls of fibers that have parked here need no search. */
WEFT_COLD struct weft__fiber *weft__tasks_steal_here(struct weft__worker *w) {
    if (!w->cluster->stealing || !weft__takes_calls(w)) return NULL;
    bool is_here;
    struct weft__deque *d = weft__suspended_find(w, WEFT_SUSPENDED_HERE, 0, &is_here);
    return d ? steal_into_fiber(w, d, 0) : NULL;
}

/*
 * The thief may finish the call in a moment. While the worker could do nothing else, the joining fiber spins here. Then
 * it goes on at once, and on the core that has its data. If it parked, it would go on at the thief's worker. True: the
 * call is done.
 */
static bool done_soon(struct weft__worker *w, struct weft_call *c) {
    uint64_t now = weft__clock(), end = now + WEFT_JOIN_PATIENCE;
    for (; now < end && weft__wheel_next(&w->wheel) > now; now = weft__clock()) {
        if (weft__tasks_has_other_work(w)) return false;
        if (unlikely(weft__is_crowded(w->cluster, now) || weft__is_crowd(w->cluster, 1)))
            weft__cpu_yield(); /* perhaps to the thief */
        for (unsigned i = 0; i < WEFT_JOIN_LOOKS; i++) {
            if (load_acq(weft__call_state(c)) == WEFT_CALL_DONE) return true; /* pairs with weft__call_finish */
            weft__cpu_pause();
        }
    }
    return false;
}

WEFT_SWITCHES void weft__tasks_await(struct weft__deque *d, struct weft_call *c) {
    struct weft__fiber *me = d->owner;
    uint64_t ticket, state = load_acq(weft__call_state(c)); /* pairs with weft__call_finish */
    if (state == WEFT_CALL_DONE || done_soon(weft__self(), c)) return;
    weft__wait_begin(me, 0, &ticket); /* neither a permit nor a cancellation ends it */
    uint64_t by = weft__join_by(weft__slot_index(&me->slot), ticket);
    while (state != WEFT_CALL_DONE)
        if (cas_ar(weft__call_state(c), &state, by)) { /* pairs with weft__call_finish */
            count_add(&weft__self()->numbers.joins_parked, 1);
            d->joining = true;
            weft__record(WEFT_HAPPENED_TASK_JOIN, weft__life(me), (uintptr_t)c, 0);
            weft__wait_block_for(me, ticket, WEFT_FOREVER, weft__for(WEFT_WAITS_CALL, c));
            d->joining = false;
            return;
        }
    weft__wait_withdraw(me, ticket);
}
