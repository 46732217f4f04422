/* SPDX-License-Identifier: MIT */
/*
 * Tasks and workers: which fiber uses which deque, how thieves find deques, and how stolen calls run.
 *
 * A deque belongs to a fiber, so that a join pops what the same fiber has pushed, on whichever worker it runs. While
 * the fiber runs, its deque is in worker->calls.deque. A fiber that gives its worker away (weft__suspend_forking) with
 * nothing outstanding leaves the deque to the worker, in a cache. Otherwise the fiber keeps it, its calls become
 * public, and thieves take them from the cluster's list.
 *
 * A thief takes one call and makes a fiber for it, with a stack of the victim's size and a deque of its own. It obtains
 * all of these before it takes the call, so a call that was taken will run.
 *
 *   the thief's fiber                               the owner's join, when pop said that it was taken
 *   1. state: FREE -> TAKEN, or finds `by`          1. begins a wait
 *      (or SELF: nothing to run)                    2. state: FREE or TAKEN -> by; or it is DONE
 *   2. runs it; the result is in the call           3. parks
 *   3. swaps DONE into the state; what was
 *      there says which to wake                     4. state = FREE: the slot can be used again
 *
 * A join that waits runs nothing else on its stack. Otherwise it could run, on top of its own frame, a call that waits
 * for it (a dead join). Its worker runs other fibers meanwhile, or steals.
 *
 * The search of thieves costs an owner nothing: they look only at public calls, and ask for more (deque.h). Before a
 * worker goes to sleep it asks all deques in use. After its fence, either the fork sees that a worker asks, calls
 * weft__tasks_pushed and wakes a sleeper; or the sleeper sees the call (idle.c). The first fork of a fiber always does
 * this. Without membarrier a sleeper can miss a fork, because a fork has no fence: then the next fork sees that a
 * worker asks, and the watchman looks in any case.
 *
 * Whether a wake-up is worth it cannot be known at a fork. If workers that were woken have stolen nothing, or nothing
 * that paid (steal_worth.c), the next so many forks that come by wake no worker, twice as many each time; the watchman
 * looks all the same.
 *
 * No more workers run calls than there are processors (weft__is_crowd). A fork wakes none beyond that number, and a
 * worker beyond it goes to sleep although there are calls. That loses no call: one of the workers that are awake, each
 * of which looks before it sleeps, finds itself within the number. A worker beyond it takes only calls that nothing has
 * moved for WEFT_CALLS_UNMOVED: calls of fibers that block or compute, or that wait for each other without parking. The
 * watchman comes by for these, so the limit holds only while there is one: without one a sleeper is woken, finds
 * nothing that it may take, and sleeps again as the watchman.
 */
#include "sched/tasks/tasks.h"
#include "sched/dispatch/forking.h"
#include "sched/life/spawn.h"
#include "sched/life/stack_shortage.h"
#include "sched/record/record.h"
#include "sched/wait/block.h"
#include "sched/wait/cancel.h"
#include "sched/wake/seen.h"

#include "base/assert.h"
#include "base/message.h"

#define WEFT_WAKE_PATIENCE_MOST 8191
#define WEFT_DEQUES_CACHED 4
#define WEFT_JOIN_PATIENCE (20 * WEFT_MICROSECOND)
#define WEFT_JOIN_LOOKS 16
#define WEFT_CALLS_UNMOVED (200 * WEFT_MICROSECOND)

/* --- a fiber's deque --------------------------------------------------------------------------- */

/* One at hand, so that taking it cannot fail. */
static bool have_deque(struct weft__worker *w) {
    if (likely(w->tasks.deques != NULL)) return true;
    if (!(w->tasks.deques = weft__deque_get(w->cluster->tasks.variant))) return false;
    w->tasks.deques->next = NULL;
    w->tasks.count = 1;
    return true;
}

static struct weft__deque *take_deque(struct weft__worker *w) {
    WEFT_ASSERT(w->tasks.deques != NULL && w->tasks.count > 0);
    WEFT_ASSERT(weft__self() == w);
    struct weft__deque *d = w->tasks.deques;
    w->tasks.deques = d->next;
    w->tasks.count--;
    return d;
}

static void put_deque(struct weft__worker *w, struct weft__deque *d) {
    WEFT_ASSERT(weft__deque_is_empty(d));
    if (d->variant->reset) d->variant->reset(d);
    if (w->tasks.count >= WEFT_DEQUES_CACHED || d->variant != w->cluster->tasks.variant) {
        weft__deque_put(d);
        return;
    }
    d->next = w->tasks.deques;
    w->tasks.deques = d;
    w->tasks.count++;
}

