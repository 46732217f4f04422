/* SPDX-License-Identifier: MIT */
/*
 * knapsack: the most valuable choice of items= items that fits, by branch and bound: take the next item, or leave it.
 * Branches that cannot reach the bound are cut off. The bound is fixed: the best greedy choice, minus slack= in a
 * thousand. A moving bound would make the amount of work a matter of luck.
 *
 * Metric: ms.
 */
#include "forkjoin.h"

#include <stdlib.h>

#define MOST 64

struct item {
    int weight, value;
};

static struct item items[MOST];
static int count, room, bound;
static int got, wanted;

/* An upper bound for the value of the rest: the items are sorted by value for each unit of weight. */
static int reach(int next, int left) { return next == count ? 0 : left * items[next].value / items[next].weight; }

TASK_3(int, choose, int, next, int, left, int, value) {
    if (next == count) return value;
    if (value + reach(next, left) < bound) return 0;
    FRAME;
    SLOT(choose, without);
    FORK(without, choose, next + 1, left, value);
    int with = 0;
    if (items[next].weight <= left) with = CALL(choose, next + 1, left - items[next].weight, value + items[next].value);
    SYNC;
    int other = JOIN(without, choose);
    return with > other ? with : other;
}

static int by_worth(const void *a, const void *b) {
    const struct item *x = (const struct item *)a, *y = (const struct item *)b;
    return y->value * x->weight - x->value * y->weight;
}

/* Computes the result by a table over all weights. */
static int expected(void) {
    int *best = (int *)allocate((size_t)room + 1, sizeof *best);
    for (int i = 0; i < count; i++)
        for (int w = room; w >= items[i].weight; w--) {
            int with = best[w - items[i].weight] + items[i].value;
            if (with > best[w]) best[w] = with;
        }
    int most = best[room];
    free(best);
    return most;
}

static void prepare(const struct args *args) {
    uint64_t random = 1;
    int left;
    count = (int)arg(args, "items");
    if (count > MOST) fail("items", EINVAL);
    room = 0;
    for (int i = 0; i < count; i++) {
        items[i].weight = 50 + (int)random_below(&random, 50);
        items[i].value = items[i].weight * 10 + (int)random_below(&random, 100);
        room += items[i].weight;
    }
    left = room /= 2;
    qsort(items, (size_t)count, sizeof *items, by_worth);
    bound = 0;
    for (int i = 0; i < count; i++)
        if (items[i].weight <= left) {
            left -= items[i].weight;
            bound += items[i].value;
        }
    bound -= bound * (int)arg(args, "slack") / 1000;
    wanted = expected();
}

static void compute(void) { got = ROOT(choose, 0, room, 0); }
static bool right(void) { return got == wanted; }

WORKLOAD(knapsack, prepare, NULL, compute, right, in_milliseconds)
