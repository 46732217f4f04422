/* SPDX-License-Identifier: MIT */
/*
 * A connection: connecting, exchanges, disconnecting. See load.h.
 *
 * Connections are reset, not closed, so that no port stays occupied for a minute after it. Each link has one input
 * buffer: bytes [at, at + have) have come and were not taken yet.
 */
#include "load.h"
#include "weft/io.h"
#include "weft/tls.h"

#include <errno.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define A_SOURCE 20000 /* connections from one address; there are some 28,000 ports */
#define SOURCES 250    /* addresses: 127.0.0.1 and so on */
#define ROOM_LEAST 512
#define ROOM_MOST 65536

struct load_link *load_link_new(struct load *load, unsigned index) {
    unsigned depth = load->plan->depth;
    struct load_link *link = calloc(1, sizeof *link + depth * sizeof *link->asked);
    if (!link) return NULL;
    size_t room = load->answer_room * depth;
    if (room < ROOM_LEAST) room = ROOM_LEAST;
    if (room > ROOM_MOST) room = ROOM_MOST;
    *link = (struct load_link){.load = load, .index = index, .fd = -1, .random = index * 2 + 1, .room = room};
    link->out = malloc(load->request_room * depth);
    link->in = malloc(room);
    if (link->out && link->in) return link;
    load_link_free(link);
    return NULL;
}

void load_link_free(struct load_link *link) {
    if (!link) return;
    load_hang_up(link);
    free(link->out);
    free(link->in);
    free(link);
}

void load_hang_up(struct load_link *link) {
    struct linger now = {1, 0};
    if (link->fd < 0) return;
    setsockopt(link->fd, SOL_SOCKET, SO_LINGER, &now, sizeof now);
    if (link->tls)
        weft_tls_close(link->tls);
    else
        weft_close(link->fd);
    link->tls = NULL;
    link->fd = -1;
}

ssize_t load_send(struct load_link *link, const char *data, size_t size) {
    if (link->tls) return weft_tls_write(link->tls, data, size);
    return weft_send(link->fd, data, size, MSG_NOSIGNAL);
}

ssize_t load_receive(struct load_link *link, char *to, size_t size) {
    return link->tls ? weft_tls_read(link->tls, to, size) : weft_recv(link->fd, to, size, 0);
}

/* Binds to the n-th source address. Only for servers on this machine that are named by a loopback address. */
static bool bind_source(int fd, const struct sockaddr_in *server, unsigned n) {
    struct sockaddr_in source = {.sin_family = AF_INET};
    int one = 1;
    if (ntohl(server->sin_addr.s_addr) >> 24 != 127) return false;
    source.sin_addr.s_addr = htonl(INADDR_LOOPBACK + n % SOURCES);
    setsockopt(fd, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, &one, sizeof one);
    return !bind(fd, (struct sockaddr *)&source, sizeof source);
}

