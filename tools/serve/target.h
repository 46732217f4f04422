/* SPDX-License-Identifier: MIT */
/*
 * From the path of a request to the path of a file: percent signs decoded, empty segments, "." and ".."
 * taken out. The result has no leading slash; it is empty, or ends in a slash, if a directory is meant.
 * The kernel also guards the walk (files.h). This code makes the names unique.
 */
#ifndef SERVE_TARGET_H
#define SERVE_TARGET_H

#include "text.h"

#include <stddef.h>

#define TARGET_MOST 4096 /* bytes of a result, its zero included */

/* Returns the length, or the negative status of the answer: -400 (not decodable, a zero byte, above the root), -414. */
int target_decode(struct text path, char result[TARGET_MOST]);

/* Encodes a decoded path for a Location or a link. Returns the length, or the needed length. */
size_t target_encode(const char *path, size_t size, char *result, size_t most);

#endif