void weft__tasks_flush(struct weft__worker *w, bool all) {
    while (w->tasks.deques) weft__deque_put(take_deque(w));
    weft__children_flush(w, all);
}

WEFT_COLD struct weft__deque *weft__tasks_begin(struct weft__worker *w) {
    struct weft__deque *d = load_rlx(&w->calls.deque);
    if (d) return d;
    weft__exit_must_look(load_rlx(&w->current));
    if (!have_deque(w)) return NULL;
    d = take_deque(w);
    d->owner = load_rlx(&w->current);
    d->marks = 0;
    d->mark[0] = (struct weft__deque_mark){0, weft__fork_scope()};
    d->around = weft__base_scope();
    store_rel(&w->calls.deque, d); /* pairs with thieves */
    return d;
}

static bool in_use(const struct weft__deque *d) { return !weft__deque_is_empty(d) || d->entered; }

WEFT_COLD _Noreturn void weft__tasks_left(struct weft__fiber *f) {
    struct weft__text text;
    weft__die("%s ended before it had joined all that it forked", weft__describe(f, &text));
}

/* A fiber ends. */
static WEFT_COLD void end_forking(struct weft__worker *w, struct weft__fiber *f) {
    struct weft__deque *d = load_rlx(&w->calls.deque);
    if (in_use(d)) weft__tasks_left(f);
    store_rlx(&w->calls.deque, NULL);
    put_deque(w, d);
}

/* --- scopes ---------------------------------------------------------------------------------------
 *
 * A stolen call is cancelled with the scope that it was forked in, or with its forker (cancel_root.c). A fork does not
 * note which scope that is: the deque remembers from which slot on a scope was in force, when one begins or ends. A
 * join in there may free slots below that, of calls that were forked before; the next fork is the scope's then, so
 * such a join, which comes to the slow path, moves the marks down to the head.
 */

static WEFT_COLD _Noreturn void left_behind(struct weft__deque *d) {
    struct weft__text text;
    weft__die("%s ended a scope or shield, or a graph, pipeline or loop that it runs, before it had joined what it "
              "forked there",
              weft__describe(d->owner, &text));
}

static struct weft__deque_mark *innermost(struct weft__deque *d) {
    return &d->mark[d->marks < WEFT_DEQUE_MARKS ? d->marks : WEFT_DEQUE_MARKS - 1];
}

static void mark_region(struct weft__deque *d, bool begun) {
    uint32_t head = weft__deque_index(d, d->in.head);
    weft__lock(&d->lock); /* against thieves that look */
    if (begun) {
        if (++d->marks < WEFT_DEQUE_MARKS) d->mark[d->marks] = (struct weft__deque_mark){head, weft__fork_scope()};
        weft__deque_set_floor(d, innermost(d)->index);
    } else {
        uint32_t since = d->marks < WEFT_DEQUE_MARKS ? d->mark[d->marks].index : 0;
        if (d->marks < WEFT_DEQUE_MARKS && head > since) left_behind(d);
        if (d->marks)
            d->marks--;
        else
            d->mark[0].what = weft__fork_scope();
        weft__deque_set_floor(d, innermost(d)->index);
    }
    weft__unlock(&d->lock);
}

void weft__tasks_based(struct weft__deque *d) {
    weft__lock(&d->lock); /* as above */
    weft__deque_set_floor(d, innermost(d)->index);
    weft__unlock(&d->lock);
}

/* A call at the head or above is free, and a call below keeps its mark. */
WEFT_COLD void weft__tasks_sank(struct weft__deque *d) {
    uint32_t head = weft__deque_index(d, d->in.head);
    weft__lock(&d->lock); /* as above */
    for (struct weft__deque_mark *m = innermost(d); m > d->mark && m->index > head; m--) m->index = head;
    weft__deque_set_floor(d, head);
    weft__unlock(&d->lock);
}

/* The scope that cancels a call that we have taken; NULL: none does. */
static struct weft__scope *task_scope_of(struct weft__deque *d, const struct weft_call *c) {
    uint32_t index = weft__deque_index(d, c);
    weft__lock(&d->lock);
    const struct weft__deque_mark *m = innermost(d);
    while (m > d->mark && m->index > index) m--;
    void *what = m->what;
    weft__unlock(&d->lock);
    return weft__call_scope(d, what);
}

WEFT_COLD _Noreturn void weft__tasks_escaped(const char *what) {
    struct weft__text text;
    weft__die("an exception left a function that was called by %s in %s", what, weft__describe_caller(&text));
}

/* --- waking for calls --------------------------------------------------------------------------- */

