/* SPDX-License-Identifier: MIT */
/*
 * The stacks of fibers that park, as the recorder sees them.
 *
 * A walk up the stack needs a rule for each address in the code: where does the caller's frame begin? Finding a rule
 * takes a search in unwind tables, which is too slow here, and needs more stack than a fiber has. So the recorder only
 * uses rules that are known already. At an address without a rule the walk ends, and the worker puts the address into
 * `wanted`. The reader of the tapes, a thread of the library or a tool in another process, finds the rule
 * (look/unwind.c) and puts it into the table. So the first stack with a new address may be cut off, but not the next.
 *
 *   the reader                                  a worker that walks
 *   1. writes the rule                          1. pc of an entry == its address?   (acquire)
 *   2. pc = the address   (release)             2. uses the rule
 *
 * A tool writes by process_vm_writev, with one call for each step. Entries are never changed again. A walk stays
 * within the stack of its fiber, whatever the rules say.
 *
 * Most waits are at addresses where the worker has recorded a wait before. So a worker remembers its last walks: which
 * words of the stack led from frame to frame. If a stack has the same words at the same distances from the stack
 * pointer, and the same depth, then the walk would go the same way, and the stack has the same number. (A round trip
 * by two semaphores, recorded: 265 -> 110 ns.) A walk that a missing rule has cut off is not remembered.
 *
 * Stacks have numbers. A worker that has a new stack claims an entry of the table by the stack's hash
 * (compare-and-swap), and writes the frames and then the depth (release). Two stacks with the same hash of 64 bits are
 * treated as the same stack.
 */
#ifndef WEFT_SCHED_RECORD_STACKS_H
#define WEFT_SCHED_RECORD_STACKS_H

#include "sched/core/fiber.h"

#define WEFT_RULES_MOST 8192 /* at most half of the entries are used */
#define WEFT_RULES_WANTED 64
#define WEFT_STACKS_MOST 8192
#define WEFT_STACK_FRAMES 8

/* How to find the caller of an address in the code. */
enum { WEFT_RULE_STOPS, WEFT_RULE_BY_SP, WEFT_RULE_BY_FP };
struct weft__stack_rule {
    _Atomic uint64_t pc; /* 0: free */
    int32_t cfa;         /* offset of the caller's stack pointer from the present stack or frame pointer */
    int16_t ra, fp;      /* offsets of return address and saved frame pointer from the caller's stack pointer */
    uint8_t base;        /* WEFT_RULE_BY_SP, WEFT_RULE_BY_FP; or WEFT_RULE_STOPS: there is no caller */
    uint8_t fp_saved;
};

struct weft__stack_rules {
    struct weft__stack_rule rule[WEFT_RULES_MOST];
    _Atomic uint64_t wanted[WEFT_RULES_WANTED]; /* 0: free. Any worker writes addresses, the reader removes them */
};

struct weft__known_stack {
    _Atomic uint64_t hash;  /* 0: free */
    _Atomic uint32_t depth; /* with WEFT_STACK_IS_CUT; 0: not written yet */
    uint32_t unused;
    uint64_t frame[WEFT_STACK_FRAMES]; /* from the innermost outward */
};
#define WEFT_STACK_IS_CUT 0x100 /* the walk ended at an address without a rule */

/* A walk that a worker has made. Distances are from the stack pointer at which the walk began. */
#define WEFT_WALK_STEPS (WEFT_STACK_FRAMES + 1)
struct weft__walk {
    uint64_t below;                      /* distance of the top of the stack; 0: free */
    uint32_t number;                     /* of the stack */
    uint32_t steps, pointers;            /* numbers of return addresses and frame pointers that the walk has read */
    int32_t at[WEFT_WALK_STEPS];         /* distances of the return addresses */
    int32_t pointer_at[WEFT_WALK_STEPS]; /* distances of the frame pointers */
    uintptr_t returns[WEFT_WALK_STEPS];  /* the return addresses */
    intptr_t pointer[WEFT_WALK_STEPS];   /* the frame pointers, as distances */
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

/* The number of the present stack, which is that of fiber f. The frame of the caller is left out. 0: unknown. */
uint32_t weft__record_stack(const struct weft__fiber *f, struct weft__walks *known);

#endif
