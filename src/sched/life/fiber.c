/* SPDX-License-Identifier: MIT */
/*
 * The life of a fiber: spawn, begin, yield, end, join, detach.
 */
#include "sched/core/quiescence.h"
#include "sched/dispatch/forking.h"
#include "sched/dispatch/own_tls.h"
#include "sched/life/background.h"
#include "sched/life/own_tls_spawn.h"
#include "sched/life/spawn.h"
#include "sched/life/stack_overflow.h"
#include "sched/life/stack_shortage.h"
#include "sched/place/placement.h"
#include "sched/record/record.h"
#include "sched/wait/block.h"
#include "sched/wait/cancel.h"

#include "base/assert.h"
#include "base/message.h"
#include "base/struct_size.h"

#include <string.h>

/* --- spawn ------------------------------------------------------------------------------------ */

/* Checks the attributes of a spawn, and applies them. Inlined: otherwise the three results would be in memory even if
 * there are no attributes. */
static inline __attribute__((always_inline)) int apply_attr(struct weft__cluster **c, const struct weft_attr *attr,
                                                            uint8_t *class, uint32_t *placement) {
    if (attr->cluster.id) {
        if (!(*c = weft__cluster_find(attr->cluster))) return -ESRCH;
        *class = (*c)->stack_class;
        *placement = load_rlx(&(*c)->fibers);
    }
    if (attr->stack_size) {
        int k = weft__stack_class(attr->stack_size);
        if (k < 0) return k;
        *class = (uint8_t)k;
    }
    if (attr->pinned > load_rlx(&(*c)->wanted) || attr->priority > WEFT_LOW) return -EINVAL;
    if (attr->node > weft__topology()->nodes) return -EINVAL;
    *placement |= attr->pinned | attr->priority << WEFT_PLACEMENT_PRIORITY_SHIFT;
    return 0;
}

/* The worker for a fiber that must start on this node: the caller's own if it is on the node, or if no worker is. */
static struct weft__worker *worker_on(struct weft__cluster *c, struct weft__worker *w, unsigned node) {
    uint64_t random = (uintptr_t)&random ^ weft__clock();
    const struct weft__topology *t = weft__topology();
    if (w && w->cluster == c && weft__topology_locate(t, load_rlx(&w->cpu))->node == node) return w;
    struct weft__worker *there = weft__worker_on(c, node, w ? &w->random : &random);
    return there ? there : w;
}

static inline struct weft__fiber *take_record(struct weft__worker *w) {
    struct weft__slot *slot = weft__slab_get(&weft__fibers, w ? &w->cache.records : NULL);
    return likely(slot != NULL) ? container_of(slot, struct weft__fiber, slot) : NULL;
}

/* child: the function of a child of `scope`; else NULL. */
static inline __attribute__((always_inline)) void init_fiber(struct weft__fiber *f, void *(*fn)(void *), void *arg,
                                                             const char *where, uint8_t class, uint32_t placement,
                                                             uint64_t tag, struct weft__scope *scope,
                                                             int (*child)(void *)) {
    store_rlx(&f->context.on_stack, WEFT_FRESH);
    weft__wait_anew(f, scope ? WEFT_WAIT_LOOK : 0);
    f->fn = fn;
    f->arg = arg;
    f->stack = NULL;
    f->where = where;
    f->frames = scope ? (uintptr_t)&scope->outstanding : 0;
    f->locals = NULL;
    if (scope) f->child = child;
    store_rlx(&f->context.kind, WEFT_KIND_FIBER);
    f->context.stack_class = class;
    store_rel(&f->context.placement, placement); /* pairs with rehouse: a mover that sees it sees this life, too */
    /* From now on the record counts as a live fiber. Release: a thread that visits all fibers sees the other fields. */
    store_rel(&f->join, weft__join_of(weft__handle(f), tag));
    f->name[0] = 0;
}

struct weft__fiber *weft__fiber_get(struct weft__worker *w) {
    return take_record(w);
}
void weft__fiber_init(struct weft__fiber *f, void *(*fn)(void *), void *arg, const char *where, uint8_t class,
                      uint32_t placement, uint64_t tag) {
    init_fiber(f, fn, arg, where, class, placement, tag, NULL, NULL);
}

static int spawn_heeding(struct weft_fiber *fiber, const struct weft_attr *attr, void *(*fn)(void *), void *arg,
                         const char *where, struct weft__scope *scope, int (*child)(void *));

/* Inlined into each kind of spawn, so that the spawn without a scope does not pay for the spawn with a scope. heeds:
 * check first whether the spawn must take its slow path (weft__spawn_heeds). */
