/* SPDX-License-Identifier: MIT */
/*
 * The duty at the poller: the poll thread asks it for ready descriptors, or workers do in its place. See
 * io_backpressure.c.
 */
#ifndef WEFT_SCHED_WAKE_IO_BACKPRESSURE_H
#define WEFT_SCHED_WAKE_IO_BACKPRESSURE_H

#include "sched/core/cluster.h"

/* Which thread is on duty: see io_backpressure.c. */
extern _Atomic uint32_t weft__poll_duty_state;
/* The thread that holds back continues. */
void weft__poll_duty_notify(void);
enum { WEFT_POLL_DUTY_SERVED, WEFT_POLL_DUTY_HELD, WEFT_POLL_DUTY_DOZED, WEFT_POLL_DUTY_AWAITED };

/* What workers call in place of the thread. */
struct weft__poll_duty {
    bool (*fetch)(void); /* makes ready what has come, and says whether there was any */
    int (*begin)(void);  /* a sleep begins: the event fd that ends it; -1: the source of work is closed */
    /* Sleeps until there is something to fetch (true), the event fd is written, or the deadline. */
    bool (*doze)(uint64_t deadline);
    void (*end)(void);        /* the sleep has ended */
    bool (*has_duties)(void); /* must the thread itself wake for anything else? */
};

/* The thread: waits until it is notified, if all workers are busy; for so long at most if it has other duties. */
void weft__poll_duty_hold_back(const struct weft__poll_duty *by, uint64_t most);

/* A worker with nothing to do fetches. False: there was nothing. */
bool weft__poll_duty_fetch(void);
/* A busy worker fetches, if that was not done for a while. */
void weft__poll_duty_look(struct weft__worker *w, uint64_t now);
/* A tick of the monitor: if no worker has fetched since the last tick, the thread continues. */
void weft__poll_duty_tick(void);

/* A worker that is a sleeper, after its fence. True: it must sleep by weft__poll_duty_sleep, and leave then, or leave
 * at once. False: it sleeps elsewhere. */
bool weft__poll_duty_take(struct weft__worker *w);
bool weft__poll_duty_sleep(struct weft__worker *w, uint64_t deadline);
void weft__poll_duty_leave(struct weft__worker *w);

#endif
