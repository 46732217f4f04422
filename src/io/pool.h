/*
 * The pool: threads that make calls which block, so that workers need not. WEFT_POOL_MOST at most; jobs beyond
 * wait for their turn, first come, first served. A thread is made when a job finds none idle, ends when
 * it was idle for a while, and all of them end with the runtime. They take no signals.
 *
 *   whoever has a job                             a thread
 *   1. put: into the queue; calls the thread      1. takes the first job, and runs it
 *      that became idle last, or makes one        2. when there is none: idle, until it is called or the time
 *   2. take_back, if it is to be given up            is up
 *
 * A thread looks into the queue and becomes idle, or ends, under one lock: a job is seen, or sees it idle.
 */
#ifndef WEFT_IO_POOL_H
#define WEFT_IO_POOL_H

#include "sync/queue.h"

#define WEFT_POOL_MOST 64

struct weft__job {
    struct weft_waiter waiter; /* in the queue; fiber and ticket are not looked at here */
    void (*run)(struct weft__job *job);
};

/* -EAGAIN: there is no thread, and none can be made; then the job is not in the queue. */
int weft__pool_put(struct weft__job *job);

/* Out of the queue again; false: a thread has it. */
bool weft__pool_take_back(struct weft__job *job);

#endif
