/* SPDX-License-Identifier: MIT */
/*
 * The poll thread: sleeps in the poller (driver/poller.h) and handles its reports. It is created for the first wait,
 * uses no CPU while nothing happens, and ends with the runtime. If threads wait or signals are subscribed to without a
 * runtime, it ends with the last of these. While all workers are busy it holds back (sched/wake/io_backpressure.c).
 */
#ifndef WEFT_IO_POLL_THREAD_H
#define WEFT_IO_POLL_THREAD_H

#include "driver/poller.h"
#include "sched/core/fiber.h"

/*
 * Call before and after a wait that the poll thread will end. The runtime keeps the poll thread for its fibers; other
 * callers hold it themselves (me: a thread's record, or NULL). -EMFILE, -ENFILE, -ENOMEM, -EAGAIN.
 */
int weft__poll_thread_hold(const struct weft__fiber *me);
void weft__poll_thread_release(const struct weft__fiber *me);

/* Only while the poll thread is held. */
int weft__poll_thread_arm(int fd, uint32_t events, uint32_t round);
int weft__poll_thread_add_edge(int fd, uint32_t round);
int weft__poll_thread_check_edge(int fd, uint32_t round);
/* Calls fn on the poll thread whenever fd is readable. For a single descriptor, until it is closed. */
int weft__poll_thread_watch(int fd, void (*fn)(void));
/* The signals that the poll thread receives, a bit each. It blocks all others. */
void weft__poll_thread_set_signals(uint64_t signals);

#endif
