/* SPDX-License-Identifier: MIT */
/*
 * Fork and join of tasks: the generic form, and the slow paths of both forms. The fast paths are in weft/task.h.
 * sched/tasks/stolen.c describes what happens to a stolen call.
 *
 * A generic task is a call like any other. The user's struct refers to it:
 *
 *   opaque[0]   the call, while it is outstanding; NULL: joined, or never forked; RAN: the fork ran it
 *
 * Joins in another order than youngest first: the owner claims the call by its state (FREE -> SELF), so that no thief
 * begins it, runs it, and leaves a hole in the deque: a call without `run`. Later joins drop holes at the head. While
 * there are holes, every join takes the slow path. If a thief has stolen a hole, the owner waits for it as for any
 * stolen call, because the thief may still read it.
 *
 * A typed frame knows the head without reading it. So between WEFT_RUN and its end, the head must not go below the
 * position where WEFT_RUN began, the base. A join of a generic task below the base takes the slow path, as if younger
 * calls were outstanding, and its hole is dropped when the frame is left.
 */
#include "sched/tasks/tasks.h"

#include "base/message.h"
#include "sched/wait/cancel.h"

#define RAN ((void *)1)
#define WEFT_ALIGNED_CODE __attribute__((aligned(64)))

/* --- fork ----------------------------------------------------------------------------------------- */

/* There is no room for the call: runs it at once. */
static WEFT_COLD WEFT_CALLS int fork_by_running(struct weft_task *task, void (*fn)(void *), void *arg) {
    WEFT_BARRIER(barrier, "weft_task_fork");
    fn(arg);
    barrier = NULL;
    task->opaque[0] = RAN;
    return 0;
}

/* Notifies the scheduler of the new call. If the deque is full now, takes the call back and runs it, unless it was
 * stolen already. */
static WEFT_NOINLINE int fork_slowly(struct weft__deque *d, struct weft_call *c, struct weft_task *task) {
    if (d->variant == &weft__deque_kept && weft__deque_touch(d, c)) {
        weft__continue_fork(d, c);
        return 0;
    }
    if (likely(!weft__tasks_pushed(d, c))) return 0;
    task->opaque[0] = RAN;
    if (weft__task_take(&d->in, c)) weft__generic_run(&d->in, c);
    return 0;
}

/* Writes the call into the slot at the head, and returns it. */
static inline struct weft_call *push_into(struct weft__deque *d, struct weft_task *task, void (*fn)(void *),
                                          void *arg) {
    struct weft_call *c = d->in.head;
    c->run = weft__generic_run;
    *weft__generic_of(c) = (struct weft__generic){fn, arg};
    task->opaque[0] = c;
    store_rel(weft__deque_head(d), c + 1); /* pairs with the thief of last resort */
    return c;
}

static inline int fork_into(struct weft__deque *d, struct weft_task *task, void (*fn)(void *), void *arg) {
    struct weft_call *c = push_into(d, task, fn, arg);
    fence_compiler(); /* the light fence, as in weft__task_push */
    if (likely((uintptr_t)c - (uintptr_t)d->in.low < load_rlx(weft__deque_span(d)))) return 0;
    return fork_slowly(d, c, task);
}

static WEFT_COLD int fork_first(struct weft__worker *w, struct weft_task *task, void (*fn)(void *), void *arg) {
    if (!task || !fn) return -EINVAL;
    if (!w || !load_rlx(&w->current)) return -EPERM;
    struct weft__deque *d = weft__tasks_begin(w);
    return d ? fork_into(d, task, fn, arg) : fork_by_running(task, fn, arg);
}

/* Both functions start at a cache line, and most of each fits into that line. (fib: 6.5 -> 6.0 ns a fork.) */
WEFT_PUBLIC WEFT_ALIGNED_CODE int weft_task_fork(struct weft_task *task, void (*fn)(void *), void *arg) {
    struct weft__worker *w = weft__self();
    struct weft__deque *d = likely(w != NULL) ? load_rlx(&w->calls.deque) : NULL;
    if (unlikely(!d || !task || !fn)) return fork_first(w, task, fn, arg);
    return fork_into(d, task, fn, arg);
}

