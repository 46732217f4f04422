/* SPDX-License-Identifier: MIT */
/* Waiting for descriptors: poll, select, epoll. */
#define _GNU_SOURCE
#include "threads/threads.h"
#include "weft/io.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/select.h>

REAL(poll);
REAL(ppoll);
int __poll_chk(struct pollfd *, nfds_t, int, size_t);
int __ppoll_chk(struct pollfd *, nfds_t, const struct timespec *, const sigset_t *, size_t);
REAL(__poll_chk);
REAL(__ppoll_chk);
REAL(select);
REAL(pselect);
REAL(epoll_wait);
REAL(epoll_pwait);
REAL(epoll_pwait2);
OURS(pthread_sigmask);

/* Waits until a descriptor is ready, the deadline passes (0), or a signal comes (-1, EINTR; cancelled: ECANCELED). */
static int poll_wait_until(struct pollfd *fds, nfds_t n, uint64_t deadline) {
    struct weft__interruptible i;
    weft__interrupt_begin(&i, deadline);
    int result = weft_poll(fds, n, -1);
    weft__interrupt_end(&i); /* none of these calls is restarted */
    if (result >= 0) return result;
    weft__interrupt_explain(deadline, EAGAIN);
    return errno == EAGAIN ? 0 : -1;
}

static int poll_until(struct pollfd *fds, nfds_t n, uint64_t deadline) {
    int result = real(poll)(fds, n, 0);
    return result || !deadline ? result : poll_wait_until(fds, n, deadline);
}

static uint64_t after_milliseconds(int n) {
    return n < 0 ? WEFT_FOREVER : n ? weft_now() + (uint64_t)n * WEFT_MILLISECOND : 0;
}

/* Converts a time relative to now to a deadline. *deadline is 0 if the call must not wait. */
static int deadline_after(const struct timespec *time, uint64_t *deadline) {
    *deadline = WEFT_FOREVER;
    if (!time) return 0;
    if (weft__time_is_bad(time) || time->tv_sec < 0) {
        errno = EINVAL;
        return -1;
    }
    *deadline = time->tv_sec || time->tv_nsec ? weft__time_after(time) : 0;
    return 0;
}

WEFT_INTERPOSED int poll(struct pollfd *fds, nfds_t n, int milliseconds) {
    if (!weft__caller_parks()) return real(poll)(fds, n, milliseconds);
    weft__cancel_point();
    return poll_until(fds, n, after_milliseconds(milliseconds));
}

/* Runs a wait with another signal mask. A signal that this mask lets in ends the wait. The program's own fibers have no
 * masks. */
#define MASKED(mask, call) \
    ({ \
        sigset_t before_; \
        struct weft__thread *t_ = weft__thread_self(); \
        bool masks_ = (mask) && t_; \
        uint32_t handled_ = masks_ ? load_rlx(&t_->handled) : 0; \
        if (masks_) ours(pthread_sigmask)(SIG_SETMASK, mask, &before_); \
        bool handles_ = masks_ && load_rlx(&t_->handled) != handled_; /* the new mask let a signal in */ \
        int result_ = handles_ ? -1 : call, err_ = handles_ ? EINTR : errno; \
        if (masks_) ours(pthread_sigmask)(SIG_SETMASK, &before_, NULL); \
        errno = err_; \
        result_; \
    })

WEFT_INTERPOSED int ppoll(struct pollfd *fds, nfds_t n, const struct timespec *time, const sigset_t *mask) {
    uint64_t deadline;
    if (!weft__caller_parks()) return real(ppoll)(fds, n, time, mask);
    if (deadline_after(time, &deadline)) return -1;
    weft__cancel_point();
    return MASKED(mask, poll_until(fds, n, deadline));
}

/* The call of programs that were compiled with _FORTIFY_SOURCE, which know the size of the list. */
WEFT_INTERPOSED int __poll_chk(struct pollfd *fds, nfds_t n, int milliseconds, size_t room) {
    return n > room / sizeof *fds ? real(__poll_chk)(fds, n, milliseconds, room) : poll(fds, n, milliseconds);
}
WEFT_INTERPOSED int __ppoll_chk(struct pollfd *fds, nfds_t n, const struct timespec *time, const sigset_t *mask,
                                size_t room) {
    return n > room / sizeof *fds ? real(__ppoll_chk)(fds, n, time, mask, room) : ppoll(fds, n, time, mask);
}

