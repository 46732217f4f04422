/* SPDX-License-Identifier: MIT */
/*
 * The thread pool: threads that make blocking calls in place of workers. At most WEFT_THREAD_POOL_LIMIT threads;
 * further jobs wait in order. A thread is created when a job finds no idle thread, ends after it was idle for a while,
 * and all threads end with the runtime. They receive no signals.
 *
 *   the submitter                                 a thread
 *   1. enqueues the job; wakes the thread that    1. dequeues the first job and runs it
 *      became idle last, or creates a thread      2. if there is none: is idle until a wake-up or the
 *   2. weft__thread_pool_take_back gives the job      timeout
 *      up
 *
 * A thread checks the queue and becomes idle, or ends, under one lock: so it sees a job, or the submitter sees it idle.
 */
#ifndef WEFT_IO_THREAD_POOL_H
#define WEFT_IO_THREAD_POOL_H

#include "sched/wait/wait_queue.h"

#define WEFT_THREAD_POOL_LIMIT 64

struct weft__job {
    struct weft_waiter waiter; /* in the queue; fiber and ticket are not used here */
    void (*run)(struct weft__job *job);
};

/* -EAGAIN: there is no thread and none can be created; the job was not enqueued. */
int weft__thread_pool_put(struct weft__job *job);

/* Removes the job from the queue. False: a thread runs it. */
bool weft__thread_pool_take_back(struct weft__job *job);

#endif