static enum load_fault dial_from(struct load_link *link, unsigned source) {
    const struct sockaddr_in *server = &link->load->plan->address;
    int one = 1;
    link->fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (link->fd < 0) return LOAD_CONNECT;
    if (source) bind_source(link->fd, server, source);
    if (weft_connect(link->fd, (const struct sockaddr *)server, sizeof *server)) {
        int error = errno;
        load_hang_up(link);
        errno = error;
        return error == ECONNREFUSED ? LOAD_REFUSED : error == ETIMEDOUT ? LOAD_TIMEOUT : LOAD_CONNECT;
    }
    setsockopt(link->fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    link->at = link->have = link->body_at = link->part = 0;
    link->last = link->to_the_end = false;
    return link->load->tls ? load_secure(link) : LOAD_FINE;
}

enum load_fault load_dial(struct load_link *link) {
    unsigned source = link->index / A_SOURCE;
    enum load_fault fault = dial_from(link, source);
    for (unsigned i = 1; fault == LOAD_CONNECT && errno == EADDRNOTAVAIL && i < SOURCES; i++)
        fault = dial_from(link, source + i);
    return fault;
}

static enum load_fault receive(struct load_link *link, bool within) {
    if (link->at) memmove(link->in, link->in + link->at, link->have);
    link->at = 0;
    if (link->have == link->room) return LOAD_LENGTH;
    ssize_t n = load_receive(link, link->in + link->have, link->room - link->have);
    if (n <= 0) {
        link->ended = !n;
        if (n < 0 && errno == ETIMEDOUT) return LOAD_TIMEOUT;
        return within || link->have ? LOAD_SHORT : LOAD_CLOSED;
    }
    link->have += (size_t)n;
    if (link->load->measured) __atomic_fetch_add(&link->load->tally->bytes, (uint64_t)n, __ATOMIC_RELAXED);
    return LOAD_FINE;
}

static enum load_fault answer(struct load_link *link, unsigned i) {
    bool done = false, within = false;
    enum load_fault fault = LOAD_FINE;
    for (;;) {
        if (link->have) {
            size_t n = link->load->plan->protocol->take(link, i, link->in + link->at, link->have, &done, &fault);
            link->at += n;
            link->have -= n;
            within |= n > 0;
            if (done || fault) return fault;
        }
        fault = receive(link, within);
        if (fault && link->ended && link->to_the_end) {
            fault = LOAD_FINE;
            link->load->plan->protocol->take(link, i, link->in, 0, &done, &fault);
            return fault;
        }
        if (fault) return fault;
    }
}

/* Exchanges requests and answers from the i-th on, as many as the connection may carry. Returns how many. */
static unsigned ask_some(struct load_link *link, unsigned i, unsigned n, double from, double step,
                         enum load_fault *fault) {
    struct load *load = link->load;
    if (link->fd < 0 && (*fault = load_dial(link))) return 0;
    size_t size = 0;
    for (unsigned k = i; k < n; k++) size += load->plan->protocol->request(link, k, link->out + size);
    if (load_send(link, link->out, size) != (ssize_t)size) {
        *fault = errno == ETIMEDOUT ? LOAD_TIMEOUT : LOAD_CLOSED;
        return 0;
    }
    for (unsigned k = i; k < n; k++) {
        if ((*fault = answer(link, k))) return k - i;
        double took = (double)weft_now() - (from + k * step);
        if (load->measured) histogram_add(&load->tally->times, took > 0 ? (uint64_t)took : 0);
        if (link->last) return k - i + 1;
    }
    return n - i;
}

/* If the server ends a connection before it has answered all requests, the rest goes to another connection. */
static enum load_fault ask(struct load_link *link, unsigned n, double from, double step) {
    struct load *load = link->load;
    enum load_fault fault = LOAD_FINE;
    for (unsigned i = 0; i < n && !fault;) {
        i += ask_some(link, i, n, from, step, &fault);
        if (i < n && !fault) load_hang_up(link);
    }
    if (fault) return fault;
    if (!link->have && !link->to_the_end && load->plan->one_request && load->plan->protocol->server_closes) {
        fault = receive(link, false);
        return fault == LOAD_CLOSED ? LOAD_FINE : fault ? fault : LOAD_LENGTH;
    }
    return link->have ? LOAD_LENGTH : LOAD_FINE;
}

enum load_fault load_exchange(struct load_link *link, unsigned n, double from, double step) {
    struct weft_scope scope;
    weft_scope_begin(&scope, weft_now() + link->load->plan->timeout);
    enum load_fault fault = ask(link, n, from, step);
    weft_scope_end(&scope);
    if (fault) __atomic_fetch_add(&link->load->tally->faults[fault], 1, __ATOMIC_RELAXED);
    if (fault || link->last || link->load->plan->one_request) load_hang_up(link);
    return fault;
}

uint32_t load_random(struct load_link *link) {
    uint64_t x = link->random; /* xorshift64*; never 0 */
    x ^= x >> 12, x ^= x << 25, x ^= x >> 27;
    link->random = x;
    return (uint32_t)(x * UINT64_C(2685821657736338717) >> 32);
}

char *load_pattern(size_t size) {
    char *bytes = malloc(size + LOAD_OFFSETS);
    for (size_t i = 0; bytes && i < size + LOAD_OFFSETS; i++) bytes[i] = (char)('!' + (i * 31 + i / 93) % 93);
    return bytes;
}
