/* SPDX-License-Identifier: MIT */
/*
 * Continuation stealing, an option of a cluster: a fork runs the call at once, in a child fiber with a stack of its
 * own, and thieves can steal the parent meanwhile. So a single worker runs the program in its serial order. However
 * many calls are forked before the first join, no more stacks are in use than calls are nested.
 *
 *   the fork, in the parent                         the child, after it has run the call
 *   1. pushes the parent onto the worker's deque    1. pops the parent
 *      of parents                                   2. if it got the parent: switches to it, as a call returns
 *   2. switches to a child, which runs the call     3. if the parent was stolen (all older parents were, too): stores
 *   3. goes on, here or on another worker:             DONE in the call, wakes the parent if that waits in the join,
 *      returns                                         and switches to another fiber
 *
 * A worker keeps finished children with their stacks, each suspended in its loop (weft__continuation_run). Using such a
 * child takes a push, a switch, and the call. The deque of a child (tasks.h) has its fiber as `owner` and its call as
 * `stolen`.
 * While a child is kept its record has an even generation, like a free record, so a thread that visits all fibers does
 * not find it. Each call gets a new generation, so handles of earlier calls are stale. A record that has used up its
 * generations runs no other call, and the next flush removes it.
 *
 * The calls of a fiber are in its deque as usual, but no thief steals from that deque: the variant `kept` closes the
 * fast paths, so that generic and typed forks come here. A call is TAKEN from its fork until it is DONE.
 *
 * When a fiber parks, the worker will run other fibers. So the parents that wait at this worker become ready.
 */
#include "sched/dispatch/dispatch.h"
#include "sched/life/spawn.h"
#include "sched/record/record.h"
#include "sched/tasks/tasks.h"
#include "sched/wait/cancel.h"

static bool kept_pop(struct weft__deque *d, struct weft_call *c) { return (void)d, (void)c, false; }
static bool kept_no(struct weft__deque *d) { return (void)d, false; }
static struct weft_call *kept_steal(struct weft__deque *d) { return (void)d, NULL; }
static int kept_make(struct weft__deque *d) {
    weft__deque_close_fast_path(d);
    return 0;
}
const struct weft__deque_variant weft__deque_kept = {
    .name = "kept", .pop = kept_pop, .steal = kept_steal, .ready = kept_no, .some = kept_no, .make = kept_make};

static struct weft__fiber **parent_in(struct weft_call *c) { return (struct weft__fiber **)(void *)c->data; }

/* --- parents ---------------------------------------------------------------------------------------- */

/* The parent of this slot was stolen. Waits until the thief has read the slot, and frees it. */
static void forget_stolen(struct weft__deque *p, struct weft_call *c) {
    unsigned turn = 0;
    while (load_acq(weft__call_state(c)) != WEFT_CALL_DONE) weft__backoff(&turn); /* pairs with weft__parents_steal */
    store_rlx(weft__call_state(c), WEFT_CALL_FREE);
    p->variant->forget(p, c);
}

/* Pops the youngest parent of the worker. NULL: there is none, or all were stolen. */
static inline struct weft__fiber *pop_parent(struct weft__deque *p) {
    struct weft_call *c = p->in.head;
    while (c-- > p->calls) {
        store_rlx(weft__deque_head(p), c);
        fence_compiler(); /* as in weft__task_take */
        if (likely(c >= load_rlx(weft__deque_split_pointer(p))) || p->variant->pop(p, c)) return *parent_in(c);
        forget_stolen(p, c);
    }
    return NULL;
}

/*
 * Makes sure that the worker has a deque of parents. The deque stays with the worker, so workers that go to sleep ask
 * it for work, and a push to its first slot need not take the slow path as in other deques. That matters because a
 * fiber that forks in a loop uses only the first slot. Only the very first push takes the slow path, for workers that
 * sleep already.
 */
static bool have_parents(struct weft__worker *w) {
    struct weft__deque *p = load_rlx(&w->calls.parents);
    if (p) return true;
    if (!(p = weft__deque_get(&weft__deque_split))) return false;
    p->in.low = p->calls;
    store_rlx(weft__deque_span(p), 0);
    store_rel(&w->calls.parents, p); /* pairs with thieves */
    return true;
}

