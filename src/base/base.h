/* SPDX-License-Identifier: MIT */
/*
 * Macros and small functions for every layer: branch hints, attributes, alignment. Holds no state.
 */
#ifndef WEFT_BASE_BASE_H
#define WEFT_BASE_BASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define likely(x) __builtin_expect(!!(x), 1)
#define unlikely(x) __builtin_expect(!!(x), 0)

#define WEFT_COLD __attribute__((cold, noinline))
#define WEFT_NOINLINE __attribute__((noinline))
/* Keeps a symbol that only assembly refers to, also with link-time optimisation. */
#define WEFT_USED __attribute__((used, visibility("hidden")))
#define WEFT_PUBLIC __attribute__((visibility("default")))

/* Two cache lines, because the hardware prefetches lines in pairs. */
#define WEFT_APART 128
#define WEFT_ALIGNED __attribute__((aligned(WEFT_APART)))

#define container_of(ptr, type, member) ((type *)((char *)(ptr)-offsetof(type, member)))

static inline size_t weft__round_up(size_t n, size_t to) { return (n + to - 1) / to * to; }

/* For the body of a spin loop. */
static inline void weft__cpu_pause(void) {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("isb" ::: "memory");
#endif
}

#endif
