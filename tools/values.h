/* SPDX-License-Identifier: MIT */
/*
 * Numbers in options: a number, a list, or a range.
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

/* Reads a whole number in decimal, with nothing after it. */
bool value_read(const char *text, uint64_t least, uint64_t most, uint64_t *value);

/* Returns NULL, or the error: a part of a sentence that names the text. */
const char *values_read(const char *text, uint64_t least, uint64_t most, struct values *values);

#endif
