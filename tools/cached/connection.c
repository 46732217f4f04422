/* SPDX-License-Identifier: MIT */
/*
 * One fiber for each connection. It waits in weft_recv with a small buffer in the same page of its stack as its other
 * data: an idle client costs that page. The session processes the bytes. Its answers are collected in a buffer that the
 * connection holds only meanwhile, and sent with one call after all bytes were processed.
 *
 * If the small buffer is full, more bytes are likely: then it takes a large buffer, and receives the rest at once. Long
 * values are received directly into their items.
 */
#include "connection.h"

#include "buffers.h"
#include "linger.h"
#include "peers.h"
#include "secure.h"
#include "watcher.h"
#include "weft/io.h"
#include "weft/tls.h"

#define SMALL 1400u     /* enough for what most clients send at once */
#define IN_A_ROW_MOST 8 /* large buffers of one client before other clients have their turn */

struct connection {
    struct mc_session session;
    struct mc_peer peer;
    int fd;
    struct weft_tls *tls; /* NULL: no TLS */
    char small[SMALL];
};

static void skip(struct msghdr *message, size_t n) {
    for (; message->msg_iovlen; message->msg_iov++, message->msg_iovlen--) {
        struct iovec *part = message->msg_iov;
        if (n < part->iov_len) {
            part->iov_base = (char *)part->iov_base + n;
            part->iov_len -= n;
            return;
        }
        n -= part->iov_len;
    }
}

/* Unlike a socket, a TLS stream cannot continue after a cancelled write. So the client has to take the answer before
 * the server ends. */
static __attribute__((noinline)) int send_secure(struct connection *c, const struct iovec *parts, int count) {
    ssize_t wanted = 0;
    for (int i = 0; i < count; i++) wanted += (ssize_t)parts[i].iov_len;
    ssize_t n = weft_tls_writev(c->tls, parts, count);
    if (n > 0) mc_count(c->session.cache, MC_BYTES_WRITTEN, (uint64_t)n);
    return n == wanted ? 0 : -1;
}

static ssize_t receive(struct connection *c, char *to, size_t room) {
    return likely(!c->tls) ? weft_recv(c->fd, to, room, 0) : weft_tls_read(c->tls, to, room);
}

/* Receives without waiting. Returns -1 if there is nothing. */
static ssize_t receive_more(struct connection *c, char *to, size_t room) {
    if (likely(!c->tls)) return recv(c->fd, to, room, MSG_DONTWAIT);
    return weft_tls_pending(c->tls) ? weft_tls_read(c->tls, to, room) : -1;
}

static int send_parts(void *arg, struct iovec *parts, int count) {
    struct connection *c = arg;
    struct msghdr message = {.msg_iov = parts, .msg_iovlen = (size_t)count};
    if (unlikely(c->tls != NULL)) return send_secure(c, parts, count);
    while (message.msg_iovlen) {
        const struct iovec *first = message.msg_iov;
        ssize_t n = message.msg_iovlen == 1 ? weft_send(c->fd, first->iov_base, first->iov_len, MSG_NOSIGNAL)
                                            : weft_sendmsg(c->fd, &message, MSG_NOSIGNAL);
        if (unlikely(n < 0 && errno == ECANCELED)) n = mc_send_in_grace(c->session.cache, c->fd, &message);
        if (n < 0) return -1;
        mc_count(c->session.cache, MC_BYTES_WRITTEN, (uint64_t)n);
        skip(&message, (size_t)n);
    }
    return 0;
}

static bool goes_on(const struct connection *c) { return !c->session.closing && !c->session.reply.broken; }

static __attribute__((noinline, cold)) void log_event(const struct connection *c, bool closes) {
    union {
        struct sockaddr any;
        struct sockaddr_storage room;
    } peer = {.any.sa_family = AF_UNSPEC};
    socklen_t size = sizeof peer;
    getpeername(c->fd, &peer.any, &size);
    if (closes)
        mc_log_closed(c->fd, &peer.any, load_rlx(&c->peer.idle) ? MC_CLOSE_IDLE : (enum mc_close)c->session.close);
    else
        mc_log_connected(c->fd, &peer.any);
}

