/* SPDX-License-Identifier: MIT */
/*
 * Scopes: begin, spawn, cancel, end. See cancel.h for what they are made of.
 *
 * Cancelling. One thread sets the cause of a scope, once, under its lock. It then visits the scope's chain: it cancels
 * members at once, and puts inner scopes into a list, to visit them afterwards. It holds the lock for a few steps at a
 * time. A cursor in the chain marks how far it has come, and a region that enters the chain meanwhile sees the cause.
 * The caller does the first few hundred steps, and a separate fiber the rest. So no call takes long: any code may
 * cancel, even a timer's function, with a million fibers in the scope.
 *
 * Deadlines. A scope with a deadline has a timer. One count of the scope belongs to the timer from the beginning, so a
 * deadline can be set at any time, even while the end waits: the end cancels the timer when nothing else is
 * outstanding. A thread may keep a scope across a stop, which drops the timer, or begin a scope without a runtime: then
 * the timer counts as dropped from the start. So a thread checks its own deadlines whenever it waits, and a spawn into
 * such a scope arms the timer again.
 *
 * Lifetime. The end of a scope waits until nothing is outstanding: children, the timer until it was called or
 * cancelled, threads that visit the chain. A thread that finds a scope in a chain adds a count under the lock of that
 * chain, and the scope leaves the chain under the same lock. So the scope is either held or gone, never in between.
 */
#include "sched/dispatch/make_ready.h"
#include "sched/wait/cancel.h"

#include "base/assert.h"
#include "base/message.h"

static struct weft__scope *of_region(struct weft__region *r) { return container_of(r, struct weft__scope, region); }

/* --- cancelling ---------------------------------------------------------------------------------- */

#ifndef WEFT_SCOPE_STEPS
#define WEFT_SCOPE_STEPS 32 /* with the lock held; the model takes fewer */
#endif
enum { STEPS_AT_ONCE = 8 * WEFT_SCOPE_STEPS };

/* The scope is cancelled: cancels its own fiber, and prepares the visit of the chain. Locked. */
static void scope_mark(struct weft__scope *s, uint64_t cause, struct weft__list *won) {
    WEFT_ASSERT(weft__lock_is_held(&s->lock));
    WEFT_ASSERT(cause && !load_rlx(&s->cause)); /* a scope is cancelled once */
    store_rel(&s->cause, cause);                /* pairs with the fiber that asks why it was woken */
    struct weft__fiber *f = s->region.fiber;
    if (!s->region.frame.covered && weft__cancel_fiber(f, cause)) weft__list_put(won, &f->slot.link);
    weft__circle_insert(&s->chain, &s->cursor);
    weft_counter_add(&s->outstanding, 1); /* for the thread that visits the chain */
}

/* Cancels one region in the chain of s. s is locked. */
static void cancel_region(struct weft__scope *s, struct weft__region *r, struct weft__list *won) {
    WEFT_ASSERT(weft__lock_is_held(&s->lock) && load_rlx(&s->cause));
    WEFT_ASSERT(r->scope == s);
    uint64_t cause = load_rlx(&s->cause);
    if (r->frame.kind == WEFT_FRAME_MEMBER) {
        if (!r->frame.covered && weft__cancel_fiber(r->fiber, cause)) weft__list_put(won, &r->fiber->slot.link);
        return;
    }
    struct weft__scope *inner = of_region(r);
    weft__lock(&inner->lock);
    if (!load_rlx(&inner->cause)) {
        scope_mark(inner, weft__cause_inward(cause), won);
        inner->behind = s->behind;
        s->behind = inner;
    }
    weft__unlock(&inner->lock);
}

/* Visits the chain for a few steps. Returns the scope to continue with; NULL: everything is done. */
static struct weft__scope *scope_visit_chain(struct weft__scope *s, unsigned *steps) {
    struct weft__list won = {NULL, NULL};
    struct weft__scope *next = s;
    weft__lock(&s->lock);
    for (unsigned i = 0; i < WEFT_SCOPE_STEPS && s->cursor.next != &s->chain; i++) {
        struct weft__circle *at = s->cursor.next;
        weft__circle_remove(&s->cursor);
        weft__circle_insert(at, &s->cursor);
        cancel_region(s, container_of(at, struct weft__region, link), &won);
        (*steps)++;
    }
    bool done = s->cursor.next == &s->chain;
    if (done) {
        weft__circle_remove(&s->cursor);
        next = s->behind;
        (*steps)++;
    }
    weft__unlock(&s->lock);
    weft__make_all_ready(&won);
    if (done) weft_counter_complete(&s->outstanding);
    return next;
}

