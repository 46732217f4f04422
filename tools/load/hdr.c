/* SPDX-License-Identifier: MIT */
/*
 * Writes the times as HdrHistogram writes its percentiles, in milliseconds. Its plotter and many other programs read
 * this text. It has five steps for each halving of the share of longer times.
 */
#include "load.h"

#include <math.h>
#include <stdio.h>

#define STEPS 5

static double deviation(const struct histogram *h, double mean, uint64_t count) {
    double sum = 0;
    for (unsigned i = 0; i < HISTOGRAM_STEPS; i++) {
        double off = (double)histogram_greatest(i) - mean;
        sum += off * off * (double)h->steps[i];
    }
    return count ? sqrt(sum / (double)count) : 0;
}

int load_write_hdr(const char *path, const struct histogram *h) {
    uint64_t count = histogram_count(h), seen = 0;
    double mean = histogram_mean(h), next = 0;
    FILE *f = fopen(path, "w");
    if (!f) return -1;
    fprintf(f, "%12s %14s %10s %14s\n\n", "Value", "Percentile", "TotalCount", "1/(1-Percentile)");
    for (unsigned i = 0; i < HISTOGRAM_STEPS; i++) {
        uint64_t most = histogram_greatest(i) < h->max ? histogram_greatest(i) : h->max;
        if (!h->steps[i]) continue;
        seen += h->steps[i];
        double share = (double)seen / (double)count;
        if (seen == count)
            fprintf(f, "%12.6f %2.12f %10lu\n", (double)most / 1e6, 1.0, seen);
        else if (share >= next)
            fprintf(f, "%12.6f %2.12f %10lu %14.2f\n", (double)most / 1e6, share, seen, 1 / (1 - share));
        if (seen == count) break;
        while (next <= share) next += (1 - next) / (2 * STEPS); /* ends, because the share is less than 1 */
    }
    fprintf(f, "#[Mean    = %12.6f, StdDeviation   = %12.6f]\n", mean / 1e6, deviation(h, mean, count) / 1e6);
    fprintf(f, "#[Max     = %12.6f, Total count    = %12lu]\n", (double)h->max / 1e6, count);
    fprintf(f, "#[Buckets = %12u, SubBuckets     = %12u]\n", HISTOGRAM_BITS - HISTOGRAM_FINE + 1, 1u << HISTOGRAM_FINE);
    return fclose(f);
}
