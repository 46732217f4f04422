/* SPDX-License-Identifier: MIT */
/* Ranges of bytes that a request asks for. */
#ifndef SERVE_RANGE_H
#define SERVE_RANGE_H

#include "text.h"

#define RANGES_MOST 16

struct range {
    uint64_t first, last; /* both are in it */
};

/*
 * Those of a field "Range: bytes=..." for a file of that size: how many. 0: the field is to be ignored: it is no
 * list of byte ranges, it has more than RANGES_MOST, or they ask for more than all of the file. -1: none of them
 * lies in the file.
 */
int range_parse(struct text value, uint64_t size, struct range list[RANGES_MOST]);

#endif