static void *go_over_the_rest(void *scope) {
    struct weft__scope *s = scope;
    for (unsigned steps = 0; s; weft_yield()) s = scope_visit_chain(s, &steps);
    return NULL;
}

int (*weft__scope_helper)(void *(*fn)(void *), struct weft__scope *scope);

bool weft__scope_stop(struct weft__scope *s, int why, int err) {
    struct weft__list won = {NULL, NULL};
    weft__lock(&s->lock);
    bool first = !load_rlx(&s->cause);
    if (first) {
        scope_mark(s, weft__cause(why, err), &won);
        s->behind = NULL;
    }
    weft__unlock(&s->lock);
    if (!first) return false;
    weft__make_all_ready(&won);
    unsigned steps = 0;
    while (s && steps < STEPS_AT_ONCE) s = scope_visit_chain(s, &steps);
    if (s && (!weft__scope_helper || weft__scope_helper(go_over_the_rest, s)))
        while (s) s = scope_visit_chain(s, &steps); /* no memory for a fiber, or no runtime */
    return true;
}

static int stop_if_open(struct weft_scope *scope, int why, int err) {
    struct weft__scope *s = weft__scope_inside(scope);
    if (!scope || !s->region.fiber) return -EINVAL;
    return weft__scope_stop(s, why, err) ? 0 : -EALREADY;
}

WEFT_PUBLIC int weft_scope_cancel(struct weft_scope *scope) { return stop_if_open(scope, WEFT_BY_REQUEST, -ECANCELED); }

WEFT_PUBLIC int weft_scope_fail(struct weft_scope *scope, int err) {
    return err < 0 ? stop_if_open(scope, WEFT_BY_FAILURE, err) : -EINVAL;
}

/* --- children ------------------------------------------------------------------------------------- */

void weft__member_end(struct weft__fiber *me, struct weft__region *m, int result) {
    struct weft__scope *s = m->scope;
    if (unlikely(result < 0)) weft__scope_stop(s, WEFT_BY_FAILURE, result);
    if (unlikely(m->frame.chained)) {
        weft__lock(&s->lock);
        weft__circle_remove(&m->link);
        weft__unlock(&s->lock);
    }
    me->frames = m->frame.below; /* needs no lock: the fiber has no scope or shield open */
}

/* The main function of a child. When the child has ended, its scope's count is completed like any fiber's counter. */
void *weft__child_main(void *arg) {
    struct weft__worker *w = weft__self();
    struct weft__fiber *me = load_rlx(&w->current);
    struct weft__region m;
    m.frame = (struct weft__frame){.below = me->frames, .kind = WEFT_FRAME_MEMBER};
    m.fiber = me;
    m.scope = container_of((struct weft_counter *)me->frames, struct weft__scope, outstanding);
    int (*fn)(void *) = me->child;
    me->locals = NULL;
    me->owes = w->owed;
    w->owed = 0;
    me->frames = weft__frames_with(&m.frame);
    int result = fn(arg);
    if (unlikely(me->frames != weft__frames_with(&m.frame)))
        weft__frames_unwind(me, (void *)(intptr_t)result, weft__stack_pointer());
    else
        weft__member_end(me, &m, result);
    return NULL;
}

/* --- deadlines -------------------------------------------------------------------------------------- */

static void deadline_passed(void *scope) {
    struct weft__scope *s = scope;
    weft__scope_stop(s, WEFT_BY_DEADLINE, -ETIMEDOUT);
    weft_counter_complete(&s->outstanding);
}

static struct weft__timer *timer_of(struct weft__scope *s) { return (struct weft__timer *)(void *)&s->timer; }

/* Arms the timer of the scope. Without a runtime the timer counts as dropped at once. Its count stays, see
 * scope_disarm. Locked. */
static void scope_arm(struct weft__scope *s) {
    if (weft_timer_arm(&s->timer, load_rlx(&s->deadline), deadline_passed, s)) weft__timer_drop(timer_of(s));
}

/* Sets or replaces the deadline. False: the old deadline is passing just now. Locked. */
static bool set_deadline(struct weft__scope *s, uint64_t deadline) {
    WEFT_ASSERT(weft__lock_is_held(&s->lock));
    if (s->timed && weft_timer_cancel(&s->timer)) return false;
    store_rlx(&s->deadline, deadline);
    s->timed = deadline != WEFT_FOREVER;
    s->timer = (struct weft_timer)WEFT_TIMER_INIT;
    if (s->timed) scope_arm(s);
    return true;
}