/* Removes all parents from the worker's deque and chains them, the oldest first. */
WEFT_COLD struct weft__link *weft__parents_take(struct weft__worker *w) {
    struct weft__deque *p = load_rlx(&w->calls.parents);
    struct weft__link *chain = NULL;
    if (!p) return NULL;
    for (struct weft__fiber *f; (f = pop_parent(p));) {
        f->slot.link.next = chain;
        chain = &f->slot.link;
    }
    return chain;
}

static void make_all_ready(struct weft__worker *w, struct weft__link *chain) {
    while (chain) {
        struct weft__fiber *f = weft__fiber_of_link(chain);
        chain = chain->next;
        weft__push(w, f);
    }
    weft__notify(w);
}

/* The running fiber parks: makes the parents that wait at this worker ready. */
WEFT_COLD void weft__parents_ready(struct weft__worker *w) { make_all_ready(w, weft__parents_take(w)); }

WEFT_COLD void weft__parents_put(struct weft__worker *w, struct weft__link *chain) {
    if (!chain) return;
    if (!have_parents(w)) {
        make_all_ready(w, chain);
        return;
    }
    struct weft__deque *parents = load_rlx(&w->calls.parents);
    while (chain) {
        struct weft_call *slot = parents->in.head;
        *parent_in(slot) = weft__fiber_of_link(chain);
        chain = chain->next; /* read before the push: then a thief may take this parent, and run it */
        weft__task_push(&parents->in, slot);
    }
    weft__notify(w);
}

struct weft__fiber *weft__parents_steal(struct weft__worker *w, struct weft__worker *from, uint64_t now) {
    struct weft__deque *p = load_acq(&from->calls.parents); /* pairs with have_parents */
    if (!p) return NULL;
    struct weft_call *c = p->variant->ready(p) ? p->variant->steal(p) : NULL;
    if (!c) {
        p->variant->press(p, now);
        return NULL;
    }
    struct weft__fiber *f = *parent_in(c);
    store_rel(weft__call_state(c), WEFT_CALL_DONE); /* pairs with forget_stolen */
    count_add(&w->numbers.tasks_stolen, 1);
    weft__record(WEFT_HAPPENED_TASK_TAKEN, weft__life(f), 0, 0);
    return f;
}

bool weft__parents_wait_at(struct weft__worker *w) {
    struct weft__deque *p = load_acq(&w->calls.parents);
    return p && p->variant->some(p);
}

static void give_parents_back(struct weft__worker *w) {
    struct weft__deque *p = load_rlx(&w->calls.parents);
    if (!p) return;
    store_rlx(&w->calls.parents, NULL);
    p->in.low = p->calls + 1;
    p->variant->reset(p);
    weft__deque_put(p);
}

/* --- children --------------------------------------------------------------------------------------- */

static struct weft__fiber *fiber_of(const struct weft__deque *child) { return child->owner; }

static void continuation_keep(struct weft__worker *w, struct weft__deque *child) {
    if (unlikely(!weft__slot_end(&fiber_of(child)->slot))) fiber_of(child)->context.stack_class = WEFT_STACK_CLASSES;
    child->next = w->tasks.children;
    w->tasks.children = child;
}

/*
 * A child is cancelled with its parent. For that it must be a member of the parent's root (cancel_root.c), which is in
 * the chain of the root of the parent's parent, and so on. A fork does none of this. Instead the wait word of a child
 * has LOOK from the beginning, so its first wait calls weft__child_member, which opens the roots that are missing. The
 * path to the top may be long. So root_of_parent walks it several times, and opens the highest missing roots each time.
 */
static struct weft__region *continuation_member_of(struct weft__deque *child) {
    return (struct weft__region *)(void *)&child->member;
}

/* Is the scope around its root the root of its parent? Otherwise that scope is d->around. */
static bool is_child_of_root(const struct weft__deque *d) {
    return fiber_of(d)->fn == weft__continuation_run && !d->mark[0].what;
}

static struct weft__scope *root_of_parent(struct weft__deque *parent) {
    enum { AT_ONCE = 32 };
    struct weft__deque *path[AT_ONCE], *d;
    struct weft__scope *root;
    do {
        unsigned n = 0;
        for (d = parent; !load_acq(&d->rooted) && is_child_of_root(d); d = d->next) /* pairs with weft__root_of */
            path[n++ % AT_ONCE] = d;
        root = weft__root_of(d, d->around);
        for (unsigned i = 0; i < AT_ONCE && n > 0; i++) root = weft__root_of(d = path[--n % AT_ONCE], root);
    } while (d != parent);
    return root;
}

