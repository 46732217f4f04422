/* SPDX-License-Identifier: MIT */
/*
 * An echo server with a thread for each connection, which knows nothing of weft, and a client that asks it. Run the
 * server natively and with weft threads, in turns:
 *
 *     cc -O2 -pthread echo.c -o echo
 *     ./echo serve               weft threads --workers 2 ./echo serve       (each prints its port)
 *     ./echo ask PORT 10000 5    asks on 10,000 connections for 5 seconds
 *
 * The client has one thread and one message of 64 bytes under way on each connection. It prints the messages a second
 * and the times that answers took, after a second that does not count.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { SIZE = 64, STACK = 64 << 10, BACKLOG = 4096 };

static void check(int failed, const char *what) {
    if (!failed) return;
    fprintf(stderr, "%s: %s\n", what, strerror(errno));
    exit(1);
}
static void allow_files(void) {
    struct rlimit files;
    getrlimit(RLIMIT_NOFILE, &files);
    files.rlim_cur = files.rlim_max;
    setrlimit(RLIMIT_NOFILE, &files);
}

/* --- the server --------------------------------------------------------------------------------------------- */

static void *answer(void *arg) {
    int fd = (int)(intptr_t)arg;
    char message[SIZE];
    for (ssize_t n; (n = read(fd, message, sizeof message)) > 0;)
        for (ssize_t at = 0, sent; at < n; at += sent)
            if ((sent = write(fd, message + at, (size_t)(n - at))) <= 0) goto end;
end:
    close(fd);
    return NULL;
}

static _Noreturn void serve(void) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof address;
    pthread_attr_t attr;
    int yes = 1, listener = socket(AF_INET, SOCK_STREAM, 0);
    check(bind(listener, (struct sockaddr *)&address, sizeof address) || listen(listener, BACKLOG), "listen");
    getsockname(listener, (struct sockaddr *)&address, &length);
    printf("%d\n", ntohs(address.sin_port));
    fflush(stdout);
    pthread_attr_init(&attr);
    pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
    pthread_attr_setstacksize(&attr, STACK);
    for (;;) {
        pthread_t thread;
        int fd = accept(listener, NULL, NULL);
        check(fd < 0, "accept");
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
        errno = pthread_create(&thread, &attr, answer, (void *)(intptr_t)fd);
        check(errno, "pthread_create");
    }
}

/* --- the client --------------------------------------------------------------------------------------------- */

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

struct connection {
    int fd;
    size_t got;
    double asked;
};
static const char message[SIZE] = "a message of 64 bytes";

static void ask_once(struct connection *c) {
    c->got = 0;
    c->asked = now();
    check(send(c->fd, message, SIZE, MSG_NOSIGNAL) != SIZE, "send");
}

enum { SLOTS = 1 << 20 };
static uint32_t slots[SLOTS]; /* answers by microseconds */

static double quantile(double q, uint64_t count) {
    uint64_t seen = 0;
    for (int i = 0; i < SLOTS; i++)
        if ((seen += slots[i]) >= (uint64_t)(q * (double)count)) return i / 1000.0;
    return SLOTS / 1000.0;
}

static void connect_all(struct connection *c, int n, int port, int epoll) {
    struct sockaddr_in address = {
        .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK), .sin_port = htons((uint16_t)port)};
    for (int i = 0; i < n; i++) {
        struct epoll_event e = {.events = EPOLLIN, .data.ptr = &c[i]};
        c[i].fd = socket(AF_INET, SOCK_STREAM, 0);
        check(c[i].fd < 0 || connect(c[i].fd, (struct sockaddr *)&address, sizeof address), "connect");
        check(epoll_ctl(epoll, EPOLL_CTL_ADD, c[i].fd, &e), "epoll_ctl");
    }
}

/* True: the whole answer is here. */
static int take_answer(struct connection *c) {
    char buffer[SIZE];
    ssize_t n = recv(c->fd, buffer, SIZE - c->got, MSG_DONTWAIT);
    check(n <= 0, "recv");
    check(memcmp(buffer, message + c->got, (size_t)n) != 0, "the answer differs");
    return (c->got += (size_t)n) == SIZE;
}

static int ask(int port, int n, double seconds) {
    struct connection *c = calloc((size_t)n, sizeof *c);
    struct epoll_event events[256];
    int epoll = epoll_create1(0);
    uint64_t count = 0;
    check(!c, "calloc");
    double begin = now();
    connect_all(c, n, port, epoll);
    printf("%d connections in %.2f s\n", n, now() - begin);
    for (int i = 0; i < n; i++) ask_once(&c[i]);
    double from = now() + 1, to = from + seconds, at = 0;
    while (at < to) {
        int ready = epoll_wait(epoll, events, 256, 1000);
        at = now();
        for (int i = 0; i < ready; i++) {
            struct connection *one = events[i].data.ptr;
            if (!take_answer(one)) continue;
            if (at >= from) {
                double us = (at - one->asked) * 1e6;
                slots[us < SLOTS - 1 ? (int)us : SLOTS - 1]++;
                count++;
            }
            ask_once(one);
        }
    }
    printf("%.0f messages a second; ms: median %.2f, 99 %% %.2f, 99.9 %% %.2f\n", (double)count / seconds,
           quantile(0.5, count), quantile(0.99, count), quantile(0.999, count));
    return 0;
}

int main(int argc, char **argv) {
    allow_files();
    if (argc == 2 && !strcmp(argv[1], "serve")) serve();
    if (argc == 5 && !strcmp(argv[1], "ask")) return ask(atoi(argv[2]), atoi(argv[3]), atof(argv[4]));
    fprintf(stderr, "echo serve | echo ask PORT CONNECTIONS SECONDS\n");
    return 1;
}