/* Slots that lag behind, or that were not touched before, need the slow path. */
int weft__task_fork_quietly(struct weft_task *task, void (*fn)(void *), void *arg) {
    struct weft__deque *d = weft__tasks_begin(weft__self());
    if (!d || d->variant != &weft__deque_split || d->lags || !weft__deque_is_touched(d, d->in.head))
        return weft_task_fork(task, fn, arg);
    push_into(d, task, fn, arg);
    return 0;
}

/* --- join ----------------------------------------------------------------------------------------- */

/* A thief has taken the youngest call, c: waits until c has run, and frees its slot. */
static void task_collect(struct weft__deque *d, struct weft_call *c) {
    store_rlx(weft__deque_head(d), c + 1); /* it is outstanding until it has run, so the deque must not look empty */
    weft__tasks_await(d, c);
    if (unlikely(load_rlx(&d->rooted)) && c == d->calls) weft__root_close(d);
    store_rlx(weft__call_state(c), WEFT_CALL_FREE);
    store_rlx(weft__deque_head(d), c); /* before forget: calls between split and head can be stolen */
    if (d->variant->forget) d->variant->forget(d, c);
}

/* Drops holes that are the youngest calls now. */
static void drop_holes(struct weft__deque *d) {
    if (likely(!load_rlx(&d->holes)) || d->in.head[-1].run) return;
    if (d->variant == &weft__deque_split) weft__deque_drop_private(d);
    while (load_rlx(&d->holes) && d->in.head > d->base && !d->in.head[-1].run) {
        struct weft_call *c = d->in.head - 1;
        store_rlx(weft__deque_head(d), c);
        if (d->variant->pop(d, c))
            store_rlx(weft__call_state(c), WEFT_CALL_FREE);
        else
            task_collect(d, c);
        weft__deque_count_holes(d, -1u);
    }
}

/* The slow path of a join; the head is at c. True: the caller must run c. False: a thief has run it. */
static WEFT_NOINLINE bool task_take_back(struct weft__deque *d, struct weft_call *c) {
    bool mine = d->variant->pop(d, c);
    if (!mine) task_collect(d, c);
    drop_holes(d);
    weft__tasks_joined(d); /* only now: a thief may have needed the owner of its call */
    return mine;
}

/* With continuation stealing: joins the call if it has run, and no join was out of order. The floor is never below the
 * base. */
static inline bool pop_ran(struct weft__deque *d, struct weft_call *c) {
    bool ran = load_acq(weft__call_state(c)) == WEFT_CALL_DONE && d->variant == &weft__deque_kept &&
               !load_rlx(&d->holes) && c >= d->floor && !load_rlx(&d->rooted);
    if (ran) store_rlx(weft__call_state(c), WEFT_CALL_FREE);
    return ran;
}

static WEFT_NOINLINE int pop_slowly(struct weft__deque *d, struct weft_call *c) {
    if (unlikely(c < d->base)) weft__task_misused("there is no spawn to be synced", NULL);
    return task_take_back(d, c);
}

WEFT_PUBLIC int weft__task_pop(struct weft_deque *in, struct weft_call *c) {
    struct weft__deque *d = weft__deque_of(in);
    return likely(pop_ran(d, c)) ? false : pop_slowly(d, c);
}

/* Joins a call that is not the youngest. */
static WEFT_COLD WEFT_CALLS void join_out_of_order(struct weft__deque *d, struct weft_call *c) {
    struct weft__generic g = *weft__generic_of(c);
    uint64_t state = WEFT_CALL_FREE;
    bool mine = cas_ar(weft__call_state(c), &state, WEFT_CALL_SELF); /* pairs with a thief that begins it */
    if (mine) {
        WEFT_BARRIER(barrier, "weft_task_join");
        g.fn(g.arg);
        barrier = NULL;
    } else
        weft__tasks_await(d, c); /* pairs with the thief's end; the state stays DONE until the hole is dropped */
    c->run = NULL;
    weft__deque_count_holes(d, 1);
    drop_holes(d);
    weft__tasks_joined(d);
}