WEFT_COLD struct weft__region *weft__child_member(struct weft__fiber *me) {
    struct weft__deque *child = load_rlx(&weft__self()->calls.deque);
    struct weft__region *m = continuation_member_of(child);
    *m = (struct weft__region){.frame = {.kind = WEFT_FRAME_MEMBER}, .fiber = me};
    m->scope = root_of_parent(child->next);
    uintptr_t *bottom = &me->frames; /* below clean-up handlers that the fiber has pushed before */
    for (struct weft__frame *f; (f = weft__frame_top(*bottom));) bottom = &f->below;
    *bottom = weft__frames_with(&m->frame);
    return m;
}

/* Resets what the next call in this fiber must not inherit: its membership, its local values, its wait word. */
static WEFT_COLD void clean_continuation(struct weft__deque *child) {
    struct weft__fiber *f = fiber_of(child);
    struct weft__region *m = continuation_member_of(child);
    if (m->fiber) weft__scope_disinherit(m, f);
    m->fiber = NULL;
    if (f->locals) weft__locals_destroy(f);
    weft__wait_anew(f, WEFT_WAIT_LOOK);
}

/* Runs the call in a child whose parent has a scope or a shield open. */
static WEFT_COLD void run_in_region(struct weft__deque *child, struct weft_call *c) {
    struct weft__region member;
    struct weft__scope *scope = weft__call_scope(NULL, child->mark[0].what);
    child->around = scope;
    if (scope)
        weft__scope_inherit(&member, fiber_of(child), scope);
    else
        weft__wait_anew(fiber_of(child), 0);
    c->run(&child->in, c);
    if (scope) weft__scope_disinherit(&member, fiber_of(child));
    child->around = child->mark[0].what = NULL;
}

/* Runs the call in the child. Returns the worker, which may have changed. */
static struct weft__worker *run_call(struct weft__deque *child, struct weft_call *c) {
    struct weft__fiber *f = fiber_of(child);
    if (likely(!child->mark[0].what))
        c->run(&child->in, c);
    else
        run_in_region(child, c);
    if (unlikely(!weft__deque_is_empty(child))) weft__tasks_left(f);
    if (unlikely(f->locals || (load_rlx(&f->wait) & WEFT_WAIT_STICKY) != WEFT_WAIT_LOOK)) clean_continuation(child);
    return weft__self();
}

/* Chooses what the worker runs after a child whose parent was stolen. */
static WEFT_COLD struct weft__fiber *after_child(struct weft__worker *w, struct weft_call *c) {
    uint64_t was = xchg_ar(weft__call_state(c), WEFT_CALL_DONE); /* pairs with weft__tasks_await */
    struct weft__fiber *joiner = was > WEFT_CALL_SELF ? weft__join_win(was) : NULL;
    store_rlx(&w->calls.deque, NULL);
    if (joiner) weft__make_ready(joiner);
    return weft__choose(w, weft__next(w));
}

void *weft__continuation_run(void *deque) {
    struct weft__deque *child = deque;
    struct weft__fiber *self = fiber_of(child);
    for (;;) {
        struct weft_call *c = child->stolen;
        struct weft__worker *w = run_call(child, c);
        struct weft__deque *parents = load_rlx(&w->calls.parents);
        struct weft__fiber *next = likely(parents != NULL) ? pop_parent(parents) : NULL;
        continuation_keep(w, child);
        if (likely(next != NULL)) {
            /* The parent is suspended in its fork, so it does not wait for the call. */
            store_rel(weft__call_state(c), WEFT_CALL_DONE);
            store_rlx(&next->context.on_stack, WEFT_STOOD_ON);
            store_rel(&w->current, next); /* pairs with weft__sharing_end_by_force */
        } else
            next = after_child(w, c);
        san_leave(&self->stack->san, weft__san_of(next, w), false);
        w = weft__switch(&self->context, next ? &next->context : &w->home.context, w);
        san_enter(&self->stack->san, &w->home.san);
    }
    return NULL;
}

