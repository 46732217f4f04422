/* SPDX-License-Identifier: MIT */
/*
 * Regions: entering and leaving them, being cancelled, and the request from outside. See cancel.h.
 *
 * weft_cancel and a fiber that opens or closes its lowest region:
 *
 *   the fiber                                     weft_cancel
 *   1. own lock                                   1. own lock
 *   2. cancelled? then the region begins          2. not OPEN: sets CANCEL in the wait word. OPEN: marks
 *      cancelled                                     the lowest region as requested; if it is a scope,
 *   3. OPEN, unlock                                  holds it by its count. ROOT: holds the root, too
 *                                                    (cancel_root.c)
 *                                                 3. unlock; cancels these scopes, releases them
 */
#include "sched/wait/cancel.h"
#include "base/assert.h"
#include "base/probe.h"
#include "sched/dispatch/forking.h"
#include "sched/dispatch/make_ready.h"
#include "sched/record/record.h"
#include "sched/wait/cancel_log.h"

/* --- being cancelled -------------------------------------------------------------------------------- */

bool weft__cancel_fiber(struct weft__fiber *f, uint64_t cause) {
    uint64_t word = load_rlx(&f->wait), next;
    bool ends;
    do {
        if (word & WEFT_WAIT_CANCEL) return false;
        ends = (word & WEFT_WAIT_WAITING) && (word & WEFT_WAIT_BY_CANCEL);
        next = ends ? (word & (WEFT_WAIT_EPOCH | WEFT_WAIT_STICKY)) | WEFT_WAIT_CANCEL | WEFT_WON_CANCEL
                    : word | WEFT_WAIT_CANCEL;
    } while (!cas_ar(&f->wait, &word, next)); /* pairs with weft__wait_begin */
    weft__cancel_log_add(f, weft__cause_why(cause));
    return ends;
}

/* Changes the sticky bits of the caller's own wait word. The caller runs, so no other thread changes these bits. */
static void set_own_bits(struct weft__fiber *me, uint64_t clear, uint64_t set) {
    uint64_t word = load_rlx(&me->wait);
    while (!cas_ar(&me->wait, &word, (word & ~clear) | set)) {
    } /* a permit may come meanwhile */
}

/* Makes the calling fiber cancelled for this cause; 0: not cancelled. Adds it to the log if `news`. */
static void set_cancelled(struct weft__fiber *me, uint64_t cause, bool news) {
    if (!!cause == !!(load_rlx(&me->wait) & WEFT_WAIT_CANCEL)) return;
    set_own_bits(me, WEFT_WAIT_CANCEL, cause ? WEFT_WAIT_CANCEL : 0);
    if (cause && news) weft__cancel_log_add(me, weft__cause_why(cause));
}

/* Enters a member into the chain of its scope. If the scope was cancelled before, the member is cancelled now. */
static void chain_member(struct weft__region *m) {
    WEFT_ASSERT(m->frame.kind == WEFT_FRAME_MEMBER && !m->frame.chained);
    struct weft__scope *s = m->scope;
    weft__lock(&s->lock);
    weft__circle_insert(&s->chain, &m->link);
    m->frame.chained = true;
    set_own_bits(m->fiber, WEFT_WAIT_LOOK, 0);
    uint64_t cause = load_rlx(&s->cause);
    if (cause) weft__cancel_fiber(m->fiber, cause);
    weft__unlock(&s->lock);
}

static uint64_t cause_in_force(struct weft__fiber *me) {
    struct weft__scope *s = weft__region_scope(weft__region_top(me->frames));
    uint64_t cause = s ? load_acq(&s->cause) : 0; /* pairs with scope_mark */
    return cause ? cause : weft__cause(WEFT_BY_REQUEST, -ECANCELED);
}

WEFT_COLD int weft__cancel_heed(struct weft__fiber *me) {
    if (load_rlx(&me->wait) & WEFT_WAIT_LOOK) {
        struct weft__region *m = weft__region_top(me->frames);
        chain_member(m ? m : weft__forking.child_member(me));
    }
    uint64_t word = load_acq(&me->wait); /* pairs with weft__cancel_fiber: the cause is there */
    return word & WEFT_WAIT_CANCEL ? weft__cancel_result(me) : 0;
}

WEFT_COLD int weft__cancel_result(struct weft__fiber *me) { return weft__cause_result(cause_in_force(me)); }

