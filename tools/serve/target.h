/* SPDX-License-Identifier: MIT */
/*
 * Turns the path of a request into the path of a file: decodes percent signs, and removes empty segments, "." and "..".
 * The result has no leading slash. For a directory it is empty or ends in a slash. The kernel also guards the walk
 * (files.h). This code makes the names unique.
 */
#ifndef SERVE_TARGET_H
#define SERVE_TARGET_H

#include "text.h"

#include <stddef.h>

#define TARGET_MOST 4096 /* bytes of a result, including the final zero */

/* Returns the length, or the negative status of the answer: -400 (not decodable, a zero byte, above the root), -414. */
int target_decode(struct text path, char result[TARGET_MOST]);

/* Encodes a decoded path for a Location or a link. Returns the length, or the needed length. */
size_t target_encode(const char *path, size_t size, char *result, size_t most);

#endif
