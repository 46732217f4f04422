/* SPDX-License-Identifier: MIT */
/*
 * The processor's counter of time: the cheapest clock there is. It runs at a constant rate, and all processors of a
 * machine agree about it, as the kernel demands of a clock source. To learn how long a tick is, a reader looks at this
 * counter and at the kernel's clock twice, and compares the differences.
 */
#ifndef WEFT_ARCH_TICKS_H
#define WEFT_ARCH_TICKS_H

#include <stdint.h>

static inline uint64_t weft__ticks(void) {
#if defined(__x86_64__)
    return __builtin_ia32_rdtsc();
#else
    uint64_t t;
    __asm__ volatile("mrs %0, cntvct_el0" : "=r"(t));
    return t;
#endif
}

#endif
