/* SPDX-License-Identifier: MIT */
/* Random numbers: even enough for choices. A random order contains each number once. */
#include "../test.h"

#include "base/random.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

TEST(below_n_and_all_of_them) {
    uint64_t state = 1;
    unsigned seen[7] = {0};
    for (unsigned i = 0; i < 70000; i++) {
        uint32_t r = weft__random_below(&state, 7);
        CHECK(r < 7);
        seen[r]++;
    }
    for (unsigned i = 0; i < 7; i++) CHECK(seen[i] > 9000 && seen[i] < 11000);
}

TEST(scattered_each_number_comes_once) {
    static bool seen[1 << 12];
    for (unsigned bits = 0; bits <= 12; bits++) {
        memset(seen, 0, sizeof seen);
        for (uint32_t i = 0; i < 1u << bits; i++) {
            uint32_t n = weft__random_permute(i, bits);
            CHECK(n < 1u << bits);
            CHECK(!seen[n]);
            seen[n] = true;
        }
    }
}

/* No difference between neighbours is frequent: a prefetcher would learn it. */
TEST(scattered_there_is_no_stride) {
    static unsigned taken[1 << 10];
    enum { N = 1 << 9 };
    for (uint32_t i = 1; i < N; i++) taken[weft__random_permute(i, 9) - weft__random_permute(i - 1, 9) + N]++;
    for (unsigned i = 0; i < 2 * N; i++) CHECK(taken[i] < N / 32);
}

TEST(shuffled_each_thing_comes_once_in_another_order) {
    enum { N = 128 };
    uint64_t state = 1;
    char things[N];
    void *order[N];
    bool seen[N] = {false};
    unsigned moved = 0, neighbours = 0;
    for (unsigned i = 0; i < N; i++) order[i] = &things[i];
    weft__random_shuffle(&state, order, N);
    for (unsigned i = 0; i < N; i++) {
        size_t thing = (size_t)((char *)order[i] - things);
        CHECK(!seen[thing]);
        seen[thing] = true;
        moved += thing != i;
        neighbours += i && (char *)order[i] == (char *)order[i - 1] + 1;
    }
    CHECK(moved > N * 3 / 4);
    CHECK(neighbours < N / 8);
    weft__random_shuffle(&state, order, 0);
    weft__random_shuffle(&state, order, 1);
}
