/* SPDX-License-Identifier: MIT */
/*
 * Edge-triggered descriptors: they are registered with the poller once, and it reports every new event, so that a wait
 * needs no system call. This is safe only if all of these hold:
 *
 *   - The descriptor is a TCP connection that weft has accepted or connected, and its number is below WEFT_EDGES.
 *   - Each waiter has made an attempt, and tries again after the wait. So a surplus report does no harm.
 *   - weft_close closes it. If the C library closes it and the number is reused, the new file is not watched.
 *     readiness.c notices that, late; from then on the process registers no more descriptors this way.
 *
 * A bit "ready" is not enough: one reader could clear it while another reader relies on it. So each descriptor counts
 * its reports:
 *
 *   the reader                                      the thread that handles a report
 *   1. seen = reports                               1. reports + 1, under the waiters' lock
 *   2. an attempt: no data, or less than requested  2. wakes the waiters
 *   3. under that lock: if reports == seen, waits.
 *      Otherwise repeats from 1
 *
 * Data that arrives after the attempt causes a report after step 1, and that report is counted after step 1: step 3
 * sees it, or the report wakes the reader.
 *
 * A receive from a stream that returns less than requested has emptied the socket. So the next receive need not make an
 * attempt if `reports` has not changed since (`drained`). This does not hold after urgent data, an error or the end of
 * the stream, which may follow the received bytes: then every receive makes an attempt (WEFT_EDGE_ODD).
 */
#ifndef WEFT_IO_EDGE_H
#define WEFT_IO_EDGE_H

#include "base/atomic.h"
#include "base/base.h"

enum { WEFT_EDGES = 1 << 16 };

struct weft__edge {
    _Atomic uint32_t mode;    /* WEFT_EDGE_..., and the generation; written under the waiters' lock */
    _Atomic uint32_t reports; /* written under that lock */
    _Atomic uint32_t drained; /* the value of `reports` before a receive that emptied the socket */
    _Atomic uint32_t watch;   /* for a wait: whether it was checked (readiness.c); under that lock */
};
extern struct weft__edge weft__edges[WEFT_EDGES];

/* MADE: accepted or connected by weft. ON: the poller reports edges. ODD: see above. */
enum { WEFT_EDGE_MADE = 1, WEFT_EDGE_ON = 2, WEFT_EDGE_ODD = 4, WEFT_EDGE_GENERATION = 8 };

/* The round of an edge report: this bit, and the generation. Other rounds do not have this bit. */
#define WEFT_EDGE_ROUND UINT32_C(0x80000000)

static inline bool weft__edge_covers(int fd) { return (unsigned)fd < WEFT_EDGES; }

/* Step 1 of the reader. */
static inline uint32_t weft__edge_count_reports(int fd) {
    return likely(weft__edge_covers(fd)) ? load_acq(&weft__edges[fd].reports) : 0; /* pairs with weft__edge_report */
}

static inline bool weft__edge_is_on(int fd) {
    return likely(weft__edge_covers(fd)) && load_rlx(&weft__edges[fd].mode) & WEFT_EDGE_ON;
}

/* Has nothing been reported since a receive emptied the socket? Then *seen is the value for step 3. */
static inline bool weft__edge_is_drained(int fd, uint32_t *seen) {
    uint32_t drained = load_rlx(&weft__edges[fd].drained);
    if (drained != weft__edge_count_reports(fd)) return false;
    *seen = drained;
    return true;
}

/* A receive has emptied the socket; `seen` was read before it. The acquire load of `seen` also orders the mode: ODD was
 * set before the count. */
static inline void weft__edge_set_drained(int fd, uint32_t seen) {
    if (!(load_rlx(&weft__edges[fd].mode) & WEFT_EDGE_ODD)) store_rlx(&weft__edges[fd].drained, seen);
}

/* --- under the waiters' lock ------------------------------------------------------------------------ */

/* weft has made this connection: the earlier file of that number is gone. */
void weft__edge_note_connection(int fd);
/* Ends the edge reports of a descriptor: it is being closed, or will be armed for single reports from now on. */
void weft__edge_end(int fd);
/* The round of its edge reports, if it is on. */
uint32_t weft__edge_get_round(int fd);
/* Registers the descriptor if necessary, and returns the round of its reports. 0: edges are not possible; arm it for
 * each wait. */
uint32_t weft__edge_register(int fd);
/* Counts a report of this round. False: the report is about an earlier file. */
bool weft__edge_report(int fd, uint32_t round, uint32_t events);

/* The C library has closed a registered descriptor: the process registers no more descriptors. */
void weft__edge_disable(void);

unsigned weft__edges_limit(void); /* no number at or above this was ever used */

/* A new poller was opened: earlier registrations are gone. No fiber waits. */
void weft__edges_reset(void);
void weft__edges_after_fork(void);

#endif
