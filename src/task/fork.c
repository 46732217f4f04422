/*
 * Fork and join: the generic form, and the slow halves of both. The fast ones are in weft/task.h; what
 * it means that a call was stolen, in sched/tasks.c.
 *
 * A generic task is a call like any other. The user's struct knows its place:
 *
 *   opaque[0]   the call, while it is outstanding; NULL: joined, or never forked; RAN: it was run by the fork
 *
 * Joins in another order than the youngest first. The owner claims the call by its state, as a thief
 * would (FREE -> SELF), runs it, and leaves a hole in the deque: a call without `run`. Holes at the head are
 * dropped when a join comes by; while there are any, every join does. A hole that was stolen meanwhile is
 * waited for like any stolen call, because until then the thief may look at it.
 *
 * A typed frame knows where the head is without looking, so from WEFT_RUN to its end the head must not go below where
 * that began, the base. Whoever joins a generic task from below comes to the slow path, as if younger ones were
 * outstanding, and the hole is dropped when the frame has been left.
 */
#include "sched/tasks.h"

#include "base/say.h"
#include "sched/region.h"

struct generic {
    void (*fn)(void *);
    void *arg;
};
#define RAN ((void *)1)
#define WEFT_ALIGNED_CODE __attribute__((aligned(64)))

static struct generic *generic_of(struct weft_call *c) { return (struct generic *)(void *)c->data; }

static inline void call_generic(struct weft_call *c) {
    struct generic *g = generic_of(c);
    WEFT_BARRIER(barrier, "weft_task_join");
    g->fn(g->arg);
    barrier = NULL;
}

static WEFT_CALLS void run_generic(struct weft_deque *d, struct weft_call *c) {
    (void)d;
    call_generic(c);
}

/* --- fork ----------------------------------------------------------------------------------------- */

/* There is no room for it. */
static WEFT_COLD WEFT_CALLS int fork_by_running(struct weft_task *task, void (*fn)(void *), void *arg) {
    WEFT_BARRIER(barrier, "weft_fork");
    fn(arg);
    barrier = NULL;
    task->opaque[0] = RAN;
    return 0;
}

/* Somebody should know of it; or there was only just room: then it is taken back, unless it was stolen already. */
static WEFT_NOINLINE int fork_slowly(struct weft__deque *d, struct weft_call *c, struct weft_task *task) {
    if (d->kind == &weft__deque_kept && weft__deque_touch(d, c)) {
        weft__continue_fork(d, c);
        return 0;
    }
    if (likely(!weft__tasks_pushed(d, c))) return 0;
    task->opaque[0] = RAN;
    if (weft__task_take(&d->in, c)) run_generic(&d->in, c);
    return 0;
}

static inline int fork_into(struct weft__deque *d, struct weft_task *task, void (*fn)(void *), void *arg) {
    struct weft_call *c = d->in.head;
    c->run = run_generic;
    *generic_of(c) = (struct generic){fn, arg};
    task->opaque[0] = c;
    store_rel(weft__deque_head(d), c + 1); /* pairs with a thief of last resort */
    fence_compiler();                      /* the light half, as in weft__task_push */
    if (likely((uintptr_t)c - (uintptr_t)d->in.low < load_rlx(weft__deque_span(d)))) return 0;
    return fork_slowly(d, c, task);
}

static WEFT_COLD int fork_first(struct weft__worker *w, struct weft_task *task, void (*fn)(void *), void *arg) {
    if (!task || !fn) return -EINVAL;
    if (!w || !load_rlx(&w->current)) return -EPERM;
    struct weft__deque *d = weft__tasks_begin(w);
    return d ? fork_into(d, task, fn, arg) : fork_by_running(task, fn, arg);
}

/* Both begin with a cache line of code, which most of either then fits into. (fib: 6.5 -> 6.0 ns a fork.) */
WEFT_PUBLIC WEFT_ALIGNED_CODE int weft_fork(struct weft_task *task, void (*fn)(void *), void *arg) {
    struct weft__worker *w = weft__self();
    struct weft__deque *d = likely(w != NULL) ? load_rlx(&w->deque) : NULL;
    if (unlikely(!d || !task || !fn)) return fork_first(w, task, fn, arg);
    return fork_into(d, task, fn, arg);
}

static WEFT_COLD _Noreturn void no_room(struct weft__deque *d) {
    struct weft__text text;
    weft__die("%s has %z tasks outstanding, and there is no room for more", weft__describe(d->owner, &text),
              (size_t)WEFT_DEQUE_MOST);
}

static WEFT_NOINLINE void pushed_slowly(struct weft__deque *d, struct weft_call *c) {
    if (d->kind == &weft__deque_kept && likely(weft__deque_touch(d, c)))
        weft__continue_fork(d, c);
    else if (unlikely(weft__tasks_pushed(d, c)))
        no_room(d);
}

/* Under continuation stealing every fork comes here, and every join to pop: neither has a frame. */
WEFT_PUBLIC void weft__task_pushed(struct weft_deque *in, struct weft_call *c) {
    struct weft__deque *d = weft__deque_of(in);
    if (likely(d->kind == &weft__deque_kept && weft__deque_is_touched(d, c)))
        weft__continue_fork(d, c);
    else
        pushed_slowly(d, c);
}

