/* SPDX-License-Identifier: MIT */
/*
 * Clean-up handlers, and the frames that a fiber leaves open when it ends: they are closed from the last to the first.
 * See cancel.h.
 */
#include "sched/wait/cancel.h"

#include "base/message.h"

struct cleanup {
    struct weft__frame frame;
    void (*fn)(void *);
    void *arg;
};
_Static_assert(sizeof(struct cleanup) <= sizeof(struct weft_cleanup), "the public handler has room");

static struct weft__fiber *fiber_only(void) {
    struct weft__worker *w = weft__self();
    return w ? load_rlx(&w->current) : NULL;
}

WEFT_PUBLIC int weft_cleanup_push(struct weft_cleanup *cleanup, void (*fn)(void *), void *arg) {
    if (!cleanup || !fn) return -EINVAL;
    struct weft__fiber *me = fiber_only();
    if (!me) return -EPERM;
    struct cleanup *c = (struct cleanup *)(void *)cleanup;
    if (weft__frame_is_open(me, &c->frame)) return -EBUSY;
    *c = (struct cleanup){.frame = {.kind = WEFT_FRAME_CLEANUP}, .fn = fn, .arg = arg};
    weft__frame_push(me, &c->frame);
    return 0;
}

/* Runs a handler in a shield. A pop does so as well, so a handler behaves the same whatever made it run. */
static void run_shielded(struct weft__fiber *me, struct cleanup *c) {
    struct weft_shield shield;
    void (*fn)(void *) = c->fn;
    void *arg = c->arg;
    weft__frame_pop(me, &c->frame);
    weft_shield_begin(&shield);
    fn(arg);
    weft_shield_end(&shield);
}

WEFT_PUBLIC int weft_cleanup_pop(struct weft_cleanup *cleanup, int run) {
    if (!cleanup) return -EINVAL;
    struct weft__fiber *me = fiber_only();
    if (!me) return -EPERM;
    struct cleanup *c = (struct cleanup *)(void *)cleanup;
    if (weft__frame_top(me->frames) != &c->frame || weft__frames_kind(me->frames) != WEFT_FRAME_CLEANUP) return -EINVAL;
    if (run)
        run_shielded(me, c);
    else
        weft__frame_pop(me, &c->frame);
    return 0;
}

/* Names the innermost region that was left open, and ends the program. */
static WEFT_COLD _Noreturn void left_open(struct weft__fiber *me) {
    static const char *const what[][3] = {
        [WEFT_FRAME_CLEANUP] = {"a clean-up handler", "weft_cleanup_pop", "pushed"},
        [WEFT_FRAME_SCOPE] = {"a scope", "weft_scope_end", "began"},
        [WEFT_FRAME_SHIELD] = {"a shield", "weft_shield_end", "began"},
    };
    const char *const *w = what[weft__frames_kind(me->frames)];
    struct weft__text text;
    weft__die(
        "%s has returned with %s open: call %s before the function that %s it returns, or leave by weft_fiber_exit",
        weft__describe(me, &text), w[0], w[1], w[2]);
}

/* The frame that owned `p` has returned; its memory may have been reused. */
static bool is_gone(struct weft__fiber *me, const void *p, const void *end) {
    return (const char *)p >= me->stack->low && (const char *)p < (const char *)end;
}

void weft__frames_unwind(struct weft__fiber *me, void *result, const void *returned) {
    for (struct weft__frame *f; (f = weft__frame_top(me->frames));) {
        if (unlikely(returned && is_gone(me, f, returned))) left_open(me);
        if (f->kind == WEFT_FRAME_MEMBER) {
            weft__member_end(me, container_of(f, struct weft__region, frame), (int)(intptr_t)result);
        } else if (f->kind == WEFT_FRAME_CLEANUP) {
            run_shielded(me, (struct cleanup *)(void *)f);
        } else {
            if (returned) left_open(me);
            if (f->kind == WEFT_FRAME_SHIELD) {
                weft_shield_end((struct weft_shield *)(void *)f);
            } else {
                weft_scope_cancel((struct weft_scope *)(void *)f);
                weft_scope_end((struct weft_scope *)(void *)f);
            }
        }
    }
}
