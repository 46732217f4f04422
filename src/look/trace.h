/* SPDX-License-Identifier: MIT */
/*
 * Trace files, and the reader of the recorder's tapes that writes them (tapes.c). The library writes trace files of its
 * own process, and `weft trace PID` writes those of another process. Both copy memory by system calls, so the recorded
 * program takes no part.
 *
 * A file is a sequence of chunks: a head of 32 bytes, and then so many bytes, rounded up to 8. Numbers are
 * little-endian. A file that ends in the middle of a chunk is valid up to there. Chunks of an unknown type are skipped.
 */
#ifndef WEFT_LOOK_TRACE_H
#define WEFT_LOOK_TRACE_H

#include "look/look.h"
#include "sched/record/record.h"

#define WEFT_TRACE_MAGIC UINT64_C(0x6563617274666577) /* "weftrace" */
#define WEFT_TRACE_VERSION 1

enum weft__chunk_type {
    WEFT_CHUNK_HEAD = 1, /* a: WEFT_TRACE_MAGIC, b: version; struct weft__trace_head. The first chunk */
    WEFT_CHUNK_CLOCK,    /* a: ticks, b: ns, both since the recorder began: one pair early, one late */
    WEFT_CHUNK_TAPE,     /* number; a: cluster, b: worker */
    WEFT_CHUNK_EVENTS,   /* number of the tape; a: how many events were lost before these; struct weft__event[] */
    WEFT_CHUNK_MODULE,   /* struct weft__trace_module */
    WEFT_CHUNK_STACK,    /* number; a: depth, WEFT_STACK_IS_CUT; uint64_t[] */
    WEFT_CHUNK_NAME,     /* number; text */
    WEFT_CHUNK_FIBER,    /* a: 0: when the recording began, 1: when it ended; struct weft__trace_fiber */
    WEFT_CHUNK_END,      /* a: lost stacks, b: lost names. The last chunk */
    WEFT_CHUNK_WORKER,   /* number: its index, a: cluster, b: the fiber that it ran when the recording began */
    WEFT_CHUNK_TYPES,
};

struct weft__chunk {
    uint32_t type, number;
    uint64_t bytes;
    uint64_t a, b;
};

struct weft__trace_head {
    uint64_t pid;
    uint64_t begin_ns; /* the monotonic clock when the recorder began */
    uint64_t wall_ns;  /* the real time when this file was begun */
    uint64_t wall_at;  /* the monotonic clock at that moment, less begin_ns */
    char release[24];
};

struct weft__trace_module {
    uint64_t begin, end, bias;
    char path[256];
};

#define WEFT_TRACE_FRAMES 16
struct weft__trace_fiber {
    uint64_t id;
    uint64_t what;  /* weft__what; 0: it does not wait */
    uint64_t owner; /* of that; 0: unknown */
    uint32_t state; /* enum weft__state */
    uint32_t depth;
    char name[16];
    char where[64];
    uint64_t frame[WEFT_TRACE_FRAMES];
};

/* A reader of all tapes of a process. */
struct weft__trace_writer {
    struct weft__memory *memory;
    uint64_t recorder; /* the address of weft__recorder */
    struct weft__unwinder *unwinder;
    int fd;  /* -1: nothing is written, only rules are found */
    int err; /* of a write */
    uint64_t events, lost;
    unsigned rules; /* number of rules found at the last visit; if there were any, the next visit should come soon */
    uint64_t most;  /* the largest number of events found on a tape at a visit */
    uint32_t tapes;
    uint64_t known_stacks, known_names;
    struct weft__tape tape[WEFT_TAPES_MOST];
    uint64_t next[WEFT_TAPES_MOST]; /* the next event of each tape */
    uint64_t rule_pc[WEFT_RULES_MOST];
    uint8_t has_stack[WEFT_STACKS_MOST], has_name[WEFT_NAMES_MOST];
    struct weft__event buffer[16384];
};

/* Begins a file and writes its head. whole: begins with the oldest event that the tapes hold; otherwise with the next.
 * The writer is large, so it must be on the heap. 0; -EIO: the recorder was never on, or cannot be read; -EPROTO:
 * another version. */
int weft__trace_writer_begin(struct weft__trace_writer *w, struct weft__memory *m, uint64_t recorder,
                             const struct weft__modules *modules, int fd, bool whole);
/* Writes the events since the last call, and finds unwind rules for their stacks. 0, or -errno of a write; -ESRCH: the
 * process has ended. */
int weft__trace_drain(struct weft__trace_writer *w);
/* Writes all fibers that wait, if there are not too many. after: the recording ends. */
int weft__trace_fibers(struct weft__trace_writer *w, struct weft__look *look, bool after);
int weft__trace_writer_end(struct weft__trace_writer *w);

/* Finds the rule for an address in the code. (unwind.c) */
void weft__unwind_rule(struct weft__unwinder *u, uint64_t pc, struct weft__stack_rule *to);
/* Writes to the memory of a process, if it still runs the program that was looked at. (memory.c) */
bool weft__poke(struct weft__memory *m, uint64_t at, const void *from, size_t size);

#endif
