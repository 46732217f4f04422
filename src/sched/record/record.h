/* SPDX-License-Identifier: MIT */
/*
 * The flight recorder: what happened, as events on tapes (tape.h).
 *
 * Callers of weft__record are on paths where a test of one word does not matter. The paths that yield, park, fork and
 * spawn do not call it. While a worker records, the bit WEFT_ASIDE_RECORDED of its word `aside.state`, which every
 * dispatch reads anyway, leads to weft__record_leave and weft__record_run; and the trap of its ready queue is always
 * set, so that every push comes by weft__record_ready.
 *
 * Switching on and off: elastic/recording.c. A tool asks from outside, by a store to `asked_until`.
 */
#ifndef WEFT_SCHED_RECORD_RECORD_H
#define WEFT_SCHED_RECORD_RECORD_H

#include "sched/core/self.h"
#include "sched/record/stacks.h"
#include "sched/record/tape.h"

#define WEFT_TAPE_EVENTS (UINT64_C(1) << 17) /* 4 MiB for each worker, while and after it has recorded */
#define WEFT_TAPES_MOST 4096
#define WEFT_NAMES_MOST 2048
#define WEFT_NAME_TEXT 55

/* A string that events name by its number: the name of a span, or where a fiber was spawned. */
struct weft__known_name {
    _Atomic uintptr_t string; /* its address; 0: free */
    _Atomic uint8_t is_set;   /* the text is written */
    char text[WEFT_NAME_TEXT];
};

/* One for the process. Readers know its layout: look/tapes.c. */
struct weft__recorder {
    _Atomic uint32_t is_on;
    uint32_t version;
    _Atomic uint64_t asked_until;               /* ns; a tool asks for events until then, and asks again in time */
    _Atomic uint32_t asked;                     /* the program asks for events */
    _Atomic uint32_t tapes;                     /* so many there are */
    _Atomic uint64_t begin;                     /* ticks; events count from here on */
    _Atomic uint64_t begin_ns;                  /* the monotonic clock then */
    _Atomic uint64_t known_stacks, known_names; /* count the entries of the tables, */
    _Atomic uint64_t lost_stacks, lost_names;   /* and what found no room there */
    _Atomic uint32_t recording;                 /* counts how often it was switched on */
    _Atomic uint32_t late;                      /* counts missed bounds: WEFT_TRACE_LAST wants to know */
    struct weft__stack_rules *rules;            /* NULL: never switched on */
    struct weft__known_stack *stacks;           /* WEFT_STACKS_MOST of them; number 0 is none */
    struct weft__known_name *names;             /* WEFT_NAMES_MOST of them; number 0 is none */
    _Atomic(struct weft__tape *) threads;
    _Atomic(struct weft__tape *) tape[WEFT_TAPES_MOST];
};
#define WEFT_RECORDER_VERSION 2
extern struct weft__recorder weft__recorder;

static inline bool weft__is_recording(void) { return load_rlx(&weft__recorder.is_on); }

/* Ticks since the recorder began. */
static inline uint64_t weft__record_now(void) { return weft__ticks() - load_rlx(&weft__recorder.begin); }

/* An event of the calling thread. */
void weft__record_slow(enum weft__happened kind, uint64_t fiber, uint64_t a, uint64_t b);
static inline void weft__record(enum weft__happened kind, uint64_t fiber, uint64_t a, uint64_t b) {
    if (unlikely(weft__is_recording())) weft__record_slow(kind, fiber, a, b);
}
/* The fiber that calls; 0: a thread, or a worker at home. */
uint64_t weft__record_caller(void);
/* The number of a string, which stays as it is; 0: there are too many. from_end: if it is long, its end counts. */
uint32_t weft__record_name(const char *string, bool from_end);

/* A fiber is spawned or made ready. w: the caller's worker, or NULL. */
void weft__record_ready(struct weft__worker *w, struct weft__fiber *f);
/* w switches away from `old` (NULL: from the fiber that it is recorded to run). what: the wait that the fiber has
 * begun, if it waits. False: it has run no fiber. */
bool weft__record_leave(struct weft__worker *w, struct weft__fiber *old, struct weft__waits_for what);
/* w will run f. left: it has just left another fiber, and reads the clock for both only once. */
void weft__record_run(struct weft__worker *w, struct weft__fiber *f, bool left);

/* Allocates what the recorder needs besides tapes. Under the lock of elastic/recording.c. 0, -ENOMEM. */
int weft__recorder_prepare(void);

#endif
