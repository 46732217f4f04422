/*
 * Tasks, as the scheduler sees them. A fiber that forks has a deque (queue/deque.h), from its first fork
 * until it next gives its worker away with nothing outstanding. The worker that runs it says so in
 * worker->deque, where thieves look; a fiber that parks with calls outstanding makes them all public,
 * and its deque stands in the cluster's list of suspended ones until it goes on. See tasks.c.
 */
#ifndef WEFT_SCHED_TASKS_H
#define WEFT_SCHED_TASKS_H

#include "queue/deque.h"
#include "sched/sched.h"

/*
 * What owner and thief say to each other about a call that was stolen: call->state.
 *
 *      FREE     nobody has begun it. Every free place, and every private one
 *      TAKEN    a thief runs it
 *      SELF     the owner has joined it, and run it itself, although younger ones were outstanding; the
 *               thief that takes it all the same has nothing to run
 *      DONE     the thief no longer needs it
 *      by       the owner waits for DONE: the number of its record and its ticket (weft__join_by)
 */
enum { WEFT_CALL_FREE = 0, WEFT_CALL_TAKEN = 1, WEFT_CALL_DONE = 2, WEFT_CALL_SELF = 3 };

/* The running fiber forks: its deque, which it may have to get. NULL: no memory. */
struct weft__deque *weft__tasks_begin(struct weft__worker *w);
/* A fork came to the slow path: c was pushed. -ENOSPC: no, the deque is full. */
int weft__tasks_pushed(struct weft__deque *d, struct weft_call *c);
/* The fiber has ended, or its call has, and left some outstanding. */
_Noreturn void weft__tasks_left(struct weft__fiber *f);
/* The base has changed. */
void weft__tasks_based(struct weft__deque *d);
/* Joins have brought the head below the floor. */
void weft__tasks_sank(struct weft__deque *d);
static inline void weft__tasks_joined(struct weft__deque *d) {
    if (unlikely(d->in.head < d->floor)) weft__tasks_sank(d);
}
/* Waits until the thief no longer needs the call. */
void weft__tasks_await(struct weft__deque *d, struct weft_call *c);

/*
 * A frame that no exception may pass, because calls that were forked around it would be left behind in frames that are
 * gone: one line, and abort. For the time of a call to the user's function, which was handed to weft by `what`:
 *
 *     WEFT_BARRIER(barrier, what); ... the call ...; barrier = NULL;
 *
 * Nobody looks at the variable as long as nothing is thrown, so it costs nothing.
 */
_Noreturn void weft__tasks_escaped(const char *what);
static inline void weft__barrier_left(const char **what) {
    if (unlikely(*what != NULL)) weft__tasks_escaped(*what);
}
#define WEFT_BARRIER(name, what) const char *name __attribute__((cleanup(weft__barrier_left))) = what

/* A function that calls one of the user's, which must return to it and not end by weft_exit; see exit.c. Neither
 * inlined nor cloned: the code would leave the section. Nor is the call in it a tail call: WEFT_BARRIER sees to that.
 */
#ifdef __clang__
#define WEFT_CALLS __attribute__((section("weft_calls"), noinline))
#else
#define WEFT_CALLS __attribute__((section("weft_calls"), noinline, noclone))
#endif

/* --- calls of suspended fibers (suspended.c) --- */

/* The running fiber of w parks with these calls outstanding. */
void weft__suspended_put(struct weft__worker *w, struct weft__deque *d);
void weft__suspended_remove(struct weft__tasks *t, struct weft__deque *d);
void weft__suspended_reset(struct weft__tasks *t);
/* Which deques a worker asks for: those of fibers that wait for something else than a join; all; those whose fibers
 * parked on this worker. */
enum weft__suspended { WEFT_SUSPENDED_PARKED, WEFT_SUSPENDED_ALL, WEFT_SUSPENDED_HERE };
/* One that has calls which w may take now; NULL: none. is_here: w is its home. */
struct weft__deque *weft__suspended_find(struct weft__worker *w, enum weft__suspended which, uint64_t now,
                                         bool *is_here);
/* Is there one that w must not sleep over? */
bool weft__suspended_in_sight(struct weft__worker *w);
/* Will the worker that the fiber parks on see to its calls alone? */
bool weft__suspended_is_for_home(struct weft__deque *d);

/* --- whether steals pay (worth.c) --- */

/* For how long w leaves calls alone before it steals them. */
uint64_t weft__worth_patience(struct weft__worker *w);
/* w has stolen a call from another worker's fiber, and runs it with this deque; the call has returned. */
void weft__worth_stole(struct weft__worker *w, struct weft__deque *by, uint64_t now);
void weft__worth_ran(struct weft__worker *w, const struct weft__deque *by);
/* What a worker has stolen has kept it busy, or not. (tasks.c) */
void weft__tasks_stolen(struct weft__cluster *c, bool paid);

/* --- continuation stealing (continue.c) --- */

extern const struct weft__deque_kind weft__deque_kept;
/* Runs the call that was pushed, on a stack of its own, and returns when the caller goes on. */
void weft__continue_fork(struct weft__deque *d, struct weft_call *c);
/* The fiber that the worker runs gives it away: the parents that wait there become ready. */
void weft__parents_ready(struct weft__worker *w);
/* The same for a fiber that only lets others in: it takes its parents along, and puts them onto the worker where it
 * goes on. If they became ready instead, each of them would fork, and let others in, until most of the loop's calls
 * are under way at once, each on a stack. */
struct weft__link *weft__parents_take(struct weft__worker *w);
void weft__parents_put(struct weft__worker *w, struct weft__link *chain);
/* The oldest parent of another worker, to be entered; NULL: none. */
struct weft__fiber *weft__parents_steal(struct weft__worker *w, struct weft__worker *from, uint64_t now);
bool weft__parents_wait_at(struct weft__worker *w);
/* What the worker keeps goes back; all: its deque of parents, too. */
void weft__children_flush(struct weft__worker *w, bool all);

#endif