WEFT_COLD int weft__cancel_error_slow(struct weft__fiber *me) {
    if (load_acq(&me->wait) & WEFT_WAIT_CANCEL)
        return weft__cancel_result(me); /* pairs with weft__cancel_fiber, as in heed */
    struct weft__region *m = weft__region_top(me->frames);
    if (!m) return weft__cancel_heed(me);
    uint64_t cause = load_acq(&m->scope->cause); /* pairs with mark */
    return cause ? weft__cause_result(cause) : 0;
}

WEFT_COLD int weft__refused_if_cancelled(struct weft__fiber *me, int err) {
    if ((err == -ECANCELED || err == -ETIMEDOUT) && weft__cancel_error(me)) weft__refused(me, err);
    return err;
}

WEFT_PUBLIC int weft_cancelled(void) {
    struct weft__fiber *me = weft__me_if_any();
    if (unlikely(!weft__self()) && me && me->frames) weft__scopes_expire(me);
    if (!me || !(load_acq(&me->wait) & (WEFT_WAIT_CANCEL | WEFT_WAIT_LOOK))) return 0; /* pairs with cancel */
    return weft__cancel_heed(me) ? weft__cause_why(cause_in_force(me)) : 0;
}

/* --- frames and regions --------------------------------------------------------------------------- */

/* weft_cancel looks at the frames only while there are regions among them, and only the fiber changes that. */
static void set_frames(struct weft__fiber *me, uintptr_t frames) {
    bool seen = load_rlx(&me->context.open) & WEFT_OPEN_REGIONS;
    uint8_t open = seen ? weft__frames_lock(me) : 0;
    me->frames = frames;
    if (seen) weft__frames_unlock(me, open);
}

void weft__frame_push(struct weft__fiber *me, struct weft__frame *frame) {
    frame->below = me->frames;
    set_frames(me, weft__frames_with(frame));
}

void weft__frame_pop(struct weft__fiber *me, struct weft__frame *frame) {
    WEFT_ASSERT(weft__frame_top(me->frames) == frame);
    set_frames(me, frame->below);
}

/* The cause with which a new region begins, because what surrounds it is cancelled; 0: none. Locked. */
static uint64_t inherited_region(struct weft__fiber *me, struct weft__region *r, struct weft__scope *around) {
    uint64_t cause = around ? load_rlx(&around->cause) : 0;
    if (cause) return weft__cause_inward(cause);
    /* No scope has cancelled the fiber, so if it is cancelled, weft_cancel did it. In a shield no fiber is cancelled.
     */
    r->frame.requested = load_rlx(&me->wait) & WEFT_WAIT_CANCEL;
    return r->frame.requested ? weft__cause(WEFT_BY_REQUEST, -ECANCELED) : 0;
}

void weft__region_enter(struct weft__fiber *me, struct weft__region *r) {
    if (load_rlx(&me->wait) & WEFT_WAIT_LOOK) weft__cancel_heed(me);
    struct weft__region *around = weft__region_top(me->frames);
    struct weft__scope *s = weft__region_scope(around);
    WEFT_ASSERT(!around || around->fiber == me);
    WEFT_ASSERT(r->frame.kind == WEFT_FRAME_SCOPE || r->frame.kind == WEFT_FRAME_SHIELD);
    bool first = !around || around->frame.kind == WEFT_FRAME_MEMBER, is_scope = r->frame.kind == WEFT_FRAME_SCOPE;
    r->frame.covered = r->frame.chained = r->frame.requested = false;
    r->fiber = me;
    r->scope = s;
    r->first = first ? r : around->first;
    uint8_t open = weft__frames_lock(me);
    if (s) weft__lock(&s->lock);
    uint64_t cause = inherited_region(me, r, s);
    if (around) around->frame.covered = true;
    if (is_scope) store_rlx(&container_of(r, struct weft__scope, region)->cause, cause);
    r->frame.was_cancelled = load_rlx(&me->wait) & WEFT_WAIT_CANCEL;
    set_cancelled(me, is_scope ? cause : 0, true);
    if (is_scope && s) {
        weft__circle_insert(&s->chain, &r->link);
        r->frame.chained = true;
    }
    r->frame.below = me->frames;
    me->frames = weft__frames_with(&r->frame);
    if (s) weft__unlock(&s->lock);
    weft__frames_unlock(me, open | WEFT_OPEN_REGIONS);
    weft__forking_region(true);
}

