/*
 * The life of a fiber: spawn, begin, yield, end, join, detach.
 */
#include "sched/block.h"

#include "base/say.h"
#include "sched/cluster.h"
#include "sched/region.h"
#include "sched/starved.h"

#include <sched.h>
#include <string.h>

/*
 * What writes to a record that may be free: a cancellation by a stale handle, which takes the fiber's own lock before
 * it sees that the handle is stale. So that lock is the seal. The epoch of the wait word goes on from life to life.
 */
static bool seal(struct weft__slot *slot) {
    uint8_t open = 0;
    return cas_ar(&container_of(slot, struct weft__fiber, slot)->context.open, &open,
                  WEFT_OPEN_LOCKED); /* with unlock */
}
static void unseal(struct weft__slot *slot) { weft__frames_unlock(container_of(slot, struct weft__fiber, slot), 0); }
static const struct weft__slab_care care = {offsetof(struct weft__fiber, wait), seal, unseal};
struct weft__slab weft__fibers = {.record_size = sizeof(struct weft__fiber), .care = &care};
__thread struct weft__worker *weft__tls WEFT_USED;

/* --- spawn ------------------------------------------------------------------------------------ */

/* What a spawn was asked for, checked. Inlined, or those three would live in memory also without attributes. */
static inline __attribute__((always_inline)) int apply_attr(struct weft__cluster **c, const struct weft_attr *attr,
                                                            uint8_t *class, uint32_t *place) {
    if (attr->cluster.id) {
        if (!(*c = weft__cluster_find(attr->cluster))) return -ESRCH;
        *class = (*c)->stack_class;
        *place = load_rlx(&(*c)->fibers);
    }
    if (attr->stack_size) {
        int k = weft__stack_class(attr->stack_size);
        if (k < 0) return k;
        *class = (uint8_t)k;
    }
    if (attr->pinned > load_rlx(&(*c)->wanted) || attr->priority > WEFT_LOW) return -EINVAL;
    if (attr->node > weft__topology()->nodes) return -EINVAL;
    *place |= attr->pinned | attr->priority << WEFT_PLACE_PRIORITY_SHIFT;
    return 0;
}

/* Who is to have a fiber that names a node; the caller if it is there, or if nobody is. */
static struct weft__worker *worker_on(struct weft__cluster *c, struct weft__worker *w, unsigned node) {
    uint64_t random = (uintptr_t)&random ^ weft__clock();
    const struct weft__topology *t = weft__topology();
    if (w && w->cluster == c && weft__place(t, load_rlx(&w->cpu))->node == node) return w;
    struct weft__worker *there = weft__worker_on(c, node, w ? &w->random : &random);
    return there ? there : w;
}

static inline struct weft__fiber *get(struct weft__worker *w) {
    struct weft__slot *slot = weft__slab_get(&weft__fibers, w ? &w->records : NULL);
    return likely(slot != NULL) ? container_of(slot, struct weft__fiber, slot) : NULL;
}

/* child: what it runs for a scope, which then is not NULL. */
static inline __attribute__((always_inline)) void init(struct weft__fiber *f, void *(*fn)(void *), void *arg,
                                                       const char *where, uint8_t class, uint32_t place, uint64_t tag,
                                                       struct weft__scope *scope, int (*child)(void *)) {
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
    store_rel(&f->context.place, place); /* pairs with rehouse: a mover that sees it sees this life, too */
    /* From here on it is taken for live: release, so that whoever goes over all fibers sees the rest. */
    store_rel(&f->join, weft__join_of(weft__handle(f), tag));
    f->name[0] = 0;
}

struct weft__fiber *weft__fiber_get(struct weft__worker *w) {
    return get(w);
}
void weft__fiber_init(struct weft__fiber *f, void *(*fn)(void *), void *arg, const char *where, uint8_t class,
                      uint32_t place, uint64_t tag) {
    init(f, fn, arg, where, class, place, tag, NULL, NULL);
}

