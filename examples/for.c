/* SPDX-License-Identifier: MIT */
/* A loop over many workers: which numbers are prime? And a search that stops when it has found one. */
#include <stdio.h>
#include <stdlib.h>
#include <weft.h>

static int is_prime(size_t n) {
    for (size_t d = 2; d * d <= n; d++)
        if (n % d == 0) return 0;
    return n > 1;
}

/* The body gets a piece of the range, not one index: the loop over it is plain C. */
static int mark(size_t begin, size_t end, void *primes) {
    for (size_t i = begin; i < end; i++) ((unsigned char *)primes)[i] = (unsigned char)is_prime(i);
    return 0; /* 0 continues; any other value ends the loop, and weft_for returns it */
}

static int look_for(size_t begin, size_t end, void *found) {
    for (size_t i = begin; i < end; i++)
        if (i % 7919 == 7 && is_prime(i)) {
            __atomic_store_n((size_t *)found, i, __ATOMIC_RELAXED);
            return 1; /* no further piece starts */
        }
    return 0;
}

static int run(void *unused) {
    (void)unused;
    enum { N = 300000 };
    unsigned char *primes = malloc(N);
    size_t count = 0, found = 0;

    /* weft measures the loop and chooses the sizes of the pieces. The size of an element keeps two workers from writing
     * the same cache line. */
    struct weft_for_options options = WEFT_FOR_INIT;
    options.element = sizeof *primes;
    if (weft_for(0, N, mark, primes, &options)) return 1;

    for (size_t i = 0; i < N; i++) count += primes[i];
    printf("%zu primes below %d\n", count, N);
    free(primes);

    int result = weft_for(1000000, 100000000, look_for, &found, NULL);
    printf("%zu is one, and 7 more than a multiple of 7919\n", found);
    return count == 25997 && result == 1 ? 0 : 1;
}

/* A thread may also call weft_for: it waits while fibers run the loop. */
int main(void) { return weft_run(run, NULL, NULL); }
