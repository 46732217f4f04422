/* SPDX-License-Identifier: MIT */
/*
 * Files by the path of a request, as it was sent. A cached path needs no decoding, no walk and no system call. Once a
 * second the cache checks whether the path still leads to the same file in the same state.
 */
#ifndef SERVE_CACHE_H
#define SERVE_CACHE_H

#include "files.h"

/* Makes a cache for this many files, or some more. Returns how many, or -ENOMEM. */
int cache_begin(unsigned files);
void cache_end(void);

/* Returns the file, with a reference for the caller. NULL: it is not cached. */
struct file *cache_find(struct text path);

/* Stores the file under the path, and evicts unused files to make room. Takes a reference of its own. */
void cache_put(struct text path, struct file *file);

/* Removes the path. */
void cache_drop(struct text path);

#endif
