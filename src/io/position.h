/*
 * Bytes at the current position of a stored file. The position is the file's, and all who share the file move it; the
 * kernel has a lock for it, which its calls take, but a ring's entries do not: two of these may read or write the same
 * place, and one that comes to a full disk leaves the position where it was. So these requests never go by a ring. They
 * are tried at once, and what that leaves is done by a thread of the pool with the plain call.
 *
 * Meanwhile the fiber holds a lock of ours, by the descriptor's number: so a request that is made in two steps is in
 * one piece all the same, and nobody sits on a worker in the kernel's lock while a thread of the pool reads from the
 * disk. Two numbers of one file (dup) have two locks: there only the kernel's counts.
 */
#ifndef WEFT_IO_POSITION_H
#define WEFT_IO_POSITION_H

#include "io/known.h"
#include "io/request.h"

/* Is it about the current position, of whatever it is? */
static inline bool weft__position_is_used(const struct weft__request *r) {
    return r->code <= WEFT_IO_WRITEV && r->offset == WEFT_IO_HERE;
}
/* And, as far as is known, of a stored file? */
static inline bool weft__position_is_likely(const struct weft__request *r) {
    return weft__position_is_used(r) && weft__known_guess(r->fd) & WEFT_KNOWN_STORED;
}

/* For a fiber: true, and the result or a negative errno. False: it has no position after all, and nothing was done. */
bool weft__position_run(const struct weft__request *r, ssize_t *result);

#endif
