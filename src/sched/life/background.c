/* SPDX-License-Identifier: MIT */
/*
 * Fibers in the background: they do not keep the runtime alive. When no other fiber is left, a stop cancels them, and
 * waits for their ends.
 *
 * Such a fiber is an ordinary one until it begins, so that of all that live never more are counted here than there are.
 * It counts itself in, runs its function, and counts itself out before it ends. Both counts only grow: a stop that
 * reads them before and after it has counted the fibers that live, and finds no change, knows how many of those were in
 * the background at one moment.
 */
#include "sched/life/background.h"

#include "base/sys.h"

static _Atomic uint64_t begun, ended;
static _Atomic bool cancelled; /* a stop has cancelled those that there were: others end as they begin */

struct call {
    void *(*fn)(void *);
    void *arg;
    struct weft_cleanup cleanup;
};

static void count_out(void *call) {
    weft__free(call);
    add_ar(&ended, 1); /* pairs with a stop, which sums */
}

/* Fibers in the background are known by this function. Whatever way it ends, it counts itself out. */
static void *background_main(void *arg) {
    struct call *c = arg;
    void *(*fn)(void *) = c->fn;
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
    struct weft__background b = {.ended = load_acq(&ended)}; /* before the others: never more ends than beginnings */
    b.begun = load_acq(&begun);
    return b;
}

static bool background_cancel(struct weft__fiber *f, void *unused) {
    (void)unused;
    if (f->fn == background_main) weft_cancel(weft__handle(f));
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
