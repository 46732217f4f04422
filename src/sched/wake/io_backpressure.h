/* SPDX-License-Identifier: MIT */
/*
 * Poll duty: either the poll thread asks the poller for ready descriptors, or workers do. See io_backpressure.c.
 */
#ifndef WEFT_SCHED_WAKE_IO_BACKPRESSURE_H
#define WEFT_SCHED_WAKE_IO_BACKPRESSURE_H

#include "sched/core/cluster.h"

/* Which thread is on duty: see io_backpressure.c. */
extern _Atomic uint32_t weft__poll_duty_state;
/* Has the program waited for descriptors by the poller? */
bool weft__poll_duty_is_used(void);
/* If the poll thread holds back, wakes it. */
void weft__poll_duty_notify(void);
enum { WEFT_POLL_DUTY_SERVED, WEFT_POLL_DUTY_HELD, WEFT_POLL_DUTY_DOZED, WEFT_POLL_DUTY_AWAITED };

/* The functions of the poll thread that workers call in its place. */
struct weft__poll_duty {
    bool (*fetch)(void); /* makes fibers ready whose descriptors are ready; true: there were any */
    int (*begin)(void);  /* a sleep begins. Returns the event fd that ends the sleep; -1: the poller is closed */
    /* Sleeps until a descriptor is ready (true), the event fd is written, or the deadline. */
    bool (*doze)(uint64_t deadline);
    void (*end)(void);        /* the sleep has ended */
    bool (*has_duties)(void); /* does the poll thread have other duties than descriptors? */
};

/* Called by the poll thread. If all workers are busy, waits until it is notified; at most for `most` ns if it has other
 * duties. */
void weft__poll_duty_hold_back(const struct weft__poll_duty *by, uint64_t most);

/* Called by a worker that has run dry: fetches. False: no descriptor was ready. */
bool weft__poll_duty_fetch(void);
/* Called by a busy worker: fetches if no worker has fetched for a while. */
void weft__poll_duty_look(struct weft__worker *w, uint64_t now);
/* Called by the monitor at each tick: notifies the thread if no worker has fetched since the last tick. */
void weft__poll_duty_tick(void);

/* Called by a sleeper after its fence. True: it is on duty now. Then it sleeps by weft__poll_duty_sleep if it sleeps at
 * all, and calls weft__poll_duty_leave afterwards. False: it sleeps elsewhere. */
bool weft__poll_duty_take(struct weft__worker *w);
bool weft__poll_duty_sleep(struct weft__worker *w, uint64_t deadline);
void weft__poll_duty_leave(struct weft__worker *w);

#endif
