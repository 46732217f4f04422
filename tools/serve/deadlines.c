/* SPDX-License-Identifier: MIT */
/* See deadlines.h. Each connection has a word: the phase, and above it the second in which it ends. */
#include "deadlines.h"

#include "base/atomic.h"
#include "base/base.h"
#include "server.h"
#include "tick.h"
#include "weft.h"

#include <linux/sockios.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#define TAKEN_LEAST (256 * 1024) /* bytes that a client has to take in the time for slow clients */

enum { PHASE_BITS = 3, PHASE_MASK = 7 };
enum { STATE_CLOSE = 7 }; /* TCP_CLOSE; its header conflicts with the header that has bytes_acked */

static _Atomic uint64_t *words;
/* The ticker's data about a connection; written while the word is HELD, or before there is a connection. */
static struct record {
    /* The word with which it gave the connection more time, and the bytes that had arrived then. */
    uint64_t looked, acked;
    enum shut shut;
} * records;
static unsigned most;
static _Atomic unsigned highest; /* the highest descriptor so far, plus 1 */

static enum phase phase_of(uint64_t word) { return (enum phase)(word & PHASE_MASK); }

static uint64_t word_of(enum phase phase, unsigned seconds) {
    return (uint64_t)(tick_now() + seconds) << PHASE_BITS | phase;
}

int deadlines_begin(unsigned n) {
    words = calloc(n, sizeof *words);
    records = calloc(n, sizeof *records); /* the kernel provides this memory only where slow clients use it */
    most = n;
    return words && records ? 0 : -ENOMEM;
}

void deadlines_end(void) {
    free(words);
    free(records);
}

/* --- the connection ------------------------------------------------------------------------------ */

/* Pairs with expire: the ticker has finished with the descriptor. */
static void change(int fd, uint64_t to) {
    uint64_t old = load_rlx(&words[fd]);
    while (old != to && (phase_of(old) == PHASE_HELD || !cas_ar(&words[fd], &old, to))) {
        if (phase_of(old) == PHASE_HELD) weft_yield();
        old = load_rlx(&words[fd]);
    }
}

/* Writes nothing if second and phase are the same, as usual on a busy connection. */
void deadline_set(int fd, enum phase phase, unsigned seconds) {
    change(fd, word_of(phase, seconds));
    for (unsigned h = load_rlx(&highest); unlikely((unsigned)fd >= h);)
        if (atomic_compare_exchange_weak(&highest, &h, (unsigned)fd + 1)) break;
}

void deadline_begin(int fd, unsigned seconds) {
    if (records[fd].looked || records[fd].shut) records[fd] = (struct record){0};
    deadline_set(fd, PHASE_IDLE, seconds);
}

/* A fiber that the shutdown woke may come here before the ticker has stored EXPIRED. */
bool deadline_expired(int fd) {
    uint64_t word;
    while (phase_of(word = load_acq(&words[fd])) == PHASE_HELD) weft_yield(); /* pairs with expire */
    return phase_of(word) == PHASE_EXPIRED;
}

enum shut deadline_shut(int fd) { return records[fd].shut; }

void deadline_end(int fd) { change(fd, PHASE_NONE); }

static bool ask(int fd, struct tcp_info *info) {
    socklen_t size = sizeof *info;
    return !getsockopt(fd, IPPROTO_TCP, TCP_INFO, info, &size);
}

/* The end of the connection counts as a byte. After a reset, the kernel counts lost bytes. */
bool deadline_unsent(int fd) {
    int left = 0;
    struct tcp_info info;
    return !ioctl(fd, SIOCOUTQ, &left) && left > 0 && ask(fd, &info) && info.tcpi_state != STATE_CLOSE;
}

/* --- the ticker ------------------------------------------------------------------------------------- */

/* The decision about a connection: nothing, more time, or its end. */
enum verdict { VERDICT_LEAVE, VERDICT_MORE, VERDICT_SHUT, VERDICT_RESET };

/* At the first look the client gets time. At later looks it must have taken enough of the sent bytes. */
static enum verdict judge_slow(int fd, uint64_t word) {
    struct record *r = &records[fd];
    struct tcp_info info;
    if (!ask(fd, &info)) return VERDICT_RESET;
    bool takes = r->looked != word || info.tcpi_bytes_acked - r->acked >= TAKEN_LEAST;
    r->acked = info.tcpi_bytes_acked;
    return takes ? VERDICT_MORE : VERDICT_RESET;
}