/* A generic call that was forked before WEFT_RUN is the youngest now, and must not be removed. */
static WEFT_NOINLINE bool pop_generic(struct weft__deque *d, struct weft_call *c) {
    if (likely(c >= d->base)) return !pop_ran(d, c) && task_take_back(d, c);
    store_rlx(weft__deque_head(d), c + 1);
    join_out_of_order(d, c);
    return false;
}

/* The same as weft__task_take. */
static inline bool take_generic(struct weft__deque *d, struct weft_call *c) {
    store_rlx(weft__deque_head(d), c);
    fence_compiler();
    return likely(c >= load_rlx(weft__deque_split_pointer(d))) || pop_generic(d, c);
}

static bool is_outstanding(const struct weft__deque *d, const struct weft_call *c) {
    return c >= d->calls && c < d->in.head;
}

static WEFT_COLD int join_slowly(struct weft__worker *w, struct weft_task *task) {
    struct weft__deque *d = w ? load_rlx(&w->calls.deque) : NULL;
    struct weft_call *c = task->opaque[0];
    if (!w || !load_rlx(&w->current)) return -EPERM;
    if (!c) return -EINVAL;
    if (c != RAN && (!d || !is_outstanding(d, c))) return -EPERM;
    task->opaque[0] = NULL;
    if (c != RAN) join_out_of_order(d, c);
    return 0;
}

WEFT_PUBLIC WEFT_ALIGNED_CODE WEFT_CALLS int weft_task_join(struct weft_task *task) {
    struct weft__worker *w = weft__self();
    if (unlikely(!task)) return -EINVAL;
    struct weft__deque *d = likely(w != NULL) ? load_rlx(&w->calls.deque) : NULL;
    struct weft_call *c = task->opaque[0];
    if (unlikely(!d || (uintptr_t)c + sizeof *c != (uintptr_t)d->in.head))
        return join_slowly(w, task); /* c is not the youngest, or is NULL */
    task->opaque[0] = NULL;
    if (likely(take_generic(d, c))) weft__generic_call(c);
    return 0;
}

/* --- entry of the typed form ------------------------------------------------------------------------ */

WEFT_PUBLIC int weft_task_prepare(void) {
    struct weft__worker *w = weft__self();
    if (!w || !load_rlx(&w->current)) return -EPERM;
    return weft__tasks_begin(w) ? 0 : -ENOMEM;
}

WEFT_COLD WEFT_PUBLIC void weft__task_misused(const char *what, const char *name) {
    struct weft__text text;
    weft__die("%s%s%s in %s", what, name ? ": " : "", name ? name : "", weft__describe_caller(&text));
}

WEFT_PUBLIC void weft__task_enter(struct weft_entry *entry) {
    int err = weft_task_prepare();
    if (err == -EPERM) weft__die("WEFT_RUN was used by a thread that is no fiber");
    if (err) weft__die("WEFT_RUN: no memory for tasks");
    struct weft__deque *d = load_rlx(&weft__self()->calls.deque);
    d->entered++;
    *entry = (struct weft_entry){&d->in, d->in.head, d->base};
    d->base = d->in.head;
    if (unlikely(d->floor < d->base)) weft__tasks_based(d);
}

static WEFT_COLD void leave_slowly(struct weft__deque *d) {
    weft__tasks_based(d);
    drop_holes(d);
    weft__tasks_joined(d);
}

WEFT_PUBLIC void weft__task_leave(struct weft_entry *entry) {
    struct weft__deque *d = weft__deque_of(entry->deque);
    if (unlikely(d->in.head != entry->head))
        weft__task_misused("WEFT_RUN has not synced or joined exactly what was forked in it", NULL);
    d->entered--;
    d->base = entry->below;
    if (unlikely(d->floor > d->base)) leave_slowly(d);
}