static WEFT_COLD struct weft__deque *make_child(struct weft__worker *w, uint8_t class) {
    struct weft__deque *child = have_parents(w) ? weft__deque_get(&weft__deque_kept) : NULL;
    struct weft__stack *stack = child ? weft__stack_get(w->cache.stacks, class) : NULL;
    struct weft__fiber *f = stack ? weft__fiber_get(w) : NULL;
    if (!f) {
        if (stack) weft__stack_put(w->cache.stacks, stack);
        if (child) weft__deque_put(child);
        return NULL;
    }
    child->owner = f;
    child->entered = 1;
    child->marks = 0;
    child->mark[0] = (struct weft__deque_mark){0, NULL};
    child->around = NULL;
    continuation_member_of(child)->fiber = NULL;
    weft__fiber_init(f, weft__continuation_run, child, "a task", class, load_rlx(&w->cluster->fibers),
                     WEFT_JOIN_COLLECTED);
    weft__wait_anew(f, WEFT_WAIT_LOOK);
    weft__adopt(f, stack);
    weft__slot_end(&f->slot); /* as if it had been kept */
    return child;
}

static void unmake_child(struct weft__worker *w, struct weft__deque *child) {
    struct weft__fiber *f = fiber_of(child);
    san_abandon(&f->stack->san); /* weft__continuation_run does not return */
    weft__stack_put(w->cache.stacks, f->stack);
    if (likely(f->context.stack_class != WEFT_STACK_CLASSES)) {
        count_add(&f->slot.life, WEFT_LIFE_ONE);
        weft__slab_put(&weft__fibers, &w->cache.records, &f->slot);
    }
    child->entered = 0;
    weft__deque_put(child);
}

void weft__children_flush(struct weft__worker *w, bool all) {
    while (w->tasks.children) {
        struct weft__deque *child = w->tasks.children;
        w->tasks.children = child->next;
        unmake_child(w, child);
    }
    if (all) give_parents_back(w);
}

/* A child with a stack of the parent's size. NULL: no memory, or the parent must stay on this worker: it is pinned, for
 * example, or handles an exception. */
static inline struct weft__deque *take_child(struct weft__worker *w, struct weft__fiber *parent) {
    struct weft__deque *child = w->tasks.children;
    if (unlikely(weft__has_wishes(w, parent) || w->carrier.exceptions->caught || w->carrier.exceptions->uncaught))
        return NULL;
    if (unlikely(!child || !load_rlx(&w->calls.parents) ||
                 fiber_of(child)->context.stack_class != parent->context.stack_class))
        return make_child(w, parent->context.stack_class);
    w->tasks.children = child->next;
    return child;
}

/* --- the fork ----------------------------------------------------------------------------------------- */

static WEFT_COLD void run_here(struct weft__deque *d, struct weft_call *c) {
    c->run(&d->in, c);
    store_rel(weft__call_state(c), WEFT_CALL_DONE);
}

__attribute__((noinline)) void weft__continue_fork(struct weft__deque *d, struct weft_call *c) {
    struct weft__worker *w = weft__self();
    struct weft__fiber *me = d->owner;
    struct weft__deque *child = take_child(w, me);
    store_rlx(weft__call_state(c), WEFT_CALL_TAKEN);
    if (unlikely(!child)) {
        run_here(d, c);
        return;
    }
    struct weft__fiber *f = fiber_of(child);
    uint64_t life = load_rlx(&f->slot.life) + WEFT_LIFE_ONE;
    child->stolen = c;
    child->next = d;
    if (unlikely(me->frames)) child->mark[0].what = weft__fork_scope();
    store_rlx(&f->slot.life, life);
    store_rlx(&f->join, weft__join_of((struct weft_fiber){life}, WEFT_JOIN_DETACHED));
    store_rlx(&f->context.on_stack, WEFT_STOOD_ON);
    store_rel(&w->calls.deque, child); /* pairs with thieves */
    store_rel(&w->current, f);         /* pairs with weft__sharing_end_by_force */
    struct weft__deque *parents = load_rlx(&w->calls.parents);
    struct weft_call *slot = parents->in.head;
    *parent_in(slot) = me;
    weft__task_push(&parents->in, slot); /* thieves may take the parent now, but enter it only after the switch */
    san_leave(&me->stack->san, &f->stack->san, false);
    w = weft__switch(&me->context, &f->context, w);
    san_enter(&me->stack->san, &w->home.san);
    store_rel(&w->calls.deque, d); /* pairs with thieves */
}
