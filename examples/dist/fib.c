/* SPDX-License-Identifier: MIT */
/*
 * Fibonacci numbers, the slow way: very many very short calls.
 *
 *     mpirun -n 2 fib 38
 */
#include <stdio.h>
#include <stdlib.h>
#include <weft/dist.h>

WEFT_REMOTE_1(uint64_t, fib, unsigned, n) {
    if (n < 2) return n;
    WEFT_SPAWN(fib, n - 1);
    uint64_t b = WEFT_CALL(fib, n - 2);
    return WEFT_SYNC(fib) + b;
}

static int run(void *n) {
    uint64_t a = 0, b = 1, sum = WEFT_RUN(fib, *(unsigned *)n);
    for (unsigned i = 0; i < *(unsigned *)n; i++) {
        uint64_t next = a + b;
        a = b;
        b = next;
    }
    printf("fib(%u) = %llu\n", *(unsigned *)n, (unsigned long long)sum);
    return sum != a;
}

int main(int argc, char **argv) {
    unsigned n = argc > 1 ? (unsigned)atoi(argv[1]) : 30;
    return weft_dist_run(run, &n, NULL) ? 1 : 0;
}
