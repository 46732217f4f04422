/* SPDX-License-Identifier: MIT */
/*
 * Tasks, as the scheduler sees them. A fiber that forks has a deque (queue/deque.h) from its first fork until it next
 * gives its worker away without outstanding calls. While the fiber runs, thieves find the deque in worker->calls.deque.
 * A fiber that parks with outstanding calls makes them all public, and its deque is in the cluster's list of suspended
 * deques until the fiber goes on. See tasks.c.
 */
#ifndef WEFT_SCHED_TASKS_H
#define WEFT_SCHED_TASKS_H

#include "queue/deque.h"
#include "sched/core/cluster.h"

/*
 * The states of a call, by which the owner and a thief agree (call->state):
 *
 *      FREE     no thief has begun the call. All free slots and all private calls have this state
 *      TAKEN    a thief runs the call
 *      SELF     the owner has joined the call and run it itself, although younger calls were outstanding. A thief that
 *               takes the call nevertheless has nothing to run
 *      DONE     the thief no longer needs the call
 *      by       the owner waits for DONE. The value has the number of the owner's record and its ticket (weft__join_by)
 */
enum { WEFT_CALL_FREE = 0, WEFT_CALL_TAKEN = 1, WEFT_CALL_DONE = 2, WEFT_CALL_SELF = 3 };

/* Returns the deque of the running fiber, which is about to fork. Takes or makes one if necessary. NULL: no memory. */
struct weft__deque *weft__tasks_begin(struct weft__worker *w);
/* The slow path of a fork, after c was pushed. -ENOSPC: the deque is full, and c was not pushed. */
int weft__tasks_pushed(struct weft__deque *d, struct weft_call *c);
/* The fiber, or its call, has ended without joining all of its calls: ends the program with a message. */
_Noreturn void weft__tasks_left(struct weft__fiber *f);
/* The base of the deque has changed. */
void weft__tasks_based(struct weft__deque *d);
/* Joins have brought the head below the floor. */
void weft__tasks_sank(struct weft__deque *d);
static inline void weft__tasks_joined(struct weft__deque *d) {
    if (unlikely(d->in.head < d->floor)) weft__tasks_sank(d);
}
/* The running fiber is a child of continuation stealing, and waits for the first time: makes the region by which the
 * child is cancelled, and returns it. (continuation.c) */
struct weft__region;
struct weft__region *weft__child_member(struct weft__fiber *me);
/* Has the worker anything else to do than to wait for a call? The area `balance` sets this pointer before main. */
extern bool (*weft__tasks_other_work)(struct weft__worker *w);
/* Waits until the thief no longer needs the call. */
void weft__tasks_await(struct weft__deque *d, struct weft_call *c);

/*
 * A barrier for exceptions. An exception must not leave a user's function that weft calls, because forked calls would
 * be left in frames that no longer exist. If it does, the program ends with a message that names `what`, the function
 * by which the user's function was handed to weft:
 *
 *     WEFT_BARRIER(barrier, what); ... the call ...; barrier = NULL;
 *
 * The variable is read only when an exception unwinds the frame, so the barrier costs nothing otherwise.
 */
_Noreturn void weft__tasks_escaped(const char *what);
static inline void weft__barrier_left(const char **what) {
    if (unlikely(*what != NULL)) weft__tasks_escaped(*what);
}
#define WEFT_BARRIER(name, what) const char *name __attribute__((cleanup(weft__barrier_left))) = what

/* Marks a function that calls a user's function which must return, and must not end the fiber by weft_fiber_exit; see
 * exit_check.c. The compiler must not inline or clone it, because then its code would be outside of the section. Nor
 * may it make the call a tail call; WEFT_BARRIER prevents that. */
#ifdef __clang__
#define WEFT_CALLS __attribute__((section("weft_calls"), noinline))
#else
#define WEFT_CALLS __attribute__((section("weft_calls"), noinline, noclone))
#endif