/* Those that were woken found nothing, or nothing that was worth it: the next forks wake no worker. */
static void wait_longer(struct weft__tasks *t) {
    unsigned patience = load_rlx(&t->patience) * 2 + 1;
    store_rlx(&t->patience, patience < WEFT_WAKE_PATIENCE_MOST ? patience : WEFT_WAKE_PATIENCE_MOST);
}

/* Is there a watchman, which looks for calls that wait? */
static bool calls_are_watched(struct weft__cluster *c) { return load_rlx(&c->idle.state) & WEFT_IDLE_WATCHED; }

/* Do as many workers run as there are processors? Only if there is a watchman. */
static bool enough_are_awake(struct weft__cluster *c) { return weft__is_crowd(c, 0) && calls_are_watched(c); }

/* Without a watchman a sleeper is woken in any case. If it finds nothing, it is the watchman. */
static void consider_waking(struct weft__cluster *c) {
    struct weft__tasks *t = &c->tasks;
    unsigned looks = load_rlx(&t->looks);
    if (unlikely(enough_are_awake(c))) return;
    if (looks < load_rlx(&t->patience) && calls_are_watched(c)) {
        store_rlx(&t->looks, looks + 1);
        return;
    }
    store_rlx(&t->looks, 0);
    store_rlx(&t->woken, true);
    weft__idle_wake_one(c);
}

/* What a worker has stolen kept it busy, or not. */
void weft__tasks_stolen(struct weft__cluster *c, bool paid) {
    struct weft__tasks *t = &c->tasks;
    unsigned patience = load_rlx(&t->patience);
    if (paid) {
        if (patience) store_rlx(&t->patience, patience / 32);
    } else
        wait_longer(t);
}

/* --- suspended fibers ------------------------------------------------------------------------------ */

/*
 * Calls of a fiber that parks are public. A single one is left to this worker, which takes it when it has nothing else;
 * the watchman comes if it does not. For several a sleeper is woken, unless nothing came of that before.
 */
static void tell_of_suspended(struct weft__cluster *c, struct weft__deque *d) {
    weft__fence_light(); /* pairs with the fence of a worker that announces its sleep */
    uint64_t state = load_rlx(&c->idle.state);
    if (likely(!(state & WEFT_IDLE_SLEEPERS))) return;
    if (!(state & WEFT_IDLE_WATCHED))
        weft__idle_wake_one(c);
    else if (!weft__suspended_is_for_home(d))
        consider_waking(c);
}

static WEFT_SWITCHES struct weft__worker *suspend_forking(struct weft__worker *w, struct weft__fiber *self) {
    struct weft__deque *d = load_rlx(&w->calls.deque);
    struct weft__cluster *c = w->cluster;
    store_rlx(&w->calls.deque, NULL);
    if (load_rlx(&w->calls.parents)) weft__parents_ready(w);
    if (!in_use(d)) {
        put_deque(w, d);
        return weft__suspend_plain(w, self);
    }
    if (d->variant->yield) d->variant->yield(d);
    bool listed = d->variant->ready(d) && c->stealing;
    if (listed) {
        weft__suspended_put(w, d);
        tell_of_suspended(c, d);
    }
    w = weft__suspend_plain(w, self);
    if (listed) weft__suspended_remove(&c->tasks, d);
    store_rel(&w->calls.deque, d); /* pairs with thieves */
    return w;
}

void weft__tasks_reset(struct weft__cluster *c) {
    weft__suspended_reset(&c->tasks); /* of fibers that were moved, or abandoned */
    store_rlx(&c->tasks.patience, 0);
}

/* --- forks that a sleeper should know of ------------------------------------------------------------ */

WEFT_COLD int weft__tasks_pushed(struct weft__deque *d, struct weft_call *c) {
    if (unlikely(weft__deque_is_full(d, c))) return -ENOSPC;
    d->variant->push(d, c);
    struct weft__cluster *cluster = weft__self()->cluster;
    weft__fence_light(); /* pairs with the fence of a worker that announces its sleep */
    uint64_t state = load_rlx(&cluster->idle.state);
    if (unlikely((state & WEFT_IDLE_SLEEPERS) && !(state & WEFT_IDLE_SEARCHERS)) && cluster->stealing)
        consider_waking(cluster);
    return 0;
}

static WEFT_COLD _Noreturn void no_room(struct weft__deque *d) {
    struct weft__text text;
    weft__die("%s has %z tasks outstanding, and there is no room for more", weft__describe(d->owner, &text),
              (size_t)WEFT_DEQUE_CAPACITY);
}

