/*
 * The small words every layer uses: branch hints, sizes, alignment. Owns nothing.
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
/* Keeps a symbol that only assembly refers to, also under link-time optimisation. */
#define WEFT_USED __attribute__((used, visibility("hidden")))
#define WEFT_PUBLIC __attribute__((visibility("default")))

/* Two lines: the hardware prefetches neighbours in pairs. */
#define WEFT_APART 128
#define WEFT_ALIGNED __attribute__((aligned(WEFT_APART)))

#define container_of(ptr, type, member) ((type *)((char *)(ptr)-offsetof(type, member)))

static inline size_t weft__round_up(size_t n, size_t to) { return (n + to - 1) / to * to; }

/* What a processor does while it waits for another one for a moment. */
static inline void weft__pause(void) {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("isb" ::: "memory");
#endif
}

#endif
