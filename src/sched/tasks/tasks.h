/* SPDX-License-Identifier: MIT */
/*
 * Tasks, as the scheduler sees them. A fiber that forks has a deque (queue/deque.h), from its first fork
 * until it next gives its worker away with nothing outstanding. The worker that runs it says so in
 * worker->deque, where thieves look; a fiber that parks with calls outstanding makes them all public,
 * and its deque stands in the cluster's list of suspended deques until it goes on. See tasks.c.
 */
#ifndef WEFT_SCHED_TASKS_H
#define WEFT_SCHED_TASKS_H

#include "queue/deque.h"
#include "sched/core/cluster.h"

/*
 * The states of a call, by which the owner and a thief agree (call->state):
 *
 *      FREE     no thief has begun it. Every free slot, and every private slot
 *      TAKEN    a thief runs it
 *      SELF     the owner has joined it and run it itself, although younger calls were outstanding. A thief that takes
 *               it nevertheless has nothing to run
 *      DONE     the thief no longer needs it
 *      by       the owner waits for DONE: the number of its record and its ticket (weft__join_by)
 */
enum { WEFT_CALL_FREE = 0, WEFT_CALL_TAKEN = 1, WEFT_CALL_DONE = 2, WEFT_CALL_SELF = 3 };

/* The running fiber forks: returns its deque, which may have to be made. NULL: no memory. */
struct weft__deque *weft__tasks_begin(struct weft__worker *w);
/* The slow path of a fork, after c was pushed. -ENOSPC: the deque is full, and c was not pushed. */
int weft__tasks_pushed(struct weft__deque *d, struct weft_call *c);
/* The fiber, or its call, has ended without joining all of its calls: ends the program with a message. */
_Noreturn void weft__tasks_left(struct weft__fiber *f);
/* The base has changed. */
void weft__tasks_based(struct weft__deque *d);
/* Joins have brought the head below the floor. */
void weft__tasks_sank(struct weft__deque *d);
static inline void weft__tasks_joined(struct weft__deque *d) {
    if (unlikely(d->in.head < d->floor)) weft__tasks_sank(d);
}
/* In continuation.c: the running fiber is a child, and waits for the first time. The region by which it is cancelled.
 */
struct weft__region;
struct weft__region *weft__child_member(struct weft__fiber *me);
/* Has the worker anything else to do than to wait for a call? The area of balance fills it in before main. */
extern bool (*weft__tasks_other_work)(struct weft__worker *w);
/* Waits until the thief no longer needs the call. */
void weft__tasks_await(struct weft__deque *d, struct weft_call *c);

/*
 * A frame that no exception may pass, because calls that were forked around it would be left behind in frames that are
 * gone: one line, and abort. For the time of a call to the user's function, which was handed to weft by `what`:
 *
 *     WEFT_BARRIER(barrier, what); ... the call ...; barrier = NULL;
 *
 * Nothing reads the variable as long as nothing is thrown, so it costs nothing.
 */
_Noreturn void weft__tasks_escaped(const char *what);
static inline void weft__barrier_left(const char **what) {
    if (unlikely(*what != NULL)) weft__tasks_escaped(*what);
}
#define WEFT_BARRIER(name, what) const char *name __attribute__((cleanup(weft__barrier_left))) = what

/* A function that calls one of the user's, which must return to it and not end by weft_fiber_exit; see exit_check.c.
 * Neither inlined nor cloned: the code would leave the section. Nor is the call in it a tail call: WEFT_BARRIER sees to
 * that.
 */
#ifdef __clang__
#define WEFT_CALLS __attribute__((section("weft_calls"), noinline))
#else
#define WEFT_CALLS __attribute__((section("weft_calls"), noinline, noclone))
#endif

/*
 * A generic call: a function and its argument. Unlike a typed one it does not use the deque of the fiber that runs it,
 * so a fiber made for a stolen one keeps no deque while it is parked and has forked nothing.
 */
struct weft__generic {
    void (*fn)(void *);
    void *arg;
};
static inline struct weft__generic *weft__generic_of(struct weft_call *c) {
    return (struct weft__generic *)(void *)c->data;
}
static inline void weft__generic_call(struct weft_call *c) {
    struct weft__generic *g = weft__generic_of(c);
    WEFT_BARRIER(barrier, "weft_task_join");
    g->fn(g->arg);
    barrier = NULL;
}
/* A fork that wakes no worker, of a call that the caller takes back in a moment unless it parks before: the park makes
 * the call public. Errors as for weft_task_fork. (task/fork_join.c) */
int weft__task_fork_quietly(struct weft_task *task, void (*fn)(void *), void *arg);
/* The `run` of all generic calls. */
WEFT_CALLS void weft__generic_run(struct weft_deque *d, struct weft_call *c);

