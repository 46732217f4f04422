/* SPDX-License-Identifier: MIT */
/* See client.h. */
#include "client.h"

#include <fcntl.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#define EVENTS 512
#define MESSAGE 4096
#define SILENCE_MS 5000 /* without an answer on any connection for this long, the server is stuck */

struct link {
    int fd;
    unsigned got; /* bytes of the answer so far */
    uint64_t sent_at, number;
};

static char pattern[MESSAGE + 256];

static const char *message(const struct link *link) { return pattern + (link->number & 0xff); }

/* Resets the connection, so that no port stays occupied for a minute. */
static void hang_up(int fd) {
    struct linger now = {1, 0};
    setsockopt(fd, SOL_SOCKET, SO_LINGER, &now, sizeof now);
    close(fd);
}

static void watch(int epoll, int fd, struct link *link) {
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = link};
    if (epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event)) fail("epoll_ctl", errno);
}

static bool say(struct link *link, unsigned size) {
    link->sent_at = clock_ns();
    link->number++;
    link->got = 0;
    return send(link->fd, message(link), size, MSG_NOSIGNAL) == (ssize_t)size;
}

/* Makes a connection. Returns false if it was refused. */
static bool dial(const struct client *client, int epoll, struct link *link) {
    bool sends = client->size;
    int one = 1;
    link->sent_at = clock_ns();
    link->fd = socket(AF_INET, SOCK_STREAM | (sends ? 0 : SOCK_NONBLOCK), 0);
    if (link->fd < 0) fail("socket", errno);
    if (connect(link->fd, (const struct sockaddr *)&client->server->address, sizeof client->server->address) &&
        errno != EINPROGRESS)
        return false;
    setsockopt(link->fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    if (sends) fcntl(link->fd, F_SETFL, O_NONBLOCK);
    watch(epoll, link->fd, link);
    return true;
}

static void start(struct client *client, int epoll, struct link *link) {
    bool done = client->size ? say(link, client->size) : dial(client, epoll, link);
    if (!done) client->errors++;
}

/* Takes received bytes. Returns true if an answer is complete. */
static bool take(struct client *client, struct link *link) {
    char bytes[MESSAGE];
    ssize_t n = recv(link->fd, bytes, sizeof bytes, 0);
    if (n < 0 && errno == EAGAIN) return false;
    if (!client->size && n == 0) {
        hang_up(link->fd);
        return true;
    }
    if (n <= 0 || link->got + (size_t)n > client->size || memcmp(bytes, message(link) + link->got, (size_t)n)) {
        client->errors++;
        return false;
    }
    link->got += (unsigned)n;
    return link->got == client->size;
}

/* Runs from rest to rest: all connections begin, continue for this time, and are then awaited. So the server's work in
 * this time is exactly the work for these requests. */
static void run_for(struct client *client, int epoll, struct link *links, uint64_t nanoseconds) {
    unsigned under_way = client->connections;
    uint64_t now = clock_ns(), deadline = now + nanoseconds;
    for (unsigned i = 0; i < client->connections; i++) start(client, epoll, &links[i]);
    while (under_way && !client->errors) {
        struct epoll_event events[EVENTS];
        int n = epoll_wait(epoll, events, EVENTS, SILENCE_MS);
        if (n == 0) {
            fprintf(stderr, "no answer for %d ms\n", SILENCE_MS);
            client->errors++;
        }
        now = clock_ns();
        for (int i = 0; i < n; i++) {
            struct link *link = events[i].data.ptr;
            if (!take(client, link)) continue;
            histogram_add(&client->times, clock_ns() - link->sent_at);
            if (now < deadline)
                start(client, epoll, link);
            else
                under_way--;
        }
    }
}

void client_run(struct client *client) {
    int epoll = epoll_create1(EPOLL_CLOEXEC);
    if (epoll < 0) fail("epoll_create1", errno);
    struct link *links = allocate(client->connections, sizeof *links);
    for (size_t i = 0; i < sizeof pattern; i++) pattern[i] = (char)(i * 31 + i / 256);
    if (client->size > MESSAGE) fail("size", EINVAL);

    for (unsigned i = 0; client->size && i < client->connections; i++) {
        links[i].number = i;
        if (!dial(client, epoll, &links[i])) fail("connect", errno);
    }
    run_for(client, epoll, links, client->warm_up);
    memset(&client->times, 0, sizeof client->times);
    uint64_t began = clock_ns(), cpu = server_cpu(client->server);
    run_for(client, epoll, links, client->duration);
    client->cpu = server_cpu(client->server) - cpu;
    client->elapsed = clock_ns() - began;
    for (unsigned i = 0; client->size && i < client->connections; i++) hang_up(links[i].fd);
    close(epoll);
    free(links);
}
