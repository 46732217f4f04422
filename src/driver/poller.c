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
#define BELL UINT64_MAX

static uint64_t pack(int fd, uint32_t round) { return (uint64_t)round << 32 | (uint32_t)fd; }

/* The bell rings until the thread that sleeps has read it: a fetch by another thread must not silence it. */
int weft__poller_open(struct weft__poller *p) {
    struct epoll_event bell = {.events = EPOLLIN, .data.u64 = BELL};
    if ((p->epoll = weft__epoll_create()) < 0) return p->epoll;
    int err = p->bell = weft__eventfd();
    if (err < 0) goto half_open;
    if ((err = p->post = weft__eventfd()) < 0) goto half_open;
    if (!epoll_ctl(p->epoll, EPOLL_CTL_ADD, p->bell, &bell)) return 0;
    err = -errno;
half_open:
    weft__poller_close(p);
    return err;
}

void weft__poller_close(struct weft__poller *p) {
    if (p->bell >= 0) close(p->bell);
    if (p->post >= 0) close(p->post);
    if (p->epoll >= 0) close(p->epoll);
    p->bell = p->post = p->epoll = -1;
}

/* Most descriptors are known from an earlier arm. */
int weft__poller_arm(struct weft__poller *p, int fd, uint32_t events, uint32_t round) {
    struct epoll_event e = {.events = events | EPOLLONESHOT, .data.u64 = pack(fd, round)};
    if (!epoll_ctl(p->epoll, EPOLL_CTL_MOD, fd, &e)) return 0;
    if (errno != ENOENT) return -errno;
    if (weft__fault()) return -ENOMEM;
    return epoll_ctl(p->epoll, EPOLL_CTL_ADD, fd, &e) ? -errno : 0;
}

int weft__poller_watch(struct weft__poller *p, int fd) {
    struct epoll_event e = {.events = EPOLLIN, .data.u64 = pack(fd, 0)};
    return epoll_ctl(p->epoll, EPOLL_CTL_ADD, fd, &e) ? -errno : 0;
}

/* Returns how many; *rung: the bell was among them. */
static unsigned wait(struct weft__poller *p, struct weft__report *reports, unsigned n, int timeout,
                     const sigset_t *mask, bool *rung) {
    struct epoll_event e[WEFT_REPORTS_MOST];
    int most = n < WEFT_REPORTS_MOST ? (int)n : WEFT_REPORTS_MOST;
    int got = epoll_pwait(p->epoll, e, most, timeout, mask);
    unsigned count = 0;
    for (int i = 0; i < got; i++) {
        if (e[i].data.u64 == BELL)
            *rung = true;
        else
            reports[count++] =
                (struct weft__report){(int)(uint32_t)e[i].data.u64, (uint32_t)(e[i].data.u64 >> 32), e[i].events};
    }
    return count;
}

static void silence(int bell) {
    uint64_t times;
    ssize_t ignored = read(bell, &times, sizeof times);
    (void)ignored;
}

unsigned weft__poller_wait(struct weft__poller *p, struct weft__report *reports, unsigned n, const sigset_t *mask) {
    bool rung = false;
    unsigned count = wait(p, reports, n, -1, mask, &rung);
    if (rung) silence(p->bell);
    return count;
}

unsigned weft__poller_fetch(struct weft__poller *p, struct weft__report *reports, unsigned n) {
    bool rung = false;
    return wait(p, reports, n, 0, NULL, &rung);
}

bool weft__poller_doze(struct weft__poller *p, uint64_t deadline) {
    struct pollfd f[] = {{p->epoll, POLLIN, 0}, {p->post, POLLIN, 0}};
    uint64_t now = deadline == UINT64_MAX ? 0 : weft__clock(), left = deadline > now ? deadline - now : 0;
    struct timespec limit = {(time_t)(left / 1000000000), (long)(left % 1000000000)};
    if (ppoll(f, 2, deadline == UINT64_MAX ? NULL : &limit, NULL) <= 0) return false;
    if (f[1].revents) silence(p->post);
    return f[0].revents;
}

void weft__poller_ring(struct weft__poller *p) { weft__eventfd_ring(p->bell); }
