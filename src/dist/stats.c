/* SPDX-License-Identifier: MIT */
/*
 * Collects the statistics of all ranks.
 */
#include "dist/dist.h"

#include <time.h>

uint64_t weft__dist_cpu_time(void) {
    struct timespec cpu;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &cpu);
    return (uint64_t)cpu.tv_sec * WEFT_SECOND + (uint64_t)cpu.tv_nsec;
}

void weft__dist_stats_own(struct weft_dist_stats *stats) {
    const uint64_t *from = (const uint64_t *)&weft__dist.stats;
    for (size_t i = 0; i < sizeof *stats / sizeof *from; i++)
        ((uint64_t *)stats)[i] = __atomic_load_n(&from[i], __ATOMIC_RELAXED);
    stats->cpu_ns = weft__dist_cpu_time() - weft__dist.cpu_begun;
}

WEFT_EXPORT int weft_dist_stats_read(unsigned rank, struct weft_dist_stats *stats) {
    struct weft__dist_wait wait;
    if (!stats || rank >= weft_dist_ranks()) return -EINVAL;
    if (!weft_self().id) return -EPERM;
    *stats = (struct weft_dist_stats){0};
    if (rank == weft_dist_rank()) {
        weft__dist_stats_own(stats);
        return 0;
    }
    weft__dist_wait_begin(&wait, rank);
    wait.result = stats;
    wait.result_size = sizeof *stats;
    weft__dist_send(rank, WEFT_MSG_STATS_GET, 0, wait.cookie, 0, NULL, 0);
    return weft__dist_wait_end(&wait);
}

WEFT_EXPORT int weft_dist_stats_print(void) {
    if (!weft_self().id) return -EPERM;
    fprintf(stderr,
            "weft: rank  cpu ms  ran ms   asked refused lifel.   given   taken rerun messages      KB wakeups\n");
    for (unsigned r = 0; r < weft_dist_ranks(); r++) {
        struct weft_dist_stats s;
        int err = weft_dist_stats_read(r, &s);
        if (err) {
            fprintf(stderr, "weft: %4u  lost\n", r);
            continue;
        }
        fprintf(stderr, "weft: %4u %7llu %7llu %7llu %7llu %6llu %7llu %7llu %5llu %8llu %7llu %7llu\n", r,
                (unsigned long long)(s.cpu_ns / WEFT_MILLISECOND), (unsigned long long)(s.ran_ns / WEFT_MILLISECOND),
                (unsigned long long)s.asked, (unsigned long long)s.refused, (unsigned long long)s.lifelines,
                (unsigned long long)s.given, (unsigned long long)s.taken, (unsigned long long)s.rerun,
                (unsigned long long)s.messages, (unsigned long long)(s.bytes / 1024), (unsigned long long)s.wakeups);
    }
    return 0;
}
