/* SPDX-License-Identifier: MIT */
/*
 * In how many ways do n queens stand on a board without attacking each other?
 *
 *     mpirun -n 2 queens 12
 */
#include <stdio.h>
#include <stdlib.h>
#include <weft/dist.h>

/* Rows from `row` on. Columns and diagonals under attack are bits. */
WEFT_REMOTE_5(uint64_t, place, int, n, int, row, uint32_t, columns, uint32_t, left, uint32_t, right) {
    uint32_t all = (1u << n) - 1, open = all & ~(columns | left | right);
    uint64_t ways = 0;
    unsigned spawned = 0;
    if (row == n) return 1;
    for (; open; open &= open - 1, spawned++) {
        uint32_t bit = open & -open;
        WEFT_SPAWN(place, n, row + 1, columns | bit, (left | bit) << 1, (right | bit) >> 1);
    }
    for (; spawned; spawned--) ways += WEFT_SYNC(place);
    return ways;
}

static int run(void *argument) {
    static const uint64_t known[] = {1,   1,   0,    0,     2,     10,     4,       40,      92,
                                     352, 724, 2680, 14200, 73712, 365596, 2279184, 14772512};
    int n = *(int *)argument;
    uint64_t begun = weft_now(), ways = WEFT_RUN(place, n, 0, 0, 0, 0);
    printf("%d queens: %llu ways, %.3f s\n", n, (unsigned long long)ways, (double)(weft_now() - begun) / 1e9);
    return ways != known[n];
}

int main(int argc, char **argv) {
    int n = argc > 1 ? atoi(argv[1]) : 10;
    if (n < 1 || n > 16) {
        fprintf(stderr, "queens: 1 to 16 queens\n");
        return 2;
    }
    return weft_dist_run(run, &n, NULL) ? 1 : 0;
}
