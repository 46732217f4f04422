/*
 * The poller: asks the kernel which descriptors are ready, by epoll. It says what became ready, and
 * never calls the scheduler; who waits for what is known above (io/readiness.c).
 *
 * A descriptor is armed for one report: the kernel then forgets what it was armed for, until it is
 * armed again. An arm has a number of the caller's, its round, that comes back with the report, so that
 * the caller can tell the report of an earlier arm, or of a file that had the same number before. What
 * is ready when it is armed is reported as well: there is no window between looking and waiting.
 *
 * Rejected: edge-triggered reports, armed once. They save a call a wait, but a descriptor that is closed
 * and whose number is used again is then silently not watched, unless every close is seen.
 */
#ifndef WEFT_DRIVER_POLLER_H
#define WEFT_DRIVER_POLLER_H

#include "base/base.h"

#include <signal.h>

struct weft__poller {
    int epoll;
    int bell; /* an event descriptor: ends a wait */
    int post; /* another one: ends a doze */
};
#define WEFT_POLLER_INIT \
    { -1, -1, -1 } /* not open */

struct weft__report {
    int fd;
    uint32_t round;
    uint32_t events; /* POLLIN ... */
};

/* -EMFILE, -ENFILE, -ENOMEM. */
int weft__poller_open(struct weft__poller *p);
void weft__poller_close(struct weft__poller *p); /* also of one that is not open, or only half */

/* One report of these events, and of errors and hang-ups. -EBADF: not open. -EPERM: of a kind that is
 * never waited for. -ENOMEM, -ENOSPC. Anybody, at any time. */
int weft__poller_arm(struct weft__poller *p, int fd, uint32_t events, uint32_t round);

/* Reports with round 0 whenever there is something to read, until p is closed. */
int weft__poller_watch(struct weft__poller *p, int fd);

/* Sleeps until there is something to report, and returns how many, n at most; 0: the bell, or a signal.
 * The calling thread has this signal mask while it sleeps. One thread at a time. */
unsigned weft__poller_wait(struct weft__poller *p, struct weft__report *reports, unsigned n, const sigset_t *mask);

/* The same without sleeping. Any thread; the bell stays for the one that sleeps. */
unsigned weft__poller_fetch(struct weft__poller *p, struct weft__report *reports, unsigned n);

/* Sleeps until there is something to fetch (true), the post was written to, or the deadline. One thread at a time. */
bool weft__poller_doze(struct weft__poller *p, uint64_t deadline);

/* Ends the wait, or the next one if none is under way. */
void weft__poller_ring(struct weft__poller *p);

#endif
