/* SPDX-License-Identifier: MIT */
/* Ranges of bytes in a request. */
#ifndef SERVE_RANGE_H
#define SERVE_RANGE_H

#include "text.h"

#define RANGES_MOST 16

struct range {
    uint64_t first, last; /* both inclusive */
};

/*
 * Reads the ranges of a field "Range: bytes=..." for a file of that size. Returns how many. 0: ignore the field,
 * because it is not a list of byte ranges, has more than RANGES_MOST, or requests more than the whole file. -1: no
 * range lies in the file.
 */
int range_parse(struct text value, uint64_t size, struct range list[RANGES_MOST]);

#endif
