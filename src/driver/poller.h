/* SPDX-License-Identifier: MIT */
/*
 * The poller: asks the kernel by epoll which descriptors are ready. It reports them and never calls the scheduler;
 * io/readiness.c knows which fibers wait for them.
 *
 * A descriptor is armed for a single report; then the kernel ignores it until it is armed again. Each arm has a number
 * chosen by the caller, the round, which the report repeats. So the caller recognizes a report of an earlier arm, or of
 * an earlier file with the same number. Events that are ready when the descriptor is armed are reported as well, so no
 * event is lost between looking and waiting.
 *
 * Alternatively, a descriptor is registered for edges: every new event is reported until it is closed. That saves a
 * system call for each wait. But if the descriptor is closed and its number is reused, the new file is not watched.
 * io/edge.h says where edges are safe.
 */
#ifndef WEFT_DRIVER_POLLER_H
#define WEFT_DRIVER_POLLER_H

#include "base/base.h"

#include <signal.h>

struct weft__poller {
    int epoll;
    int event_fd; /* event descriptor that ends a wait */
    int doze_fd;  /* event descriptor that ends a doze */
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
void weft__poller_close(struct weft__poller *p); /* also if p is not open, or only in part */

/* Requests one report of these events, errors and hang-ups. -EBADF: fd is not open. -EPERM: epoll cannot wait for this
 * kind of file. -ENOMEM, -ENOSPC. Any thread, at any time. */
int weft__poller_arm(struct weft__poller *p, int fd, uint32_t events, uint32_t round);

/* Registers fd for a report of every event until it is closed. If fd is armed or registered already: `replaces` decides
 * whether that is replaced, else -EEXIST. */
int weft__poller_edge(struct weft__poller *p, int fd, uint32_t round, bool replaces);

/* Reports with round 0 whenever fd is readable, until p is closed. */
int weft__poller_watch(struct weft__poller *p, int fd);

/* Sleeps until there are reports, and returns their number, at most n. 0: weft__poller_wake or a signal ended the
 * sleep. The calling thread has this signal mask while it sleeps. Only one thread at a time. */
unsigned weft__poller_wait(struct weft__poller *p, struct weft__report *reports, unsigned n, const sigset_t *mask);

/* The same without sleeping. Any thread. Leaves the notification of weft__poller_wake to the sleeping thread. */
unsigned weft__poller_fetch(struct weft__poller *p, struct weft__report *reports, unsigned n);

/* Sleeps until there are reports to fetch (true), a write to doze_fd, or the deadline. Only one thread at a time. */
bool weft__poller_doze(struct weft__poller *p, uint64_t deadline);

/* Ends the current weft__poller_wait, or the next if no thread waits. */
void weft__poller_wake(struct weft__poller *p);

#endif
