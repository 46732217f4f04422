/* SPDX-License-Identifier: MIT */
/*
 * The generation of a descriptor number, and guesses about its file.
 *
 * The generation grows whenever weft_close closes the descriptor. A waiter reads the generation before its first
 * attempt. If it has changed later, the number may refer to another file, and the result is -EBADF. The generation has
 * 56 bits. If it had 24, a loop that opens and closes would reach an old generation again after six seconds.
 *
 *   the waiter                                      weft_close
 *   1. reads the generation; waits while a close    1. weft__fd_begin_close: a new generation, marked as closing;
 *      is under way                                    under the waiters' lock
 *   2. an attempt                                   2. ends the waits in the wait queue or ring
 *   3. under that lock: if the generation is the    3. close
 *      same, enters the wait queue or ring          4. weft__fd_end_close
 *
 * With a ring, a close does not take the ring's lock if no request is pending. There the waiter counts its request
 * before step 3; so step 2 sees the request, or the waiter sees the new generation.
 *
 * A waiter that entered before step 1 of the close is ended by step 2. A waiter in between sees the new generation in
 * its step 3. A waiter that starts after step 1 waits for step 4 and then asks the kernel. Without that wait it would
 * enter between steps 2 and 3, and no thread would ever end its wait.
 *
 * After a wait, the waiter tries again between weft__fd_hold and weft__fd_release. So does a request that was begun
 * earlier and is made only now. A close waits for holders between its steps 2 and 3, so that the attempt uses the
 * intended file. Such an attempt never blocks.
 *
 * The guesses say what kind of file an attempt will probably meet. They are renewed from time to time, because a
 * program may close and open descriptors without weft. A wrong guess costs time. A wrong guess SOCKET causes a wait
 * instead of an error. A wrong guess READS_WAIT lets about sixty reads of a file use its position without the lock
 * (file_position.h). Without guesses weft would ask the kernel each time, which would take a sixth of the time that a
 * byte needs through a pipe.
 */
#ifndef WEFT_IO_FD_GENERATION_H
#define WEFT_IO_FD_GENERATION_H

#include "base/atomic.h"
#include "base/base.h"

/* Larger numbers share entries. Pages are committed when they are touched. */
#define WEFT_FD_GENERATIONS (1u << 20)
extern _Atomic uint64_t weft__fd_generations[WEFT_FD_GENERATIONS];

static inline _Atomic uint64_t *weft__fd_generation_word(int fd) {
    return &weft__fd_generations[(unsigned)fd % WEFT_FD_GENERATIONS];
}

/* Low bits of the word: how many threads are closing the descriptor. */
#define WEFT_FD_CLOSERS UINT64_C(0xff)
#define WEFT_FD_GENERATION_ONE UINT64_C(0x100)

/* Step 1 of a waiter. Never 0. */
uint64_t weft__fd_generation_read_slow(int fd);
static inline uint64_t weft__fd_generation_read(int fd) {
    uint64_t word = load_acq(weft__fd_generation_word(fd)); /* pairs with weft__fd_begin_close and weft__fd_end_close */
    return likely(!(word & WEFT_FD_CLOSERS)) ? word | 1 : weft__fd_generation_read_slow(fd);
}

/* Step 3 of a waiter, and between attempts: was the descriptor closed? */
static inline bool weft__fd_generation_is_stale(int fd, uint64_t generation) {
    return (load_sc(weft__fd_generation_word(fd)) | WEFT_FD_CLOSERS) !=
           (generation | WEFT_FD_CLOSERS); /* pairs with weft__fd_begin_close */
}

/* Around an attempt after a wait. False: the descriptor was closed. */
bool weft__fd_hold(int fd, uint64_t generation);
void weft__fd_release(int fd);
/* weft_close, after step 2. */
void weft__fd_await_holders(int fd);

/* STORED: a regular file or block device, with bytes at positions. DIRECT: stored, and opened with O_DIRECT, so that no
 * attempt can be made without blocking. READS_WAIT: the last attempt to read found no data. SOCKET: it was a socket
 * when the kernel was asked. MESSAGES: a socket; PACKETS: a socket of packets, to which a write is a send. DRAINED: the
 * last receive returned less than requested, or on a ring had to wait. */
enum {
    WEFT_FD_PACKETS = 0x4000,
    WEFT_FD_MESSAGES = 0x2000,
    WEFT_FD_DRAINED = 0x1000,
    WEFT_FD_STORED = 0x800,
    WEFT_FD_DIRECT = 0x400,
    WEFT_FD_READS_WAIT = 0x200,
    WEFT_FD_SOCKET = 0x100
};
unsigned weft__fd_guess(int fd);
/* The same for a write, without consuming the guess. */
unsigned weft__fd_guess_for_write(int fd);
/* Drops the guess, because the descriptor turned out not to be a socket. */
void weft__fd_guess_reset(int fd);
/* Did the last guess, made for the same call, say that reads wait? */
bool weft__fd_reads_wait(int fd);
/* Asks the kernel. */
bool weft__fd_is_stored(int fd);
/* Notes that an attempt to read found no data. False: the file is stored, so the next read is not expected to wait. */
bool weft__fd_note_read_waits(int fd);
/* Will the next receive probably have to wait? */
bool weft__fd_is_drained(int fd);
void weft__fd_note_receive(int fd, bool drained);
/* 0, -ENOTSOCK or -EBADF, or the error of a receive from a listening socket. A ring would wait until the descriptor is
 * readable before it reports these. */
int weft__fd_check_socket(int fd);

/* Steps 1 and 4 of weft_close. */
void weft__fd_begin_close(int fd);
void weft__fd_end_close(int fd);

#endif