static WEFT_NOINLINE void pushed_slowly(struct weft__deque *d, struct weft_call *c) {
    if (d->variant == &weft__deque_kept && likely(weft__deque_touch(d, c)))
        weft__continue_fork(d, c);
    else if (unlikely(weft__tasks_pushed(d, c)))
        no_room(d);
}

/* Under continuation stealing every fork comes here, and every join to pop: neither has a frame. */
WEFT_PUBLIC void weft__task_pushed(struct weft_deque *in, struct weft_call *c) {
    struct weft__deque *d = weft__deque_of(in);
    if (likely(d->variant == &weft__deque_kept && weft__deque_is_touched(d, c)))
        weft__continue_fork(d, c);
    else
        pushed_slowly(d, c);
}

static void deque_ask(struct weft__deque *d, uint64_t now) {
    if (d && d->variant->press && load_rlx(weft__deque_span(d))) d->variant->press(d, now);
}

void weft__tasks_slept(struct weft__cluster *c) {
    struct weft__tasks *t = &c->tasks;
    if (!load_rlx(&t->woken)) return;
    store_rlx(&t->woken, false); /* for nothing */
    wait_longer(t);
}

void weft__tasks_ask(struct weft__cluster *c) {
    uint64_t now = weft__clock();
    for (unsigned i = 0; i < load_acq(&c->count); i++) {
        struct weft__deque *d = load_acq(&c->workers[i]->calls.deque); /* pairs with weft__tasks_begin */
        deque_ask(d, now);
        deque_ask(load_acq(&c->workers[i]->calls.parents), now);
    }
}

/* Has the fiber of any worker forked calls? */
static bool any_calls_wait(struct weft__cluster *c) {
    for (unsigned i = 0; i < load_acq(&c->count); i++)
        if (weft__tasks_wait_at(c->workers[i])) return true;
    return false;
}

/* The same, if w would take them. */
static bool calls_wait(struct weft__worker *w) {
    if (weft__worth_patience(w) && calls_are_watched(w->cluster)) return false; /* the watchman looks */
    return any_calls_wait(w->cluster);
}

bool weft__tasks_anywhere(struct weft__worker *w) {
    return load_rlx(&w->cluster->tasks.suspended) || any_calls_wait(w->cluster);
}

bool weft__tasks_in_sight(struct weft__worker *w) {
    struct weft__cluster *c = w->cluster;
    if (unlikely(!weft__takes_calls(w))) return load_rlx(&c->tasks.parked);
    if (weft__suspended_in_sight(w)) return true;
    return likely(!enough_are_awake(c)) && calls_wait(w);
}

/* The worker, which is awake: could it do anything else at the moment? */
static bool has_other_work(struct weft__worker *w) {
    if (weft__has_ready(w) || weft__tasks_other_work(w)) return true;
    return w->cluster->stealing && weft__takes_calls(w) && !weft__is_crowd(w->cluster, 1) && calls_wait(w);
}

bool weft__tasks_wait_at(struct weft__worker *w) {
    struct weft__deque *d = load_acq(&w->calls.deque); /* pairs with weft__tasks_begin */
    return (d && d->variant->some(d)) || weft__parents_wait_at(w);
}

uint64_t weft__calls_left_alone(struct weft__worker *w, struct weft__worker *other, uint64_t now) {
    if (!weft__seen_make_room(w, other->index)) return 0;
    struct weft__queue_seen *seen = &w->seen.queue[other->index];
    if (!weft__tasks_wait_at(other))
        seen->calls_at = 0;
    else if (!seen->calls_at)
        seen->calls_at = now;
    return weft__since(seen->calls_at, now);
}

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

/* --- stolen calls --------------------------------------------------------------------------------- */

/* The owner that waits for it may go on, and use the slot again. */
void weft__call_finish(struct weft_call *c) {
    uint64_t was = xchg_ar(weft__call_state(c), WEFT_CALL_DONE); /* pairs with weft__tasks_await, and the next use */
    struct weft__fiber *joiner = was > WEFT_CALL_SELF ? weft__join_win(was) : NULL;
    if (joiner) weft__make_ready(joiner);
}

/* False: the owner has run it itself. */
bool weft__call_begin(struct weft_call *c) {
    uint64_t state = WEFT_CALL_FREE;
    if (cas_ar(weft__call_state(c), &state, WEFT_CALL_TAKEN)) return true; /* pairs with a join out of order */
    return state != WEFT_CALL_SELF && c->run; /* no `run`: the owner waits only for us to have seen that */
}

WEFT_CALLS void weft__generic_run(struct weft_deque *d, struct weft_call *c) {
    (void)d;
    weft__generic_call(c);
}