/* Inlined into both that spawn, so that the one without a scope pays nothing for the other. */
static inline __attribute__((always_inline)) int spawn(struct weft_fiber *fiber, const struct weft_attr *attr,
                                                       void *(*fn)(void *), void *arg, const char *where,
                                                       struct weft__scope *scope, int (*child)(void *)) {
    struct weft__worker *w = weft__self();
    struct weft__cluster *c = likely(w != NULL) ? w->cluster : &weft__cluster;
    if (unlikely(!fn)) return -EINVAL;
    if (unlikely(!w && !load_acq(&c->running))) return -ESRCH; /* pairs with the start */
    uint8_t class = c->stack_class;
    uint32_t place = load_rlx(&c->fibers);
    if (unlikely(attr != NULL)) {
        int err = apply_attr(&c, attr, &class, &place);
        if (err) return err;
    }
    if (unlikely(load_rlx(&weft__stack_are_scarce))) {
        int err = weft__spawn_scarce(w, class);
        if (err) return err;
    }
    struct weft__fiber *f = get(w);
    if (unlikely(!f)) return -ENOMEM;
    struct weft_fiber handle = weft__handle(f);
    uint64_t tag = !fiber || (attr && attr->detached) ? WEFT_JOIN_DETACHED : WEFT_JOIN_NOBODY;
    init(f, fn, arg, where, class, place, tag, scope, child);
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
            weft__tell_quiet(); /* somebody may have seen the record, and taken it for a fiber under way */
        }
        return err;
    }
    count_add(&w->numbers.spawned, 1);
    if (unlikely(to != w)) {
        weft__mail(to, f);
    } else {
        weft__push(w, f);
        weft__notify(w);
    }
    return 0;
}

WEFT_PUBLIC int weft_spawn_at(struct weft_fiber *fiber, const struct weft_attr *attr, void *(*fn)(void *), void *arg,
                              const char *where) {
    return spawn(fiber, attr, fn, arg, where, NULL, NULL);
}

int weft__spawn_child(struct weft__scope *s, const struct weft_attr *attr, int (*fn)(void *), void *arg,
                      const char *where) {
    return spawn(NULL, attr, weft__child_main, arg, where, s, fn);
}

/* --- begin and end ---------------------------------------------------------------------------- */

/* Publishes the end; the record is not touched after that, it is the joiner's. Returns who is to be
 * made ready by it. */
static struct weft__fiber *announce_end(struct weft__worker *w, struct weft__fiber *f) {
    struct weft_fiber self = weft__handle(f);
    uint64_t nobody = weft__join_of(self, WEFT_JOIN_NOBODY), ended = weft__join_of(self, WEFT_JOIN_ENDED);
    uint64_t join = load_rlx(&f->join);
    /* Release: the result, for who collects; acquire: pairs with the join. One may come or go, or
     * detach the fiber, while we look. */
    while ((join & WEFT_JOIN_TAG) != WEFT_JOIN_DETACHED)
        if (likely(cas_ar(&f->join, &join, join == nobody ? ended : join | WEFT_JOIN_ENDED_BY)))
            return join == nobody ? NULL : weft__join_win(join);
    /* For whoever goes over all records: it does not live any more. Not `ended`: a late joiner would collect it. */
    store_rlx(&f->join, weft__join_of(self, WEFT_JOIN_COLLECTED));
    weft__slab_put(&weft__fibers, &w->records, &f->slot);
    return NULL;
}

/* What runs after a fiber that has ended: if nobody is ready here, its joiner would come to the head
 * of the queue, so it need not go through it. */
