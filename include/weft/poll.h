/*
 * Readiness of descriptors. Part of weft.h, which includes it and says how to read it.
 *
 * For code that does its own I/O, on descriptors that do not block: wait until a pipe, socket, terminal,
 * event or timer descriptor is ready, as poll(2) says, while other fibers run. Regular files are always
 * ready. That a descriptor was ready does not mean that it still is: somebody else may have been faster.
 *
 * The events are POLLIN, POLLOUT, POLLPRI, POLLRDHUP of <poll.h>, and what was found may hold POLLERR and
 * POLLHUP as well. Several may wait for one descriptor; each is woken that it concerns.
 *
 * weft_close (weft/io.h) wakes who waits for the descriptor, with -EBADF. A plain close leaves them waiting: cancel
 * them first, or shut a socket down.
 */
#ifndef WEFT_POLL_H
#define WEFT_POLL_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Waits until the descriptor is ready, and returns the events that it is ready for. -EINVAL: no such
 * events. -EBADF: no open descriptor. -EPERM: nobody can wait for this kind of file. -ETIMEDOUT.
 * -ECANCELED. -ENOMEM, -EMFILE, -ENFILE, -EAGAIN, -ENOSPC: no memory, descriptors, threads or watches; only the first
 * one to wait needs descriptors and a thread.  [fiber thread; parks, cancel]
 */
int weft_ready(int fd, short events);
int weft_ready_until(int fd, short events, uint64_t deadline);

/* The same without waiting; -EAGAIN: it is not ready.  [fiber thread] */
int weft_ready_try(int fd, short events);

#ifdef __cplusplus
}
#endif
#endif
