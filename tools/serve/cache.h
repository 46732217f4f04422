/* SPDX-License-Identifier: MIT */
/*
 * Files, by the path of a request as it was sent. A path that is found needs no decoding, no walk and
 * no system call. Whether it still leads to the same file, in the same state, is looked at once a second.
 */
#ifndef SERVE_CACHE_H
#define SERVE_CACHE_H

#include "files.h"

/* Keeps so many files, or some more: how many, or -ENOMEM. */
int cache_begin(unsigned files);
void cache_end(void);

/* The file, held for the caller; NULL: it is not here, or not any more. */
struct file *cache_find(struct text path);

/* From now on the path leads to this file; the least used files make room. Holds it for itself. */
void cache_put(struct text path, struct file *file);

/* Forgets it. */
void cache_drop(struct text path);

#endif
