/* SPDX-License-Identifier: MIT */
/* See poller.h. */
#define _GNU_SOURCE
#include "driver/poller.h"

#include "base/sys.h"

#include <errno.h>
#include <poll.h>
#include <sys/epoll.h>
#include <unistd.h>

_Static_assert(EPOLLIN == POLLIN && EPOLLPRI == POLLPRI && EPOLLOUT == POLLOUT && EPOLLERR == POLLERR &&
                   EPOLLHUP == POLLHUP && EPOLLRDNORM == POLLRDNORM && EPOLLWRNORM == POLLWRNORM,
               "poll and epoll have the same bits");

enum { WEFT_REPORTS_MOST = 128 };
#define EVENT_FD UINT64_MAX

static uint64_t poller_pack(int fd, uint32_t round) { return (uint64_t)round << 32 | (uint32_t)fd; }

/* The event fd is level-triggered and stays readable until the sleeping thread reads it. So a fetch by another thread
 * does not consume the notification. */
int weft__poller_open(struct weft__poller *p) {
    struct epoll_event event_fd = {.events = EPOLLIN, .data.u64 = EVENT_FD};
    if ((p->epoll = weft__epoll_create()) < 0) return p->epoll;
    int err = p->event_fd = weft__eventfd();
    if (err < 0) goto half_open;
    if ((err = p->doze_fd = weft__eventfd()) < 0) goto half_open;
    if (!epoll_ctl(p->epoll, EPOLL_CTL_ADD, p->event_fd, &event_fd)) return 0;
    err = -errno;
half_open:
    weft__poller_close(p);
    return err;
}

void weft__poller_close(struct weft__poller *p) {
    if (p->event_fd >= 0) close(p->event_fd);
    if (p->doze_fd >= 0) close(p->doze_fd);
    if (p->epoll >= 0) close(p->epoll);
    p->event_fd = p->doze_fd = p->epoll = -1;
}

/* Try EPOLL_CTL_MOD first: most descriptors were armed before. */
int weft__poller_arm(struct weft__poller *p, int fd, uint32_t events, uint32_t round) {
    struct epoll_event e = {.events = events | EPOLLONESHOT, .data.u64 = poller_pack(fd, round)};
    if (!epoll_ctl(p->epoll, EPOLL_CTL_MOD, fd, &e)) return 0;
    if (errno != ENOENT) return -errno;
    if (weft__fault_is_due()) return -ENOMEM;
    return epoll_ctl(p->epoll, EPOLL_CTL_ADD, fd, &e) ? -errno : 0;
}

int weft__poller_edge(struct weft__poller *p, int fd, uint32_t round, bool replaces) {
    struct epoll_event e = {.events = EPOLLIN | EPOLLOUT | EPOLLPRI | EPOLLRDHUP | EPOLLET,
                            .data.u64 = poller_pack(fd, round)};
    if (weft__fault_is_due()) return -ENOMEM;
    if (!epoll_ctl(p->epoll, EPOLL_CTL_ADD, fd, &e)) return 0;
    if (errno != EEXIST || !replaces) return -errno;
    return epoll_ctl(p->epoll, EPOLL_CTL_MOD, fd, &e) ? -errno : 0;
}

int weft__poller_watch(struct weft__poller *p, int fd) {
    struct epoll_event e = {.events = EPOLLIN, .data.u64 = poller_pack(fd, 0)};
    return epoll_ctl(p->epoll, EPOLL_CTL_ADD, fd, &e) ? -errno : 0;
}

/* Returns how many reports; *notified: the event fd was ready. */
static unsigned poller_wait(struct weft__poller *p, struct weft__report *reports, unsigned n, int timeout,
                            const sigset_t *mask, bool *notified) {
    struct epoll_event e[WEFT_REPORTS_MOST];
    int most = n < WEFT_REPORTS_MOST ? (int)n : WEFT_REPORTS_MOST;
    int got = epoll_pwait(p->epoll, e, most, timeout, mask);
    unsigned count = 0;
    for (int i = 0; i < got; i++) {
        if (e[i].data.u64 == EVENT_FD)
            *notified = true;
        else
            reports[count++] =
                (struct weft__report){(int)(uint32_t)e[i].data.u64, (uint32_t)(e[i].data.u64 >> 32), e[i].events};
    }
    return count;
}

static void drain_event_fd(int event_fd) {
    uint64_t times;
    ssize_t ignored = read(event_fd, &times, sizeof times);
    (void)ignored;
}

unsigned weft__poller_wait(struct weft__poller *p, struct weft__report *reports, unsigned n, const sigset_t *mask) {
    bool notified = false;
    unsigned count = poller_wait(p, reports, n, -1, mask, &notified);
    if (notified) drain_event_fd(p->event_fd);
    return count;
}

unsigned weft__poller_fetch(struct weft__poller *p, struct weft__report *reports, unsigned n) {
    bool notified = false;
    return poller_wait(p, reports, n, 0, NULL, &notified);
}

bool weft__poller_doze(struct weft__poller *p, uint64_t deadline) {
    struct pollfd f[] = {{p->epoll, POLLIN, 0}, {p->doze_fd, POLLIN, 0}};
    uint64_t now = deadline == UINT64_MAX ? 0 : weft__clock(), left = deadline > now ? deadline - now : 0;
    struct timespec limit = {(time_t)(left / 1000000000), (long)(left % 1000000000)};
    if (ppoll(f, 2, deadline == UINT64_MAX ? NULL : &limit, NULL) <= 0) return false;
    if (f[1].revents) drain_event_fd(p->doze_fd);
    return f[0].revents;
}

void weft__poller_wake(struct weft__poller *p) { weft__eventfd_notify(p->event_fd); }
