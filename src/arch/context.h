/*
 * A context: where a suspended flow of control goes on. The switch saves only these three words;
 * everything else that is live the compiler has put on the stack, because the switch tells it that
 * every register is overwritten. Shared by the C code and the assembly of each machine.
 */
#ifndef WEFT_ARCH_CONTEXT_H
#define WEFT_ARCH_CONTEXT_H

#include "base/atomic.h"
#include "base/base.h"

enum { WEFT_AT_REST, WEFT_STOOD_ON, WEFT_FRESH };

struct weft__context {
    void *pc; /* where to go on */
    void *sp; /* the stack it goes on with */
    void *fp; /* frame pointer: compilers do not let us declare it overwritten */
    /*
     * WEFT_STOOD_ON while a carrier stands on the stack. Whoever takes the context out of a queue may
     * find it there before its last carrier has left; it is entered only after this has become
     * WEFT_AT_REST, which the switch stores (release) when it no longer needs the stack. WEFT_FRESH:
     * it has none yet.
     */
    _Atomic uint8_t on_stack;
    /*
     * The rest would be padding. The scheduler keeps here what it looks at in every switch and every
     * wake-up, so that it comes with the same cache line; the switch does not touch it. See sched.h.
     */
    _Atomic uint8_t kind;
    uint8_t stack_class;
    _Atomic uint8_t open; /* see region.h */
    _Atomic uint32_t place;
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

/* Prepares `context` to begin at weft__context_entry on the stack that ends at `top`. */
static inline void weft__context_prepare(struct weft__context *context, void *top) {
    context->pc = (void *)(uintptr_t)weft__context_entry;
    context->sp = (void *)((uintptr_t)top & ~(uintptr_t)15);
    context->fp = NULL;
}

/* Where the caller's frame ends: whatever is below it in the stack is nobody's. */
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
