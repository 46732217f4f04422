/* SPDX-License-Identifier: MIT */
/*
 * migration: the cost for a fiber of running on another worker than the worker that spawned it and wrote its data. Each
 * fiber reads an array of cells= numbers once.
 *
 * Metrics: median time of stolen fibers over that of fibers that stayed; us of a fiber that stayed; percent of fibers
 * that were stolen.
 */
#include "own.h"
#include "system.h"

#include <stdlib.h>

#define FIBERS 128
#define SAMPLES 65536

struct piece {
    struct sys_fiber fiber;
    pthread_t made_on;
    uint32_t *cells;
    size_t count;
    uint64_t sum, took;
    bool moved;
};

static void *body(void *p) {
    struct piece *piece = p;
    uint64_t began = clock_ns(), sum = 0;
    piece->moved = !pthread_equal(pthread_self(), piece->made_on);
    for (size_t i = 0; i < piece->count; i++) sum += piece->cells[i]++;
    piece->sum = sum;
    piece->took = clock_ns() - began;
    return NULL;
}

void own_migration(const struct args *args, struct result *result) {
    size_t cells = arg(args, "cells"), stayed = 0, moved = 0;
    struct piece *pieces = allocate(FIBERS, sizeof *pieces);
    double *times[2] = {allocate(SAMPLES, sizeof(double)), allocate(SAMPLES, sizeof(double))};
    for (size_t i = 0; i < FIBERS; i++) pieces[i].cells = allocate(cells, sizeof(uint32_t));
    uint64_t end = clock_ns() + arg(args, "ms") * 1000000;
    result->right = true;
    for (uint32_t round = 0; clock_ns() < end; round++) {
        for (size_t i = 0; i < FIBERS; i++) {
            struct piece *piece = &pieces[i];
            piece->count = cells;
            piece->made_on = pthread_self();
            for (size_t k = 0; k < cells; k++) piece->cells[k] = round;
            sys_spawn(&piece->fiber, body, piece);
        }
        for (size_t i = 0; i < FIBERS; i++) {
            struct piece *piece = &pieces[i];
            sys_join(&piece->fiber);
            result->right &= piece->sum == (uint64_t)round * cells;
            size_t *n = piece->moved ? &moved : &stayed;
            if (*n < SAMPLES) times[piece->moved][(*n)++] = (double)piece->took;
        }
    }
    double here = median(times[0], stayed), there = median(times[1], moved);
    result->values[0] = stayed && moved ? there / here : 0;
    result->values[1] = here / 1e3;
    result->values[2] = 100 * (double)moved / (double)(moved + stayed);
    for (size_t i = 0; i < FIBERS; i++) free(pieces[i].cells);
    free(times[0]);
    free(times[1]);
    free(pieces);
}
