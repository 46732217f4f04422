/*
 * Scopes: begin, spawn, cancel, end. See region.h for what they are made of.
 *
 * Whoever sets the cause of a scope, once, under its lock, goes over its chain: members are told, scopes
 * are cancelled and gone over afterwards. The lock is held for a few steps at a time; a cursor in the
 * chain keeps the place, and whoever comes into the chain meanwhile sees the cause. A caller does the
 * first few hundred steps, and a fiber of its own the rest, so that no call takes long and no worker is
 * kept: cancelling may be done from anywhere, also from a timer, with a million in the scope.
 *
 * Deadlines. Of each scope that has one, a timer sees to it. A thread may keep a scope over a stop, which drops the
 * timer, or begin one without a runtime: then the timer counts as dropped from the start. So a thread heeds its own
 * deadlines whenever it waits, and a child that is spawned in such a scope has the timer armed again.
 *
 * Why the scope is still there. Its end waits until nothing is outstanding: children, the timer until
 * it has been called or taken back, whoever goes over the chain. A scope found in a chain is counted up
 * under the lock of that chain, and ends under it, too: so it is held, or gone, and never in between.
 */
#include "sched/region.h"

#include "base/say.h"
#include "sched/block.h"

static struct weft__scope *inside(struct weft_scope *scope) { return (struct weft__scope *)(void *)scope; }
static struct weft__scope *of_region(struct weft__region *r) { return container_of(r, struct weft__scope, region); }

/* --- cancelling ---------------------------------------------------------------------------------- */

#ifndef WEFT_SCOPE_STEPS
#define WEFT_SCOPE_STEPS 32 /* with the lock held; the model takes fewer */
#endif
enum { STEPS_AT_ONCE = 8 * WEFT_SCOPE_STEPS };

/* The scope is cancelled: tells its own fiber, and makes the chain ready to be gone over. Locked. */
static void mark(struct weft__scope *s, uint64_t cause, struct weft__list *won) {
    store_rel(&s->cause, cause); /* pairs with the fiber that asks why it was woken */
    struct weft__fiber *f = s->region.fiber;
    if (!s->region.frame.covered && weft__tell(f, cause)) weft__list_put(won, &f->slot.link);
    weft__circle_insert(&s->chain, &s->cursor);
    weft_counter_add(&s->outstanding, 1); /* for who goes over it */
}

/* One in the chain of s; s is locked. */
static void tell_region(struct weft__scope *s, struct weft__region *r, struct weft__list *won) {
    uint64_t cause = load_rlx(&s->cause);
    if (r->frame.kind == WEFT_FRAME_MEMBER) {
        if (!r->frame.covered && weft__tell(r->fiber, cause)) weft__list_put(won, &r->fiber->slot.link);
        return;
    }
    struct weft__scope *inner = of_region(r);
    weft__lock(&inner->lock);
    if (!load_rlx(&inner->cause)) {
        mark(inner, weft__cause_inward(cause), won);
        inner->behind = s->behind;
        s->behind = inner;
    }
    weft__unlock(&inner->lock);
}

/* Goes on with the chain, for a few steps; returns the scope to go on with, NULL: that was all. */
static struct weft__scope *go_over(struct weft__scope *s, unsigned *steps) {
    struct weft__list won = {NULL, NULL};
    struct weft__scope *next = s;
    weft__lock(&s->lock);
    for (unsigned i = 0; i < WEFT_SCOPE_STEPS && s->cursor.next != &s->chain; i++) {
        struct weft__circle *at = s->cursor.next;
        weft__circle_remove(&s->cursor);
        weft__circle_insert(at, &s->cursor);
        tell_region(s, container_of(at, struct weft__region, place), &won);
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
    for (unsigned steps = 0; s; weft_yield()) s = go_over(s, &steps);
    return NULL;
}

bool weft__scope_stop(struct weft__scope *s, int why, int err) {
    struct weft__list won = {NULL, NULL};
    weft__lock(&s->lock);
    bool first = !load_rlx(&s->cause);
    if (first) {
        mark(s, weft__cause(why, err), &won);
        s->behind = NULL;
    }
    weft__unlock(&s->lock);
    if (!first) return false;
    weft__make_all_ready(&won);
    unsigned steps = 0;
    while (s && steps < STEPS_AT_ONCE) s = go_over(s, &steps);
    static const struct weft_attr attr = {.name = "cancelling"};
    if (s && weft_spawn(NULL, &attr, go_over_the_rest, s))
        while (s) s = go_over(s, &steps); /* no memory for a fiber, or no runtime */
    return true;
}

static int stop_if_open(struct weft_scope *scope, int why, int err) {
    struct weft__scope *s = inside(scope);
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
        weft__circle_remove(&m->place);
        weft__unlock(&s->lock);
    }
    me->frames = m->frame.below; /* nobody looks: it has neither scope nor shield open */
}

/* What a child runs first; its count is completed when it has ended, like any fiber's counter. */
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

