/* SPDX-License-Identifier: MIT */
#include "udp.h"

#include "session.h"
#include "weft.h"
#include "weft/io.h"

#include <stdlib.h>

#define HEAD 8u
#define PAYLOAD 1392u /* bytes of a datagram after its head */
#define REQUEST_MOST 65536u
#define PARTS_MOST 65535u /* the most datagrams of an answer, because its head counts with 16 bits */
#define KEPT_MOST 65536u  /* if an answer is longer, its memory is freed */

struct udp {
    struct mc_cache *cache;
    int fd;
    bool too_long; /* the answer is too long */
    struct sockaddr_storage peer;
    socklen_t peer_size;
    char *answer;
    size_t size, room;
    char buffer[MC_REPLY_SIZE]; /* the buffer of the reply */
    unsigned char request[REQUEST_MOST];
};

static bool make_room(struct udp *u, size_t n) {
    if (n > (size_t)PARTS_MOST * PAYLOAD) return false;
    if (n <= u->room) return true;
    char *more = realloc(u->answer, n * 2);
    if (!more) return false;
    u->answer = more;
    u->room = n * 2;
    return true;
}

/* The first part has the number of parts, so the answer is collected and sent when it is complete. */
static int gather(void *arg, struct iovec *parts, int count) {
    struct udp *u = arg;
    for (int i = 0; i < count && !u->too_long; i++) {
        u->too_long = !make_room(u, u->size + parts[i].iov_len);
        if (u->too_long) break;
        memcpy(u->answer + u->size, parts[i].iov_base, parts[i].iov_len);
        u->size += parts[i].iov_len;
    }
    return u->too_long ? -1 : 0;
}

static int send_part(struct udp *u, size_t i, size_t count) {
    size_t left = u->size - i * PAYLOAD;
    unsigned char head[HEAD] = {
        u->request[0],       u->request[1], (unsigned char)(i >> 8), (unsigned char)i, (unsigned char)(count >> 8),
        (unsigned char)count};
    struct iovec parts[] = {{head, HEAD}, {u->answer + i * PAYLOAD, left < PAYLOAD ? left : PAYLOAD}};
    struct msghdr message = {.msg_name = &u->peer, .msg_namelen = u->peer_size, .msg_iov = parts, .msg_iovlen = 2};
    ssize_t n = weft_sendmsg(u->fd, &message, MSG_NOSIGNAL);
    if (n > 0) mc_count(u->cache, MC_BYTES_WRITTEN, (uint64_t)n);
    return n < 0 ? -1 : 0;
}

/* Sends all datagrams of an answer. If a datagram is lost, the answer is lost. */
static void send_answer(struct udp *u) {
    size_t count = (u->size + PAYLOAD - 1) / PAYLOAD;
    for (size_t i = 0; i < count; i++)
        if (send_part(u, i, count)) break;
    if (u->room <= KEPT_MOST) return;
    free(u->answer);
    u->answer = NULL;
    u->room = 0;
}

static void say(struct udp *u, const char *line) {
    u->size = 0;
    if (make_room(u, strlen(line))) u->size = strlen(line);
    memcpy(u->answer, line, u->size);
}

/* A request whose value does not fit in its datagram is wrong, because nothing follows. */
static void answer(struct udp *u, size_t n) {
    struct mc_session session;
    mc_session_begin(&session, u->cache, u->fd);
    session.datagram = true;
    session.reply = (struct mc_reply){u->buffer, u->buffer, u->buffer + sizeof u->buffer, false, gather, u};
    u->size = 0;
    u->too_long = false;
    mc_session_feed(&session, (const char *)u->request + HEAD, n - HEAD);
    bool cut = session.upload.item && !session.noreply;
    mc_reply_send(&session.reply);
    mc_session_end(&session);
    if (u->too_long)
        say(u, "SERVER_ERROR answer too long for datagrams\r\n");
    else if (cut)
        say(u, "CLIENT_ERROR bad data chunk\r\n");
    send_answer(u);
}

/* Like memcached, drops requests of several datagrams, and datagrams without a request. */
static bool is_request(const struct udp *u, ssize_t n) {
    return n > (ssize_t)HEAD && !u->request[4] && u->request[5] == 1;
}

int mc_udp(struct mc_cache *cache, int fd) {
    struct udp *u = malloc(sizeof *u);
    if (!u) return -ENOMEM;
    *u = (struct udp){.cache = cache, .fd = fd};
    for (;;) {
        u->peer_size = sizeof u->peer;
        ssize_t n = weft_recvfrom(fd, u->request, sizeof u->request, 0, (struct sockaddr *)&u->peer, &u->peer_size);
        if (n < 0 && (errno == ECANCELED || errno == ETIMEDOUT || errno == EBADF)) break;
        if (n < 0) continue; /* an answer did not arrive: the kernel reports that here */
        mc_count(cache, MC_BYTES_READ, (uint64_t)n);
        if (is_request(u, n)) answer(u, (size_t)n);
    }
    free(u->answer);
    free(u);
    return 0;
}
