/* See known.h. */
#define _GNU_SOURCE
#include "io/known.h"

#include <fcntl.h>
#include <sys/stat.h>

_Atomic uint32_t weft__known_lives[WEFT_KNOWN_LIVES];

/* The guesses: how often it may be used until it is asked for again, and the answer. */
enum { WEFT_GUESSES = 1 << 16, WEFT_GUESS_DIRECT = 0x80, WEFT_GUESS_USES = 0x7f };
static _Atomic uint8_t guesses[WEFT_GUESSES];

static uint8_t ask(int fd) {
    struct stat s;
    int flags = fcntl(fd, F_GETFL);
    bool direct = flags >= 0 && (flags & O_DIRECT) && !fstat(fd, &s) && (S_ISREG(s.st_mode) || S_ISBLK(s.st_mode));
    return WEFT_GUESS_USES | (direct ? WEFT_GUESS_DIRECT : 0);
}

bool weft__known_direct(int fd) {
    _Atomic uint8_t *at = &guesses[(unsigned)fd % WEFT_GUESSES];
    uint8_t guess = load_rlx(at);
    guess = guess & WEFT_GUESS_USES ? (uint8_t)(guess - 1) : ask(fd);
    store_rlx(at, guess);
    return guess & WEFT_GUESS_DIRECT;
}

void weft__known_closes(int fd) {
    store_rlx(&guesses[(unsigned)fd % WEFT_GUESSES], 0);
    add_ar(&weft__known_lives[(unsigned)fd % WEFT_KNOWN_LIVES], 1); /* pairs with life */
}
