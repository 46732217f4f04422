/* SPDX-License-Identifier: MIT */
/*
 * Directed work: each worker gets its part of a loop at the start, and the same part again in the next loop, when its
 * data may still be in the worker's cache. The loop computes how heat spreads along a rod, step by step. Then two
 * functions run in parallel: they look at the two ends of the rod.
 */
#include <stdio.h>
#include <weft.h>

enum { N = 200000, STEPS = 50 };
static double rod[2][N];

struct step {
    const double *from;
    double *to;
};

static int spread_heat(size_t begin, size_t end, void *p) {
    struct step *s = p;
    for (size_t i = begin; i < end; i++) {
        double left = s->from[i ? i - 1 : i], right = s->from[i < N - 1 ? i + 1 : i];
        s->to[i] = s->from[i] + (left - 2 * s->from[i] + right) / 4;
    }
    return 0;
}

struct half {
    size_t begin, end;
    double sum;
};

static void add_up(void *p) {
    struct half *h = p;
    for (size_t i = h->begin; i < h->end; i++) h->sum += rod[STEPS % 2][i];
}

static int run(void *unused) {
    (void)unused;
    rod[0][0] = rod[0][N / 2] = 1000;

    /* The object remembers which worker ran which part. It must exist during all loops. Without it, `spread` alone
     * sends a part to each worker, in order. */
    struct weft_affinity affinity = WEFT_AFFINITY_INIT;
    struct weft_for_options options = WEFT_FOR_INIT;
    options.affinity = &affinity;
    options.element = sizeof **rod;
    for (int i = 0; i < STEPS; i++) {
        struct step step = {rod[i % 2], rod[(i + 1) % 2]};
        if (weft_for(0, N, spread_heat, &step, &options)) return 1;
    }

    struct half halves[2] = {{0, N / 2, 0}, {N / 2, N, 0}};
    struct weft_branch both[] = {{add_up, &halves[0]}, {add_up, &halves[1]}};
    if (weft_invoke(both, 2)) return 1;
    printf("after %d steps, %.3f on the left and %.3f on the right\n", STEPS, halves[0].sum, halves[1].sum);
    double all = halves[0].sum + halves[1].sum;
    return all > 1999.999 && all < 2000.001 ? 0 : 1;
}

int main(void) { return weft_run(run, NULL, NULL); }
