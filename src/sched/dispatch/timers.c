/* SPDX-License-Identifier: MIT */
/*
 * Expires timers: ends waits whose deadline has come, and calls the functions of timers.
 */
#include "sched/dispatch/timers.h"
#include "base/probe.h"
#include "sched/dispatch/make_ready.h"
#include "sched/record/record.h"
#include "sched/wait/wait.h"

static WEFT_COLD void record_timer(const struct weft__due *d) {
    struct weft__fiber *f = d->fn ? NULL : d->arg;
    weft__record_slow(WEFT_HAPPENED_TIMER, f ? load_rlx(&f->slot.life) : 0, (uintptr_t)d->fn, 0);
}

void weft__expire(struct weft__worker *w, struct weft__wheel *wheel, uint64_t now) {
    enum { AT_ONCE = 64 };
    struct weft__due due[AT_ONCE];
    uint64_t left = WEFT_WHEEL_LOOK;
    unsigned n = AT_ONCE;
    store_rlx(&w->progress.expiring, load_rlx(&w->progress.expiring) + 1);
    weft__fence_light(); /* pairs with a stop: the stop sees that we are expiring, or we see that timers are held */
    while (n == AT_ONCE && likely(!load_rlx(&weft__timers_held))) {
        n = weft__wheel_expire(wheel, now, due, AT_ONCE, &left);
        count_add(&w->numbers.timers, n);
        for (unsigned i = 0; i < n; i++) {
            weft__probe2(timer, w->index, due[i].arg);
            if (unlikely(weft__is_recording())) record_timer(&due[i]);
            if (due[i].fn) {
                due[i].fn(due[i].arg);
                if (unlikely(weft__self() != w)) weft__forked_end(NULL);
            } else if (weft__wait_win(due[i].arg, due[i].ticket, WEFT_WON_DEADLINE))
                weft__make_ready(due[i].arg);
        }
    }
    /* Pairs with a stop, which then counts the spawns of the functions, and with weft_timer_stop, which sees what they
     * did. */
    store_rel(&w->progress.expiring, load_rlx(&w->progress.expiring) + 1);
}
