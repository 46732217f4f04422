/* SPDX-License-Identifier: MIT */
/*
 * Reads and writes at the current position of a stored file. All users of the open file share its position. System
 * calls take the kernel's lock for it, but entries of a ring do not: two of them may use the same position, and an
 * entry that meets a full disk leaves the position unchanged. So these requests never go through a ring. weft makes a
 * non-blocking attempt first, and a thread of the pool makes the rest by the plain call.
 *
 * Meanwhile the fiber holds a lock of weft for the descriptor number. So a request that takes two steps is still
 * atomic, and no fiber blocks its worker in the kernel's lock while a thread of the pool reads from the disk. Two
 * numbers of one file (dup) have two locks: there only the kernel's lock counts.
 */
#ifndef WEFT_IO_FILE_POSITION_H
#define WEFT_IO_FILE_POSITION_H

#include "io/fd_generation.h"
#include "io/request.h"

/* Does the request use the current position, for any kind of file? */
static inline bool weft__file_position_is_used(const struct weft__request *r) {
    return r->code <= WEFT_IO_WRITEV && r->offset == WEFT_IO_HERE;
}
/* Does it use the current position of what is probably a stored file? */
static inline bool weft__file_position_is_likely(const struct weft__request *r) {
    return weft__file_position_is_used(r) && weft__fd_guess(r->fd) & WEFT_FD_STORED;
}

/* For a fiber. True: *result is the result or a negative errno. False: the file has no position after all, and nothing
 * was done. */
bool weft__file_position_run(const struct weft__request *r, ssize_t *result);

#endif
