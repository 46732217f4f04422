/* SPDX-License-Identifier: MIT */
/*
 * bfs: breadth-first search in a graph of nodes= nodes with 16 random neighbours each, level by level. A level is
 * halved until a few nodes are left. A found node belongs to the task that marks it, by a compare-and-swap in every
 * form.
 *
 * Metric: ms.
 */
#include "forkjoin.h"

#include <string.h>

enum { DEGREE = 16, GRAIN = 128, UNSEEN = -1 };

static size_t nodes, found;
static uint32_t *neighbours, *level, *next;
static int *distance, *wanted;

static void few(size_t first, size_t last, int far) {
    uint32_t mine[GRAIN * DEGREE];
    size_t count = 0;
    for (size_t i = first; i < last; i++)
        for (int k = 0; k < DEGREE; k++) {
            uint32_t node = neighbours[(size_t)level[i] * DEGREE + k];
            int unseen = UNSEEN;
            if (__atomic_load_n(&distance[node], __ATOMIC_RELAXED) == UNSEEN &&
                __atomic_compare_exchange_n(&distance[node], &unseen, far, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
                mine[count++] = node;
        }
    size_t at = __atomic_fetch_add(&found, count, __ATOMIC_RELAXED);
    memcpy(next + at, mine, count * sizeof *mine);
}

TASK_3(int, expand, size_t, first, size_t, last, int, far) {
    if (last - first <= GRAIN) {
        few(first, last, far);
        return 0;
    }
    size_t half = first + (last - first) / 2;
    FRAME;
    SLOT(expand, left);
    FORK(left, expand, first, half, far);
    CALL(expand, half, last, far);
    SYNC;
    (void)JOIN(left, expand);
    return 0;
}

static void reset(void) { memset(distance, 0xff, nodes * sizeof *distance); }

/* Computes the distances serially, without levels. */
static void expected(void) {
    size_t head = 0, tail = 1;
    memset(wanted, 0xff, nodes * sizeof *wanted);
    wanted[0] = 0;
    level[0] = 0;
    for (; head < tail; head++)
        for (int k = 0; k < DEGREE; k++) {
            uint32_t node = neighbours[(size_t)level[head] * DEGREE + k];
            if (wanted[node] != UNSEEN) continue;
            wanted[node] = wanted[level[head]] + 1;
            level[tail++] = node;
        }
}

static void prepare(const struct args *args) {
    uint64_t random = 1;
    nodes = arg(args, "nodes");
    neighbours = (uint32_t *)allocate(nodes * DEGREE, sizeof *neighbours);
    level = (uint32_t *)allocate(nodes, sizeof *level);
    next = (uint32_t *)allocate(nodes, sizeof *next);
    distance = (int *)allocate(nodes, sizeof *distance);
    wanted = (int *)allocate(nodes, sizeof *wanted);
    for (size_t i = 0; i < nodes * DEGREE; i++) neighbours[i] = (uint32_t)random_below(&random, nodes);
    expected();
}

static void compute(void) {
    size_t here = 1;
    distance[0] = 0;
    level[0] = 0;
    for (int far = 1; here; far++) {
        found = 0;
        ROOT(expand, 0, here, far);
        uint32_t *t = level;
        level = next;
        next = t;
        here = found;
    }
}

static bool right(void) { return !memcmp(distance, wanted, nodes * sizeof *distance); }

WORKLOAD(bfs, prepare, reset, compute, right, in_milliseconds)
