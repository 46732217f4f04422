/* SPDX-License-Identifier: MIT */
/*
 * UTS in plain MPI, for comparison with examples/dist/uts.c: mpi_uts TREE master|static|window
 *
 *   master   rank 0 hands out nodes of the upper levels, one at a time, to ranks that ask, and counts no nodes itself
 *   static   every rank counts each n-th subtree of the upper levels
 *   window   every rank has a stack in a window; a rank without work takes half of another's by MPI_Get under a lock
 */
#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include "../../examples/dist/uts_tree.h"

static const struct uts_tree *tree;
static int rank, ranks;

static uint64_t count(const struct uts_node *node) {
    int n = uts_children(tree, node);
    uint64_t sum = 1;
    for (int i = 0; i < n; i++) {
        struct uts_node child = uts_child(node, i);
        sum += count(&child);
    }
    return sum;
}

/* The nodes at a height, and how many are above them. */
struct level {
    struct uts_node *nodes;
    size_t n, room;
    uint64_t above;
};

static void collect(struct level *l, const struct uts_node *node, int height) {
    if (node->height == height) {
        if (l->n == l->room) l->nodes = realloc(l->nodes, (l->room = l->room ? 2 * l->room : 256) * sizeof *l->nodes);
        if (!l->nodes) abort();
        l->nodes[l->n++] = *node;
        return;
    }
    l->above++;
    int n = uts_children(tree, node);
    for (int i = 0; i < n; i++) {
        struct uts_node child = uts_child(node, i);
        collect(l, &child, height);
    }
}

static struct level upper(void) {
    struct level l = {NULL, 0, 0, 0};
    struct uts_node root = uts_root(tree);
    collect(&l, &root, tree->kind == UTS_GEOMETRIC ? 5 : 1);
    return l;
}

static uint64_t run_static(void) {
    struct level l = upper();
    uint64_t sum = rank ? 0 : l.above, all = 0;
    for (size_t i = (size_t)rank; i < l.n; i += (size_t)ranks) sum += count(&l.nodes[i]);
    MPI_Reduce(&sum, &all, 1, MPI_UINT64_T, MPI_SUM, 0, MPI_COMM_WORLD);
    return all;
}