/* --- join ----------------------------------------------------------------------------------------- */

/* The youngest, c, was taken by somebody: wait for it. Its place is free then. */
static void collect(struct weft__deque *d, struct weft_call *c) {
    store_rlx(weft__deque_head(d), c + 1); /* it is outstanding, and the deque not empty, until it is done */
    weft__tasks_await(d, c);
    if (unlikely(load_rlx(&d->rooted)) && c == d->calls) weft__root_close(d);
    store_rlx(weft__call_state(c), WEFT_CALL_FREE);
    store_rlx(weft__deque_head(d), c); /* before: what lies between split and head can be taken */
    if (d->kind->forget) d->kind->forget(d, c);
}

/* Holes that are the youngest now are no longer needed. */
static void drop_holes(struct weft__deque *d) {
    if (likely(!load_rlx(&d->holes)) || d->in.head[-1].run) return;
    if (d->kind == &weft__deque_split) weft__deque_drop_private(d);
    while (load_rlx(&d->holes) && d->in.head > d->base && !d->in.head[-1].run) {
        struct weft_call *c = d->in.head - 1;
        store_rlx(weft__deque_head(d), c);
        if (d->kind->pop(d, c))
            store_rlx(weft__call_state(c), WEFT_CALL_FREE);
        else
            collect(d, c);
        weft__deque_holes(d, -1u);
    }
}

/* The head stands at c: true if it is the owner's to run. */
static WEFT_NOINLINE bool take_back(struct weft__deque *d, struct weft_call *c) {
    bool mine = d->kind->pop(d, c);
    if (!mine) collect(d, c);
    drop_holes(d);
    weft__tasks_joined(d); /* only now: a thief may have wanted to know whose its call is */
    return mine;
}

/* Is it one that has run in its turn? Then it is joined; the floor is never below the base. */
static inline bool pop_ran(struct weft__deque *d, struct weft_call *c) {
    bool ran = load_acq(weft__call_state(c)) == WEFT_CALL_DONE && d->kind == &weft__deque_kept &&
               !load_rlx(&d->holes) && c >= d->floor && !load_rlx(&d->rooted);
    if (ran) store_rlx(weft__call_state(c), WEFT_CALL_FREE);
    return ran;
}

static WEFT_NOINLINE int pop_slowly(struct weft__deque *d, struct weft_call *c) {
    if (unlikely(c < d->base)) weft__task_misused("there is no spawn to be synced", NULL);
    return take_back(d, c);
}

WEFT_PUBLIC int weft__task_pop(struct weft_deque *in, struct weft_call *c) {
    struct weft__deque *d = weft__deque_of(in);
    return likely(pop_ran(d, c)) ? false : pop_slowly(d, c);
}

/* Not the youngest. */
static WEFT_COLD WEFT_CALLS void join_out_of_order(struct weft__deque *d, struct weft_call *c) {
    struct generic g = *generic_of(c);
    uint64_t state = WEFT_CALL_FREE;
    bool mine = cas_ar(weft__call_state(c), &state, WEFT_CALL_SELF); /* pairs with a thief that begins it */
    if (mine) {
        WEFT_BARRIER(barrier, "weft_task_join");
        g.fn(g.arg);
        barrier = NULL;
    } else
        weft__tasks_await(d, c); /* what the thief did is seen; the state stays DONE until the hole is dropped */
    c->run = NULL;
    weft__deque_holes(d, 1);
    drop_holes(d);
    weft__tasks_joined(d);
}

/* A generic call that was forked before WEFT_RUN is the youngest now, and must not be taken off. */
static WEFT_NOINLINE bool pop_generic(struct weft__deque *d, struct weft_call *c) {
    if (likely(c >= d->base)) return !pop_ran(d, c) && take_back(d, c);
    store_rlx(weft__deque_head(d), c + 1);
    join_out_of_order(d, c);
    return false;
}

/* As weft__task_take. */
static inline bool take_generic(struct weft__deque *d, struct weft_call *c) {
    store_rlx(weft__deque_head(d), c);
    fence_compiler();
    return likely(c >= load_rlx(weft__deque_bound(d))) || pop_generic(d, c);
}

static bool is_outstanding(const struct weft__deque *d, const struct weft_call *c) {
    return c >= d->calls && c < d->in.head;
}

static WEFT_COLD int join_slowly(struct weft__worker *w, struct weft_task *task) {
    struct weft__deque *d = w ? load_rlx(&w->deque) : NULL;
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
    struct weft__deque *d = likely(w != NULL) ? load_rlx(&w->deque) : NULL;
    struct weft_call *c = task->opaque[0];
    if (unlikely(!d || (uintptr_t)c + sizeof *c != (uintptr_t)d->in.head))
        return join_slowly(w, task); /* or it is NULL */
    task->opaque[0] = NULL;
    if (likely(take_generic(d, c))) call_generic(c);
    return 0;
}

/* --- the typed form's way in ------------------------------------------------------------------------ */

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
    struct weft__deque *d = load_rlx(&weft__self()->deque);
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
