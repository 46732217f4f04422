/* SPDX-License-Identifier: MIT */
/*
 * Roots: how weft_cancel reaches the calls that a fiber has forked and that other fibers run.
 *
 * The root of a fiber is a scope that stands for the fiber itself. A fiber that runs a stolen call becomes a member of
 * the owner's root. If the owner forked the call inside a scope of its own, the thief's fiber becomes a member of that
 * scope instead; if inside a shield, of none. weft_cancel cancels the root. So does the scope around the fiber, because
 * the root is in the chain of that scope. The fiber itself is cancelled by its own wait word, so the root never cancels
 * it: the root is always `covered`.
 *
 * A root is in the deque of its fiber. The first thief that needs it opens it, so a fork that is not stolen costs
 * nothing. The owner closes it when it joins the oldest call: then all calls that other fibers ran are done.
 *
 *   the thief of a call that is not done         weft_cancel               the owner, in the join of the oldest call
 *   1. own lock of the owner                     1. own lock               1. waits until no thread holds the root
 *   2. not ROOT: opens the root, cancelled if    2. the request            2. own lock
 *      the owner is, and enters it into the      3. ROOT? the root is      3. is the root held again? then from 1
 *      chain of the scope around it                 held by its count      4. leaves its chain; not ROOT; unlock
 *   3. ROOT; unlock                              4. unlock; cancels the
 *                                                   root, lets it go
 */
#include "queue/deque.h"
#include "sched/wait/cancel.h"

_Static_assert(sizeof(struct weft__scope) <= sizeof((struct weft__deque *)0)->root, "the deque has room");
_Static_assert(sizeof(struct weft__region) <= sizeof((struct weft__deque *)0)->member, "the deque has room");

static struct weft__scope *root_in(struct weft__deque *d) { return (struct weft__scope *)(void *)&d->root; }

static struct weft__fiber *running_owner(void) { return load_rlx(&weft__self()->current); }

void *weft__fork_scope(void) {
    struct weft__region *r = weft__region_top(running_owner()->frames);
    if (!r || r->frame.kind == WEFT_FRAME_MEMBER) return NULL;
    return r->frame.kind == WEFT_FRAME_SHIELD ? WEFT_SHIELDED : weft__region_scope(r);
}

struct weft__scope *weft__base_scope(void) {
    struct weft__region *lowest = NULL;
    for (struct weft__frame *f = weft__frame_top(running_owner()->frames); f; f = weft__frame_top(f->below))
        if (weft__frame_is_region(f)) lowest = container_of(f, struct weft__region, frame);
    return lowest && lowest->frame.kind == WEFT_FRAME_MEMBER ? lowest->scope : NULL;
}

struct weft__scope *weft__call_scope(struct weft__deque *d, void *what) {
    return what == WEFT_SHIELDED ? NULL : what ? what : weft__root_of(d, d->around);
}

/* Was the fiber cancelled by weft_cancel? The caller holds the fiber's lock, and the scope around the fiber is not
 * cancelled. */
static bool is_asked(struct weft__fiber *f, uint8_t open) {
    if (open & WEFT_OPEN_REGIONS) return weft__region_top(f->frames)->first->frame.requested;
    return load_rlx(&f->wait) & WEFT_WAIT_CANCEL;
}

/* The owner is locked. */
static void open_root(struct weft__deque *d, struct weft__scope *around, struct weft__fiber *owner, uint8_t open) {
    struct weft__scope *s = root_in(d);
    s->region = (struct weft__region){
        .frame = {.kind = WEFT_FRAME_SCOPE, .covered = true, .chained = around}, .fiber = owner, .scope = around};
    s->lock = (struct weft__lock){0};
    s->timed = false;
    s->reserve = 0;
    s->outstanding = (struct weft_counter)WEFT_COUNTER_INIT;
    weft__circle_init(&s->chain);
    if (around) weft__lock(&around->lock);
    uint64_t cause = around ? load_rlx(&around->cause) : 0;
    if (cause)
        cause = weft__cause_inward(cause);
    else if (is_asked(owner, open))
        cause = weft__cause(WEFT_BY_REQUEST, -ECANCELED);
    store_rlx(&s->cause, cause);
    if (around) {
        weft__circle_insert(&around->chain, &s->region.link);
        weft__unlock(&around->lock);
    }
    owner->stack->root = s;
}

struct weft__scope *weft__root_of(struct weft__deque *d, struct weft__scope *around) {
    if (likely(load_acq(&d->rooted))) return root_in(d); /* pairs with the store below */
    struct weft__fiber *owner = d->owner;
    uint8_t open = weft__frames_lock(owner);
    if (!(open & WEFT_OPEN_ROOT)) {
        open_root(d, around, owner, open);
        open |= WEFT_OPEN_ROOT;
        store_rel(&d->rooted, true); /* pairs with the load above */
    }
    weft__frames_unlock(owner, open);
    return root_in(d);
}

static bool close_root(struct weft__deque *d, struct weft__fiber *me) {
    struct weft__scope *s = root_in(d), *around = s->region.scope;
    uint8_t open = weft__frames_lock(me);
    if (around) weft__lock(&around->lock);
    bool over = weft__counter_at_rest(&s->outstanding);
    if (over) {
        if (around) weft__circle_remove(&s->region.link);
        s->region.fiber = NULL;
        store_rlx(&d->rooted, false);
        open &= (uint8_t)~WEFT_OPEN_ROOT;
    }
    if (around) weft__unlock(&around->lock);
    weft__frames_unlock(me, open);
    return over;
}

WEFT_COLD void weft__root_close(struct weft__deque *d) {
    do weft__counter_wait_always(&root_in(d)->outstanding, 0);
    while (!close_root(d, d->owner));
}

struct weft__scope *weft__root_hold(struct weft__fiber *f, uint8_t open) {
    if (likely(!(open & WEFT_OPEN_ROOT))) return NULL;
    struct weft__scope *s = f->stack->root;
    weft_counter_add(&s->outstanding, 1);
    return s;
}