static uint64_t run_master(void) {
    uint64_t sum = 0, all = 0;
    if (!rank) {
        struct level l = upper();
        size_t next = 0;
        sum = l.above;
        for (int ended = 0; ended < ranks - 1;) {
            uint64_t done;
            MPI_Status status;
            MPI_Recv(&done, 1, MPI_UINT64_T, MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, &status);
            sum += done;
            struct uts_node work = {{0}, -1};
            if (next < l.n)
                work = l.nodes[next++];
            else
                ended++;
            MPI_Send(&work, sizeof work, MPI_BYTE, status.MPI_SOURCE, 0, MPI_COMM_WORLD);
        }
        return sum;
    }
    for (;;) {
        struct uts_node work;
        MPI_Send(&all, 1, MPI_UINT64_T, 0, 0, MPI_COMM_WORLD);
        MPI_Recv(&work, sizeof work, MPI_BYTE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (work.height < 0) return 0;
        all = count(&work);
    }
}

/* A stack that others see: its shared part, under the window's lock, and a private part. */
enum { SHARED = 1024, CHUNK = 20 };
struct shared {
    int64_t count;
    struct uts_node nodes[SHARED];
};

static int64_t shared_count(MPI_Win win, int of) {
    int64_t n, none = 0;
    MPI_Fetch_and_op(&none, &n, MPI_INT64_T, of, 0, MPI_NO_OP, win);
    MPI_Win_flush(of, win);
    return n;
}

static uint64_t run_window(void) {
    struct shared *own;
    MPI_Win win, locks, idle_win;
    int64_t *lock, *idle;
    struct uts_node *stack = malloc((1 << 20) * sizeof *stack), chunk[SHARED];
    size_t depth = 0;
    uint64_t sum = 0, all = 0;
    unsigned random = (unsigned)rank * 7919 + 1;
    if (!stack) abort();
    MPI_Win_allocate(sizeof *own, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &own, &win);
    MPI_Win_allocate(sizeof *lock, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &lock, &locks);
    MPI_Win_allocate(sizeof *idle, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &idle, &idle_win);
    own->count = 0;
    *lock = *idle = 0;
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_lock_all(0, win);
    MPI_Win_lock_all(0, locks);
    MPI_Win_lock_all(0, idle_win);
    if (!rank) stack[depth++] = uts_root(tree);
    int64_t one = 1, minus = -1, zero = 0, was;
#define TAKE(of) \
    do { \
        MPI_Compare_and_swap(&one, &zero, &was, MPI_INT64_T, of, 0, locks); \
        MPI_Win_flush(of, locks); \
    } while (was)
#define FREE(of) \
    do { \
        MPI_Accumulate(&zero, 1, MPI_INT64_T, of, 0, 1, MPI_INT64_T, MPI_REPLACE, locks); \
        MPI_Win_flush(of, locks); \
    } while (0)
    bool is_idle = false;
    for (unsigned turn = 0;; turn++) {
        if (depth) {
            struct uts_node node = stack[--depth];
            int n = uts_children(tree, &node);
            sum++;
            for (int i = 0; i < n; i++) stack[depth++] = uts_child(&node, i);
            if (turn % 64 || depth < 2 * CHUNK || own->count >= SHARED - CHUNK) continue;
            TAKE(rank); /* shares the oldest nodes */
            MPI_Win_sync(win);
            memcpy(own->nodes + own->count, stack, CHUNK * sizeof *stack);
            own->count += CHUNK;
            MPI_Win_sync(win);
            FREE(rank);
            memmove(stack, stack + CHUNK, (depth -= CHUNK) * sizeof *stack);
            continue;
        }
        int victim = rank;
        for (int tries = 0; tries <= ranks && !depth; tries++) { /* its own shared part first */
            if (shared_count(win, victim) > 0) {
                if (is_idle)
                    MPI_Fetch_and_op(&minus, &was, MPI_INT64_T, 0, 0, MPI_SUM, idle_win), MPI_Win_flush(0, idle_win);
                is_idle = false;
                TAKE(victim);
                int64_t n = shared_count(win, victim), take = victim == rank ? n : (n + 1) / 2, left = n - take;
                if (take > 0) {
                    MPI_Get(chunk, (int)(take * (int64_t)sizeof *chunk), MPI_BYTE, victim,
                            (MPI_Aint)(offsetof(struct shared, nodes) + (size_t)left * sizeof *chunk),
                            (int)(take * (int64_t)sizeof *chunk), MPI_BYTE, win);
                    MPI_Win_flush(victim, win);
                    MPI_Accumulate(&left, 1, MPI_INT64_T, victim, 0, 1, MPI_INT64_T, MPI_REPLACE, win);
                    MPI_Win_flush(victim, win);
                    memcpy(stack, chunk, (size_t)take * sizeof *chunk);
                    depth = (size_t)take;
                }
                FREE(victim);
            }
            random = random * 1664525 + 1013904223;
            victim = (int)((random >> 16) % (unsigned)ranks);
        }
        if (depth) continue;
        if (!is_idle) MPI_Fetch_and_op(&one, &was, MPI_INT64_T, 0, 0, MPI_SUM, idle_win), MPI_Win_flush(0, idle_win);
        is_idle = true;
        MPI_Fetch_and_op(&zero, &was, MPI_INT64_T, 0, 0, MPI_NO_OP, idle_win);
        MPI_Win_flush(0, idle_win);
        if (was == ranks) break;
    }
    MPI_Win_unlock_all(idle_win);
    MPI_Win_unlock_all(locks);
    MPI_Win_unlock_all(win);
    MPI_Reduce(&sum, &all, 1, MPI_UINT64_T, MPI_SUM, 0, MPI_COMM_WORLD);
    MPI_Win_free(&win);
    MPI_Win_free(&locks);
    MPI_Win_free(&idle_win);
    free(stack);
    return all;
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (argc < 3 || !(tree = uts_find(argv[1]))) {
        if (!rank) fprintf(stderr, "mpi_uts TREE master|static|window\n");
        MPI_Finalize();
        return 2;
    }
    MPI_Barrier(MPI_COMM_WORLD);
    double begun = MPI_Wtime();
    uint64_t nodes = *argv[2] == 'm' ? run_master() : *argv[2] == 's' ? run_static() : run_window();
    double seconds = MPI_Wtime() - begun;
    if (!rank)
        printf("%s %s: %llu nodes, %d ranks, %.3f s%s\n", argv[1], argv[2], (unsigned long long)nodes, ranks, seconds,
               nodes == tree->nodes ? "" : ", WRONG");
    MPI_Finalize();
    return !rank && nodes != tree->nodes;
}
