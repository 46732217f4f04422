/* SPDX-License-Identifier: MIT */
/*
 * The flight recorder: what happened, as events on tapes (tape.h).
 *
 * weft__record tests one word, so it is called only on paths where such a test does not matter. The paths that yield,
 * park, fork and spawn do not call it. Instead, while a worker records
 *   - the bit WEFT_ASIDE_RECORDED is set in its word `aside.state`. Every dispatch reads that word anyway, and then
 *     calls weft__record_leave and weft__record_run;
 *   - the trap of its ready queue is set, so that every push takes the slow path, which calls weft__record_ready.
 *
 * elastic/recording.c switches the recorder on and off. A tool asks from outside, by a store to `asked_until`.
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

/* There is one recorder for the process. Readers know its layout: look/tapes.c. */
struct weft__recorder {
    _Atomic uint32_t is_on;
    uint32_t version;
    _Atomic uint64_t asked_until;               /* ns; until when a tool asks for events. It renews this in time */
    _Atomic uint32_t asked;                     /* the program asks for events */
    _Atomic uint32_t tapes;                     /* number of tapes */
    _Atomic uint64_t begin;                     /* ticks; the times of events count from here */
    _Atomic uint64_t begin_ns;                  /* the monotonic clock at `begin` */
    _Atomic uint64_t known_stacks, known_names; /* number of entries in the tables */
    _Atomic uint64_t lost_stacks, lost_names;   /* number of entries that found no room there */
    _Atomic uint32_t recording;                 /* counts how often the recorder was switched on */
    _Atomic uint32_t late;                      /* counts fibers that were ready for too long, for WEFT_TRACE_LAST */
    struct weft__stack_rules *rules;            /* NULL: the recorder was never switched on */
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

/* Writes an event to the tape of the calling worker, or to that of all other threads. */
void weft__record_slow(enum weft__happened kind, uint64_t fiber, uint64_t a, uint64_t b);
static inline void weft__record(enum weft__happened kind, uint64_t fiber, uint64_t a, uint64_t b) {
    if (unlikely(weft__is_recording())) weft__record_slow(kind, fiber, a, b);
}
/* The calling fiber; 0: the caller is a thread, or a worker at home. */
uint64_t weft__record_caller(void);
/* The number of a string, which must not change or go away; 0: there are too many. If the string is too long, the table
 * keeps its beginning or, with from_end, its end. */
uint32_t weft__record_name(const char *string, bool from_end);

/* Records that f was spawned or made ready. w: the caller's worker, or NULL. */
void weft__record_ready(struct weft__worker *w, struct weft__fiber *f);
/* Records that w switches away from `old` (NULL: from the fiber that it ran according to its tape): it parks, ends or
 * yields. what: what the fiber waits for, if it parks. False: according to its tape w ran no fiber. */
bool weft__record_leave(struct weft__worker *w, struct weft__fiber *old, struct weft__waits_for what);
/* Records that w switches to f. left: weft__record_leave was just called, and its event has the time for both. */
void weft__record_run(struct weft__worker *w, struct weft__fiber *f, bool left);

/* Allocates the tables, and the tape for threads that are not workers. Under the lock of elastic/recording.c. 0,
 * -ENOMEM. */
int weft__recorder_prepare(void);

#endif
