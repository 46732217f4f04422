/* See deadlines.h. One word a connection: the phase, and above it the second in which it ends. */
#include "deadlines.h"

#include "base/atomic.h"
#include "base/base.h"
#include "server.h"
#include "tick.h"
#include "weft.h"

#include <stdlib.h>
#include <sys/socket.h>

enum { PHASE_BITS = 3, PHASE_MASK = 7 };

static _Atomic uint64_t *words;
static unsigned most;
static _Atomic unsigned highest; /* descriptor so far, and one more */

static enum phase phase_of(uint64_t word) { return (enum phase)(word & PHASE_MASK); }

static uint64_t word_of(enum phase phase, unsigned seconds) {
    return (uint64_t)(tick_now() + seconds) << PHASE_BITS | phase;
}

int deadlines_begin(unsigned n) {
    words = calloc(n, sizeof *words);
    most = n;
    return words ? 0 : -ENOMEM;
}

void deadlines_end(void) { free(words); }

/* --- the connection ------------------------------------------------------------------------------ */

/* Pairs with expire: what the ticker did to the descriptor is done. */
static void change(int fd, uint64_t to) {
    uint64_t old = load_rlx(&words[fd]);
    while (old != to && (phase_of(old) == PHASE_HELD || !cas_ar(&words[fd], &old, to))) {
        if (phase_of(old) == PHASE_HELD) weft_yield();
        old = load_rlx(&words[fd]);
    }
}

/* In the same second and phase as before, as most often on a busy connection, nothing is written. */
void deadline_set(int fd, enum phase phase, unsigned seconds) {
    change(fd, word_of(phase, seconds));
    for (unsigned h = load_rlx(&highest); unlikely((unsigned)fd >= h);)
        if (atomic_compare_exchange_weak(&highest, &h, (unsigned)fd + 1)) break;
}

/* Who was woken by the shutdown may come here before the ticker has said so. */
bool deadline_expired(int fd) {
    uint64_t word;
    while (phase_of(word = load_acq(&words[fd])) == PHASE_HELD) weft_yield(); /* pairs with expire */
    return phase_of(word) == PHASE_EXPIRED;
}

void deadline_end(int fd) { change(fd, PHASE_NONE); }

/* --- the ticker ------------------------------------------------------------------------------------- */

/* Who does not take what was sent is told by a reset; who sends too slowly may still get an answer. */
static void end_waits(int fd, enum phase phase) {
    struct linger linger = {1, 0};
    bool reset = phase == PHASE_WRITE || phase == PHASE_EXPIRED;
    if (reset) setsockopt(fd, SOL_SOCKET, SO_LINGER, &linger, sizeof linger);
    shutdown(fd, reset ? SHUT_RDWR : SHUT_RD);
}

static void expire(int fd, uint64_t word) {
    if (!cas_ar(&words[fd], &word, PHASE_HELD)) return; /* pairs with change: the descriptor is this connection's */
    end_waits(fd, phase_of(word));
    store_rel(&words[fd], word_of(PHASE_EXPIRED, settings.slow)); /* pairs with change */
}

unsigned deadlines_pass(uint32_t now) {
    unsigned count = 0, n = load_rlx(&highest);
    for (unsigned fd = 0; fd < n; fd++) {
        uint64_t word = load_rlx(&words[fd]);
        count += word != PHASE_NONE;
        if (phase_of(word) >= PHASE_EXPIRED && word >> PHASE_BITS <= now) expire((int)fd, word);
    }
    return count;
}

unsigned deadlines_expire(enum phase phase) {
    unsigned count = 0, n = load_rlx(&highest);
    for (unsigned fd = 0; fd < n; fd++) {
        uint64_t word = load_rlx(&words[fd]);
        count += word != PHASE_NONE;
        if (phase_of(word) == phase) expire((int)fd, word);
    }
    return count;
}

/* Of those that end in the same second, a hand that goes round takes one after the other: a new connection has the
 * descriptor of one that went just now, and its turn comes last. */
unsigned deadlines_expire_idle(unsigned count) {
    static unsigned hand;
    uint64_t first = UINT64_MAX;
    unsigned n = load_rlx(&highest), done = 0;
    for (unsigned fd = 0; fd < n; fd++) {
        uint64_t word = load_rlx(&words[fd]);
        if (phase_of(word) == PHASE_IDLE && word < first) first = word;
    }
    for (unsigned i = 0; i < n && done < count && first != UINT64_MAX; i++) {
        hand = hand + 1 < n ? hand + 1 : 0;
        if (load_rlx(&words[hand]) != first) continue;
        expire((int)hand, first);
        done++;
    }
    return done;
}
