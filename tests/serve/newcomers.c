/* SPDX-License-Identifier: MIT */
/*
 * Clients that all come at once: newcomers PORT [CLIENTS [THREADS [SECONDS [MESSAGE]]]]. Each of them connects, sends
 * the message, a request of HTTP unless one is given, and sends it again whenever an answer has come, until every
 * client has had one, or the time is up. The last line has five numbers: how many clients were answered; the time at
 * which the last client left the server's queue, and at which the last of them had its first answer, in seconds; how
 * many answers had been given by then, and how many of them to the client that had the most.
 *
 * An answer is whatever comes in one piece. Status 1: some client was not answered.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define THREADS_MOST 64

struct client {
    int fd;
    unsigned answers;
    double first;
};
static const char *message = "GET /small.txt HTTP/1.1\r\nHost: t\r\n\r\n";
static struct client *clients;
static unsigned port, count = 4000, threads = 8;
static double begun, limit = 60;
static _Atomic unsigned answered, total;

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void fail(const char *what) {
    perror(what);
    exit(2);
}

/* Returns how many connections the server has not accepted, as the kernel reports it. */
static unsigned queue_length(void) {
    enum { LISTENS = 10 };
    char line[512];
    unsigned at, state, sends, waits, length = 0;
    FILE *f = fopen("/proc/net/tcp", "r");
    while (f && fgets(line, sizeof line, f))
        if (sscanf(line, " %*d: %*8X:%4X %*8X:%*4X %2X %8X:%8X", &at, &state, &sends, &waits) == 4 && at == port &&
            state == LISTENS)
            length = waits;
    if (f) fclose(f);
    return length;
}

static void connect_one(struct client *c, int events) {
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    to.sin_port = htons((uint16_t)port);
    c->fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
    if (c->fd < 0) fail("socket");
    if (connect(c->fd, (struct sockaddr *)&to, sizeof to) && errno != EINPROGRESS) fail("connect");
    struct epoll_event e = {.events = EPOLLOUT, .data.ptr = c};
    if (epoll_ctl(events, EPOLL_CTL_ADD, c->fd, &e)) fail("epoll_ctl");
}

static void ask(struct client *c) {
    size_t size = strlen(message);
    if (send(c->fd, message, size, MSG_NOSIGNAL) != (ssize_t)size) fail("send");
}

static void happens(const struct epoll_event *e, int events) {
    char waste[16384];
    struct client *c = e->data.ptr;
    if (e->events & EPOLLOUT) {
        struct epoll_event in = {.events = EPOLLIN, .data.ptr = c};
        epoll_ctl(events, EPOLL_CTL_MOD, c->fd, &in);
    } else {
        ssize_t n = recv(c->fd, waste, sizeof waste, 0);
        if (n <= 0) fail(n ? "recv" : "the server has closed a connection");
        if (!c->answers++) {
            c->first = now() - begun;
            atomic_fetch_add(&answered, 1);
        }
        atomic_fetch_add(&total, 1);
    }
    ask(c);
}

static void *run(void *arg) {
    enum { AT_ONCE = 128 };
    unsigned first = *(unsigned *)arg * count / threads, end = (*(unsigned *)arg + 1) * count / threads;
    struct epoll_event list[AT_ONCE];
    int events = epoll_create1(0);
    if (events < 0) fail("epoll_create1");
    for (unsigned i = first; i < end; i++) connect_one(&clients[i], events);
    while (atomic_load(&answered) < count && now() - begun < limit) {
        int n = epoll_wait(events, list, AT_ONCE, 100);
        for (int i = 0; i < n; i++) happens(&list[i], events);
    }
    return NULL;
}

/* Records when the queue was last not empty. */
static void *watch(void *until) {
    const struct timespec pause = {0, 20 * 1000 * 1000};
    while (atomic_load(&answered) < count && now() - begun < limit) {
        nanosleep(&pause, NULL);
        if (queue_length()) *(double *)until = now() - begun;
    }
    return NULL;
}

static void read_arguments(int argc, char **argv) {
    if (argc < 2) {
        fputs("newcomers PORT [CLIENTS [THREADS [SECONDS [MESSAGE]]]]\n", stderr);
        exit(2);
    }
    port = (unsigned)atoi(argv[1]);
    if (argc > 2) count = (unsigned)atoi(argv[2]);
    if (argc > 3) threads = (unsigned)atoi(argv[3]);
    if (argc > 4) limit = atof(argv[4]);
    if (argc > 5) message = argv[5];
    if (threads < 1 || threads > THREADS_MOST || count < threads) exit(2);
}

int main(int argc, char **argv) {
    pthread_t ids[THREADS_MOST], watcher;
    unsigned numbers[THREADS_MOST], most = 0;
    double queued = 0, last = 0;
    struct rlimit files;
    read_arguments(argc, argv);
    if (!getrlimit(RLIMIT_NOFILE, &files)) {
        files.rlim_cur = files.rlim_max;
        setrlimit(RLIMIT_NOFILE, &files);
    }
    clients = calloc(count, sizeof *clients);
    if (!clients) fail("clients");
    begun = now();
    for (unsigned i = 0; i < threads; i++) {
        numbers[i] = i;
        if (pthread_create(&ids[i], NULL, run, &numbers[i])) fail("pthread_create");
    }
    if (pthread_create(&watcher, NULL, watch, &queued)) fail("pthread_create");
    for (unsigned i = 0; i < threads; i++) pthread_join(ids[i], NULL);
    pthread_join(watcher, NULL);
    for (unsigned i = 0; i < count; i++) {
        if (clients[i].first > last) last = clients[i].first;
        if (clients[i].answers > most) most = clients[i].answers;
    }
    printf("answered %u of %u, queue until %.3f, last first answer %.3f, answers %u, most %u\n", answered, count,
           queued, last, total, most);
    return answered < count;
}
