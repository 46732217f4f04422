/* See histogram.h. */
#include "histogram.h"

static uint64_t greatest(unsigned step) {
    if (step < (2u << HISTOGRAM_FINE)) return step;
    unsigned shift = (step >> HISTOGRAM_FINE) - 1;
    uint64_t top = step - ((uint64_t)shift << HISTOGRAM_FINE);
    return ((top + 1) << shift) - 1;
}

uint64_t histogram_percentile(const struct histogram *h, double p) {
    double exact = (double)h->count * p / 100;
    uint64_t rank = (uint64_t)exact, seen = 0;
    if ((double)rank < exact || !rank) rank++;
    for (unsigned i = 0; i < HISTOGRAM_STEPS; i++) {
        seen += h->steps[i];
        if (h->steps[i] && seen >= rank) {
            uint64_t value = greatest(i);
            return value < h->max && i < HISTOGRAM_STEPS - 1 ? value : h->max;
        }
    }
    return h->max;
}

double histogram_mean(const struct histogram *h) { return h->count ? (double)h->sum / (double)h->count : 0; }