/* Receives further bytes of the client without waiting. */
static void feed_more(struct connection *c) {
    char *buffer = mc_buffer_take(), *where;
    if (!buffer) {
        c->session.closing = true;
        return;
    }
    ssize_t n = MC_BUFFER;
    for (int i = 0; n == MC_BUFFER && goes_on(c); i++) {
        if (i == IN_A_ROW_MOST) {
            mc_count(c->session.cache, MC_YIELDS, 1);
            break;
        }
        if (mc_session_target(&c->session, &where)) break;
        n = receive_more(c, buffer, MC_BUFFER);
        if (n <= 0) break; /* nothing, or an end that the next wait will report again */
        mc_count(c->session.cache, MC_BYTES_READ, (uint64_t)n);
        mc_session_feed(&c->session, buffer, (size_t)n);
    }
    mc_buffer_give(buffer);
}

/* Processes the received bytes up to the answer. */
static void work(struct connection *c, size_t n) {
    struct mc_reply *reply = &c->session.reply;
    reply->begin = reply->at = mc_buffer_take();
    if (!reply->begin) {
        c->session.closing = true;
        return;
    }
    reply->end = reply->begin + MC_BUFFER;
    mc_session_feed(&c->session, c->small, n);
    if (n == SMALL && goes_on(c)) feed_more(c);
    mc_reply_send(reply);
    mc_buffer_give(reply->begin);
}

/* Receives a long value directly into its item. The answer is one line. Not inlined, to keep the caller's frame
 * small. */
static __attribute__((noinline)) void place(struct connection *c, size_t n) {
    struct mc_reply *reply = &c->session.reply;
    char line[MC_LINE_MOST];
    reply->begin = reply->at = line;
    reply->end = line + sizeof line;
    mc_session_received(&c->session, n);
    mc_reply_send(reply);
}

void mc_connection(struct mc_cache *cache, int fd, bool secure) {
    struct connection c;
    c.fd = fd;
    c.tls = NULL;
    if (unlikely(secure) && !(c.tls = mc_secure_shake(fd))) return;
    mc_session_begin(&c.session, cache, fd);
    c.session.reply.send = send_parts;
    c.session.reply.arg = &c;
    c.session.alone = true;
    mc_peer_begin(&c.peer, fd);
    if (mc_wanted(MC_LOG_CONNECTIONS)) log_event(&c, false);
    bool gone = false;
    while (goes_on(&c)) {
        char *where;
        size_t room = mc_session_target(&c.session, &where);
        mc_peer_waits(&c.peer, &c.session);
        ssize_t n = room ? receive(&c, where, room) : receive(&c, c.small, SMALL);
        gone = n == 0 || (n < 0 && errno != ECANCELED);
        if (n <= 0) break;
        mc_peer_works(&c.peer);
        mc_count(cache, MC_BYTES_READ, (uint64_t)n);
        if (room)
            place(&c, (size_t)n);
        else
            work(&c, (size_t)n);
    }
    if (c.session.watcher && !c.session.reply.broken) {
        mc_peer_watches(&c.peer);
        mc_watch(&c.session, fd, c.tls);
        gone = true;
    }
    if (gone) c.session.close = MC_CLOSE_NORMAL;
    mc_session_end(&c.session);
    mc_peer_closes(&c.peer);
    if (mc_wanted(MC_LOG_CONNECTIONS)) log_event(&c, true);
    if (!gone && c.tls) weft_tls_shutdown(c.tls);
    if (!gone) mc_linger(cache, fd);
    mc_peer_end(&c.peer);
    if (unlikely(c.tls != NULL))
        weft_tls_close(c.tls);
    else
        weft_close(fd);
}
