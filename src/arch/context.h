/* SPDX-License-Identifier: MIT */
/*
 * A context: where a suspended flow of control continues. The switch saves only three words. The compiler has put all
 * other live values on the stack, because the switch declares every register as overwritten. The C code and the
 * assembly of each machine share this struct.
 */
#ifndef WEFT_ARCH_CONTEXT_H
#define WEFT_ARCH_CONTEXT_H

#include "base/atomic.h"
#include "base/base.h"

enum { WEFT_AT_REST, WEFT_STOOD_ON, WEFT_FRESH };

struct weft__context {
    void *pc; /* where to continue */
    void *sp; /* the stack pointer to continue with */
    void *fp; /* frame pointer: compilers do not allow it to be declared as overwritten */
    /*
     * WEFT_STOOD_ON while a carrier runs on the stack. A worker may dequeue the context before its last carrier has
     * left the stack. It enters the context only after this field has become WEFT_AT_REST; the switch stores that
     * (release) when it no longer needs the stack. WEFT_FRESH: the context has no stack yet.
     */
    _Atomic uint8_t on_stack;
    /*
     * The rest would be padding. The scheduler keeps fields here that every switch and wake-up reads, so that they
     * share a cache line with the fields above. The switch does not touch them. See sched/core/fiber.h.
     */
    _Atomic uint8_t kind;
    uint8_t stack_class;
    _Atomic uint8_t open; /* see cancel.h */
    _Atomic uint32_t placement;
};

#define WEFT_CONTEXT_PC 0
#define WEFT_CONTEXT_SP 8
#define WEFT_CONTEXT_FP 16
#define WEFT_CONTEXT_ON 24

_Static_assert(offsetof(struct weft__context, pc) == WEFT_CONTEXT_PC, "the assembly's offsets");
_Static_assert(offsetof(struct weft__context, sp) == WEFT_CONTEXT_SP, "the assembly's offsets");
_Static_assert(offsetof(struct weft__context, fp) == WEFT_CONTEXT_FP, "the assembly's offsets");
_Static_assert(offsetof(struct weft__context, on_stack) == WEFT_CONTEXT_ON, "the assembly's offsets");

/* The first instruction on a fresh stack (entry_*.S): calls weft__stack_main(carried, to). */
void weft__context_entry(void);

/* Prepares `context` to start at weft__context_entry, on the stack that ends at `top`. */
static inline void weft__context_prepare(struct weft__context *context, void *top) {
    context->pc = (void *)(uintptr_t)weft__context_entry;
    context->sp = (void *)((uintptr_t)top & ~(uintptr_t)15);
    context->fp = NULL;
}

/* Where the caller's frame ends. The stack below this address is unused. */
static inline __attribute__((always_inline)) const void *weft__stack_pointer(void) {
    const void *sp;
#if defined(__x86_64__)
    __asm__ volatile("movq %%rsp, %0" : "=r"(sp));
#else
    __asm__ volatile("mov %0, sp" : "=r"(sp));
#endif
    return sp;
}

#endif
