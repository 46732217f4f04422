/* SPDX-License-Identifier: MIT */
/*
 * What a fiber is doing, by its record: so that a test waits for just that, and not for as long as it
 * usually takes.
 */
#ifndef WEFT_TESTS_STATE_H
#define WEFT_TESTS_STATE_H

#include "test.h"

#include "sched/core/wait_word.h"

/* It is in a wait, or about to leave its stack for one. */
static inline bool state_waits(struct weft_fiber f) {
    struct weft__fiber *r = weft__fiber_of(f);
    return r && load_acq(&r->wait) & WEFT_WAIT_WAITING;
}
/* A joiner waits for it. */
static inline bool state_joined(struct weft_fiber f) {
    struct weft__fiber *r = weft__fiber_of(f);
    return r && (load_acq(&r->join) & WEFT_JOIN_TAG) == WEFT_JOIN_BY;
}
/* It has ended; perhaps its record has gone back, too. */
static inline bool state_ended(struct weft_fiber f) {
    struct weft__fiber *r = weft__fiber_of(f);
    return !r || weft__join_has_ended(load_acq(&r->join));
}

/* From a fiber or a thread; the harness's time limit is the bound. */
static inline void await_state(bool (*is)(struct weft_fiber), struct weft_fiber f) {
    while (!is(f)) weft_sleep_for(100 * WEFT_MICROSECOND);
}

#endif
