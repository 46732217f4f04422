/* SPDX-License-Identifier: MIT */
/*
 * The carrier's loop and its parts.
 */
#ifndef WEFT_SCHED_LOOP_LOOP_H
#define WEFT_SCHED_LOOP_LOOP_H

#include "sched/core/cluster.h"

/* What the kernel thread of a worker runs. (worker.c) */
void *weft__carrier_main(void *worker);
/* Looks at the timers, the ring, the mailbox and the injector, and makes their fibers ready. At home only. (poll.c) */
void weft__poll(struct weft__worker *w, uint64_t now);
/* Looks for a fiber here and at other workers: for a while, or only once. NULL: nothing was found. (search.c) */
struct weft__fiber *weft__search(struct weft__worker *w, bool once);
/* Sleeps until there is work, or until a deadline. False: the deadline ended the sleep. (sleep.c) */
bool weft__idle_sleep(struct weft__worker *w);
/* Sleeps until the worker is wanted again, or has work that only it can do. (sleep.c) */
void weft__idle_retire(struct weft__worker *w);
/* The worker has found work: ends its search, and wakes another worker if more work waits. (sleep.c) */
void weft__idle_end(struct weft__worker *w);
/* Worker w takes no calls, and stops searching. If calls wait, wakes a sleeper that takes calls. (sleep.c) */
void weft__idle_wake_for_calls(struct weft__worker *w);
/* Returns most of the memory that the worker caches to the pools; due so often. (flush.c) */
#define WEFT_FLUSH_EVERY WEFT_SECOND
void weft__worker_flush(struct weft__worker *w, uint64_t now);
/* The share of a processor that a worker may use beside `computing` threads, in 1024ths; 0: all of it. (overload.c) */
unsigned weft__overload_rate(unsigned computing, unsigned processors);
/* Naps if the worker has used more than its share. At home only. (overload.c) */
void weft__overload_rest(struct weft__worker *w, unsigned rate);

#endif
