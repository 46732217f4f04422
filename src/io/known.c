/* See known.h. */
#define _GNU_SOURCE
#include "io/known.h"

#include "base/lock.h"
#include "sched/sched.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>

_Atomic uint32_t weft__known_lives[WEFT_KNOWN_LIVES];
static _Atomic unsigned used; /* no number beyond was ever closed; two who change it at once may leave the lower one,
                               * and then a forked child may not forget a close that was under way beyond */

/* The guesses, and below them how often they may be used until they are made anew. */
enum { WEFT_GUESSES = 1 << 16, WEFT_GUESS_USES = 0x3f };
static _Atomic uint16_t guesses[WEFT_GUESSES];
static _Atomic uint16_t *guess_of(int fd) { return &guesses[(unsigned)fd % WEFT_GUESSES]; }

bool weft__known_is_stored(int fd) {
    struct stat s;
    return !fstat(fd, &s) && (S_ISREG(s.st_mode) || S_ISBLK(s.st_mode));
}

static uint16_t ask(int fd) {
    int flags = fcntl(fd, F_GETFL);
    bool stored = weft__known_is_stored(fd), direct = stored && flags >= 0 && (flags & O_DIRECT);
    return WEFT_GUESS_USES | (stored ? WEFT_KNOWN_STORED : 0) | (direct ? WEFT_KNOWN_DIRECT : 0);
}

unsigned weft__known_guess(int fd) {
    uint16_t guess = load_rlx(guess_of(fd));
    guess = guess & WEFT_GUESS_USES ? (uint16_t)(guess - 1) : ask(fd);
    store_rlx(guess_of(fd), guess);
    return guess;
}

bool weft__known_reads_wait(int fd) { return load_rlx(guess_of(fd)) & WEFT_KNOWN_READS_WAIT; }

/* What is stored, and not in memory now, may be the next time; a pipe or a socket is not likely to have something. */
bool weft__known_waits(int fd) {
    if (weft__known_is_stored(fd)) return false;
    store_rlx(guess_of(fd), load_rlx(guess_of(fd)) | WEFT_KNOWN_READS_WAIT);
    return true;
}

bool weft__known_is_drained(int fd) { return load_rlx(guess_of(fd)) & WEFT_KNOWN_DRAINED; }

void weft__known_received(int fd, bool all_there_was) {
    uint16_t guess = load_rlx(guess_of(fd));
    if (all_there_was == !!(guess & WEFT_KNOWN_DRAINED)) return;
    store_rlx(guess_of(fd), guess ^ WEFT_KNOWN_DRAINED);
}

int weft__known_socket(int fd) {
    int listens;
    socklen_t size = sizeof listens;
    char c;
    uint16_t guess = load_rlx(guess_of(fd));
    if (likely(guess & WEFT_KNOWN_SOCKET)) return 0; /* and nothing is written: neighbours are other workers' */
    if (getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &size)) return -errno;
    if (unlikely(listens && recv(fd, &c, 1, MSG_DONTWAIT) < 0)) return -errno;
    store_rlx(guess_of(fd), guess | WEFT_KNOWN_SOCKET);
    return 0;
}

/* A close takes a few microseconds, and its fiber does not switch meanwhile. */
WEFT_COLD uint32_t weft__known_life_slow(int fd) {
    unsigned turn = 0;
    uint32_t word;
    while ((word = load_acq(weft__known_word(fd))) & WEFT_KNOWN_CLOSERS) weft__backoff(&turn); /* pairs with closed */
    return word | 1;
}

void weft__known_closes(int fd) {
    unsigned place = (unsigned)fd % WEFT_KNOWN_LIVES;
    store_rlx(guess_of(fd), 0);
    if (unlikely(place >= load_rlx(&used))) store_rlx(&used, place + 1);
    add_sc(weft__known_word(fd), WEFT_KNOWN_ONE + 1); /* pairs with life and other */
}

void weft__known_closed(int fd) { add_ar(weft__known_word(fd), -1u); /* pairs with life */ }

static _Atomic uint32_t held[WEFT_GUESSES]; /* attempts after a wait, by the last bits of the number */
static _Atomic uint32_t *held_of(int fd) { return &held[(unsigned)fd % WEFT_GUESSES]; }

bool weft__known_hold(int fd, uint32_t life) {
    add_sc(held_of(fd), 1); /* pairs with await: it sees us, or we see another life */
    if (likely(!weft__known_other(fd, life))) return true;
    weft__known_release(fd);
    return false;
}

void weft__known_release(int fd) { add_ar(held_of(fd), -1u); /* pairs with await */ }

void weft__known_await(int fd) {
    for (unsigned turn = 0; load_sc(held_of(fd));) weft__backoff(&turn); /* pairs with hold and release */
}

/* --- a forked child: nobody else is there who closes ---------------------------------------------------- */

static void forked(void) {
    for (unsigned i = 0; i < WEFT_GUESSES; i++)
        if (load_rlx(&held[i])) store_rlx(&held[i], 0);
    for (unsigned i = 0; i < load_rlx(&used); i++)
        if (load_rlx(&weft__known_lives[i]) & WEFT_KNOWN_CLOSERS)
            store_rlx(&weft__known_lives[i], load_rlx(&weft__known_lives[i]) & ~WEFT_KNOWN_CLOSERS);
}

static struct weft__layer layer = {.forked = forked};
__attribute__((constructor)) static void add(void) { weft__layer_add(&layer); }