/*
 * One more is outstanding. A scope begins with a reserve of children that are counted before they are there: the fiber
 * that began it takes from that, and what is left is given back at the end. So it and its children, which mostly end
 * elsewhere, do not take the counter's line from each other at each spawn.
 */
#define RESERVE (UINT64_C(1) << 32)
static void count_foreign_child(struct weft__scope *s);
static inline void count_child(struct weft__scope *s) {
    struct weft__worker *w = weft__self();
    if (likely(w && load_rlx(&w->current) == s->region.fiber && s->reserve))
        s->reserve--;
    else
        count_foreign_child(s);
}

WEFT_PUBLIC int weft_scope_spawn_at(struct weft_scope *scope, const struct weft_attr *attr, int (*fn)(void *),
                                    void *arg, const char *where) {
    struct weft__scope *s = inside(scope);
    if (unlikely(!scope || !fn || !s->region.fiber || (attr && attr->counter))) return -EINVAL;
    if (unlikely(load_rlx(&s->cause))) return -ECANCELED;
    count_child(s);
    int err = weft__spawn_child(s, attr, fn, arg, where);
    if (unlikely(err)) weft_counter_complete(&s->outstanding);
    return err;
}

/* --- deadlines -------------------------------------------------------------------------------------- */

static void deadline_passed(void *scope) {
    struct weft__scope *s = scope;
    weft__scope_stop(s, WEFT_BY_DEADLINE, -ETIMEDOUT);
    weft_counter_complete(&s->outstanding);
}

static struct weft__timer *timer_of(struct weft__scope *s) { return (struct weft__timer *)(void *)&s->timer; }

/* Without a runtime it is dropped at once. The count for it stays: see disarm. */
static void arm(struct weft__scope *s) {
    if (weft_timer_arm(&s->timer, s->deadline, deadline_passed, s)) weft__timer_drop(timer_of(s));
}

/* A child that the fiber which began the scope does not spawn, or a thread's. Counted first: so the scope does not end
 * while its timer is armed. */
static WEFT_NOINLINE void count_foreign_child(struct weft__scope *s) {
    weft_counter_add(&s->outstanding, 1);
    if (unlikely(s->timed) && weft__timer_take_dropped(timer_of(s))) arm(s);
}

/* The timer will not be called any more, or will complete the count when it has been. */
static void disarm(struct weft__scope *s) {
    weft__counter_wait_always(&s->outstanding, 1); /* until then there may be a fiber to cancel */
    if (!weft_timer_cancel(&s->timer)) weft_counter_complete(&s->outstanding);
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
        if (s->deadline < deadline && !load_rlx(&s->cause)) deadline = s->deadline;
    return deadline;
}

void weft__scopes_expire(struct weft__fiber *me) {
    const struct weft__frame *f = weft__frame_top(me->frames);
    uint64_t now = weft__clock();
    for (struct weft__scope *s; (s = next_scope(&f));)
        if (s->deadline <= now) weft__scope_stop(s, WEFT_BY_DEADLINE, -ETIMEDOUT);
}

/* --- begin and end --------------------------------------------------------------------------------- */

/* The caller's own scope, its innermost: waits until nothing is outstanding, and ends it. */
static void finish(struct weft__scope *s) {
    weft__counter_lower(&s->outstanding, s->reserve);
    s->reserve = 0;
    if (s->timed) disarm(s);
    do weft__counter_wait_always(&s->outstanding, 0);
    while (!weft__region_leave(s->region.fiber, &s->region));
}

WEFT_PUBLIC int weft_scope_begin(struct weft_scope *scope, uint64_t deadline) {
    if (!scope) return -EINVAL;
    struct weft__scope *s = inside(scope);
    struct weft__fiber *me = weft__me();
    if (!me) return -ENOMEM;
    if (weft__frame_is_open(me, &s->region.frame)) return -EBUSY;
    s->region.frame.kind = WEFT_FRAME_SCOPE;
    s->lock = (struct weft__lock){0};
    s->timed = false;
    s->deadline = deadline;
    s->outstanding = (struct weft_counter)WEFT_COUNTER_INIT;
    weft_counter_add(&s->outstanding, s->reserve = RESERVE);
    weft__circle_init(&s->chain);
    weft__region_enter(me, &s->region);
    if (deadline == WEFT_FOREVER) return 0;
    if (deadline <= weft__clock()) {
        weft__scope_stop(s, WEFT_BY_DEADLINE, -ETIMEDOUT);
        return 0;
    }
    s->timer = (struct weft_timer)WEFT_TIMER_INIT;
    s->timed = true;
    weft_counter_add(&s->outstanding, 1);
    arm(s);
    return 0;
}

WEFT_PUBLIC int weft_scope_end(struct weft_scope *scope) {
    if (!scope) return -EINVAL;
    struct weft__scope *s = inside(scope);
    struct weft__fiber *me = weft__me_if_any();
    int err = weft__region_check(&s->region, me);
    if (err) return err;
    finish(s);
    return weft__cause_error(load_rlx(&s->cause));
}