static inline __attribute__((always_inline)) int spawn_fiber(struct weft_fiber *fiber, const struct weft_attr *attr,
                                                             void *(*fn)(void *), void *arg, const char *where,
                                                             struct weft__scope *scope, int (*child)(void *),
                                                             bool heeds) {
    struct weft__worker *w = weft__self();
    struct weft__cluster *c = likely(w != NULL) ? w->cluster : &weft__cluster;
    if (unlikely(!fn)) return -EINVAL;
    if (unlikely(!w && !load_acq(&c->running))) return -ESRCH; /* pairs with the start */
    uint8_t class = c->stack_class;
    uint32_t placement = load_rlx(&c->fibers);
    if (unlikely(attr != NULL)) {
        int err = apply_attr(&c, attr, &class, &placement);
        if (err) return err;
    }
    if (heeds && unlikely(load_rlx(&weft__spawn_heeds)))
        return spawn_heeding(fiber, attr, fn, arg, where, scope, child);
    struct weft__fiber *f = take_record(w);
    if (unlikely(!f)) return -ENOMEM;
    struct weft_fiber handle = weft__handle(f);
    uint64_t tag = !fiber || (attr && attr->detached) ? WEFT_JOIN_DETACHED : WEFT_JOIN_NOBODY;
    init_fiber(f, fn, arg, where, class, placement, tag, scope, child);
    if (unlikely(attr != NULL)) {
        if (!scope) f->frames = (uintptr_t)attr->counter;
        if (attr->name) {
            strncpy(f->name, attr->name, WEFT_NAME_SIZE - 1);
            f->name[WEFT_NAME_SIZE - 1] = 0;
        }
    }
    if (fiber) *fiber = handle;
    struct weft__worker *to = unlikely(attr && attr->node && !attr->pinned) ? worker_on(c, w, attr->node - 1) : w;
    if (unlikely(!w || c != w->cluster)) {
        struct weft_cluster handle = attr ? attr->cluster : (struct weft_cluster){0};
        int err = weft__hand_in(c, handle, f, to == w ? NULL : to);
        if (err) {
            weft__slab_put(&weft__fibers, NULL, &f->slot);
            weft__quiet_notify(); /* a stop may have taken the record for a fiber that is about to run */
        }
        return err;
    }
    count_add(&w->numbers.spawned, 1);
    if (unlikely(to != w)) {
        if (weft__is_recording()) weft__record_ready(w, f);
        weft__mail(to, f);
    } else {
        weft__push(w, f);
        weft__notify(w);
    }
    return 0;
}

/* A spawn while stacks are scarce, or while there is a cluster whose fibers have thread-local storage of their own. */
static WEFT_COLD int spawn_heeding(struct weft_fiber *fiber, const struct weft_attr *attr, void *(*fn)(void *),
                                   void *arg, const char *where, struct weft__scope *scope, int (*child)(void *)) {
    struct weft__worker *w = weft__self();
    struct weft__cluster *c = w ? w->cluster : &weft__cluster;
    uint8_t class = c->stack_class;
    uint32_t place = 0;
    int err = attr ? apply_attr(&c, attr, &class, &place) : 0;
    if (err) return err;
    if (load_rlx(&c->own_tls) && !weft__own_tls_is_begun_by(fn, child))
        return scope ? weft__own_tls_spawn_child(scope, attr, child, arg, where)
                     : weft__own_tls_spawn(fiber, attr, fn, arg, where);
    if (load_rlx(&weft__spawn_heeds) & WEFT_HEED_SCARCE) err = weft__spawn_scarce(w, class);
    return err ? err : spawn_fiber(fiber, attr, fn, arg, where, scope, child, false);
}

/* A spawn by a program that was compiled with another version of the header, or of a fiber that is not ordinary. */
static WEFT_COLD int spawn_otherwise(struct weft_fiber *fiber, const struct weft_attr *attr, void *(*fn)(void *),
                                     void *arg, const char *where, size_t size) {
    struct weft_attr own;
    int err = weft__struct_read(&own, sizeof own, attr, size);
    if (err) return err;
    if (own.background) return weft__background_spawn(fiber, &own, fn, arg, where);
    if (own.own_tls) return weft__own_tls_spawn(fiber, &own, fn, arg, where);
    return weft__spawn(fiber, &own, fn, arg, where, sizeof own);
}

