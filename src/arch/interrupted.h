/* SPDX-License-Identifier: MIT */
/*
 * The registers of a thread that a signal has interrupted. A handler uses them to decide whether it may walk the stack.
 * Needs _GNU_SOURCE.
 */
#ifndef WEFT_ARCH_INTERRUPTED_H
#define WEFT_ARCH_INTERRUPTED_H

#include <stdint.h>
#include <ucontext.h>

struct weft__interrupted {
    uintptr_t pc, sp;
    uintptr_t to; /* the register in which the switch holds the context that it enters */
};

static inline struct weft__interrupted weft__interrupted(const void *context) {
    const mcontext_t *m = &((const ucontext_t *)context)->uc_mcontext;
#if defined(__x86_64__)
    return (struct weft__interrupted){(uintptr_t)m->gregs[REG_RIP], (uintptr_t)m->gregs[REG_RSP],
                                      (uintptr_t)m->gregs[REG_RDX]};
#elif defined(__aarch64__)
    return (struct weft__interrupted){m->pc, m->sp, m->regs[2]};
#endif
}

#endif
