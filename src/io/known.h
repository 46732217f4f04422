/*
 * What is known of a descriptor by its number.
 *
 * Its life: grows whenever weft_close closes it. Whoever has to wait notes the life before its first attempt;
 * later it is still the same, or the number may stand for another file by now, and the answer is -EBADF.
 *
 *   whoever waits                                   weft_close
 *   1. the life; not while the descriptor is        1. closes: another life, and it is being closed; under the
 *      being closed                                    lock of those who wait
 *   2. an attempt                                   2. ends the waits of those who are in the queue or ring
 *   3. under that lock: still the same life? into   3. close
 *      the queue or ring                            4. closed
 *
 * A ring has a lock that a close does not take if nothing is under way: there one counts itself in before 3., and is
 * seen in 2., or sees.
 *
 * Who has entered before 1. is ended by 2.; who comes after it sees another life in 3.; and who comes after it for the
 * first time waits until 4., and asks the kernel. Without that, it would enter between 2. and 3., and nobody would
 * ever end its wait.
 *
 * Who has waited tries again between hold and release, and so does what was begun earlier, and is only now made: a
 * close waits for that, between its 2. and 3., so that the attempt is on the file that was meant. Such an attempt never
 * waits.
 *
 * What an attempt on it is likely to meet: a guess, made anew now and then, because a program may close and open
 * without weft. A wrong one costs time; that something is a socket which is none any more, a wait instead of an error;
 * that reads wait at what is a file by now, the lock of the file's position for some sixty of them (position.h). To ask
 * each time would be a sixth of what a byte through a pipe costs.
 */
#ifndef WEFT_IO_KNOWN_H
#define WEFT_IO_KNOWN_H

#include "base/atomic.h"
#include "base/base.h"

/* Numbers beyond share. Pages are committed when they are touched. */
#define WEFT_KNOWN_LIVES (1u << 20)
extern _Atomic uint32_t weft__known_lives[WEFT_KNOWN_LIVES];

static inline _Atomic uint32_t *weft__known_word(int fd) { return &weft__known_lives[(unsigned)fd % WEFT_KNOWN_LIVES]; }

/* Below the life: how many are just closing it. */
#define WEFT_KNOWN_CLOSERS 0xffu
#define WEFT_KNOWN_ONE 0x100u

/* Step 1. Never 0. */
uint32_t weft__known_life_slow(int fd);
static inline uint32_t weft__known_life(int fd) {
    uint32_t word = load_acq(weft__known_word(fd)); /* pairs with closes and closed */
    return likely(!(word & WEFT_KNOWN_CLOSERS)) ? word | 1 : weft__known_life_slow(fd);
}

/* Step 3, and between attempts: is it another one? */
static inline bool weft__known_other(int fd, uint32_t life) {
    return (load_sc(weft__known_word(fd)) | WEFT_KNOWN_CLOSERS) != (life | WEFT_KNOWN_CLOSERS); /* pairs with closes */
}

/* An attempt on what was meant earlier. False: it is another one. */
bool weft__known_hold(int fd, uint32_t life);
void weft__known_release(int fd);
/* The closer, after step 2. */
void weft__known_await(int fd);

/* STORED: a regular file or a block device, which has bytes at positions. DIRECT: such a one, read and written past the
 * page cache, so that no attempt can be made that does not wait. READS_WAIT: the last attempt to read found nothing.
 * SOCKET: it was one when that was asked for. DRAINED: the last receive brought less than there was room for. */
enum {
    WEFT_KNOWN_DRAINED = 0x1000,
    WEFT_KNOWN_STORED = 0x800,
    WEFT_KNOWN_DIRECT = 0x400,
    WEFT_KNOWN_READS_WAIT = 0x200,
    WEFT_KNOWN_SOCKET = 0x100
};
unsigned weft__known_guess(int fd);
/* Has the last guess, made for the same call, said so? */
bool weft__known_reads_wait(int fd);
/* No guess: the kernel is asked. */
bool weft__known_is_stored(int fd);
/* An attempt to read has found nothing. False: it is stored, and will not have to be waited for the next time. */
bool weft__known_waits(int fd);
/* The next receive will most likely have to wait. */
bool weft__known_is_drained(int fd);
void weft__known_received(int fd, bool all_there_was);
/* 0, -ENOTSOCK or -EBADF, and what a receive from a socket that listens fails with: a ring would wait until anything
 * can be read, and only then look what it is. */
int weft__known_socket(int fd);

/* The closer's steps 1 and 4. */
void weft__known_closes(int fd);
void weft__known_closed(int fd);

#endif