/* --- select -------------------------------------------------------------------------------------------- */

static nfds_t list_sets(struct pollfd *list, int n, const fd_set *in, const fd_set *out, const fd_set *other) {
    nfds_t count = 0;
    for (int fd = 0; fd < n; fd++) {
        int events = (in && FD_ISSET(fd, in) ? POLLIN : 0) | (out && FD_ISSET(fd, out) ? POLLOUT : 0) |
                     (other && FD_ISSET(fd, other) ? POLLPRI : 0);
        if (events) list[count++] = (struct pollfd){.fd = fd, .events = (short)events};
    }
    return count;
}

static int select_until(int n, fd_set *in, fd_set *out, fd_set *other, uint64_t deadline) {
    struct timeval none = {0, 0};
    if (n < 0 || n > FD_SETSIZE) {
        errno = EINVAL;
        return -1;
    }
    struct pollfd *list = (struct pollfd *)malloc(((size_t)n + 1) * sizeof *list);
    if (!list) {
        errno = ENOMEM;
        return -1;
    }
    int result = poll_until(list, list_sets(list, n, in, out, other), deadline), err = errno;
    free(list);
    errno = err;
    /* Lets the kernel fill in the sets: the descriptors are ready now, or were closed. */
    return result < 0 ? result : real(select)(n, in, out, other, &none);
}

WEFT_INTERPOSED int select(int n, fd_set *in, fd_set *out, fd_set *other, struct timeval *time) {
    if (!weft__caller_parks()) return real(select)(n, in, out, other, time);
    struct timespec t = {0, 0};
    uint64_t deadline;
    if (time) t = (struct timespec){time->tv_sec + time->tv_usec / 1000000, time->tv_usec % 1000000 * 1000};
    if (deadline_after(time ? &t : NULL, &deadline)) return -1;
    weft__cancel_point();
    int result = select_until(n, in, out, other, deadline);
    if (time && result >= 0) { /* stores the time that is left, as Linux does */
        uint64_t now = weft_now(), left = deadline > now ? deadline - now : 0;
        *time = (struct timeval){(time_t)(left / WEFT_SECOND), (suseconds_t)(left % WEFT_SECOND / WEFT_MICROSECOND)};
    }
    return result;
}
WEFT_INTERPOSED int pselect(int n, fd_set *in, fd_set *out, fd_set *other, const struct timespec *time,
                            const sigset_t *mask) {
    uint64_t deadline;
    if (!weft__caller_parks()) return real(pselect)(n, in, out, other, time, mask);
    if (deadline_after(time, &deadline)) return -1;
    weft__cancel_point();
    return MASKED(mask, select_until(n, in, out, other, deadline));
}

/* --- epoll --------------------------------------------------------------------------------------------- */

static int epoll_until(int epoll, struct epoll_event *events, int n, uint64_t deadline) {
    for (;;) {
        int result = real(epoll_wait)(epoll, events, n, 0);
        if (result || !deadline) return result;
        struct pollfd fd = {.fd = epoll, .events = POLLIN};
        int ready = poll_wait_until(&fd, 1, deadline);
        if (ready <= 0) return ready;
    }
}
WEFT_INTERPOSED int epoll_wait(int epoll, struct epoll_event *events, int n, int milliseconds) {
    if (!weft__caller_parks()) return real(epoll_wait)(epoll, events, n, milliseconds);
    weft__cancel_point();
    return epoll_until(epoll, events, n, after_milliseconds(milliseconds));
}
WEFT_INTERPOSED int epoll_pwait(int epoll, struct epoll_event *events, int n, int milliseconds, const sigset_t *mask) {
    if (!weft__caller_parks()) return real(epoll_pwait)(epoll, events, n, milliseconds, mask);
    weft__cancel_point();
    return MASKED(mask, epoll_until(epoll, events, n, after_milliseconds(milliseconds)));
}
WEFT_INTERPOSED int epoll_pwait2(int epoll, struct epoll_event *events, int n, const struct timespec *time,
                                 const sigset_t *mask) {
    uint64_t deadline;
    if (!weft__caller_parks()) return real(epoll_pwait2)(epoll, events, n, time, mask);
    if (deadline_after(time, &deadline)) return -1;
    weft__cancel_point();
    return MASKED(mask, epoll_until(epoll, events, n, deadline));
}
