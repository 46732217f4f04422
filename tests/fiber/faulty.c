/* SPDX-License-Identifier: MIT */
/* See faulty.h. */
#define _GNU_SOURCE
#include "faulty.h"

#include "../test.h"

#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define ROOM 4096

struct peer {
    struct faulty *server;
    int fd;
    size_t have;
    char in[ROOM];
};

/* How many bytes the first request has; 0: it is not complete. */
static size_t request_size(struct peer *p) {
    if (p->server->speaks == FAULTY_ECHO) return p->have >= p->server->size ? p->server->size : 0;
    bool http = p->server->speaks == FAULTY_HTTP;
    const char *end = memmem(p->in, p->have, http ? "\r\n\r\n" : "\r\n", http ? 4 : 2);
    if (!end) return 0;
    size_t head = (size_t)(end - p->in) + (http ? 4 : 2), value = 0;
    if (!http && sscanf(p->in, "set %*s %*d %*d %zu", &value) == 1) value += 2;
    return head + value <= p->have ? head + value : 0;
}

static size_t answer_http(enum faulty_way way, char *out) {
    size_t length = way == FAULTY_LENGTH ? FAULTY_SIZE - 1 : FAULTY_SIZE;
    int n = sprintf(out, "HTTP/1.1 %s\r\nServer: faulty\r\nContent-Length: %zu\r\n\r\n",
                    way == FAULTY_STATUS ? "503 No" : "200 OK", length);
    for (size_t i = 0; i < length; i++) out[(size_t)n + i] = (char)('a' + i % 26);
    return (size_t)n + length;
}

static size_t answer_memcached(struct faulty *s, enum faulty_way way, const char *request, size_t size, char *out) {
    unsigned key = 0;
    size_t length = 0;
    if (way == FAULTY_STATUS) return (size_t)sprintf(out, "SERVER_ERROR out of memory\r\n");
    if (sscanf(request, "set k%u %*d %*d %zu", &key, &length) == 2) {
        CHECK(key < FAULTY_KEYS && length <= FAULTY_SIZE);
        memcpy(s->values[key], request + size - length - 2, s->sizes[key] = length);
        return (size_t)sprintf(out, "STORED\r\n");
    }
    CHECK(sscanf(request, "get k%u", &key) == 1 && key < FAULTY_KEYS);
    if (way == FAULTY_MISSING) return (size_t)sprintf(out, "END\r\n");
    size_t n = (size_t)sprintf(out, "VALUE k%09u 0 %zu\r\n", key, s->sizes[key]);
    memcpy(out + n, s->values[key], s->sizes[key]);
    return n + s->sizes[key] + (size_t)sprintf(out + n + s->sizes[key], "\r\nEND\r\n");
}

/* The first request gets a right answer. A fault that only a get can have waits for a get. */
static enum faulty_way way_now(struct faulty *s, const char *request) {
    if (s->way == FAULTY_NOT || ++s->requests % s->every) return FAULTY_NOT;
    if (s->speaks == FAULTY_MEMCACHED && request[0] == 's') {
        s->requests--;
        return FAULTY_NOT;
    }
    s->planted++;
    return s->way;
}

/* False: the connection has ended. */
static bool answer(struct peer *p, size_t size) {
    struct faulty *s = p->server;
    char out[ROOM + 64];
    size_t n = size;
    pthread_mutex_lock(&s->lock);
    enum faulty_way way = way_now(s, p->in);
    if (way == FAULTY_PAUSES) {
        struct timespec t = {(time_t)(s->pause_ns / 1000000000), (long)(s->pause_ns % 1000000000)};
        nanosleep(&t, NULL);
    }
    if (s->speaks == FAULTY_ECHO)
        memcpy(out, p->in, size);
    else
        n = s->speaks == FAULTY_HTTP ? answer_http(way, out) : answer_memcached(s, way, p->in, size, out);
    pthread_mutex_unlock(&s->lock);
    if (way == FAULTY_CLOSES) return false;
    if (way == FAULTY_SILENT) return true;
    if (way == FAULTY_WRONG) out[n - 9] ^= 1; /* not in the end of a value */
    if (way == FAULTY_MORE) out[n++] = '!';
    if (way == FAULTY_SHORT) n /= 2;
    return send(p->fd, out, n, MSG_NOSIGNAL) == (ssize_t)n && way != FAULTY_SHORT;
}

static void begin_thread(struct faulty *s, void *(*fn)(void *), void *arg) {
    pthread_t thread;
    pthread_mutex_lock(&s->lock);
    s->threads++;
    pthread_mutex_unlock(&s->lock);
    CHECK_EQ(pthread_create(&thread, NULL, fn, arg), 0);
    pthread_detach(thread);
}

static void end_thread(struct faulty *s) {
    pthread_mutex_lock(&s->lock);
    s->threads--;
    pthread_cond_signal(&s->ended);
    pthread_mutex_unlock(&s->lock);
}

static void *serve(void *arg) {
    struct peer *p = arg;
    ssize_t n;
    while ((n = recv(p->fd, p->in + p->have, ROOM - 1 - p->have, 0)) > 0) {
        bool open = true;
        p->have += (size_t)n;
        p->in[p->have] = 0;
        for (size_t size; open && (size = request_size(p)); p->have -= size) {
            bool last = memmem(p->in, size, "Connection: close", 17);
            open = answer(p, size) && !last;
            memmove(p->in, p->in + size, p->have - size + 1);
        }
        if (!open) break;
    }
    struct faulty *s = p->server;
    close(p->fd);
    free(p);
    end_thread(s);
    return NULL;
}

static void *accepts(void *arg) {
    struct faulty *s = arg;
    for (int fd; (fd = accept(s->listener, NULL, NULL)) >= 0;) {
        struct peer *p = calloc(1, sizeof *p);
        CHECK(p);
        p->server = s;
        p->fd = fd;
        __atomic_fetch_add(&s->connections, 1, __ATOMIC_RELAXED);
        begin_thread(s, serve, p);
    }
    end_thread(s);
    return NULL;
}

void faulty_start(struct faulty *s) {
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof at;
    pthread_mutex_init(&s->lock, NULL);
    pthread_cond_init(&s->ended, NULL);
    s->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    CHECK(!bind(s->listener, (struct sockaddr *)&at, sizeof at) && !listen(s->listener, 1024));
    CHECK(!getsockname(s->listener, (struct sockaddr *)&at, &length));
    s->port = ntohs(at.sin_port);
    begin_thread(s, accepts, s);
}

void faulty_stop(struct faulty *s) {
    shutdown(s->listener, SHUT_RDWR);
    pthread_mutex_lock(&s->lock);
    while (s->threads) pthread_cond_wait(&s->ended, &s->lock);
    pthread_mutex_unlock(&s->lock);
    close(s->listener);
}
