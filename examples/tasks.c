/* SPDX-License-Identifier: MIT */
/*
 * Typed tasks: how many ways are there to put n queens on a board?
 *
 * WEFT_TASK_n(result, name, type, argument, ...) defines a task like a function. In its body, WEFT_SPAWN
 * forks one, WEFT_CALL calls one, WEFT_SYNC joins the youngest that was spawned and is its value. From
 * any other function, WEFT_RUN runs one. No pointers, no structs for arguments; and a spawn that
 * no worker steals costs about as much as the call itself.
 */
#include "weft.h"

#include <stdio.h>

/* Squares that are attacked, as bits: columns, and the two diagonals as they meet this row. */
WEFT_TASK_4(long, queens, unsigned, all, unsigned, columns, unsigned, left, unsigned, right) {
    if (columns == all) return 1; /* a queen in each */
    long ways = 0;
    int spawned = 0;
    for (unsigned free = all & ~(columns | left | right); free;) {
        unsigned queen = free & -free;
        free &= free - 1;
        if (free) { /* others follow: this one may run in parallel with them */
            WEFT_SPAWN(queens, all, columns | queen, (left | queen) << 1, (right | queen) >> 1);
            spawned++;
        } else {
            ways += WEFT_CALL(queens, all, columns | queen, (left | queen) << 1, (right | queen) >> 1);
        }
    }
    while (spawned--) ways += WEFT_SYNC(queens);
    return ways;
}

static int run(void *unused) {
    (void)unused;
    long ways = 0;
    for (unsigned n = 4; n <= 11; n++) {
        ways = WEFT_RUN(queens, (1u << n) - 1, 0, 0, 0);
        printf("%2u queens: %ld\n", n, ways);
    }
    return ways == 2680 ? 0 : 1;
}

int main(void) { return weft_run(run, NULL, NULL); }
