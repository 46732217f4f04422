/* SPDX-License-Identifier: MIT */
/*
 * A trace file in memory (trace_file.c), and what can be concluded from its events (trace_model.c): which fiber ran
 * where and when, what it waited for, and what woke it. The summary, the page and Perfetto's format are made of that.
 */
#ifndef TOOLS_LOOK_TRACE_FILE_H
#define TOOLS_LOOK_TRACE_FILE_H

#include "target.h"

#include "look/trace.h"

#include <stdio.h>

/* An array that grows. */
#define GROWING(type) \
    struct { \
        type *at; \
        size_t n, room; \
    }
void *trace_grow(void *at, size_t *room, size_t n, size_t size);
#define ADD(array) \
    ((array).n == (array).room \
         ? (void)((array).at = trace_grow((array).at, &(array).room, (array).n, sizeof *(array).at)) \
         : (void)0, \
     &(array).at[(array).n++])

struct trace_event {
    uint64_t ns; /* since the first event */
    uint64_t fiber, a, b;
    uint32_t order;
    uint16_t tape;
    uint8_t kind;
};

enum trace_state { TRACE_UNKNOWN, TRACE_READY, TRACE_RUNNING, TRACE_WAITING, TRACE_ENDED };

struct trace_fiber {
    uint64_t id;
    char name[17];
    const char *where;       /* of the spawn; NULL: unknown */
    uint64_t spawned, ended; /* ns; UINT64_MAX: not in this trace */
    uint32_t spawner;        /* fiber + 1, 0: unknown */
    uint64_t ran, waited, delayed;
    uint64_t slices;
    /* While events are gone through. */
    enum trace_state state;
    uint64_t since, contended_by, contended; /* what it found taken, before it parks */
    uint32_t by, tape;
    size_t slice, wait;
};

/* A fiber ran on a worker. */
struct trace_slice {
    uint64_t begin, end;
    uint64_t ready_at;   /* when it had become ready; UINT64_MAX: unknown */
    uint32_t fiber, by;  /* by: the fiber that made it ready, + 1; 0: none, or unknown */
    uint32_t ready_tape; /* where that happened */
    uint16_t tape;
    uint8_t how; /* it ended by WEFT_HAPPENED_PARK, _END, _READY (it yielded), or 0 */
};

struct trace_wait {
    uint64_t begin, end, what;
    uint64_t owner; /* the fiber that had the lock; 0: unknown */
    uint32_t fiber, by, stack;
    bool open; /* it lasts when the trace ends, or lasted when it began */
};

struct trace_span {
    uint64_t begin, end;
    uint32_t fiber, name, depth; /* fiber: UINT32_MAX: a thread */
    uint32_t thread;
};

struct trace_mark {
    uint64_t ns, value;
    uint32_t fiber, name;
    uint8_t kind; /* WEFT_HAPPENED_INSTANT, _COUNT, _TIMER, _CANCEL ... */
    uint16_t tape;
};

struct trace_sleep {
    uint64_t begin, end;
    uint16_t tape;
};

struct trace_tape {
    bool exists;
    uint32_t cluster, worker;
    uint64_t lost, events, busy, asleep, slices, steals, helps;
    uint64_t taken;           /* forked calls that it took */
    size_t running, sleeping; /* slice + 1, sleep + 1; 0: none */
};

/* What a worker ran when the recording began. */
struct trace_began {
    uint32_t cluster, worker;
    uint64_t fiber;
};

struct trace {
    struct target target; /* for names */
    struct weft__trace_head head;
    GROWING(struct trace_event) events;
    GROWING(struct trace_fiber) fibers;
    GROWING(struct trace_slice) slices;
    GROWING(struct trace_wait) waits;
    GROWING(struct trace_span) spans;
    GROWING(struct trace_mark) marks;
    GROWING(struct trace_sleep) sleeps;
    GROWING(struct weft__trace_fiber) seen; /* when the recording ended */
    GROWING(struct weft__trace_fiber) seen_first;
    GROWING(struct trace_began) began;
    struct trace_tape tape[WEFT_TAPES_MOST];
    char name[WEFT_NAMES_MOST][64];
    struct {
        uint32_t depth;
        bool cut;
        uint64_t frame[WEFT_TRACE_FRAMES];
        char *text;  /* the call site; NULL: not asked for yet */
        char *lines; /* all frames */
    } stack[2 * WEFT_STACKS_MOST];
    uint32_t stacks_used; /* stacks of fibers that wait at the end follow those of the file */
    uint64_t lost, lost_stacks, lost_names;
    uint64_t length; /* ns */
    uint64_t first_ns;
    bool is_cut;     /* the file has no end */
    uint32_t *index; /* a hash table of fibers */
    size_t index_size;
};

/* 0; else one line was written to standard error, and the tool's exit code is returned. */
int trace_load(struct trace *t, const char *path);
void trace_free(struct trace *t);
bool trace_is_file(const char *path);

/* (trace_model.c) */
void trace_conclude(struct trace *t);
uint32_t trace_fiber_of(struct trace *t, uint64_t id);

/* (trace_names.c) "worker at shop.c:12"; all frames, a line each; "mutex 0x1234 (name)"; "fiber 0x4000001 (name)". */
const char *trace_site(struct trace *t, uint32_t stack);
const char *trace_frames(struct trace *t, uint32_t stack);
void trace_what(struct trace *t, uint64_t what, char *to, size_t size);
void trace_fiber_name(const struct trace *t, uint32_t fiber, char *to, size_t size);
void trace_time(double ns, char *to, size_t size);

/* (trace_summary.c, trace_path.c, trace_perfetto.c, trace_page.c) 0 or -errno. */
int trace_summary(struct trace *t, const char *span, FILE *to);
void trace_path(struct trace *t, const char *span, FILE *to);
int trace_perfetto(struct trace *t, const char *path);
int trace_page(struct trace *t, const char *path);

#endif
