/* SPDX-License-Identifier: MIT */
/*
 * The knapsack problem by branch and bound. All ranks share the best value found so far, and leave branches that cannot
 * beat it. The items are broadcast: each rank gets them once.
 *
 *     mpirun -n 2 knapsack 40
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <weft/dist.h>

struct item {
    int32_t weight, value;
};
struct items {
    int32_t n, room;
    struct item item[64];
};

static struct weft_dist_number best = WEFT_DIST_NUMBER_INIT("best value");

/* What the rest could add at most: items by value for weight, the last one cut. */
static double bound(const struct items *all, int i, int room) {
    double sum = 0;
    for (; i < all->n && all->item[i].weight <= room; i++) {
        sum += all->item[i].value;
        room -= all->item[i].weight;
    }
    return i < all->n ? sum + (double)all->item[i].value * room / all->item[i].weight : sum;
}

/* Near the leaves, branches are too short to be forked. */
static void search(const struct items *all, int i, int room, int value) {
    weft_dist_max(&best, value);
    if (i == all->n || value + bound(all, i, room) <= (double)weft_dist_max_get(&best)) return;
    if (all->item[i].weight <= room) search(all, i + 1, room - all->item[i].weight, value + all->item[i].value);
    search(all, i + 1, room, value);
}

WEFT_VOID_REMOTE_4(branch, struct weft_dist_data, data, int, i, int, room, int, value) {
    const void *bytes;
    if (weft_dist_data_get(data, &bytes)) abort();
    const struct items *all = bytes;
    if (value + bound(all, i, room) <= (double)weft_dist_max_get(&best)) return;
    if (i + 12 >= all->n) {
        search(all, i, room, value);
        return;
    }
    weft_dist_max(&best, value);
    WEFT_SPAWN(branch, data, i + 1, room, value);
    if (all->item[i].weight <= room)
        WEFT_CALL(branch, data, i + 1, room - all->item[i].weight, value + all->item[i].value);
    WEFT_SYNC(branch);
}

static int by_worth(const void *a, const void *b) {
    const struct item *x = a, *y = b;
    int64_t d = (int64_t)y->value * x->weight - (int64_t)x->value * y->weight;
    return d > 0 ? 1 : d < 0 ? -1 : 0;
}

/* The answer by dynamic programming, to compare with. */
static int64_t exact(const struct items *all) {
    int64_t *best_of = calloc((size_t)all->room + 1, sizeof *best_of);
    if (!best_of) return -1;
    for (int i = 0; i < all->n; i++)
        for (int room = all->room; room >= all->item[i].weight; room--) {
            int64_t with = best_of[room - all->item[i].weight] + all->item[i].value;
            if (with > best_of[room]) best_of[room] = with;
        }
    int64_t value = best_of[all->room];
    free(best_of);
    return value;
}

static int run(void *argument) {
    static struct items all;
    uint32_t random = 12345;
    struct weft_dist_data data;
    all.n = *(int *)argument;
    for (int i = 0; i < all.n; i++) {
        random = random * 1664525 + 1013904223;
        all.item[i].weight = 100 + (int)(random >> 16) % 1000;
        random = random * 1664525 + 1013904223;
        all.item[i].value = all.item[i].weight + (int)(random >> 16) % 50; /* nearly proportional: the hard kind */
        all.room += all.item[i].weight / 2;
    }
    qsort(all.item, (size_t)all.n, sizeof all.item[0], by_worth);
    if (weft_dist_broadcast(&data, &all, sizeof all)) return 1;
    uint64_t begun = weft_now();
    WEFT_RUN(branch, data, 0, all.room, 0);
    int64_t found = weft_dist_max_get(&best), right = exact(&all);
    printf("%d items: best value %lld, %.3f s\n", all.n, (long long)found, (double)(weft_now() - begun) / 1e9);
    weft_dist_broadcast_end(data);
    return found != right;
}

int main(int argc, char **argv) {
    int n = argc > 1 ? atoi(argv[1]) : 30;
    if (n < 1 || n > 64) {
        fprintf(stderr, "knapsack: 1 to 64 items\n");
        return 2;
    }
    return weft_dist_run(run, &n, NULL) ? 1 : 0;
}
