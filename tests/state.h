/* SPDX-License-Identifier: MIT */
/*
 * The state of a fiber, read from its record, so that a test can wait for the state and need not sleep.
 */
#ifndef WEFT_TESTS_STATE_H
#define WEFT_TESTS_STATE_H

#include "test.h"

#include "sched/core/wait_word.h"

/* The fiber waits, or is about to leave its stack to wait. */
static inline bool state_waits(struct weft_fiber f) {
    struct weft__fiber *r = weft__fiber_of(f);
    return r && load_acq(&r->wait) & WEFT_WAIT_WAITING;
}
/* A joiner waits for it. */
static inline bool state_joined(struct weft_fiber f) {
    struct weft__fiber *r = weft__fiber_of(f);
    return r && (load_acq(&r->join) & WEFT_JOIN_TAG) == WEFT_JOIN_BY;
}
/* The fiber has ended. Perhaps its record is free, too. */
static inline bool state_ended(struct weft_fiber f) {
    struct weft__fiber *r = weft__fiber_of(f);
    return !r || weft__join_has_ended(load_acq(&r->join));
}

/* For a fiber or a thread. The time limit of the test ends a hang. */
static inline void await_state(bool (*is)(struct weft_fiber), struct weft_fiber f) {
    while (!is(f)) weft_sleep_for(100 * WEFT_MICROSECOND);
}

#endif
