/* SPDX-License-Identifier: MIT */
/*
 * The thread pointer: the register through which code finds its thread-local variables. A fiber with thread-local
 * storage of its own loads it (sched/dispatch/own_tls.c).
 */
#ifndef WEFT_ARCH_THREAD_POINTER_H
#define WEFT_ARCH_THREAD_POINTER_H

#include "base/base.h"

#include <sys/auxv.h>

#if defined(__x86_64__)
/* May a program write the register? The kernel says so since Linux 5.9. Under valgrind it may not. */
static inline bool weft__thread_pointer_is_free(void) { return getauxval(AT_HWCAP2) & 2; }

/* Reads the first word of the storage, which points to itself (the ABI demands it). That is cheaper than rdfsbase. */
static inline __attribute__((always_inline)) void *weft__thread_pointer(void) {
    void *p;
    __asm__ volatile("movq %%fs:0, %0" : "=r"(p)::"memory");
    return p;
}
static inline __attribute__((always_inline)) void weft__thread_pointer_set(void *p) {
    __asm__ volatile("wrfsbase %0" ::"r"(p) : "memory");
}
/* Sets the thread-local weft__tls of the storage that is in force. In assembly, as weft__tls_get is. */
static inline __attribute__((always_inline)) void weft__tls_set(void *value) {
    void *at;
    __asm__ volatile("movq weft__tls@gottpoff(%%rip), %0\n\tmovq %1, %%fs:(%0)" : "=&r"(at) : "r"(value) : "memory");
}

/* The floating-point environment: rounding, masks, sticky exceptions. */
struct weft__float_env {
    uint32_t mxcsr;
    uint16_t control;
};
static inline __attribute__((always_inline)) void weft__float_env_save(struct weft__float_env *e) {
    __asm__ volatile("stmxcsr %0\n\tfnstcw %1" : "=m"(e->mxcsr), "=m"(e->control));
}
static inline __attribute__((always_inline)) void weft__float_env_load(const struct weft__float_env *e) {
    __asm__ volatile("ldmxcsr %0\n\tfldcw %1" ::"m"(e->mxcsr), "m"(e->control) : "memory");
}

#elif defined(__aarch64__)
static inline bool weft__thread_pointer_is_free(void) { return true; }

static inline __attribute__((always_inline)) void *weft__thread_pointer(void) {
    void *p;
    __asm__ volatile("mrs %0, tpidr_el0" : "=r"(p)::"memory");
    return p;
}
static inline __attribute__((always_inline)) void weft__thread_pointer_set(void *p) {
    __asm__ volatile("msr tpidr_el0, %0" ::"r"(p) : "memory");
}
static inline __attribute__((always_inline)) void weft__tls_set(void *value) {
    void *at, *thread;
    __asm__ volatile("mrs %1, tpidr_el0\n\t"
                     "adrp %0, :gottprel:weft__tls\n\t"
                     "ldr %0, [%0, #:gottprel_lo12:weft__tls]\n\t"
                     "str %2, [%1, %0]"
                     : "=&r"(at), "=&r"(thread)
                     : "r"(value)
                     : "memory");
}

struct weft__float_env {
    uint64_t control, status;
};
static inline __attribute__((always_inline)) void weft__float_env_save(struct weft__float_env *e) {
    __asm__ volatile("mrs %0, fpcr\n\tmrs %1, fpsr" : "=r"(e->control), "=r"(e->status));
}
static inline __attribute__((always_inline)) void weft__float_env_load(const struct weft__float_env *e) {
    __asm__ volatile("msr fpcr, %0\n\tmsr fpsr, %1" ::"r"(e->control), "r"(e->status) : "memory");
}
#endif

#endif
