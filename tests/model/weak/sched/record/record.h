/* SPDX-License-Identifier: MIT */
/* Replaces the flight recorder, which is always off in explorations. */
#ifndef WEFT_SCHED_RECORD_RECORD_H
#define WEFT_SCHED_RECORD_RECORD_H

#include "sched/core/self.h"
#include "sched/record/tape.h"

static struct { _Atomic uint32_t late; } weft__recorder;

static inline bool weft__is_recording(void) { return false; }
static inline void weft__record(enum weft__happened kind, uint64_t fiber, uint64_t a, uint64_t b) {
    (void)kind, (void)fiber, (void)a, (void)b;
}
void weft__record_slow(enum weft__happened kind, uint64_t fiber, uint64_t a, uint64_t b);
uint64_t weft__record_caller(void);
void weft__record_ready(struct weft__worker *w, struct weft__fiber *f);
bool weft__record_leave(struct weft__worker *w, struct weft__fiber *old, struct weft__waits_for what);
void weft__record_run(struct weft__worker *w, struct weft__fiber *f, bool left);

#endif
