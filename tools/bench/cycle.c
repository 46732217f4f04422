/* SPDX-License-Identifier: MIT */
/*
 * cycle: rings of five fibers; each fiber wakes the next and goes to sleep. Unlike a yield, no system can optimise this
 * into a single step, because the number of ready fibers changes all the time.
 *
 *   rings=      for each worker
 *   primitive=  sem: semaphores, the same in every system; park: the system's cheapest wait
 *
 * One baton goes round in each ring. So the counts within a ring differ by at most one, which shows lost or duplicate
 * wake-ups. The fiber that sees the alarm hands the baton on and leaves. So does each fiber that it wakes, once round.
 * Metrics: million wake-ups a second, least served ring over the mean ring.
 */
#include "benches.h"
#include "crowd.h"

#include <stdlib.h>

#define RING 5

static void *body(void *p) {
    struct seat *seat = (struct seat *)p;
    struct crowd *crowd = seat->crowd;
    size_t first = seat->index / RING * RING;
    struct baton *mine = &seat->baton;
    struct baton *next = &crowd->seats[first + (seat->index + 1 - first) % RING].baton;
    uint64_t count = 0;

    baton_wait(mine);
    while (!crowd_stopped(crowd)) {
        baton_give(next);
        baton_wait(mine);
        count++;
    }
    crowd_leave(seat, count);
    baton_give(next);
    return NULL;
}

void bench_cycle(const struct args *args, struct result *result) {
    size_t rings = arg(args, "rings") * arg(args, "workers");
    struct crowd crowd;
    crowd_run_with(&crowd, baton_is_bare(args), rings * RING, RING, arg(args, "ms"), body);

    result->right = crowd.right;
    uint64_t *served = (uint64_t *)allocate(rings, sizeof *served);
    for (size_t ring = 0; ring < rings; ring++) {
        uint64_t least = UINT64_MAX, most = 0;
        for (size_t i = ring * RING; i < (ring + 1) * RING; i++) {
            served[ring] += crowd.counts[i];
            if (crowd.counts[i] < least) least = crowd.counts[i];
            if (crowd.counts[i] > most) most = crowd.counts[i];
        }
        result->right &= most - least <= 1;
    }
    result->values[0] = (double)crowd.total / crowd.seconds / 1e6;
    result->values[1] = least_over_mean(served, rings);
    measure_served("served", served, rings);
    free(served);
    crowd_free(&crowd);
}
