/* SPDX-License-Identifier: MIT */
/*
 * yield: the fiber yields to the next ready fiber, again and again.
 *
 *   fibers=  for each worker     sites=  1 or 4 places in the code that yield, each fiber at its own
 *
 * There are several places because processors predict the target of a switch by the place of the switch.
 * Metrics: ns per yield (wall time times workers over yields), least served over mean.
 */
#include "benches.h"
#include "crowd.h"

#define SITES 4

/* Each has different assembly, so that compilers do not merge the copies. */
#define SITE(n) \
    static NOINLINE uint64_t site_##n(struct crowd *crowd) { \
        uint64_t count = 0; \
        do { \
            sys_yield(); \
            count++; \
            __asm__ volatile("# site " #n); \
        } while (!crowd_stopped(crowd)); \
        return count; \
    }
SITE(0)
SITE(1)
SITE(2)
SITE(3)

static uint64_t (*const sites[SITES])(struct crowd *) = {site_0, site_1, site_2, site_3};

static void *body(void *p) {
    struct seat *seat = (struct seat *)p;
    baton_wait(&seat->baton);
    crowd_leave(seat, sites[seat->index % *(const size_t *)seat->crowd->own](seat->crowd));
    return NULL;
}

void bench_yield(const struct args *args, struct result *result) {
    size_t workers = arg(args, "workers");
    size_t used = arg(args, "sites");
    if (used < 1 || used > SITES) fail("sites", EINVAL);

    struct crowd crowd;
    crowd.own = &used;
    crowd_run(&crowd, arg(args, "fibers") * workers, 1, arg(args, "ms"), body);
    result->values[0] = crowd.seconds * 1e9 * (double)workers / (double)crowd.total;
    result->values[1] = least_over_mean(crowd.counts, crowd.size);
    result->right = crowd.right;
    measure_served("served", crowd.counts, crowd.size);
    crowd_free(&crowd);
}
