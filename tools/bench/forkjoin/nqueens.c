/* SPDX-License-Identifier: MIT */
/*
 * nqueens: counts the ways to place n= queens on a board of n x n. Each place for the next queen is a fork: an
 * irregular tree with little work for each node.
 *
 *   depth=  rows that fork; deeper rows make plain calls, so tasks are fewer and larger. 0: all rows fork
 *
 * Metric: ms.
 */
#include "forkjoin.h"

#include <string.h>

#define MOST 16

static unsigned n, depth;
static uint64_t got, wanted;

/* Is the queen of the last row safe from all earlier queens? */
static bool safe(const char *board, unsigned rows) {
    char column = board[rows - 1];
    for (unsigned i = 0; i + 1 < rows; i++) {
        char across = (char)(column - board[i]);
        char down = (char)(rows - 1 - i);
        if (across == 0 || across == down || across == -down) return false;
    }
    return true;
}

static uint64_t alone(unsigned size, unsigned row, char *board) {
    if (row == size) return 1;
    uint64_t sum = 0;
    for (unsigned column = 0; column < size; column++) {
        board[row] = (char)column;
        if (safe(board, row + 1)) sum += alone(size, row + 1, board);
    }
    return sum;
}

static NOINLINE uint64_t at_leaf(unsigned size, unsigned row, const char *board) {
    char own[MOST];
    uint64_t began = leaf_begin();
    memcpy(own, board, row);
    uint64_t sum = alone(size, row, own);
    leaf_end(began);
    return sum;
}

TASK_3(uint64_t, place, unsigned, size, unsigned, row, const char *, board) {
    if (row == size) return 1;
    if (depth && row >= depth) return at_leaf(size, row, board);
    FRAME;
    SLOT(place, slots[MOST]);
    char boards[MOST][MOST];
    unsigned forks = 0;
    uint64_t sum = 0;
    for (unsigned column = 0; column < size; column++) {
        char *next = boards[forks];
        memcpy(next, board, row);
        next[row] = (char)column;
        if (!safe(next, row + 1)) continue;
        FORK(slots[forks], place, size, row + 1, next);
        forks++;
    }
    SYNC;
    while (forks) {
        forks--;
        sum += JOIN(slots[forks], place);
    }
    return sum;
}

/* Counts by sets of columns and diagonals. */
static uint64_t ways(uint32_t columns, uint32_t left, uint32_t right) {
    uint32_t all = (1u << n) - 1;
    uint64_t sum = columns == all;
    for (uint32_t open = all & ~(columns | left | right); open; open &= open - 1) {
        uint32_t place = open & -open;
        sum += ways(columns | place, (left | place) << 1, (right | place) >> 1);
    }
    return sum;
}

static void prepare(const struct args *args) {
    n = (unsigned)arg(args, "n");
    depth = (unsigned)arg_or(args, "depth", 0);
    leaf_prepare(args);
    if (n > MOST) fail("n", EINVAL);
    wanted = ways(0, 0, 0);
}

static void compute(void) { got = ROOT(place, n, 0, ""); }
static bool right(void) { return got == wanted; }

WORKLOAD(nqueens, prepare, NULL, compute, right, in_milliseconds)
