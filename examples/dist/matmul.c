/* SPDX-License-Identifier: MIT */
/*
 * A matrix product. Ranks fetch the two factors when they first need them; each call computes some rows of the product,
 * which travel back as its result.
 *
 *     mpirun -n 2 matmul 300
 */
#include <stdio.h>
#include <stdlib.h>
#include <weft/dist.h>

enum { ROWS = 8 };

struct piece {
    struct weft_dist_data a, b;
    int n, row;
};

static void multiply(const void *arg, void *result) {
    const struct piece *p = arg;
    const void *left, *right;
    double *c = result;
    if (weft_dist_data_get(p->a, &left) || weft_dist_data_get(p->b, &right)) abort();
    const double *a = left, *b = right;
    int n = p->n;
    for (int i = p->row; i < p->row + ROWS && i < n; i++)
        for (int k = 0; k < n; k++)
            for (int j = 0; j < n; j++) c[(i - p->row) * n + j] += a[i * n + k] * b[k * n + j];
}
WEFT_REMOTE_FUNCTION(rows, multiply);

static int run(void *argument) {
    int n = *(int *)argument, calls = (n + ROWS - 1) / ROWS, wrong = 0;
    size_t size = (size_t)n * (size_t)n;
    double *a = malloc(size * sizeof *a), *b = malloc(size * sizeof *b),
           *c = calloc((size_t)calls * ROWS * (size_t)n, sizeof *c);
    struct weft_dist_call *call = calloc((size_t)calls, sizeof *call);
    struct piece *pieces = calloc((size_t)calls, sizeof *pieces), first = {.n = n};
    if (!a || !b || !c || !call || !pieces) return 1;
    for (size_t i = 0; i < size; i++) {
        a[i] = (double)(i % 7);
        b[i] = (double)(i % 5);
    }
    if (weft_dist_broadcast(&first.a, a, size * sizeof *a) || weft_dist_broadcast(&first.b, b, size * sizeof *b))
        return 1;
    uint64_t begun = weft_now();
    for (int i = 0; i < calls; i++) {
        pieces[i] = first;
        pieces[i].row = i * ROWS;
        wrong |= weft_dist_fork(&call[i], &rows, &pieces[i], sizeof pieces[i], c + (size_t)i * ROWS * (size_t)n,
                                sizeof *c * ROWS * (size_t)n);
    }
    for (int i = calls; i-- > 0;) wrong |= weft_dist_join(&call[i]);
    printf("%d x %d: %.3f s\n", n, n, (double)(weft_now() - begun) / 1e9);
    for (int i = 0; i < n && !wrong; i += 1 + n / 10) /* some rows again; the numbers are small, so sums are exact */
        for (int j = 0; j < n; j++) {
            double sum = 0;
            for (int k = 0; k < n; k++) sum += a[i * n + k] * b[k * n + j];
            wrong |= sum != c[i * n + j];
        }
    weft_dist_broadcast_end(first.a);
    weft_dist_broadcast_end(first.b);
    free(a), free(b), free(c), free(call), free(pieces);
    return wrong;
}

int main(int argc, char **argv) {
    int n = argc > 1 ? atoi(argv[1]) : 200;
    if (n < 1 || n > 8000) {
        fprintf(stderr, "matmul: 1 to 8000 rows\n");
        return 2;
    }
    return weft_dist_run(run, &n, NULL) ? 1 : 0;
}
