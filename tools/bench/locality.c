/* SPDX-License-Identifier: MIT */
/*
 * locality: churn (churn.c) among fibers with data. Each fiber increments random cells of an array before it posts. The
 * best place for a wake-up depends on which fiber gets the array next.
 *
 *   fibers=  for each worker
 *   cells=   of an array, each on a cache line of its own     work=  increments before each post
 *   share=   1: the poster passes its array to the fiber that it wakes, and gets an array when it is woken: then it is
 *               best to run the woken fiber on the same worker
 *            0: each fiber keeps its array: then it is best to run a fiber where it ran last
 *
 * With share=1 there are as many arrays as fibers can run, and a waiting fiber has none. An array changes hands through
 * a queue beside the semaphore: it is put in before the post, and taken out after the wait. So each wait that ends
 * finds an array, and the queue's lock gives it to one fiber only. Only fibers that leave after the alarm post without
 * an array.
 *
 * At the end the cells of all arrays must add up to the number of increments. The checks of churn also apply.
 * Metrics: million post-and-wait a second, least served over mean.
 */
#include "benches.h"
#include "crowd.h"

#include <stdlib.h>

struct cell {
    uint64_t count __attribute__((aligned(64)));
};

struct array {
    struct array *next; /* the next array in the queue of a spot */
    struct cell *cells;
};

struct spot {
    APART struct sys_sem sem;
    int lock;
    struct array *first, *last;
};

struct spots {
    size_t count;
    struct spot *spots;
    struct array *arrays;
    struct cell *block; /* the cells of all arrays, contiguous */
    size_t cells, work;
    bool share;
    APART int lost; /* not 0: a wait ended before the alarm without an array */
};

/* Spins. The lock is held for a few instructions, so contention is rare and short. */
static void lock(struct spot *spot) {
    while (__atomic_exchange_n(&spot->lock, 1, __ATOMIC_ACQUIRE)) sys_yield();
}
static void unlock(struct spot *spot) { __atomic_store_n(&spot->lock, 0, __ATOMIC_RELEASE); }

static void put(struct spot *spot, struct array *array) {
    array->next = NULL;
    lock(spot);
    if (spot->first)
        spot->last->next = array;
    else
        spot->first = array;
    spot->last = array;
    unlock(spot);
}

static struct array *take(struct spot *spot) {
    lock(spot);
    struct array *array = spot->first;
    if (array) spot->first = array->next;
    unlock(spot);
    return array;
}

/* The values are in registers, because the compiler must assume that a cell is any of these variables. */
static NOINLINE uint64_t work(struct cell *cells, size_t count, size_t steps, uint64_t random) {
    for (size_t i = 0; i < steps; i++) cells[random_below(&random, count)].count++;
    return random;
}

static void *body(void *p) {
    struct seat *seat = (struct seat *)p;
    struct spots *spots = (struct spots *)seat->crowd->own;
    struct array *array = &spots->arrays[seat->index];
    uint64_t random = (seat->index + 1) * UINT64_C(0x9E3779B97F4A7C15);
    uint64_t count = 0;

    baton_wait(&seat->baton);
    if (seat->index < spots->count) {
        struct spot *spot = &spots->spots[seat->index];
        sys_sem_wait(&spot->sem);
        if (spots->share) array = take(spot);
    }
    while (array && !crowd_stopped(seat->crowd)) {
        struct spot *spot = &spots->spots[random_below(&random, spots->count)];
        random = work(array->cells, spots->cells, spots->work, random);
        if (spots->share) put(spot, array);
        sys_sem_post(&spot->sem);
        sys_sem_wait(&spot->sem);
        if (spots->share) array = take(spot);
        count++;
    }
    if (!array && !crowd_stopped(seat->crowd)) __atomic_store_n(&spots->lost, 1, __ATOMIC_RELAXED);
    crowd_leave(seat, count);
    for (size_t i = 0; i < spots->count; i++) sys_sem_post(&spots->spots[i].sem);
    return NULL;
}

void bench_locality(const struct args *args, struct result *result) {
    size_t workers = arg(args, "workers");
    size_t fibers = arg(args, "fibers") * workers;
    if (fibers <= workers) fail("fibers", EINVAL);
    struct spots *spots = (struct spots *)allocate(1, sizeof *spots);
    spots->cells = arg(args, "cells");
    spots->work = arg(args, "work");
    spots->share = arg(args, "share");
    spots->count = fibers - workers;
    spots->spots = (struct spot *)allocate(spots->count, sizeof *spots->spots);
    for (size_t i = 0; i < spots->count; i++) sys_sem_init(&spots->spots[i].sem, 0);
    spots->arrays = (struct array *)allocate(fibers, sizeof *spots->arrays);
    spots->block = (struct cell *)allocate(fibers * spots->cells, sizeof *spots->block);
    for (size_t i = 0; i < fibers; i++) spots->arrays[i].cells = spots->block + i * spots->cells;

    struct crowd crowd;
    crowd.own = spots;
    crowd_run(&crowd, fibers, 1, arg(args, "ms"), body);
    result->right = crowd.right && !spots->lost;
    for (size_t i = 0; i < spots->count; i++) result->right &= sys_sem_drain(&spots->spots[i].sem) == fibers - 1;
    uint64_t sum = 0;
    for (size_t i = 0; i < fibers * spots->cells; i++) sum += spots->block[i].count;
    result->right &= sum == crowd.total * spots->work;
    result->values[0] = (double)crowd.total / crowd.seconds / 1e6;
    result->values[1] = least_over_mean(crowd.counts, crowd.size);
    measure_served("served", crowd.counts, crowd.size);
    crowd_free(&crowd);
    free(spots->spots);
    free(spots->arrays);
    free(spots->block);
    free(spots);
}
