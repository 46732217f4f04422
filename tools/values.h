/* SPDX-License-Identifier: MIT */
/*
 * Numbers as options give them: one, a list, or a range.
 *
 *   4            1,2,8        1..16      every number
 *   1..16*2      1, 2, 4, 8, 16          2..10+4    2, 6, 10
 *
 * A list may have ranges in it: 1..4,8,16.
 */
#ifndef TOOLS_VALUES_H
#define TOOLS_VALUES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define VALUES_MOST 64

struct values {
    size_t count;
    uint64_t list[VALUES_MOST];
};

/* A whole number in decimal, and nothing after it. */
bool value_read(const char *text, uint64_t least, uint64_t most, uint64_t *value);

/* NULL, or what is wrong: a part of a sentence that names what was read. */
const char *values_read(const char *text, uint64_t least, uint64_t most, struct values *values);

#endif