/* A typed call holds a pointer to the deque. A generic one may have left its deque to the worker when it returns. */
static void task_run(struct weft__deque *d, struct weft_call *c) {
    bool typed = c->run != weft__generic_run;
    if (!typed) weft__exit_must_look(d->owner);
    d->entered = typed;
    c->run(&d->in, c);
    if (typed) d->entered = 0;
}

static void *run_stolen(void *deque) {
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

/* Without a guard of its own only if there is no other way. */
static struct weft__stack *get_stack(struct weft__worker *w, unsigned class) {
    struct weft__stack *s = weft__stack_get(w->cache.stacks, class);
    return likely(s != NULL) || load_rlx(&weft__stack_is_scarce) ? s : weft__stack_get_any(w->cache.stacks, class);
}

/* Steals from the deque, and wraps it into a fiber that can be entered; NULL: nothing to be had. now: the steal is
 * judged later (steal_worth.c); 0: it is not. */
static struct weft__fiber *steal_into_fiber(struct weft__worker *w, struct weft__deque *victim, uint64_t now) {
    if (!victim->variant->ready(victim) || !have_deque(w)) return NULL;
    unsigned class = w->cluster->stack_class;
    struct weft__stack *stack = get_stack(w, class);
    struct weft__fiber *f = stack ? weft__fiber_get(w) : NULL;
    if (!f) goto put_stack;
    count_add(&w->numbers.steals_tried, 1);
    struct weft_call *call = victim->variant->steal(victim);
    if (!call) goto put_fiber;
    /* From here on the owner cannot end before it has run. */
    struct weft__fiber *owner = victim->owner;
    struct weft__deque *d = take_deque(w);
    d->owner = f;
    d->stolen = call;
    d->marks = 0;
    d->mark[0] = (struct weft__deque_mark){0, NULL};
    d->around = task_scope_of(victim, call);
    if (owner->context.stack_class != class) {
        struct weft__stack *as_large = get_stack(w, owner->context.stack_class);
        if (as_large) {
            weft__stack_put(w->cache.stacks, stack);
            stack = as_large;
        }
    }
    uint32_t placement =
        load_rlx(&w->cluster->fibers) | (load_rlx(&owner->context.placement) & WEFT_PLACEMENT_PRIORITY);
    weft__fiber_init(f, run_stolen, d, owner->where, stack->class, placement, WEFT_JOIN_DETACHED);
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
 * The deque's fiber may go on just now; stealing from it is all right anyway.
 *
 * A worker that takes no calls makes one exception: a fiber that is parked for anything else than a join may wait for
 * the very call that it has forked, and cannot run it itself.
 */
struct weft__fiber *weft__tasks_steal_suspended(struct weft__worker *w, uint64_t now) {
    struct weft__tasks *t = &w->cluster->tasks;
    bool all = weft__takes_calls(w);
    if (likely(!load_rlx(all ? &t->suspended : &t->parked))) return NULL;
    bool is_here;
    struct weft__deque *d = weft__suspended_find(w, all ? WEFT_SUSPENDED_ALL : WEFT_SUSPENDED_PARKED, now, &is_here);
    return d ? steal_into_fiber(w, d, is_here ? 0 : now) : NULL;
}

/* The worker has run dry just now: calls of fibers that have parked here need no search. */
WEFT_COLD struct weft__fiber *weft__tasks_steal_here(struct weft__worker *w) {
    if (!w->cluster->stealing || !weft__takes_calls(w)) return NULL;
    bool is_here;
    struct weft__deque *d = weft__suspended_find(w, WEFT_SUSPENDED_HERE, 0, &is_here);
    return d ? steal_into_fiber(w, d, 0) : NULL;
}

/*
 * The thief may be done in a moment. While the worker could do nothing else, its fiber waits here: it goes on at
 * once, and where its data is. Parked, it would go on where the thief is. True: it is done.
 */
static bool done_soon(struct weft__worker *w, struct weft_call *c) {
    uint64_t now = weft__clock(), end = now + WEFT_JOIN_PATIENCE;
    for (; now < end && weft__wheel_next(&w->wheel) > now; now = weft__clock()) {
        if (has_other_work(w)) return false;
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
            weft__wait_block(me, ticket, WEFT_FOREVER);
            d->joining = false;
            return;
        }
    weft__wait_withdraw(me, ticket);
}

/* --- what the areas below ask (forking.h) ------------------------------------------------------------ */

bool (*weft__tasks_other_work)(struct weft__worker *w);

__attribute__((constructor)) static void offer_forking(void) {
    weft__forking = (struct weft__forking){suspend_forking, end_forking, mark_region, weft__child_member};
}