WEFT_PUBLIC int weft__spawn(struct weft_fiber *fiber, const struct weft_attr *attr, void *(*fn)(void *), void *arg,
                            const char *where, size_t size) {
    int err = unlikely(attr && (size != sizeof *attr || attr->background || attr->own_tls))
                  ? spawn_otherwise(fiber, attr, fn, arg, where, size)
                  : spawn_fiber(fiber, attr, fn, arg, where, NULL, NULL, true);
    if (unlikely(err) && fiber) *fiber = (struct weft_fiber){0};
    return err;
}

WEFT_PUBLIC struct weft__spawned weft__spawn_plain(void *(*fn)(void *), void *arg, const char *where) {
    struct weft__spawned s;
    s.error = spawn_fiber(&s.fiber, NULL, fn, arg, where, NULL, NULL, true);
    return s;
}

int weft__spawn_child(struct weft__scope *s, const struct weft_attr *attr, int (*fn)(void *), void *arg,
                      const char *where) {
    return spawn_fiber(NULL, attr, weft__child_main, arg, where, s, fn, true);
}

/* Spawns the fiber that continues a long cancellation; see wait/scope.c. */
static int spawn_helper(void *(*fn)(void *), struct weft__scope *scope) {
    static const struct weft_attr attr = {.name = "cancelling"};
    return weft_spawn(NULL, &attr, fn, scope);
}

__attribute__((constructor)) static void offer_helper(void) { weft__scope_helper = spawn_helper; }

/* --- begin and end ---------------------------------------------------------------------------- */

/* Publishes the end. From then on the record belongs to the joiner, and is not touched here. Returns the joiner that
 * the caller must make ready, or NULL. */
static struct weft__fiber *announce_end(struct weft__worker *w, struct weft__fiber *f) {
    struct weft_fiber self = weft__handle(f);
    uint64_t nobody = weft__join_of(self, WEFT_JOIN_NOBODY), ended = weft__join_of(self, WEFT_JOIN_ENDED);
    uint64_t join = load_rlx(&f->join);
    /* Release: the result, for the joiner; acquire: pairs with the join. A joiner may come or go, or
     * detach the fiber, while we look. */
    while ((join & WEFT_JOIN_TAG) != WEFT_JOIN_DETACHED)
        if (likely(cas_ar(&f->join, &join, join == nobody ? ended : join | WEFT_JOIN_ENDED_BY)))
            return join == nobody ? NULL : weft__join_win(join);
    /* Threads that visit all records must see that the fiber is dead. The tag is not ENDED: a late joiner would collect
     * the record. */
    store_rlx(&f->join, weft__join_of(self, WEFT_JOIN_COLLECTED));
    weft__slab_put(&weft__fibers, &w->cache.records, &f->slot);
    return NULL;
}

/* Chooses what runs after a fiber that has ended. If no fiber is ready here, its joiner would come to the head of the
 * queue. So it runs at once, without the queue, unless the worker is called home, or records. */
static struct weft__fiber *after_end(struct weft__worker *w, struct weft__fiber *joiner) {
    if (!joiner) return weft__next(w);
    if (WEFT_MIGRATES || weft__ready_length(&w->ready) || load_rlx(&w->aside.state) || weft__has_wishes(w, joiner) ||
        load_rlx(&joiner->context.kind) != WEFT_KIND_FIBER) {
        weft__make_ready(joiner);
        return weft__next(w);
    }
    count_add(&w->numbers.unparks, 1);
    return joiner;
}

/* May the fiber begin on this stack, which is about to become free? */
static inline bool may_adopt(const struct weft__fiber *f, const struct weft__stack *s) {
    return load_rlx(&f->context.on_stack) == WEFT_FRESH && f->context.stack_class == s->cache;
}

/* How many ends a child will report to its scope, with its own. 0: the fiber is no child of a scope. */
static inline uint64_t ends_of(const struct weft__fiber *f) { return f->fn == weft__child_main ? f->owes + 1 : 0; }

/*
 * A scope's child has ended, and `next` will run. If `next` is a fresh sibling, the sibling will report both ends. The
 * scope cannot end before the sibling anyway, so no wait gets longer, and fewer children touch the scope's cache line.
 * Returns the fiber to run.
 */
static struct weft__fiber *notify_scope(struct weft__worker *w, struct weft_counter *scope, uint64_t ends,
                                        struct weft__fiber *next, const struct weft__stack *stack) {
    if (next && next->frames == (uintptr_t)scope && may_adopt(next, stack)) {
        w->owed = ends;
        return next;
    }
    weft__counter_lower(scope, ends);
    return next ? next : weft__next(w);
}

/* Puts the stack on which the caller runs into a cache that is full. While stacks are scarce, the worker then goes
 * home, where it can give the stack to another fiber. */