/* Decides about a connection. `due`: its time is up; otherwise its place is needed. */
static enum verdict judge(int fd, uint64_t word, bool due) {
    enum phase phase = phase_of(word);
    if (phase == PHASE_WRITE || phase == PHASE_EXPIRED) return VERDICT_RESET;
    if (!deadline_unsent(fd)) return VERDICT_SHUT;
    return due ? judge_slow(fd, word) : VERDICT_LEAVE;
}

/* A client that sends too slowly may still get an answer. A client that does not take the sent bytes is reset. */
static void end_waits(int fd, enum verdict verdict) {
    struct linger linger = {1, 0};
    records[fd].shut = verdict == VERDICT_RESET ? SHUT_ALL : SHUT_INPUT;
    if (verdict == VERDICT_RESET) setsockopt(fd, SOL_SOCKET, SO_LINGER, &linger, sizeof linger);
    shutdown(fd, verdict == VERDICT_RESET ? SHUT_RDWR : SHUT_RD);
}

/* Holds the connection, so that its descriptor stays open. False: its phase has changed. */
static bool hold(int fd, uint64_t word) { return cas_ar(&words[fd], &word, PHASE_HELD); /* pairs with change */ }

static void let_go(int fd, uint64_t word) { store_rel(&words[fd], word); /* Ends the hold of a connection. */ }

/* Decides about a connection, and ends its waits if necessary. Returns true if it ends. */
static bool expire(int fd, uint64_t word, bool due) {
    if (!hold(fd, word)) return false;
    enum verdict verdict = judge(fd, word, due);
    bool ends = verdict >= VERDICT_SHUT;
    if (ends) end_waits(fd, verdict);
    if (verdict == VERDICT_MORE) word = records[fd].looked = word_of(phase_of(word), settings.slow);
    let_go(fd, ends ? word_of(PHASE_EXPIRED, settings.slow) : word);
    return ends;
}

void deadlines_pass(uint32_t now) {
    unsigned n = load_rlx(&highest);
    for (unsigned fd = 0; fd < n; fd++) {
        uint64_t word = load_rlx(&words[fd]);
        if (phase_of(word) >= PHASE_EXPIRED && word >> PHASE_BITS <= now) expire((int)fd, word, true);
    }
}

unsigned deadlines_end_idle(void) {
    unsigned count = 0, n = load_rlx(&highest);
    for (unsigned fd = 0; fd < n; fd++) {
        uint64_t word = load_rlx(&words[fd]);
        count += word != PHASE_NONE;
        if (phase_of(word) == PHASE_IDLE) expire((int)fd, word, false);
    }
    return count;
}

unsigned deadlines_reset(void) {
    unsigned count = 0, n = load_rlx(&highest);
    for (unsigned fd = 0; fd < n; fd++) {
        uint64_t word = load_rlx(&words[fd]);
        count += word != PHASE_NONE;
        if (phase_of(word) < PHASE_EXPIRED || !hold((int)fd, word)) continue;
        end_waits((int)fd, VERDICT_RESET);
        let_go((int)fd, word_of(PHASE_EXPIRED, settings.slow));
    }
    return count;
}

/* The order in which connections make room; UINT64_MAX: never. */
static uint64_t rank_of(uint64_t word) {
    if (phase_of(word) == PHASE_LINGER) return word;
    return phase_of(word) == PHASE_IDLE ? word | UINT64_C(1) << 63 : UINT64_MAX;
}

static uint64_t first_behind(uint64_t rank) {
    uint64_t first = UINT64_MAX;
    unsigned n = load_rlx(&highest);
    for (unsigned fd = 0; fd < n; fd++) {
        uint64_t other = rank_of(load_rlx(&words[fd]));
        if (other > rank && other < first) first = other;
    }
    return first;
}

/* Among connections that end in the same second a hand goes round the descriptors: a new connection reuses a descriptor
 * that was just closed, so its turn comes last. Connections with bytes on their way to the client are skipped. */
unsigned deadlines_make_room(unsigned count) {
    enum { RANKS = 4 }; /* the most in one call, because each search visits all connections */
    static unsigned hand;
    unsigned n = load_rlx(&highest), done = 0;
    uint64_t rank = 0;
    for (unsigned ranks = 0; ranks < RANKS && !done; ranks++) {
        rank = first_behind(rank);
        for (unsigned i = 0; i < n && done < count && rank != UINT64_MAX; i++) {
            hand = hand + 1 < n ? hand + 1 : 0;
            uint64_t word = load_rlx(&words[hand]);
            if (rank_of(word) == rank) done += expire((int)hand, word, false);
        }
    }
    return done;
}
