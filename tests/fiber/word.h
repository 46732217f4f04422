/* SPDX-License-Identifier: MIT */
/* A value for an operation that does not commute: the hash of a string. The operation appends strings. */
#ifndef WEFT_TESTS_WORD_H
#define WEFT_TESTS_WORD_H

#include <stdint.h>

struct word {
    uint64_t hash, power;
};
static const struct word empty = {0, 1};
static void append(void *left, const void *right, void *unused) {
    (void)unused;
    struct word *l = left;
    const struct word *r = right;
    l->hash = l->hash * r->power + r->hash;
    l->power *= r->power;
}

#endif