static WEFT_COLD struct weft__fiber *put_last(struct weft__worker *w, struct weft__stack *stack,
                                              struct weft__fiber *next) {
    weft__stack_put_slow(w->cache.stacks, stack);
    if (!load_rlx(&weft__stack_is_scarce)) return weft__choose(w, next);
    w->home.handed = next;
    return NULL;
}

/* Ends the running fiber and switches to the next. The stack goes to the next fiber if that is fresh, else into the
 * cache. Does not return. */
static _Noreturn void fiber_end(struct weft__fiber *f, void *result) {
    WEFT_ASSERT(!(f->frames & WEFT_FRAMES_TAG)); /* the fiber has no open frame */
    WEFT_ASSERT(!weft__join_has_ended(load_rlx(&f->join)));
    WEFT_ASSERT(!(load_rlx(&f->wait) & WEFT_WAIT_WAITING));
    if (unlikely(f->locals != NULL)) weft__locals_destroy(f);
    weft__locks_check(f, "ends");
    struct weft__worker *w = weft__self(); /* read after the destructors, which may have parked */
    if (unlikely(!w)) weft__forked_end(f);
    if (unlikely(load_rlx(&w->calls.deque) != NULL)) weft__forking.end(w, f);
    struct weft__stack *stack = f->stack;
    struct weft_counter *counter = (struct weft_counter *)f->frames;
    uint64_t ends = ends_of(f);
    f->result = result;
    w->carrier.exceptions->caught = NULL; /* the fiber may have ended inside an exception handler */
    w->carrier.exceptions->uncaught = 0;
    struct weft__fiber *joiner = announce_end(w, f);
    if (unlikely(counter != NULL) && !ends) weft_counter_complete(counter);
    /* Release: pairs with a stop that counts; all that the fiber did is seen by it. */
    store_rel(&w->numbers.completed, load_rlx(&w->numbers.completed) + 1);
    struct weft__fiber *next = after_end(w, joiner);
    if (unlikely(ends)) next = notify_scope(w, counter, ends, next, stack);
    if (next && may_adopt(next, stack)) {
        san_unwound(stack->low, weft__stack_top(stack));
        weft__adopt(next, stack);
        store_rlx(&next->context.on_stack, WEFT_STOOD_ON);
        store_rel(&w->current, next); /* pairs with weft__sharing_end_by_force */
        count_add(&w->numbers.switches, 1);
        san_leave(&stack->san, &stack->san, true);
        weft__switch_away(&next->context, w);
    }
    san_unwound(stack->low, weft__stack_top(stack));
    next = likely(weft__stack_put_fast(w->cache.stacks, stack)) ? weft__choose(w, next) : put_last(w, stack, next);
    san_leave(&stack->san, weft__san_of(next, w), true);
    weft__switch_away(next ? &next->context : &w->home.context, w);
}

_Noreturn void weft__stack_main(void *carried, struct weft__context *entered) WEFT_USED;
_Noreturn void weft__stack_main(void *carried, struct weft__context *entered) {
    struct weft__worker *w = carried;
    struct weft__fiber *f = container_of(entered, struct weft__fiber, context);
    WEFT_ASSERT(load_rlx(&w->current) == f && f->stack != NULL);
    WEFT_ASSERT(load_rlx(&f->context.on_stack) == WEFT_STOOD_ON);
    san_enter(&f->stack->san, &w->home.san);
    void *result = f->fn(f->arg);
    if (unlikely(f->frames & WEFT_FRAMES_TAG)) weft__frames_unwind(f, result, weft__stack_pointer());
    fiber_end(f, result);
}

WEFT_PUBLIC _Noreturn void weft_fiber_exit(void *result) {
    struct weft__worker *w = weft__self();
    struct weft__fiber *me = w ? load_rlx(&w->current) : NULL;
    if (!me) weft__die("weft_fiber_exit was called by a thread that is no fiber");
    weft__exit_check(w, me);
    if (unlikely(me->frames & WEFT_FRAMES_TAG)) weft__frames_unwind(me, result, NULL);
    w = weft__self(); /* clean-up handlers may have parked */
    if (w && weft__own_tls_runs(w)) weft__own_tls_end();
    weft__overrun_check(me);
    fiber_end(me, result);
}

WEFT_PUBLIC void weft_fiber_exit_if_cancelled(void) {
    struct weft__worker *w = weft__self();
    struct weft__fiber *me = w ? load_rlx(&w->current) : NULL;
    if (me && weft_cancelled()) weft_fiber_exit((void *)(intptr_t)weft__cancel_result(me));
}

/* --- join and detach -------------------------------------------------------------------------- */