WEFT_PUBLIC int weft_scope_set_deadline(struct weft_scope *scope, uint64_t deadline) {
    struct weft__scope *s = weft__scope_inside(scope);
    if (!scope || !s->region.fiber) return -EINVAL;
    weft__lock(&s->lock);
    bool is_set = !load_rlx(&s->cause) && set_deadline(s, deadline);
    weft__unlock(&s->lock);
    if (!is_set) return -EALREADY;
    if (deadline <= weft__clock()) weft__scope_stop(s, WEFT_BY_DEADLINE, -ETIMEDOUT); /* do not wait for the timer */
    return 0;
}

/* Counts the child first, so that the scope does not end while its timer is armed again. */
WEFT_NOINLINE void weft__scope_count_foreign(struct weft__scope *s) {
    weft_counter_add(&s->outstanding, 1);
    weft__lock(&s->lock);
    if (unlikely(s->timed) && weft__timer_take_dropped(timer_of(s))) scope_arm(s);
    weft__unlock(&s->lock);
}

/* Cancels the timer. If its function is running already, that completes the timer's count. */
static void scope_disarm(struct weft__scope *s) {
    weft__counter_wait_always(&s->outstanding, 1); /* before that, the timer may still have fibers to cancel */
    weft__lock(&s->lock);
    bool is_passing = s->timed && weft_timer_cancel(&s->timer);
    s->timed = false;
    weft__unlock(&s->lock);
    if (!is_passing) weft_counter_complete(&s->outstanding);
}

static struct weft__scope *next_scope(const struct weft__frame **f) {
    struct weft__scope *s = NULL;
    for (; *f && !s; *f = weft__frame_top((*f)->below))
        if ((*f)->kind == WEFT_FRAME_SCOPE)
            s = container_of(container_of(*f, struct weft__region, frame), struct weft__scope, region);
    return s;
}

uint64_t weft__scopes_deadline(const struct weft__fiber *me) {
    uint64_t deadline = WEFT_FOREVER;
    const struct weft__frame *f = weft__frame_top(me->frames);
    for (struct weft__scope *s; (s = next_scope(&f));)
        if (load_rlx(&s->deadline) < deadline && !load_rlx(&s->cause)) deadline = load_rlx(&s->deadline);
    return deadline;
}

void weft__scopes_expire(struct weft__fiber *me) {
    const struct weft__frame *f = weft__frame_top(me->frames);
    uint64_t now = weft__clock();
    for (struct weft__scope *s; (s = next_scope(&f));)
        if (load_rlx(&s->deadline) <= now) weft__scope_stop(s, WEFT_BY_DEADLINE, -ETIMEDOUT);
}

/* --- begin and end --------------------------------------------------------------------------------- */

/* Ends the caller's innermost scope, after waiting until nothing is outstanding. */
static void scope_finish(struct weft__scope *s) {
    weft__counter_lower(&s->outstanding, s->reserve);
    s->reserve = 0;
    scope_disarm(s);
    do weft__counter_wait_always(&s->outstanding, 0);
    while (!weft__region_leave(s->region.fiber, &s->region));
}

WEFT_PUBLIC int weft_scope_begin(struct weft_scope *scope, uint64_t deadline) {
    if (!scope) return -EINVAL;
    struct weft__scope *s = weft__scope_inside(scope);
    struct weft__fiber *me = weft__me();
    if (!me) return -ENOMEM;
    if (weft__frame_is_open(me, &s->region.frame)) return -EBUSY;
    s->region.frame.kind = WEFT_FRAME_SCOPE;
    s->lock = (struct weft__lock){0};
    s->timed = false;
    store_rlx(&s->deadline, WEFT_FOREVER);
    s->outstanding = (struct weft_counter)WEFT_COUNTER_INIT;
    weft_counter_add(&s->outstanding, (s->reserve = WEFT_SCOPE_RESERVE) + 1);
    weft__circle_init(&s->chain);
    weft__region_enter(me, &s->region);
    if (deadline == WEFT_FOREVER) return 0;
    if (deadline <= weft__clock()) {
        weft__scope_stop(s, WEFT_BY_DEADLINE, -ETIMEDOUT);
        return 0;
    }
    weft__lock(&s->lock);
    set_deadline(s, deadline);
    weft__unlock(&s->lock);
    return 0;
}

WEFT_PUBLIC int weft_scope_end(struct weft_scope *scope) {
    if (!scope) return -EINVAL;
    struct weft__scope *s = weft__scope_inside(scope);
    struct weft__fiber *me = weft__me_if_any();
    int err = weft__region_check(&s->region, me);
    if (err) return err;
    int saved = errno;
    scope_finish(s);
    errno = saved; /* sets the errno of the thread on which the caller runs now */
    return weft__cause_error(load_rlx(&s->cause));
}
