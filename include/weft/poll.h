/* SPDX-License-Identifier: MIT */
/*
 * Readiness of descriptors. weft.h includes this header and says how to read it.
 *
 * For code that does its own I/O on non-blocking descriptors: a fiber waits until a pipe, socket, terminal, eventfd or
 * timerfd is ready, as poll(2) defines it, while other fibers run. Regular files are always ready. A descriptor that
 * was ready may have been drained by another reader, so be prepared for EAGAIN.
 *
 * The events are POLLIN, POLLOUT, POLLPRI and POLLRDHUP of <poll.h>; results may also contain POLLERR and POLLHUP.
 * Several fibers may wait for one descriptor. weft_close (weft/io.h) wakes them with -EBADF. A plain close leaves them
 * waiting: cancel them first, or shut the socket down.
 */
#ifndef WEFT_POLL_H
#define WEFT_POLL_H

#include <stdint.h>

#include "attributes.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Waits until a descriptor is ready, and returns the events that it is ready for. Only the first wait in a process
 * needs descriptors and a thread.
 *
 * Errors:
 *   -EINVAL   unknown events
 *   -EBADF    fd is not open, or was closed by weft_close meanwhile
 *   -EPERM    this kind of file cannot be waited for
 *   -ENOMEM, -EMFILE, -ENFILE, -EAGAIN, -ENOSPC
 *             no memory, descriptors, threads or watches
 * [fiber thread; parks, cancel]
 */
WEFT_MUST_USE int weft_ready(int fd, short events);
WEFT_MUST_USE int weft_ready_until(int fd, short events, uint64_t deadline);

/*
 * Returns the events that a descriptor is ready for, without waiting.
 *
 * Errors:
 *   -EAGAIN   the descriptor is not ready
 *   -EINVAL   unknown events
 *   -EBADF    fd is not open
 * [fiber thread]
 */
WEFT_MUST_USE int weft_ready_try(int fd, short events);

#ifdef __cplusplus
}
#endif
#endif
