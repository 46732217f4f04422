/*
 * Time as the user sees it: the clock, sleeping, timers.
 */
#include "sched/block.h"

WEFT_PUBLIC uint64_t weft_now(void) { return weft__clock(); }

WEFT_PUBLIC WEFT_SWITCHES int weft_sleep_until(uint64_t deadline) {
    struct weft__fiber *me = weft__me();
    if (!me) return -ENOMEM;
    uint64_t ticket;
    int err = weft__wait_begin(me, WEFT_WAIT_BY_CANCEL, &ticket);
    if (err) return err;
    err = weft__wait_block(me, ticket, deadline);
    return err && weft__wait_was_late(me) ? 0 : err;
}

WEFT_PUBLIC int weft_sleep_for(uint64_t nanoseconds) {
    uint64_t now = weft__clock();
    return weft_sleep_until(nanoseconds < WEFT_FOREVER - now ? now + nanoseconds : WEFT_FOREVER);
}

_Static_assert(sizeof(struct weft__timer) <= sizeof(struct weft_timer), "the public timer has room");

/* Which wheel: the caller's own, or, of threads, any. The sleeping worker learns of it. */
static struct weft__worker *worker_for(void) {
    static _Atomic unsigned turn;
    struct weft__worker *w = weft__self();
    if (w) return w;
    struct weft__cluster *c = &weft__cluster;
    unsigned count = load_acq(&c->running) ? c->count : 0; /* pairs with the start; a stop may be under way */
    return count ? c->workers[add_rlx(&turn, 1) % count] : NULL;
}

WEFT_PUBLIC int weft_timer_arm(struct weft_timer *timer, uint64_t deadline, void (*fn)(void *), void *arg) {
    if (!timer || !fn) return -EINVAL;
    struct weft__timer *t = (struct weft__timer *)(void *)timer;
    struct weft__worker *w = worker_for();
    if (!w) return -ESRCH;
    if (weft__timer_is_armed(t)) return -EBUSY;
    int earliest = weft__wheel_arm(&w->wheel, t, deadline, (struct weft__due){fn, arg, 0});
    if (unlikely(earliest < 0)) return earliest; /* the runtime was stopped just now */
    if (unlikely(earliest && w != weft__self())) {
        fence_sc(); /* pairs with the fence of a worker that announces its sleep: it sees the timer, or we it */
        weft__idle_wake(w);
    }
    return 0;
}

WEFT_PUBLIC int weft_timer_cancel(struct weft_timer *timer) {
    if (!timer) return -EINVAL;
    struct weft__timer *t = (struct weft__timer *)(void *)timer;
    struct weft__wheel *wheel = load_rlx(&t->wheel);
    if (!weft__wheel_cancel(t)) return -EALREADY;
    if (wheel == &weft__wheel_dropped) return 0;
    struct weft__worker *w = weft__self();
    if (unlikely(!w || !wheel || w->cluster != container_of(wheel, struct weft__worker, wheel)->cluster))
        weft__tell_quiet(); /* a stop or a drain may wait for this timer */
    return 0;
}