/* The fiber has ended, and its record belongs to the caller: takes the result and returns the record. */
static inline int fiber_collect(struct weft__fiber *f, void **result) {
    WEFT_ASSERT(weft__join_has_ended(load_rlx(&f->join)));
    if (result) *result = f->result;
    struct weft__worker *w = weft__self();
    weft__slab_put(&weft__fibers, w ? &w->cache.records : NULL, &f->slot);
    return 0;
}

/* A join that need not wait: the fiber has ended, is detached, or has another joiner. Each swap of the join word
 * expects the life in the handle. */
static int join_at_once(struct weft__fiber *f, struct weft_fiber handle, void **result, uint64_t join) {
    if (join == weft__join_of(handle, WEFT_JOIN_DETACHED)) return -EINVAL;
    if ((join & WEFT_JOIN_TAG) >= WEFT_JOIN_BY) return weft__fiber_of(handle) ? -EBUSY : -ESRCH;
    if (join != weft__join_of(handle, WEFT_JOIN_ENDED)) return -ESRCH;
    /* If several joiners find that it has ended, the first collects. Acquire: pairs with announce_end. */
    return cas_ar(&f->join, &join, weft__join_of(handle, WEFT_JOIN_COLLECTED)) ? fiber_collect(f, result) : -ESRCH;
}

static WEFT_SWITCHES int fiber_join(struct weft__fiber *f, struct weft_fiber handle, void **result, uint64_t deadline) {
    struct weft__fiber *me = weft__me();
    if (unlikely(!me)) return -ENOMEM;
    if (unlikely(me == f)) return -EDEADLK;
    uint64_t ticket, nobody = weft__join_of(handle, WEFT_JOIN_NOBODY), join = nobody;
    int err = weft__wait_begin(me, WEFT_WAIT_BY_CANCEL, &ticket);
    if (unlikely(err)) return weft__refused(me, err);
    uint64_t by = weft__join_by(weft__slot_index(&me->slot), ticket);
    if (unlikely(!cas_ar(&f->join, &join, by))) { /* pairs with announce_end */
        weft__wait_withdraw(me, ticket);
        return join_at_once(f, handle, result, join);
    }
    err = weft__wait_block_for(me, ticket, deadline, weft__for(WEFT_WAITS_JOIN, (void *)(uintptr_t)handle.id));
    if (likely(!err)) return fiber_collect(f, result);
    /* Withdraws as the joiner. If that fails, the fiber has just ended, and the join has succeeded after all. */
    return cas_ar(&f->join, &by, nobody) ? err : fiber_collect(f, result);
}

WEFT_PUBLIC int weft_join_until(struct weft_fiber fiber, void **result, uint64_t deadline) {
    struct weft__fiber *f = weft__fiber_of(fiber);
    if (unlikely(!f || load_rlx(&f->context.kind) != WEFT_KIND_FIBER)) return -ESRCH;
    uint64_t word = load_rlx(&f->join);
    if (word == weft__join_of(fiber, WEFT_JOIN_NOBODY)) return fiber_join(f, fiber, result, deadline);
    return join_at_once(f, fiber, result, word);
}

WEFT_PUBLIC int weft_join(struct weft_fiber fiber, void **result) {
    return weft_join_until(fiber, result, WEFT_FOREVER);
}

WEFT_PUBLIC int weft_detach(struct weft_fiber fiber) {
    struct weft__fiber *f = weft__fiber_of(fiber);
    if (!f || load_rlx(&f->context.kind) != WEFT_KIND_FIBER) return -ESRCH;
    uint64_t word = weft__join_of(fiber, WEFT_JOIN_NOBODY);
    if (cas_ar(&f->join, &word, weft__join_of(fiber, WEFT_JOIN_DETACHED))) return 0;
    return join_at_once(f, fiber, NULL, word);
}

/* --- the caller --------------------------------------------------------------------------------- */

WEFT_PUBLIC struct weft_fiber weft_self(void) {
    struct weft__worker *w = weft__self();
    struct weft__fiber *me = w ? load_rlx(&w->current) : NULL;
    return me ? weft__handle(me) : (struct weft_fiber){0};
}

WEFT_PUBLIC int weft_worker(void) {
    struct weft__worker *w = weft__self();
    struct weft__fiber *me = w ? load_rlx(&w->current) : NULL;
    if (!me) return -EPERM;
    unsigned pin = load_rlx(&me->context.placement) &
                   WEFT_PLACEMENT_PIN; /* the pinned worker, even while another worker runs the fiber in its place */
    return pin ? (int)pin - 1 : (int)w->index;
}
