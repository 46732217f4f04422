/* SPDX-License-Identifier: MIT */
/* See io.h. */
#define _GNU_SOURCE
#include "io.h"

#include <poll.h>
#include <unistd.h>

struct scoped {
    int (*call)(void *);
    void *context;
};

/* What is to end in time is done in a scope. */
static int within_scope(void *context, uint64_t deadline) {
    struct scoped *s = context;
    struct weft_scope scope;
    if (deadline == WEFT_FOREVER) return s->call(s->context);
    OK(weft_scope_begin(&scope, deadline));
    int result = s->call(s->context);
    int err = weft_scope_end(&scope);
    SO(!err || err == -ETIMEDOUT || err == -ECANCELED);
    return result;
}

int insist_on(struct party *p, int (*call)(void *), void *context) {
    struct scoped s = {call, context};
    return insist(p, within_scope, &s);
}

/* --- pieces ------------------------------------------------------------------------------------------------------- */

struct piece {
    int fd;
    char *buffer;
    size_t size;
    unsigned way;
    bool thread;
};

/* A thread that finds nothing, on a descriptor that does not block, waits until there is something. */
static int result_of(ssize_t n, struct piece *p, short events) {
    if (n >= 0) return (int)n;
    int err = -errno;
    if (!p->thread || err != -EAGAIN) return err;
    int ready = weft_ready(p->fd, events);
    return ready > 0 ? -EINTR : ready; /* again */
}

static int call_read(void *piece) {
    struct piece *p = piece;
    struct iovec two[2] = {{p->buffer, p->size / 2}, {p->buffer + p->size / 2, p->size - p->size / 2}};
    ssize_t n = p->way ? weft_readv(p->fd, two, 2) : weft_read(p->fd, p->buffer, p->size);
    return result_of(n, p, POLLIN);
}

static int call_write(void *piece) {
    struct piece *p = piece;
    struct iovec two[2] = {{p->buffer, p->size / 2}, {p->buffer + p->size / 2, p->size - p->size / 2}};
    ssize_t n = p->way ? weft_writev(p->fd, two, 2) : weft_write(p->fd, p->buffer, p->size);
    return result_of(n, p, POLLOUT);
}

int read_some(struct party *p, int fd, void *buffer, size_t size) {
    struct piece piece = {fd, buffer, size, one_in(p, 3), is_thread(p->actor)};
    int n;
    do n = insist_on(p, call_read, &piece);
    while (piece.thread && n == -EINTR);
    return n;
}

int write_some(struct party *p, int fd, const void *buffer, size_t size) {
    struct piece piece = {fd, (char *)buffer, size, one_in(p, 3), is_thread(p->actor)};
    int n;
    do n = insist_on(p, call_write, &piece);
    while (piece.thread && n == -EINTR);
    return n;
}

void write_all(struct party *p, int fd, const void *buffer, size_t size) {
    for (size_t done = 0; done < size;) {
        int n = write_some(p, fd, (const char *)buffer + done, size - done);
        SO(n > 0);
        done += (size_t)n;
    }
}

void read_all(struct party *p, int fd, void *buffer, size_t size) {
    for (size_t done = 0; done < size;) {
        int n = read_some(p, fd, (char *)buffer + done, size - done);
        SO(n > 0);
        done += (size_t)n;
    }
}

void close_file(int fd) { OK(weft_close(fd)); }

/* --- bytes -------------------------------------------------------------------------------------------------------- */

void fill_bytes(const struct op *op, unsigned char *to, size_t place, size_t n) {
    for (size_t i = 0; i < n; i++) to[i] = byte_at(op, place + i);
}

void check_bytes(const struct op *op, const unsigned char *from, size_t place, size_t n) {
    for (size_t i = 0; i < n; i++) WANT(from[i], byte_at(op, place + i));
}