static struct weft__fiber *after_end(struct weft__worker *w, struct weft__fiber *joiner) {
    if (!joiner) return weft__next(w);
    if (WEFT_MIGRATES || weft__has_ready(w) || weft__has_wishes(w, joiner) ||
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

/* Of a scope's child: how many ends its scope is to hear of; of others: 0. */
static inline uint64_t ends_of(const struct weft__fiber *f) { return f->fn == weft__child_main ? f->owes + 1 : 0; }

/*
 * A scope's child has ended, and `next` is to run. If that is a sibling that begins, it tells of both ends: the scope
 * does not end before it, so nobody is kept waiting, and of many short children on two cores few touch the scope.
 * Returns what is to run.
 */
static struct weft__fiber *tell_scope(struct weft__worker *w, struct weft_counter *scope, uint64_t ends,
                                      struct weft__fiber *next, const struct weft__stack *stack) {
    if (next && next->frames == (uintptr_t)scope && may_adopt(next, stack)) {
        w->owed = ends;
        return next;
    }
    weft__counter_lower(scope, ends);
    return next ? next : weft__next(w);
}

/* The stack that the caller stands on goes where there is no room for it. While stacks are scarce this is told at home,
 * where it is left. */
static WEFT_COLD struct weft__fiber *put_last(struct weft__worker *w, struct weft__stack *stack,
                                              struct weft__fiber *next) {
    weft__stack_put_slow(w->stacks, stack);
    if (!load_rlx(&weft__stack_are_scarce)) return weft__choose(w, next);
    w->handed = next;
    return NULL;
}

/* Ends the running fiber and goes on with another. The stack goes to the next fresh fiber, or into
 * the cache. Does not return. */
static _Noreturn void end(struct weft__fiber *f, void *result) {
    if (unlikely(f->locals != NULL)) weft__locals_destroy(f);
    weft__locks_check(f, "ends");
    struct weft__worker *w = weft__self(); /* only now: destructors may have parked */
    if (unlikely(!w)) weft__forked_end(f);
    if (unlikely(load_rlx(&w->deque) != NULL)) weft__tasks_end(w, f);
    struct weft__stack *stack = f->stack;
    struct weft_counter *counter = (struct weft_counter *)f->frames;
    uint64_t ends = ends_of(f);
    f->result = result;
    w->exceptions->caught = NULL; /* of a fiber that left from inside a handler */
    w->exceptions->uncaught = 0;
    struct weft__fiber *joiner = announce_end(w, f);
    if (unlikely(counter != NULL) && !ends) weft_counter_complete(counter);
    /* Release: pairs with a stop that counts; all that the fiber did is seen by it. */
    store_rel(&w->numbers.completed, load_rlx(&w->numbers.completed) + 1);
    struct weft__fiber *next = after_end(w, joiner);
    if (unlikely(ends)) next = tell_scope(w, counter, ends, next, stack);
    if (next && may_adopt(next, stack)) {
        san_unwound(stack->low, weft__stack_top(stack));
        weft__adopt(next, stack);
        store_rlx(&next->context.on_stack, WEFT_STOOD_ON);
        store_rel(&w->current, next); /* pairs with weft__share_by_force */
        count_add(&w->numbers.switches, 1);
        san_leave(&stack->san, &stack->san, true);
        weft__switch_away(&next->context, w);
    }
    san_unwound(stack->low, weft__stack_top(stack));
    next = likely(weft__stack_put_fast(w->stacks, stack)) ? weft__choose(w, next) : put_last(w, stack, next);
    san_leave(&stack->san, weft__san_of(next, w), true);
    weft__switch_away(next ? &next->context : &w->home, w);
}

_Noreturn void weft__stack_main(void *carried, struct weft__context *entered) WEFT_USED;
_Noreturn void weft__stack_main(void *carried, struct weft__context *entered) {
    struct weft__worker *w = carried;
    struct weft__fiber *f = container_of(entered, struct weft__fiber, context);
    san_enter(&f->stack->san, &w->home_san);
    void *result = f->fn(f->arg);
    if (unlikely(f->frames & WEFT_FRAMES_TAG)) weft__frames_unwind(f, result, weft__stack_pointer());
    end(f, result);
}

WEFT_PUBLIC _Noreturn void weft_exit(void *result) {
    struct weft__worker *w = weft__self();
    struct weft__fiber *me = w ? load_rlx(&w->current) : NULL;
    if (!me) weft__die("weft_exit was called by a thread that is no fiber");
    weft__exit_check(w, me);
    if (unlikely(me->frames & WEFT_FRAMES_TAG)) weft__frames_unwind(me, result, NULL);
    weft__overrun_check(me);
    end(me, result);
}

/* --- yield ------------------------------------------------------------------------------------ */

/* No notification: as many are ready as before, and who made them so has looked. */
static WEFT_SWITCHES void switch_in_turn(struct weft__worker *w, struct weft__fiber *self) {
    weft__push(w, self);
    weft__suspend(w, self);
}

WEFT_PUBLIC void weft_yield(void) {
    struct weft__worker *w = weft__self();
    struct weft__fiber *self = w ? load_rlx(&w->current) : NULL;
    if (unlikely(!self)) {
        sched_yield();
        return;
    }
    weft__locks_check(self, "yields");
    if (!WEFT_MIGRATES && unlikely(!weft__ready_length(&w->ready) && !load_rlx(&w->aside.state))) {
        /* Alone here; now and then go home and look whether something waits outside. */
        if (likely(--w->until_poll > 0)) return;
    }
    switch_in_turn(w, self);
}

WEFT_COLD struct weft__worker *weft__suspend_handling(struct weft__worker *w, struct weft__fiber *self) {
    struct weft__exceptions handling = *w->exceptions;
    *w->exceptions = (struct weft__exceptions){NULL, 0};
    w = load_rlx(&w->deque) ? weft__suspend_forking(w, self) : weft__suspend_plain(w, self);
    *w->exceptions = handling;
    return w;
}

/* --- join and detach -------------------------------------------------------------------------- */

/* The fiber has ended and the record is the caller's: take the result, give the record back. */
static inline int collect(struct weft__fiber *f, void **result) {
    if (result) *result = f->result;
    struct weft__worker *w = weft__self();
    weft__slab_put(&weft__fibers, w ? &w->records : NULL, &f->slot);
    return 0;
}

/* It has ended, or somebody has said that nobody, or somebody else, joins it. Each swap of the join
 * word expects the life that the handle stands for. */
static int join_at_once(struct weft__fiber *f, struct weft_fiber handle, void **result, uint64_t join) {
    if (join == weft__join_of(handle, WEFT_JOIN_DETACHED)) return -EINVAL;
    if ((join & WEFT_JOIN_TAG) >= WEFT_JOIN_BY) return weft__fiber_of(handle) ? -EBUSY : -ESRCH;
    if (join != weft__join_of(handle, WEFT_JOIN_ENDED)) return -ESRCH;
    /* Of several who find it ended, one collects. Acquire: pairs with announce_end. */
    return cas_ar(&f->join, &join, weft__join_of(handle, WEFT_JOIN_COLLECTED)) ? collect(f, result) : -ESRCH;
}

static WEFT_SWITCHES int join(struct weft__fiber *f, struct weft_fiber handle, void **result, uint64_t deadline) {
    struct weft__fiber *me = weft__me();
    if (unlikely(!me)) return -ENOMEM;
    if (unlikely(me == f)) return -EDEADLK;
    uint64_t ticket, nobody = weft__join_of(handle, WEFT_JOIN_NOBODY), join = nobody;
    int err = weft__wait_begin(me, WEFT_WAIT_BY_CANCEL, &ticket);
    if (unlikely(err)) return err;
    uint64_t by = weft__join_by(weft__slot_index(&me->slot), ticket);
    if (unlikely(!cas_ar(&f->join, &join, by))) { /* pairs with announce_end */
        weft__wait_withdraw(me, ticket);
        return join_at_once(f, handle, result, join);
    }
    err = weft__wait_block(me, ticket, deadline);
    if (likely(!err)) return collect(f, result);
    /* Nobody joins any more; unless it ended just now, then the join has succeeded after all. */
    return cas_ar(&f->join, &by, nobody) ? err : collect(f, result);
}

WEFT_PUBLIC int weft_join_until(struct weft_fiber fiber, void **result, uint64_t deadline) {
    struct weft__fiber *f = weft__fiber_of(fiber);
    if (unlikely(!f || load_rlx(&f->context.kind) != WEFT_KIND_FIBER)) return -ESRCH;
    uint64_t word = load_rlx(&f->join);
    if (word == weft__join_of(fiber, WEFT_JOIN_NOBODY)) return join(f, fiber, result, deadline);
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

/* --- who am I --------------------------------------------------------------------------------- */

WEFT_PUBLIC struct weft_fiber weft_self(void) {
    struct weft__worker *w = weft__self();
    struct weft__fiber *me = w ? load_rlx(&w->current) : NULL;
    return me ? weft__handle(me) : (struct weft_fiber){0};
}

WEFT_PUBLIC int weft_worker(void) {
    struct weft__worker *w = weft__self();
    struct weft__fiber *me = w ? load_rlx(&w->current) : NULL;
    if (!me) return -EPERM;
    unsigned pin = load_rlx(&me->context.place) & WEFT_PLACE_PIN; /* that one's, even while another stands in for it */
    return pin ? (int)pin - 1 : (int)w->index;
}

const char *weft__describe_as(struct weft_fiber fiber, const char *name, const char *where, struct weft__text *to) {
    static const char hex[] = "0123456789abcdef";
    char *p = to->text, *stop = to->text + sizeof to->text - 1;
    for (const char *s = "fiber 0x"; *s;) *p++ = *s++;
    for (int shift = 60; shift >= 0; shift -= 4)
        if (fiber.id >> shift) *p++ = hex[fiber.id >> shift & 15];
    const char *parts[] = {name[0] ? " \"" : "", name, name[0] ? "\"" : "", " spawned at ",
                           where ? where : "an unknown place"};
    for (unsigned i = 0; i < sizeof parts / sizeof *parts; i++)
        for (const char *s = parts[i]; *s && p < stop;) *p++ = *s++;
    *p = 0;
    return to->text;
}

const char *weft__describe(const struct weft__fiber *f, struct weft__text *to) {
    return weft__describe_as(weft__handle((struct weft__fiber *)(uintptr_t)f), f->name, f->where, to);
}

const char *weft__describe_caller(struct weft__text *to) {
    struct weft__worker *w = weft__self();
    struct weft__fiber *me = w ? load_rlx(&w->current) : NULL;
    return me ? weft__describe(me, to) : "a thread";
}
