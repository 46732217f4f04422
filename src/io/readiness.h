/* SPDX-License-Identifier: MIT */
/*
 * Which fibers wait for which descriptor. A waiter is on the stack of the waiting fiber, as in a wait queue
 * (sched/wait/wait_queue.h), and is won in the same way. Several fibers may wait for one descriptor, for the same or
 * for different events. A fiber may have several waiters; one of them ends the wait.
 *
 *   the waiter                                    the poll thread
 *   1. begins the wait, with WEFT_WAIT_OUTSIDE
 *   2. enters the chain, and arms the descriptor  1. on a report (weft__readiness_fire): removes the waiters of
 *      in a new round for all its waiters            this round that wait for these events from the chain,
 *   3. blocks                                        stores the events, and wins them
 *   4. leaves the chain                           2. arms the descriptor again for the other waiters
 *                                                 3. makes the fibers that were won ready
 *
 * The chains are in a table of wait queues, indexed by the descriptor number. A queue's lock is held while arming, so
 * the last arm always covers all waiters in the chain.
 */
#ifndef WEFT_IO_READINESS_H
#define WEFT_IO_READINESS_H

#include "driver/poller.h"
#include "sched/wait/wait_queue.h"

struct weft__descriptor {
    struct weft_waiter waiter; /* the caller sets fiber and ticket */
    int fd;
    uint32_t events;
    uint64_t generation; /* generation of the descriptor at the start (fd_generation.h); 0: any */
    uint32_t round;      /* of the last arm */
    int got;             /* after the win: the events, -EBADF if the descriptor was closed, or another error; else 0 */
    uint32_t seen;       /* with `tries`: weft__edge_count_reports before the attempt (edge.h) */
    bool tries;          /* the caller has made an attempt and tries again: a surplus report does no harm */
    bool by_close; /* only a close ends the wait: the descriptor is not armed, so it may be of any kind, and hung up */
};

/* The events that are ready now, 0, or -EBADF. */
int weft__readiness_poll(int fd, short events);

/* Can these events be waited for? */
bool weft__readiness_is_valid(short events);
short weft__readiness_filter(short events); /* the valid part of these events */

/* Steps 2 and 4 of a waiter. The caller holds the poll thread. enter returns 0; -EPERM: this kind of file cannot be
 * waited for; -EBADF, -ENOMEM or -ENOSPC; or 1, only with `tries`: there was a report since the attempt, and the waiter
 * has not entered. leave returns true if the waiter was won; then `got` is set. */
int weft__readiness_enter(struct weft__descriptor *d);
bool weft__readiness_leave(struct weft__descriptor *d);

/* All steps: waits for valid events without checking first, and returns those found, or an error. -EBADF: the
 * descriptor has another generation. */
int weft__readiness_await(int fd, short events, uint64_t generation);

/* The same for a caller that has made an attempt and tries again. The returned events may no longer be ready. */
struct weft__again {
    int fd;
    short events;
    uint64_t generation, seen;
    bool tries; /* `seen` is valid */
    int other;  /* if other_generation is not 0: a close of this descriptor also ends the wait */
    uint64_t other_generation;
};
int weft__readiness_await_again(const struct weft__again *again);

/* weft has accepted or connected this descriptor. */
void weft__readiness_note_connection(int fd);

/* The descriptor is about to be closed: ends all its waits with -EBADF. */
void weft__readiness_close(int fd);

/* For the poll thread: puts fibers that were won into the list, to make them ready. */
void weft__readiness_fire(const struct weft__report *report, struct weft__list *won);
void weft__readiness_reset(void); /* a new poller was opened */
void weft__readiness_after_fork(void);

#endif
