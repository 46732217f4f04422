/* SPDX-License-Identifier: MIT */
/*
 * A program with its own epoll loop, and fibers beside it: loop_epoll <PORTS. The loop runs on the main thread. It
 * begins a fiber for each line of standard input. Fibers send their answers through a channel, and wake the loop by an
 * eventfd.
 */
#include <sys/epoll.h>
#include <sys/eventfd.h>

#include "loop_fetch.h"

static struct answer *room[64];
static struct weft_chan answers = WEFT_CHAN_BUFFERED(room);
static int wake;

/* On a worker. If the loop is behind by 64 answers, the fiber waits; the worker does not. */
static void deliver(struct answer *answer) {
    if (weft_chan_send(&answers, &answer) == 0) eventfd_write(wake, 1);
}

/* In the loop: takes what is there, and never waits. */
static int show_answers(void) {
    struct answer *answer;
    eventfd_t ignored;
    int shown = 0;
    eventfd_read(wake, &ignored);
    for (; weft_chan_recv_try(&answers, &answer) == 0; shown++) {
        printf("%s: %s\n", answer->port, answer->text);
        free(answer);
    }
    fflush(stdout);
    return shown;
}

static void watch(int loop, int fd) {
    struct epoll_event event = {.events = EPOLLIN, .data.fd = fd};
    if (epoll_ctl(loop, EPOLL_CTL_ADD, fd, &event)) perror("epoll_ctl"), exit(1);
}

int main(void) {
    int loop = epoll_create1(EPOLL_CLOEXEC), outstanding = 0, more = 1;
    wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (loop < 0 || wake < 0 || weft_start(NULL)) return 1;
    watch(loop, STDIN_FILENO);
    watch(loop, wake);
    while (more || outstanding) {
        struct epoll_event event;
        if (epoll_wait(loop, &event, 1, -1) != 1) continue;
        if (event.data.fd == wake) {
            outstanding -= show_answers();
        } else {
            int begun = fetch_lines_of_input(deliver);
            more = begun >= 0;
            if (more)
                outstanding += begun;
            else
                epoll_ctl(loop, EPOLL_CTL_DEL, STDIN_FILENO, NULL);
        }
    }
    return weft_stop();
}
