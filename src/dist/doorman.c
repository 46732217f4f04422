/* SPDX-License-Identifier: MIT */
/*
 * The doorman: a kernel thread that sleeps until a datagram or a message on a socket arrives for this rank. It only
 * rings the bell and makes the talker ready; fibers handle the messages. So a rank that computes sees a message at its
 * next fork, and a rank that sleeps wakes up.
 */
#define _GNU_SOURCE
#include "dist/dist.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

static pthread_t thread;
static bool started;

static void *doorman_main(void *unused) {
    struct weft__dist *d = &weft__dist;
    struct epoll_event events[64];
    char bytes[64];
    (void)unused;
    for (;;) {
        int n = epoll_wait(d->epoll_fd, events, 64, -1);
        if (n < 0 && errno != EINTR) weft__dist_die("epoll_wait: %s", strerror(errno));
        for (int i = 0; i < n; i++) {
            void *what = events[i].data.ptr;
            if (what == &d->stop_fd) return NULL;
            if (what == &d->bell_fd) {
                COUNT(wakeups, 1);
                while (recv(d->bell_fd, bytes, sizeof bytes, MSG_DONTWAIT) >= 0) {
                }
            } else
                atomic_store_explicit(&((struct weft__dist_link *)what)->ready, true, memory_order_release);
        }
        if (n <= 0) continue;
        atomic_fetch_or_explicit(&d->bell->rung, WEFT_BELL_MESSAGE, memory_order_release); /* after `ready` */
        weft__dist_woken();
    }
}

static int watch_descriptor(int fd, void *what, uint32_t events) {
    struct epoll_event event = {.events = events, .data.ptr = what};
    return epoll_ctl(weft__dist.epoll_fd, EPOLL_CTL_ADD, fd, &event) ? -errno : 0;
}

int weft__dist_doorman_start(void) {
    struct weft__dist *d = &weft__dist;
    int err = 0;
    d->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    d->stop_fd = eventfd(0, EFD_CLOEXEC);
    if (d->epoll_fd < 0 || d->stop_fd < 0) return -errno;
    err = watch_descriptor(d->stop_fd, &d->stop_fd, EPOLLIN);
    if (!err) err = watch_descriptor(d->bell_fd, &d->bell_fd, EPOLLIN | EPOLLET);
    for (unsigned i = 0; i < d->link_count && !err; i++)
        if (d->links[i]->fd >= 0)
            err = watch_descriptor(d->links[i]->fd, d->links[i], EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET);
    if (err) return err;
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    err = -pthread_create(&thread, NULL, doorman_main, NULL);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    started = !err;
    return err;
}

void weft__dist_doorman_stop(void) {
    struct weft__dist *d = &weft__dist;
    uint64_t one = 1;
    if (started) {
        (void)!write(d->stop_fd, &one, sizeof one);
        pthread_join(thread, NULL);
    }
    started = false;
    if (d->epoll_fd >= 0) close(d->epoll_fd);
    if (d->stop_fd >= 0) close(d->stop_fd);
    d->epoll_fd = d->stop_fd = -1;
}
