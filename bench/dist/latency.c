/* SPDX-License-Identifier: MIT */
/*
 * Figures of libweft-mpi beside what they are compared with: latency [local|ping|idle]
 *
 *   local   fib by remote calls and by typed tasks: what the call costs that no rank takes
 *   ping    two ranks: MPI's ping-pong of 512 bytes, which is what a request for calls and the answer are compared with
 *   idle    ten seconds without work: CPU time and messages of each rank
 */
#include <mpi.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <weft/dist.h>

WEFT_TASK_1(uint64_t, typed, unsigned, n) {
    if (n < 2) return n;
    WEFT_SPAWN(typed, n - 1);
    uint64_t b = WEFT_CALL(typed, n - 2);
    return WEFT_SYNC(typed) + b;
}
WEFT_REMOTE_1(uint64_t, remote, unsigned, n) {
    if (n < 2) return n;
    WEFT_SPAWN(remote, n - 1);
    uint64_t b = WEFT_CALL(remote, n - 2);
    return WEFT_SYNC(remote) + b;
}

static double median(double *v, unsigned n) {
    for (unsigned i = 1; i < n; i++)
        for (unsigned k = i; k && v[k] < v[k - 1]; k--) {
            double x = v[k];
            v[k] = v[k - 1];
            v[k - 1] = x;
        }
    return v[n / 2];
}

static void local(void) {
    double t[9], r[9];
    for (unsigned i = 0; i < 9; i++) {
        uint64_t begun = weft_now(), a = WEFT_RUN(typed, 32), mid = weft_now(), b = WEFT_RUN(remote, 32);
        t[i] = (double)(mid - begun) / 3524577;
        r[i] = (double)(weft_now() - mid) / 3524577;
        if (a != b) abort();
    }
    double typed_ns = median(t, 9), remote_ns = median(r, 9);
    printf("typed %.2f ns, remote %.2f ns, ratio %.2f\n", typed_ns, remote_ns, remote_ns / typed_ns);
}

static void idle(void) {
    struct weft_dist_stats before[64], after;
    unsigned n = weft_dist_ranks() < 64 ? weft_dist_ranks() : 64;
    weft_sleep_for(WEFT_SECOND);
    for (unsigned r = 0; r < n; r++)
        if (weft_dist_stats_read(r, &before[r])) return;
    weft_sleep_for(10 * WEFT_SECOND);
    for (unsigned r = 0; r < n; r++)
        if (!weft_dist_stats_read(r, &after))
            printf("rank %u: %.2f ms of CPU, %llu messages\n", r, (double)(after.cpu_ns - before[r].cpu_ns) / 1e6,
                   (unsigned long long)(after.messages - before[r].messages) - (r ? 1 : n - 1));
}

static int run(void *what) {
    if (!strcmp(what, "local"))
        local();
    else
        idle();
    return 0;
}

static void measure_ping_pong(void) {
    char bytes[512] = {0};
    int rank, ranks;
    double rounds[9];
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    for (unsigned k = 0; k < 9 && ranks > 1; k++) {
        MPI_Barrier(MPI_COMM_WORLD);
        double begun = MPI_Wtime();
        for (unsigned i = 0; i < 5000 && rank < 2; i++) {
            if (!rank) MPI_Send(bytes, sizeof bytes, MPI_BYTE, 1, 0, MPI_COMM_WORLD);
            MPI_Recv(bytes, sizeof bytes, MPI_BYTE, 1 - rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            if (rank) MPI_Send(bytes, sizeof bytes, MPI_BYTE, 0, 0, MPI_COMM_WORLD);
        }
        rounds[k] = (MPI_Wtime() - begun) / 5000 * 1e6;
    }
    if (!rank && ranks > 1) printf("MPI ping-pong %.2f us\n", median(rounds, 9));
}

int main(int argc, char **argv) {
    int level;
    char *what = argc > 1 ? argv[1] : "local";
    MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &level);
    bool is_ping = !strcmp(what, "ping");
    if (is_ping) measure_ping_pong();
    int err = is_ping ? 0 : weft_dist_run(run, what, NULL);
    MPI_Finalize();
    return err ? 1 : 0;
}
