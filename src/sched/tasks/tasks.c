/* SPDX-License-Identifier: MIT */
/*
 * Tasks and workers: which fiber uses which deque, and how thieves learn of calls. stolen.c takes the calls and runs
 * them.
 *
 * A deque belongs to a fiber, so that a join pops what the same fiber has pushed, on whichever worker it runs. While
 * the fiber runs, its deque is in worker->calls.deque. When a fiber without outstanding calls gives its worker away
 * (weft__suspend_forking), the deque goes into the worker's cache. A fiber with outstanding calls keeps its deque: the
 * calls become public, and thieves find the deque in the cluster's list.
 *
 * Thieves cost an owner nothing while they search: they look only at public calls, and ask for more (deque.h). Before a
 * worker goes to sleep it asks all deques in use. After its fence, either the next fork sees that a worker asks, calls
 * weft__tasks_pushed and wakes a sleeper; or the sleeper sees the call (idle.c). The first fork of a fiber always calls
 * weft__tasks_pushed. Without membarrier a sleeper can miss a fork, because a fork has no fence. Then the next fork
 * sees that a worker asks, and the watchman looks in any case.
 *
 * A fork cannot know whether a wake-up pays. If the workers that were woken have stolen no call, or none that paid
 * (steal_worth.c), then a number of forks wake no worker; the number doubles each time. The watchman looks all the
 * same.
 *
 * No more workers run calls than there are processors (weft__is_crowd). A fork wakes no worker beyond that number, and
 * a worker beyond it goes to sleep although calls wait. That loses no call: every worker looks before it sleeps, so the
 * last of the workers that are awake is within the number. A worker beyond it takes only calls in a deque that has not
 * moved for WEFT_CALLS_UNMOVED: calls of fibers that block or compute, or that wait for each other without parking. The
 * watchman comes for these calls, so the limit holds only while there is a watchman. Without a watchman a sleeper is
 * woken, finds no call that it may take, and sleeps again as the watchman.
 */
#include "sched/tasks/tasks.h"
#include "sched/dispatch/forking.h"
#include "sched/life/spawn.h"
#include "sched/tasks/deques.h"
#include "sched/wait/block.h"
#include "sched/wait/cancel.h"
#include "sched/wake/seen.h"

#include "base/message.h"

#define WEFT_WAKE_PATIENCE_MOST 8191

/* --- a fiber's deque --------------------------------------------------------------------------- */

void weft__tasks_flush(struct weft__worker *w, bool all) {
    while (w->tasks.deques) weft__deque_put(weft__tasks_take_deque(w));
    weft__children_flush(w, all);
}

WEFT_COLD struct weft__deque *weft__tasks_begin(struct weft__worker *w) {
    struct weft__deque *d = load_rlx(&w->calls.deque);
    if (d) return d;
    weft__exit_must_look(load_rlx(&w->current));
    if (!weft__tasks_have_deque(w)) return NULL;
    d = weft__tasks_take_deque(w);
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

/* Called when a fiber with a deque ends. */
static WEFT_COLD void end_forking(struct weft__worker *w, struct weft__fiber *f) {
    struct weft__deque *d = load_rlx(&w->calls.deque);
    if (in_use(d)) weft__tasks_left(f);
    store_rlx(&w->calls.deque, NULL);
    weft__tasks_put_deque(w, d);
}

/* --- waking for calls --------------------------------------------------------------------------- */

/* The workers that were woken found no calls that were worth the wake-up. So the next forks wake no worker, twice as
 * many as the last time. */
static void wait_longer(struct weft__tasks *t) {
    unsigned patience = load_rlx(&t->patience) * 2 + 1;
    store_rlx(&t->patience, patience < WEFT_WAKE_PATIENCE_MOST ? patience : WEFT_WAKE_PATIENCE_MOST);
}

/* Is there a watchman, which looks for calls that wait? */
static bool calls_are_watched(struct weft__cluster *c) { return load_rlx(&c->idle.state) & WEFT_IDLE_WATCHED; }

/* Are as many workers awake as can run at once? False if there is no watchman: then one more must wake up. */
static bool enough_are_awake(struct weft__cluster *c) { return weft__is_crowd(c, 0) && calls_are_watched(c); }

/* Wakes a sleeper for calls if that seems to pay. Without a watchman it wakes a sleeper in any case: if that finds
 * nothing, it becomes the watchman. */
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

/* paid: did the stolen call keep the thief busy for long enough? */
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
 * The calls of a fiber that parks have become public. A single call is left to this worker, which takes it when it has
 * nothing else; if it does not, the watchman takes it. For several calls a sleeper is woken, unless the last wake-ups
 * did not pay.
 */
static void notify_of_suspended(struct weft__cluster *c, struct weft__deque *d) {
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
        weft__tasks_put_deque(w, d);
        return weft__suspend_plain(w, self);
    }
    if (d->variant->yield) d->variant->yield(d);
    bool listed = d->variant->ready(d) && c->stealing;
    if (listed) {
        weft__suspended_put(w, d);
        notify_of_suspended(c, d);
    }
    w = weft__suspend_plain(w, self);
    if (listed) weft__suspended_remove(&c->tasks, d);
    store_rel(&w->calls.deque, d); /* pairs with thieves */
    return w;
}

void weft__tasks_reset(struct weft__cluster *c) {
    weft__suspended_reset(&c->tasks); /* deques of fibers that were moved or abandoned */
    store_rlx(&c->tasks.patience, 0);
}

/* --- forks that may wake a sleeper ------------------------------------------------------------------ */

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

/* Under continuation stealing every fork calls this function. So its fast path needs no stack frame. */
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
    store_rlx(&t->woken, false); /* the wake-up was in vain */
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

/* The same, but false for calls that w would leave to the watchman. */
static bool calls_wait(struct weft__worker *w) {
    if (weft__worth_patience(w) && calls_are_watched(w->cluster)) return false; /* the watchman looks */
    return any_calls_wait(w->cluster);
}

bool weft__tasks_in_sight(struct weft__worker *w) {
    struct weft__cluster *c = w->cluster;
    if (unlikely(!weft__takes_calls(w))) return load_rlx(&c->tasks.parked);
    if (weft__suspended_in_sight(w)) return true;
    return likely(!enough_are_awake(c)) && calls_wait(w);
}

/* Could the calling worker, whose fiber waits in a join, do anything else at the moment? */
bool weft__tasks_has_other_work(struct weft__worker *w) {
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

/* --- what the areas below ask (forking.h) ------------------------------------------------------------ */

bool (*weft__tasks_other_work)(struct weft__worker *w);

__attribute__((constructor)) static void offer_forking(void) {
    weft__forking = (struct weft__forking){suspend_forking, end_forking, weft__tasks_mark_region, weft__child_member};
}
