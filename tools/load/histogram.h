/* SPDX-License-Identifier: MIT */
/*
 * Counts times in nanoseconds by size: exact below 128 ns, above that in steps of at most 1/64 of the value (1.6 %), up
 * to 18 minutes. Longer times count as 18 minutes. Several threads may add at the same time.
 */
#ifndef LOAD_HISTOGRAM_H
#define LOAD_HISTOGRAM_H

#include <stdint.h>

#define HISTOGRAM_FINE 6 /* bits of a value that select a step within its power of two */
#define HISTOGRAM_BITS 40
#define HISTOGRAM_STEPS ((HISTOGRAM_BITS - HISTOGRAM_FINE + 1) << HISTOGRAM_FINE)

struct histogram {
    uint64_t sum, max;
    uint64_t steps[HISTOGRAM_STEPS];
};

static inline unsigned histogram_step(uint64_t value) {
    if (value >> HISTOGRAM_BITS) return HISTOGRAM_STEPS - 1;
    if (value < (2 << HISTOGRAM_FINE)) return (unsigned)value;
    unsigned shift = 63 - HISTOGRAM_FINE - (unsigned)__builtin_clzll(value);
    return (shift << HISTOGRAM_FINE) + (unsigned)(value >> shift);
}

static inline void histogram_add(struct histogram *h, uint64_t value) {
    __atomic_fetch_add(&h->steps[histogram_step(value)], 1, __ATOMIC_RELAXED);
    __atomic_fetch_add(&h->sum, value, __ATOMIC_RELAXED);
    uint64_t max = __atomic_load_n(&h->max, __ATOMIC_RELAXED);
    while (value > max && !__atomic_compare_exchange_n(&h->max, &max, value, 1, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
    }
}

/* Returns the greatest value that counts in this step. */
uint64_t histogram_greatest(unsigned step);
uint64_t histogram_count(const struct histogram *h);
double histogram_mean(const struct histogram *h);

/* Returns the greatest value of the step with the percentile `p`, but at most the greatest added value. Returns 0 if
 * the histogram is empty. */
uint64_t histogram_percentile(const struct histogram *h, double p);

#endif