/* The thief of a call begins it. False: there is nothing to run. In any case it finishes the call; the owner may then
 * use the slot again. */
bool weft__call_begin(struct weft_call *c);
void weft__call_finish(struct weft_call *c);

/* --- for the worker's loop (tasks.c, stolen.c) --- */

/* A call of the deque that another worker's fiber uses, in a fiber of its own; NULL: none. */
struct weft__fiber *weft__tasks_steal(struct weft__worker *w, struct weft__worker *from, uint64_t now);
/* The same of a suspended fiber; of a fiber that is suspended on this worker. */
struct weft__fiber *weft__tasks_steal_suspended(struct weft__worker *w, uint64_t now);
struct weft__fiber *weft__tasks_steal_here(struct weft__worker *w);
/* A worker that takes calls goes to sleep. If it was woken for a fork, the wake-up was in vain. */
void weft__tasks_slept(struct weft__cluster *c);
/* Sleepers want to hear of the next fork. */
void weft__tasks_ask(struct weft__cluster *c);
/* Does a forked call wait: of the fiber that the worker runs; anywhere that worker w may take it from; anywhere,
 * whether w would leave it to the watchman or not? */
bool weft__tasks_wait_at(struct weft__worker *w);
bool weft__tasks_in_sight(struct weft__worker *w);
bool weft__tasks_anywhere(struct weft__worker *w);
/* For how long have forked calls waited at the other worker, as far as w has seen? */
uint64_t weft__calls_left_alone(struct weft__worker *w, struct weft__worker *other, uint64_t now);
/* Returns the deques that the worker caches to the pool. all: those of parents, too. */
void weft__tasks_flush(struct weft__worker *w, bool all);
void weft__tasks_reset(struct weft__cluster *c);

/* --- calls of suspended fibers (suspended.c) --- */

/* The running fiber of w parks with these calls outstanding. */
void weft__suspended_put(struct weft__worker *w, struct weft__deque *d);
void weft__suspended_remove(struct weft__tasks *t, struct weft__deque *d);
void weft__suspended_reset(struct weft__tasks *t);
/* Which deques a worker asks for: those of fibers that wait for something else than a join; all; those of fibers
 * that parked on this worker. */
enum weft__suspended { WEFT_SUSPENDED_PARKED, WEFT_SUSPENDED_ALL, WEFT_SUSPENDED_HERE };
/* A deque that has calls which w may take now; NULL: none. is_here: w is its home. */
struct weft__deque *weft__suspended_find(struct weft__worker *w, enum weft__suspended which, uint64_t now,
                                         bool *is_here);
/* Is there a deque for which w must stay awake? */
bool weft__suspended_in_sight(struct weft__worker *w);
/* Will the worker on which the fiber parks run its calls without help? */
bool weft__suspended_is_for_home(struct weft__deque *d);

/* --- whether steals pay (steal_worth.c) --- */

/* For how long w leaves calls alone before it steals them. */
uint64_t weft__worth_patience(struct weft__worker *w);
/* w has stolen a call from another worker's fiber, and runs it in this fiber; the call has returned. */
void weft__worth_stole(struct weft__worker *w, struct weft__fiber *by, uint64_t now);
void weft__worth_ran(struct weft__worker *w, const struct weft__fiber *by);
/* A worker has judged a steal. paid: the call kept it busy for long enough. (tasks.c) */
void weft__tasks_stolen(struct weft__cluster *c, bool paid);
/* The worker searches, and has a steal to judge: did the call keep it busy for long enough? */
void weft__worth_judge(struct weft__worker *w, uint64_t now);

/* --- continuation stealing (continuation.c) --- */

extern const struct weft__deque_variant weft__deque_kept;
/* Runs the call that was pushed, on a stack of its own, and returns when the caller goes on. */
void weft__continue_fork(struct weft__deque *d, struct weft_call *c);
/* The running fiber parks: the parents that wait at this worker become ready. */
void weft__parents_ready(struct weft__worker *w);
/* The same for a fiber that yields: it takes its parents along, and puts them onto the worker where it continues. If
 * they became ready instead, each of them would fork and yield, until most calls of a loop are under way at once, each
 * on a stack of its own. */
struct weft__link *weft__parents_take(struct weft__worker *w);
void weft__parents_put(struct weft__worker *w, struct weft__link *chain);
/* The oldest parent of another worker, to be entered; NULL: none. */
struct weft__fiber *weft__parents_steal(struct weft__worker *w, struct weft__worker *from, uint64_t now);
bool weft__parents_wait_at(struct weft__worker *w);
/* Returns what the worker caches. all: its deque of parents, too. */
void weft__children_flush(struct weft__worker *w, bool all);

#endif
