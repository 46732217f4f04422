/* SPDX-License-Identifier: MIT */
/*
 * A plain epoll loop: level-triggered, one thread, each connection answered as soon as it is readable. The clients wait
 * for their answers, so an answer always fits into the socket's buffer. See server.h.
 */
#include "server.h"

#include <sys/epoll.h>

#define EVENTS 512

static void watch(int epoll, int fd) {
    struct epoll_event event = {.events = EPOLLIN, .data.fd = fd};
    if (epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event)) fail("epoll_ctl", errno);
}

static void accept_all(int epoll, int listener, enum work work) {
    for (int fd; (fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK)) >= 0;) {
        if (work == ACCEPT)
            close(fd);
        else
            watch(epoll, fd);
    }
}

static void answer(int fd, enum work work) {
    char bytes[ROOM];
    ssize_t n = recv(fd, bytes, sizeof bytes, 0);
    if (n <= 0) {
        if (n == 0 || errno != EAGAIN) close(fd);
        return;
    }
    if (work == ECHO) {
        if (send(fd, bytes, (size_t)n, MSG_NOSIGNAL) != n) close(fd);
        return;
    }
    for (size_t i = requests_in(bytes, (size_t)n); i; i--)
        if (send(fd, hello, HELLO_SIZE, MSG_NOSIGNAL) != (ssize_t)HELLO_SIZE) {
            close(fd);
            return;
        }
}

int main(int argc, char **argv) {
    enum work work = work_asked(argc, argv);
    int listener = listen_at(number_asked(argc, argv, "port", 0), SOCK_NONBLOCK);
    int epoll = epoll_create1(EPOLL_CLOEXEC);
    if (epoll < 0) fail("epoll_create1", errno);
    watch(epoll, listener);
    for (;;) {
        struct epoll_event events[EVENTS];
        int n = epoll_wait(epoll, events, EVENTS, -1);
        for (int i = 0; i < n; i++) {
            if (events[i].data.fd == listener)
                accept_all(epoll, listener, work);
            else
                answer(events[i].data.fd, work);
        }
    }
}
