/* SPDX-License-Identifier: MIT */
/* See sums.h. */
#include "sums.h"

#include <string.h>

uint64_t *sums_in, *sums_out, sums_total;
size_t sums_count;

/* Uses four chains of additions, like the std::reduce that some systems call instead. */
uint64_t sums_fold(size_t begin, size_t end, uint64_t sum) {
    uint64_t a = 0, b = 0, c = 0;
    for (; end - begin >= 4; begin += 4) {
        sum += sums_in[begin];
        a += sums_in[begin + 1];
        b += sums_in[begin + 2];
        c += sums_in[begin + 3];
    }
    for (; begin < end; begin++) sum += sums_in[begin];
    return sum + a + b + c;
}

uint64_t sums_scan(size_t begin, size_t end, uint64_t sum) {
    for (size_t i = begin; i < end; i++) sums_out[i] = sum += sums_in[i];
    return sum;
}

void sums_prepare(const struct args *args) {
    uint64_t random = 1;
    sums_count = arg(args, "count");
    sums_in = (uint64_t *)allocate(sums_count, sizeof *sums_in);
    sums_out = (uint64_t *)allocate(sums_count, sizeof *sums_out);
    for (size_t i = 0; i < sums_count; i++) sums_in[i] = random_next(&random);
}

/* Clears only a few elements, enough to see whether the results are new. Clearing all would fill the cache with
 * zeros. */
void sums_reset(void) {
    sums_total = 0;
    for (size_t i = 0; i < sums_count; i += 997) sums_out[i] = 0;
}

bool sums_scan_right(void) {
    uint64_t sum = 0;
    for (size_t i = 0; i < sums_count; i++)
        if (sums_out[i] != (sum += sums_in[i])) return false;
    return true;
}

bool sums_total_right(void) { return sums_total == sums_fold(0, sums_count, 0); }
