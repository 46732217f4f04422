/* SPDX-License-Identifier: MIT */
/*
 * churn: each fiber posts a random semaphore and then waits on it. So fibers wake each other, and workers wake fibers
 * that they have never run.
 *
 *   fibers=  for each worker
 *
 * There are as many semaphores as fibers minus workers. At the start one fiber waits at each semaphore. A post frees
 * that fiber, and the poster takes its place. So as many fibers as workers can run at any time.
 *
 * A fiber that leaves posts every semaphore once: the first fiber frees a fiber of each semaphore, and these free the
 * next ones. The first fiber did not wait itself, so no fiber is left over. At the end each semaphore must hold the
 * number of fibers minus one, because of the waits at the start; all other units were taken.
 * Metrics: million post-and-wait a second, least served over mean.
 */
#include "benches.h"
#include "crowd.h"

#include <stdlib.h>

struct spot {
    APART struct sys_sem sem;
};

struct spots {
    size_t count;
    struct spot *spots;
};

static void *body(void *p) {
    struct seat *seat = (struct seat *)p;
    struct spots *spots = (struct spots *)seat->crowd->own;
    uint64_t random = (seat->index + 1) * UINT64_C(0x9E3779B97F4A7C15);
    uint64_t count = 0;

    baton_wait(&seat->baton);
    if (seat->index < spots->count) sys_sem_wait(&spots->spots[seat->index].sem);
    while (!crowd_stopped(seat->crowd)) {
        struct sys_sem *sem = &spots->spots[random_below(&random, spots->count)].sem;
        sys_sem_post(sem);
        sys_sem_wait(sem);
        count++;
    }
    crowd_leave(seat, count);
    for (size_t i = 0; i < spots->count; i++) sys_sem_post(&spots->spots[i].sem);
    return NULL;
}

void bench_churn(const struct args *args, struct result *result) {
    size_t workers = arg(args, "workers");
    size_t fibers = arg(args, "fibers") * workers;
    struct spots spots;
    if (fibers <= workers) fail("fibers", EINVAL);
    spots.count = fibers - workers;
    spots.spots = (struct spot *)allocate(spots.count, sizeof *spots.spots);
    for (size_t i = 0; i < spots.count; i++) sys_sem_init(&spots.spots[i].sem, 0);

    struct crowd crowd;
    crowd.own = &spots;
    crowd_run(&crowd, fibers, 1, arg(args, "ms"), body);
    result->right = crowd.right;
    for (size_t i = 0; i < spots.count; i++) result->right &= sys_sem_drain(&spots.spots[i].sem) == fibers - 1;
    result->values[0] = (double)crowd.total / crowd.seconds / 1e6;
    result->values[1] = least_over_mean(crowd.counts, crowd.size);
    measure_served("served", crowd.counts, crowd.size);
    crowd_free(&crowd);
    free(spots.spots);
}