/*
 * A generic call: a function and its argument. Unlike a typed call it does not use the deque of the fiber that runs it.
 * So a fiber that runs a stolen generic call keeps no deque while it is parked, unless it has forked.
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
/* A fork that wakes no worker, for a caller that soon joins the call. If the caller parks before, the park makes the
 * call public. Errors as for weft_task_fork. (task/fork_join.c) */
int weft__task_fork_quietly(struct weft_task *task, void (*fn)(void *), void *arg);
/* The `run` of all generic calls. */
WEFT_CALLS void weft__generic_run(struct weft_deque *d, struct weft_call *c);

/* Called by a thief that has taken a call. False: there is nothing to run. In any case the thief then calls
 * weft__call_finish, which lets the owner use the slot again. */
bool weft__call_begin(struct weft_call *c);
void weft__call_finish(struct weft_call *c);

/* What fibers run that are made for calls: for a stolen call; for any calls of continuation stealing. The argument is
 * their deque. (stolen.c, continuation.c) */
void *weft__stolen_run(void *deque);
void *weft__continuation_run(void *deque);

/* --- for the worker's loop (tasks.c, stolen.c) --- */

/* Steals a call of the fiber that another worker runs, and makes a fiber for it; NULL: none. */
struct weft__fiber *weft__tasks_steal(struct weft__worker *w, struct weft__worker *from, uint64_t now);
/* Steals a call of a suspended fiber; of a fiber that was suspended on this worker. */
struct weft__fiber *weft__tasks_steal_suspended(struct weft__worker *w, uint64_t now);
struct weft__fiber *weft__tasks_steal_here(struct weft__worker *w);
/* A worker that takes calls goes to sleep. If it was woken for a fork, the wake-up was in vain. */
void weft__tasks_slept(struct weft__cluster *c);
/* Asks all deques in use to report the next fork, for a worker that goes to sleep. */
void weft__tasks_ask(struct weft__cluster *c);
/* Does a forked call wait: at the fiber that w runs; anywhere, but without calls that w would leave to the watchman? */
bool weft__tasks_wait_at(struct weft__worker *w);
bool weft__tasks_in_sight(struct weft__worker *w);
/* For how long have forked calls waited at the other worker, as far as w has seen? */
uint64_t weft__calls_left_alone(struct weft__worker *w, struct weft__worker *other, uint64_t now);
/* Returns the deques that the worker caches to the pool. all: its deque of parents, too. */
void weft__tasks_flush(struct weft__worker *w, bool all);
void weft__tasks_reset(struct weft__cluster *c);

/* --- calls of suspended fibers (suspended.c) --- */

/* Adds the deque to the list: the running fiber of w parks with outstanding calls. */
void weft__suspended_put(struct weft__worker *w, struct weft__deque *d);
void weft__suspended_remove(struct weft__tasks *t, struct weft__deque *d);
void weft__suspended_reset(struct weft__tasks *t);
/* Which deques a worker asks for: deques of fibers that wait for something other than a join; all deques; deques of
 * fibers that parked on this worker. */
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
/* Runs the call that was pushed in a child, on a stack of its own. Returns when the calling fiber goes on. */
void weft__continue_fork(struct weft__deque *d, struct weft_call *c);
/* The running fiber parks: the parents that wait at this worker become ready. */
void weft__parents_ready(struct weft__worker *w);
/* The same for a fiber that yields: it takes the parents along, and gives them to the worker where it continues. If
 * they became ready instead, each of them would fork and yield, until most calls of a loop were under way at the same
 * time, each on a stack of its own. */
struct weft__link *weft__parents_take(struct weft__worker *w);
void weft__parents_put(struct weft__worker *w, struct weft__link *chain);
/* Steals the oldest parent of another worker, and returns its fiber; NULL: none. */
struct weft__fiber *weft__parents_steal(struct weft__worker *w, struct weft__worker *from, uint64_t now);
bool weft__parents_wait_at(struct weft__worker *w);
/* Frees the children that the worker keeps. all: its deque of parents, too. */
void weft__children_flush(struct weft__worker *w, bool all);

#endif
