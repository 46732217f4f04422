/* SPDX-License-Identifier: MIT */
/*
 * Fibers in the background: they do not keep the runtime alive. When no other fiber is left, a stop cancels them, and
 * waits for their ends.
 *
 * Such a fiber counts itself when it begins and before it ends, so the difference of the two counts is never higher
 * than the number of live background fibers. Both counts only grow. A stop reads them, counts the live fibers, and
 * reads them again. If they have not changed, the stop knows how many of these fibers were in the background at one
 * moment.
 */
#include "sched/life/background.h"

#include "base/sys.h"
#include "sched/core/self.h"

static _Atomic uint64_t begun, ended;
static _Atomic bool cancelled; /* a stop has cancelled all background fibers; a new one is cancelled when it begins */

struct call {
    void *(*fn)(void *);
    void *arg;
    struct weft_cleanup cleanup;
};

/* Changes the flag BACKGROUND of the running fiber, by which a stop recognizes it, whatever function it began with. */
static void set_background(bool is) {
    struct weft__fiber *me = weft__me();
    uint8_t open = weft__frames_lock(me);
    weft__frames_unlock(me, is ? open | WEFT_OPEN_BACKGROUND : open & (uint8_t)~WEFT_OPEN_BACKGROUND);
}

static void count_out(void *call) {
    weft__free(call);
    set_background(false);
    add_ar(&ended, 1); /* pairs with a stop, which sums */
}

/* Every background fiber runs this. A clean-up handler counts its end, so that it is counted however the fiber ends. */
static void *background_main(void *arg) {
    struct call *c = arg;
    void *(*fn)(void *) = c->fn;
    set_background(true);
    add_ar(&begun, 1);
    weft_cleanup_push(&c->cleanup, count_out, c);
    fence_sc(); /* pairs with weft__background_end: we see that they are cancelled, or it finds us */
    if (unlikely(load_rlx(&cancelled))) weft_cancel(weft_self());
    void *result = fn(c->arg);
    weft_cleanup_pop(&c->cleanup, true);
    return result;
}

int weft__background_spawn(struct weft_fiber *fiber, const struct weft_attr *attr, void *(*fn)(void *), void *arg,
                           const char *where) {
    struct weft_attr plain = *attr;
    struct call *c = fn ? weft__alloc(sizeof *c) : NULL;
    if (!c) return fn ? -ENOMEM : -EINVAL;
    *c = (struct call){.fn = fn, .arg = arg};
    plain.background = 0;
    int err = weft_spawn_at(fiber, &plain, background_main, c, where);
    if (err) weft__free(c);
    return err;
}

struct weft__background weft__background_now(void) {
    struct weft__background b = {.ended = load_acq(&ended)}; /* read first, so it never exceeds the beginnings */
    b.begun = load_acq(&begun);
    return b;
}

/* The handle comes first. If the record is used anew before the flag is read, the handle is stale, and the new fiber
 * looks whether it is cancelled. */
static bool background_cancel(struct weft__fiber *f, void *unused) {
    struct weft_fiber handle = {
        load_acq(&f->slot.life)}; /* pairs with the unlock of the flags, and with weft__slab_put */
    (void)unused;
    if (load_rlx(&f->context.open) & WEFT_OPEN_BACKGROUND) weft_cancel(handle);
    return true;
}

void weft__background_end(bool end) {
    store_rlx(&cancelled, end);
    fence_sc(); /* pairs with background_main */
    if (end) weft__each_live(background_cancel, NULL);
}

void weft__background_anew(void) {
    store_rlx(&begun, 0);
    store_rlx(&ended, 0);
    store_rlx(&cancelled, false);
}
