/* SPDX-License-Identifier: MIT */
/* See fd_generation.h. */
#define _GNU_SOURCE
#include "io/fd_generation.h"

#include "base/lock.h"
#include "sched/core/layers.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>

_Atomic uint64_t weft__fd_generations[WEFT_FD_GENERATIONS];
static _Atomic unsigned used; /* no number at or above this was ever closed. Two concurrent changes may leave the lower
                                 value; then a forked child may not forget a close above it */

/* The guesses. The low bits count how often a guess may still be used before the kernel is asked again. */
enum { WEFT_GUESSES = 1 << 16, WEFT_GUESS_USES = 0x3f };
static _Atomic uint16_t guesses[WEFT_GUESSES];
static _Atomic uint16_t *guess_of(int fd) { return &guesses[(unsigned)fd % WEFT_GUESSES]; }

bool weft__fd_is_stored(int fd) {
    struct stat s;
    return !fstat(fd, &s) && (S_ISREG(s.st_mode) || S_ISBLK(s.st_mode));
}

static bool has_packets(int fd) {
    int type = 0;
    socklen_t size = sizeof type;
    return !getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &size) && type == SOCK_SEQPACKET;
}

static uint16_t ask_for_generation(int fd) {
    struct stat s = {.st_mode = 0};
    if (fstat(fd, &s)) return 0;
    if (S_ISSOCK(s.st_mode)) return WEFT_GUESS_USES | WEFT_FD_MESSAGES | (has_packets(fd) ? WEFT_FD_PACKETS : 0);
    if (!S_ISREG(s.st_mode) && !S_ISBLK(s.st_mode)) return WEFT_GUESS_USES;
    int flags = fcntl(fd, F_GETFL);
    bool direct = flags >= 0 && (flags & O_DIRECT);
    return WEFT_GUESS_USES | WEFT_FD_STORED | (direct ? WEFT_FD_DIRECT : 0);
}

unsigned weft__fd_guess_for_write(int fd) {
    uint16_t guess = load_rlx(guess_of(fd));
    if (likely(guess & WEFT_GUESS_USES)) return guess;
    guess = ask_for_generation(fd);
    store_rlx(guess_of(fd), guess);
    return guess;
}

void weft__fd_guess_reset(int fd) { store_rlx(guess_of(fd), 0); }

unsigned weft__fd_guess(int fd) {
    uint16_t guess = load_rlx(guess_of(fd));
    guess = guess & WEFT_GUESS_USES ? (uint16_t)(guess - 1) : ask_for_generation(fd);
    store_rlx(guess_of(fd), guess);
    return guess;
}

bool weft__fd_reads_wait(int fd) { return load_rlx(guess_of(fd)) & WEFT_FD_READS_WAIT; }

/* Only for descriptors that are not stored files: a pipe or socket will probably have no data the next time, either. A
 * stored file that is not in memory now may be in memory then. */
bool weft__fd_note_read_waits(int fd) {
    if (weft__fd_is_stored(fd)) return false;
    store_rlx(guess_of(fd), load_rlx(guess_of(fd)) | WEFT_FD_READS_WAIT);
    return true;
}

bool weft__fd_is_drained(int fd) { return load_rlx(guess_of(fd)) & WEFT_FD_DRAINED; }

void weft__fd_note_receive(int fd, bool drained) {
    uint16_t guess = load_rlx(guess_of(fd));
    if (drained == !!(guess & WEFT_FD_DRAINED)) return;
    store_rlx(guess_of(fd), guess ^ WEFT_FD_DRAINED);
}

int weft__fd_check_socket(int fd) {
    int listens;
    socklen_t size = sizeof listens;
    char c;
    uint16_t guess = load_rlx(guess_of(fd));
    if (likely(guess & WEFT_FD_SOCKET))
        return 0; /* nothing is written here: neighbouring entries belong to other workers' descriptors */
    if (getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &size)) return -errno;
    if (unlikely(listens && recv(fd, &c, 1, MSG_DONTWAIT) < 0)) return -errno;
    store_rlx(guess_of(fd), guess | WEFT_FD_SOCKET);
    return 0;
}

/* Waits while a close is under way. That takes a few microseconds, and the closing fiber does not switch meanwhile. */
WEFT_COLD uint64_t weft__fd_generation_read_slow(int fd) {
    unsigned turn = 0;
    uint64_t word;
    while ((word = load_acq(weft__fd_generation_word(fd))) & WEFT_FD_CLOSERS)
        weft__backoff(&turn); /* pairs with weft__fd_end_close */
    return word | 1;
}

void weft__fd_begin_close(int fd) {
    unsigned place = (unsigned)fd % WEFT_FD_GENERATIONS;
    store_rlx(guess_of(fd), 0);
    if (unlikely(place >= load_rlx(&used))) store_rlx(&used, place + 1);
    add_sc(weft__fd_generation_word(fd),
           WEFT_FD_GENERATION_ONE + 1); /* pairs with weft__fd_generation_read and weft__fd_generation_is_stale */
}

void weft__fd_end_close(int fd) {
    add_ar(weft__fd_generation_word(fd), -UINT64_C(1)); /* pairs with weft__fd_generation_read */
}

static _Atomic uint32_t held[WEFT_GUESSES]; /* attempts after a wait, by the low bits of the number */
static _Atomic uint32_t *held_of(int fd) { return &held[(unsigned)fd % WEFT_GUESSES]; }

bool weft__fd_hold(int fd, uint64_t generation) {
    add_sc(
        held_of(fd),
        1); /* pairs with weft__fd_await_holders: the closer sees the count, or this thread sees the new generation */
    if (likely(!weft__fd_generation_is_stale(fd, generation))) return true;
    weft__fd_release(fd);
    return false;
}

void weft__fd_release(int fd) { add_ar(held_of(fd), -1u); /* pairs with weft__fd_await_holders */ }

void weft__fd_await_holders(int fd) {
    for (unsigned turn = 0; load_sc(held_of(fd));)
        weft__backoff(&turn); /* pairs with weft__fd_hold and weft__fd_release */
}

/* --- a forked child: no other thread closes ----------------------------------------------------------- */

static void fd_table_after_fork(void) {
    for (unsigned i = 0; i < WEFT_GUESSES; i++)
        if (load_rlx(&held[i])) store_rlx(&held[i], 0);
    for (unsigned i = 0; i < load_rlx(&used); i++)
        if (load_rlx(&weft__fd_generations[i]) & WEFT_FD_CLOSERS)
            store_rlx(&weft__fd_generations[i], load_rlx(&weft__fd_generations[i]) & ~WEFT_FD_CLOSERS);
}

static struct weft__layer layer = {.forked = fd_table_after_fork};
__attribute__((constructor)) static void register_fd_generation(void) { weft__layer_add(&layer); }
