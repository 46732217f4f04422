/* SPDX-License-Identifier: MIT */
/* Shared by the tests of loops: every kind of loop, and a body that marks each index. */
#ifndef WEFT_TESTS_LOOPS_H
#define WEFT_TESTS_LOOPS_H

#include "fiber.h"

#include <string.h>

enum { MOST = 1 << 16 };
static unsigned char seen[MOST];
static size_t base; /* index of seen[0] */
static int calls;

static inline int mark(size_t begin, size_t end, void *arg) {
    (void)arg;
    CHECK(begin < end);
    ADD(&calls, 1);
    for (size_t i = begin; i < end; i++) CHECK_EQ(__atomic_fetch_add(&seen[i - base], 1, __ATOMIC_RELAXED), 0);
    return 0;
}

static inline void once(size_t begin, size_t n, const struct weft_for_options *options) {
    base = begin;
    memset(seen, 0, n);
    CHECK_EQ(weft_for(begin, begin + n, mark, NULL, options), 0);
    for (size_t i = 0; i < n; i++) CHECK_EQ(seen[i], 1);
}

static struct weft_affinity affinity, other_affinity;
static const struct weft_for_options kinds[] = {
    {0},
    {.budget = 1},
    {.grain = 100, .element = 8},
    {.element = 24},
    {.partition = WEFT_FOR_LAZY},
    {.partition = WEFT_FOR_LAZY, .grain = 33, .element = 4},
    {.partition = WEFT_FOR_STATIC},
    {.partition = WEFT_FOR_STATIC, .grain = 7, .element = 16},
    {.partition = WEFT_FOR_GRAIN},
    {.partition = WEFT_FOR_GRAIN, .grain = 1000, .element = 1},
    {.partition = WEFT_FOR_GRAIN, .grain = SIZE_MAX},
    {.spread = WEFT_SPREAD_EVEN},
    {.spread = WEFT_SPREAD_UNEVEN, .element = 8},
    {.spread = WEFT_SPREAD_EVEN, .partition = WEFT_FOR_STATIC},
    {.spread = WEFT_SPREAD_UNEVEN, .partition = WEFT_FOR_LAZY, .grain = 20},
    {.spread = WEFT_SPREAD_EVEN, .partition = WEFT_FOR_GRAIN, .grain = 9},
    {.affinity = &affinity},
    {.affinity = &other_affinity, .spread = WEFT_SPREAD_EVEN, .partition = WEFT_FOR_GRAIN, .grain = 64},
};
enum { KINDS = sizeof kinds / sizeof *kinds };

/* A body that counts each index in its cell. */
static inline int count_each(size_t begin, size_t end, void *cells) {
    for (size_t i = begin; i < end; i++) __atomic_fetch_add(&((uint64_t *)cells)[i], 1, __ATOMIC_RELAXED);
    return 0;
}

#endif
