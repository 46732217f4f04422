/*
 * What is known of a descriptor by its number.
 *
 * Its life: grows whenever weft_close closes it. Whoever has to wait notes the life before its first attempt;
 * later it is still the same, or the number may stand for another file by now, and the answer is -EBADF. A
 * close changes the life under the lock of those who wait (readiness.c): who enters there after it sees that.
 *
 * Whether it is read and written past the page cache: then no attempt can be made that does not wait. That is a
 * guess, asked for again now and then, because a program may close and open without weft.
 */
#ifndef WEFT_IO_KNOWN_H
#define WEFT_IO_KNOWN_H

#include "base/atomic.h"
#include "base/base.h"

/* Numbers beyond share. Pages are committed when they are touched. */
#define WEFT_KNOWN_LIVES (1u << 20)
extern _Atomic uint32_t weft__known_lives[WEFT_KNOWN_LIVES];

/* Never 0. */
static inline uint32_t weft__known_life(int fd) {
    return load_acq(&weft__known_lives[(unsigned)fd % WEFT_KNOWN_LIVES]) << 1 | 1; /* pairs with closes */
}

bool weft__known_direct(int fd);

/* It is about to be closed. */
void weft__known_closes(int fd);

#endif