bool weft__region_leave(struct weft__fiber *me, struct weft__region *r) {
    WEFT_ASSERT(r->fiber == me && me->frames == weft__frames_with(&r->frame));
    struct weft__region *around = weft__region_top(r->frame.below);
    struct weft__scope *s = weft__region_scope(around);
    uint8_t open = weft__frames_lock(me);
    if (s) weft__lock(&s->lock);
    bool over = r->frame.kind != WEFT_FRAME_SCOPE ||
                weft__counter_at_rest(&container_of(r, struct weft__scope, region)->outstanding);
    if (over) {
        if (r->frame.chained) weft__circle_remove(&r->link);
        if (around) around->frame.covered = false;
        me->frames = r->frame.below;
        uint64_t cause = s ? load_rlx(&s->cause) : 0;
        if (!cause && r->first == r && r->frame.requested) cause = weft__cause(WEFT_BY_REQUEST, -ECANCELED);
        set_cancelled(me, cause, !r->frame.was_cancelled);
        r->fiber = NULL;
        if (r->first == r) open &= (uint8_t)~WEFT_OPEN_REGIONS;
    }
    if (s) weft__unlock(&s->lock);
    weft__frames_unlock(me, open);
    if (over) weft__forking_region(false);
    return over;
}

int weft__region_check(struct weft__region *r, struct weft__fiber *me) {
    if (!r->fiber) return -EINVAL;
    if (r->fiber != me) return -EPERM;
    return me->frames == weft__frames_with(&r->frame) ? 0 : -EINVAL;
}

/* --- shields --------------------------------------------------------------------------------------- */

WEFT_PUBLIC int weft_shield_begin(struct weft_shield *shield) {
    if (!shield) return -EINVAL;
    struct weft__region *r = (struct weft__region *)(void *)shield;
    struct weft__fiber *me = weft__me();
    if (!me) return -ENOMEM;
    if (weft__frame_is_open(me, &r->frame)) return -EBUSY;
    r->frame.kind = WEFT_FRAME_SHIELD;
    weft__region_enter(me, r);
    return 0;
}

WEFT_PUBLIC int weft_shield_end(struct weft_shield *shield) {
    if (!shield) return -EINVAL;
    struct weft__region *r = (struct weft__region *)(void *)shield;
    struct weft__fiber *me = weft__me_if_any();
    int err = weft__region_check(r, me);
    if (!err) weft__region_leave(me, r);
    return err;
}

/* --- the request from outside ------------------------------------------------------------------------ */

static void stop_held(struct weft__scope *s) {
    weft__scope_stop(s, WEFT_BY_REQUEST, -ECANCELED);
    weft_counter_complete(&s->outstanding);
}

WEFT_PUBLIC int weft_cancel(struct weft_fiber fiber) {
    struct weft__fiber *f = weft__fiber_of(fiber);
    if (!f) return -ESRCH;
    weft__probe1(cancel, fiber.id);
    if (unlikely(weft__is_recording())) weft__record_slow(WEFT_HAPPENED_CANCEL, fiber.id, weft__record_caller(), 0);
    struct weft__scope *s = NULL, *root = NULL;
    bool wakes = false;
    int err = 0;
    uint8_t open = weft__frames_lock(f);
    if (!(open & WEFT_OPEN_REGIONS))
        err = weft__wait_cancel(f, fiber, &wakes);
    else if (load_rlx(&f->slot.life) != fiber.id || load_rlx(&f->context.kind) != WEFT_KIND_FIBER)
        err = -ESRCH;
    else {
        struct weft__region *r = weft__region_top(f->frames)->first;
        r->frame.requested = true;
        if (r->frame.kind == WEFT_FRAME_SCOPE) s = container_of(r, struct weft__scope, region);
        if (s) weft_counter_add(&s->outstanding, 1); /* keeps the scope until stop_held */
    }
    if (!err) root = weft__root_hold(f, open);
    weft__frames_unlock(f, open);
    if (wakes) weft__make_ready(f);
    if (s) stop_held(s);
    if (root) stop_held(root);
    return err;
}

/* --- tasks -------------------------------------------------------------------------------------------- */

struct weft__scope *weft__scope_here(void) {
    struct weft__fiber *me = weft__me_if_any();
    return me ? weft__region_scope(weft__region_top(me->frames)) : NULL;
}

void weft__scope_inherit(struct weft__region *m, struct weft__fiber *me, struct weft__scope *scope) {
    *m = (struct weft__region){.frame = {.kind = WEFT_FRAME_MEMBER}, .fiber = me, .scope = scope};
    weft__frame_push(me, &m->frame);
    set_own_bits(me, 0, WEFT_WAIT_LOOK);
}

void weft__scope_disinherit(struct weft__region *m, struct weft__fiber *me) {
    weft__member_end(me, m, 0);
    set_own_bits(me, WEFT_WAIT_LOOK | WEFT_WAIT_CANCEL, 0);
}
