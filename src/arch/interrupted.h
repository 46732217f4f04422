/*
 * Where a signal met a thread: what a handler needs to know whether it may walk the stack. Needs
 * _GNU_SOURCE.
 */
#ifndef WEFT_ARCH_INTERRUPTED_H
#define WEFT_ARCH_INTERRUPTED_H

#include <stdint.h>
#include <ucontext.h>

struct weft__interrupted {
    uintptr_t pc, sp;
    uintptr_t to; /* what the switch has in this register: the context that is entered */
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
