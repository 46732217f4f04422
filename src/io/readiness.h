/*
 * Who waits for which descriptor. A waiter is on the stack of whoever waits, as in a queue (sync/queue.h),
 * and is won as there; several may wait for one descriptor, for the same or for different events, and a
 * fiber may have several waiters, of which one ends the wait.
 *
 *   whoever waits                                 the service
 *   1. begin the wait, ways with WEFT_WAIT_OUTSIDE
 *   2. enter: into the chain; arm, for all that   1. a report: fire. Those of this round that it is for
 *      wait for this descriptor, a new round         leave the chain with what was found, and are won
 *   3. block                                      2. for the others, arm again
 *   4. leave                                      3. make ready who was won
 *
 * The chains are those of a table of queues, in which a descriptor has its place by its number. A queue's
 * lock is held across the arm: so the last arm is always the one that covers everybody in the chain.
 */
#ifndef WEFT_IO_READINESS_H
#define WEFT_IO_READINESS_H

#include "driver/poller.h"
#include "sync/queue.h"

struct weft__descriptor {
    struct weft_waiter waiter; /* fiber and ticket are set by whoever waits */
    int fd;
    uint32_t events;
    uint32_t life;  /* of the descriptor when this began (known.h); 0: whatever it is */
    uint32_t round; /* of the last arm */
    int got;        /* when it was won: the events, or -EBADF if it was closed, or another error; else 0 */
    bool by_close;  /* only a close ends the wait: it is not armed, so it may be of any kind, and hung up */
};

/* What is ready now: the events, 0, or -EBADF. */
int weft__readiness_look(int fd, short events);

/* Are these events that can be asked for? */
bool weft__readiness_valid(short events);
short weft__readiness_known(short events); /* of them, those that are valid */

/* Steps 2 and 4. The service is held. -EPERM: nobody can wait for this kind of file. -EBADF, -ENOMEM, -ENOSPC.
 * Left: true, it was won, and `got` is set. */
int weft__readiness_enter(struct weft__descriptor *d);
bool weft__readiness_leave(struct weft__descriptor *d);

/* All of the steps: waits for valid events, without a look before, and returns those found, or an error. -EBADF: this
 * is not the descriptor's life any more. */
int weft__readiness_await(int fd, short events, uint32_t life);
/* The same, and a close of another one ends it as well. */
int weft__readiness_await_of_two(int fd, short events, uint32_t life, int other, uint32_t other_life);

/* The descriptor is about to be closed: ends all waits for it, with -EBADF. */
void weft__readiness_closes(int fd);

/* For the service: who was won is put into the list, to be made ready. */
void weft__readiness_fire(const struct weft__report *report, struct weft__list *won);
void weft__readiness_forked(void);

#endif
