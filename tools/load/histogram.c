/* SPDX-License-Identifier: MIT */
/* See histogram.h. */
#include "histogram.h"

uint64_t histogram_greatest(unsigned step) {
    if (step < (2u << HISTOGRAM_FINE)) return step;
    unsigned shift = (step >> HISTOGRAM_FINE) - 1;
    uint64_t top = step - ((uint64_t)shift << HISTOGRAM_FINE);
    return ((top + 1) << shift) - 1;
}

uint64_t histogram_count(const struct histogram *h) {
    uint64_t count = 0;
    for (unsigned i = 0; i < HISTOGRAM_STEPS; i++) count += __atomic_load_n(&h->steps[i], __ATOMIC_RELAXED);
    return count;
}

double histogram_mean(const struct histogram *h) {
    uint64_t count = histogram_count(h);
    return count ? (double)h->sum / (double)count : 0;
}

uint64_t histogram_percentile(const struct histogram *h, double p) {
    double exact = (double)histogram_count(h) * p / 100;
    uint64_t rank = (uint64_t)exact, seen = 0;
    if ((double)rank < exact || !rank) rank++;
    for (unsigned i = 0; i < HISTOGRAM_STEPS - 1; i++) {
        seen += h->steps[i];
        if (h->steps[i] && seen >= rank) return histogram_greatest(i) < h->max ? histogram_greatest(i) : h->max;
    }
    return h->max;
}
