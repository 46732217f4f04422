/* SPDX-License-Identifier: MIT */
/*
 * The stacks of fibers that park, as the recorder sees them.
 *
 * A walk up the stack needs a rule for each place in the code: where the caller's frame begins. To find a rule takes a
 * search in unwind tables, which is too slow here, and needs more stack than a fiber has. So the recorder only uses
 * rules that are known. A place without a rule ends the walk, and is put into `wanted`. The reader of the tapes, a
 * thread of the library or a tool in another process, finds the rule (look/unwind.c) and puts it into the table. So the
 * stack of a wait at a new place may be cut off, but not that of the next wait there.
 *
 *   the reader                                  a worker that walks
 *   1. writes the rule                          1. pc of an entry == its place?   (acquire)
 *   2. pc = the place   (release)               2. uses the rule
 *
 * A tool writes by process_vm_writev, each step by a call of its own. Entries are never changed again. A walk stays
 * within the stack of its fiber, whatever the rules say.
 *
 * Most waits are at places where the worker has recorded a wait before. So a worker remembers its last walks: which
 * words of the stack led from frame to frame. If the same words are at the same distances from the stack pointer, at
 * the same distance from the top of a stack, the walk would go the same way, and the stack has the same number. (A
 * round trip by two semaphores, recorded: 265 -> 110 ns.) A walk that a missing rule has cut off is not remembered.
 *
 * Stacks have numbers. A worker that has a new stack claims an entry of the table by its hash (compare-and-swap),
 * writes the frames and then the depth (release). Two stacks with the same hash of 64 bits are taken for one.
 */
#ifndef WEFT_SCHED_RECORD_STACKS_H
#define WEFT_SCHED_RECORD_STACKS_H

#include "sched/core/fiber.h"

#define WEFT_RULES_MOST 8192 /* of these half are used */
#define WEFT_RULES_WANTED 64
#define WEFT_STACKS_MOST 8192
#define WEFT_STACK_FRAMES 8

/* How to find the caller of a place in the code. */
enum { WEFT_RULE_STOPS, WEFT_RULE_BY_SP, WEFT_RULE_BY_FP };
struct weft__stack_rule {
    _Atomic uint64_t pc; /* 0: free */
    int32_t cfa;         /* the caller's stack pointer, from this place's stack or frame pointer */
    int16_t ra, fp;      /* return address and saved frame pointer, from there */
    uint8_t base;        /* WEFT_RULE_STOPS ... */
    uint8_t fp_saved;
};

struct weft__stack_rules {
    struct weft__stack_rule rule[WEFT_RULES_MOST];
    _Atomic uint64_t wanted[WEFT_RULES_WANTED]; /* 0: none. Any worker writes, the reader takes out */
};

struct weft__known_stack {
    _Atomic uint64_t hash;  /* 0: free */
    _Atomic uint32_t depth; /* with WEFT_STACK_IS_CUT; 0: not written yet */
    uint32_t unused;
    uint64_t frame[WEFT_STACK_FRAMES]; /* from the innermost outward */
};
#define WEFT_STACK_IS_CUT 0x100 /* the walk ended where no rule was known */

/* A walk that a worker has made. Distances are from the stack pointer at which the walk began. */
#define WEFT_WALK_STEPS (WEFT_STACK_FRAMES + 1)
struct weft__walk {
    uint64_t below; /* the distance from there to the top of the stack; 0: free */
    uint32_t number, steps, pointers;
    int32_t at[WEFT_WALK_STEPS];         /* where the return addresses are, */
    int32_t pointer_at[WEFT_WALK_STEPS]; /* and the frame pointers that the walk has used */
    uintptr_t returns[WEFT_WALK_STEPS];
    intptr_t pointer[WEFT_WALK_STEPS]; /* what they pointed to: a distance, too */
};

/* The last walks of a worker. Only its carrier uses them. */
#define WEFT_WALK_SETS 64
#define WEFT_WALK_WAYS 4
struct weft__walks {
    struct weft__walk walk[WEFT_WALK_SETS][WEFT_WALK_WAYS];
    unsigned turn;
};

static inline size_t weft__rule_slot(uint64_t pc, unsigned attempt) {
    return ((size_t)(pc * UINT64_C(0x9e3779b97f4a7c15) >> 32) + attempt) % WEFT_RULES_MOST;
}
#define WEFT_RULE_ATTEMPTS 8

/* The number of the caller's stack, which is that of fiber f, without the frame that calls this; 0: unknown. */
uint32_t weft__record_stack(const struct weft__fiber *f, struct weft__walks *known);

#endif
