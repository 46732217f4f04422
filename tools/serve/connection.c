/* SPDX-License-Identifier: MIT */
/*
 * A connection waits for bytes, processes them, and waits again. Only work() and the functions that it calls need much
 * stack and buffers. work() returns before the connection waits for the next request, so that an idle connection is
 * small.
 */
#include "connection.h"

#include "base/base.h"
#include "body.h"
#include "deadlines.h"
#include "head.h"
#include "log.h"
#include "reply.h"
#include "secure.h"
#include "server.h"
#include "tick.h"
#include "weft.h"
#include "weft/io.h"
#include "weft/tls.h"

#include <arpa/inet.h>
#include <sys/ioctl.h>

/* LAST: the last answer was sent, or failed. GONE: the client has closed, or gets no answer. */
enum next { NEXT_REQUEST, NEXT_REST, NEXT_LAST, NEXT_GONE };

/* --- one request -------------------------------------------------------------------------------- */

static const char *peer_of(struct connection *c) {
    struct sockaddr_storage address;
    socklen_t size = sizeof address;
    if (*c->peer) return c->peer;
    memcpy(c->peer, "-", 2);
    if (getpeername(c->fd, (struct sockaddr *)&address, &size)) return c->peer;
    const void *host = address.ss_family == AF_INET6 ? (void *)&((struct sockaddr_in6 *)&address)->sin6_addr
                                                     : (void *)&((struct sockaddr_in *)&address)->sin_addr;
    inet_ntop(address.ss_family, host, c->peer, sizeof c->peer);
    return c->peer;
}

/* Logs a request, with the number of body bytes that were sent. To know that number, it first sends the answer. If
 * further requests have already arrived, their answers are sent together with this one; collected bytes then count as
 * sent. */
__attribute__((noinline, cold)) static void say(struct connection *c, const struct request *r, int status) {
    if (!input_size(&c->in)) output_flush(&c->out);
    uint64_t unsent = c->out.unsent < c->body ? c->out.unsent : c->body;
    log_request(peer_of(c), r, status, c->body - unsent);
}

/* Answers a request that is invalid or too slow, and ends the connection, because the bytes after the request cannot be
 * understood. */
__attribute__((noinline, cold)) static enum next refuse(struct connection *c, const struct request *r, int status) {
    c->keep = false;
    head_error(c, r, status, TEXT(""));
    if (log_wanted()) say(c, r, status);
    return NEXT_LAST;
}

/* Handles a request with a body. The body overwrites the input, which contains the texts of r. After that, only flags
 * and numbers of r are valid. */
__attribute__((noinline, cold)) static enum next with_body(struct connection *c, const struct request *r) {
    char *copy = buffer_take();
    if (!copy) return NEXT_LAST;
    struct request own;
    memcpy(copy, input_data(&c->in), r->size);
    parse_head(&own, copy, r->size, 0);
    input_use(&c->in, r->size);
    int status = body_drop(c, &own);
    c->keep = own.keep && !server_ends(); /* the server may have begun to end meanwhile */
    enum next next = NEXT_REQUEST;
    if (status)
        next = refuse(c, &own, status);
    else
        status = reply(c, &own);
    if (next == NEXT_REQUEST && log_wanted()) say(c, &own, status);
    buffer_give(copy);
    return next != NEXT_REQUEST ? next : c->keep ? NEXT_REQUEST : NEXT_LAST;
}

/* Answers all complete requests, and then sends the collected answers. */
__attribute__((noinline)) static enum next work(struct connection *c, uint32_t *seen) {
    struct request r;
    enum next next = NEXT_REQUEST;
    while (next == NEXT_REQUEST && input_size(&c->in) && !c->out.broken) {
        int found = parse_head(&r, input_data(&c->in), input_size(&c->in), *seen);
        bool begun = *seen;
        *seen = found == PARSE_MORE ? input_size(&c->in) : 0;
        if (found == PARSE_MORE) {
            /* The head is incomplete. All its pieces share one deadline. The deadline is set before any collected
             * answer is sent. So a client that has received an answer knows that the server waits for the next request,
             * which it sent together with the first, and does not cut it off when it ends. */
            if (!begun) deadline_set(c->fd, PHASE_READ, settings.slow);
            next = NEXT_REST;
        } else if (unlikely(found != PARSE_DONE)) {
            next = refuse(c, &r, found);
        } else {
            c->keep = r.keep && !server_ends();
            if (unlikely(r.body || r.chunked)) {
                next = with_body(c, &r);
                continue;
            }
            int status = reply(c, &r);
            input_use(&c->in, r.size); /* the bytes stay in place until the next wait */
            if (unlikely(log_wanted())) say(c, &r, status);
            next = c->keep ? NEXT_REQUEST : NEXT_LAST;
        }
    }
    output_flush(&c->out);
    return c->out.broken ? NEXT_LAST : next;
}

/* Answers after the rest of a head did not arrive, or not in time. */
__attribute__((noinline, cold)) static enum next give_up(struct connection *c) {
    struct request none = {.keep = false};
    if (!deadline_expired(c->fd)) return NEXT_GONE;
    return input_size(&c->in) ? refuse(c, &none, 408) : NEXT_LAST;
}

/* --- its end ----------------------------------------------------------------------------------------- */

/*
 * Closing a socket with unread bytes, or before the client has sent its last bytes, causes a reset, which may overtake
 * the answer. So the server shuts down its sending side, and reads and drops what the client still sends, until the
 * client has closed, too. It does so while bytes come, but not for ever, and otherwise for a moment. Before that moment
 * begins, the client has time to take the answer (deadlines.h).
 */
enum { LINGER_QUIET = 5, LINGER_MOST = 30 }; /* seconds, the same as in nginx */

/* Waits until the client has got everything. The receiving side was shut down, so the client's close is not visible,
 * and shutting down the other side, too, would cause a reset. */
__attribute__((noinline, cold)) static void linger_blindly(struct connection *c) {
    enum { READS = 64 };
    int n;
    do {
        for (n = 0; n < READS && recv(c->fd, c->in.little, sizeof c->in.little, MSG_DONTWAIT) > 0;) n++;
    } while (deadline_unsent(c->fd) && !deadline_expired(c->fd) && !weft_sleep_for(10 * WEFT_MILLISECOND));
}

/* Has the client got everything, and was everything that it sent read? Then the connection need not linger (a
 * connection with one request: 15.0 us if it lingers, 11.8 if not). */
static bool is_settled(int fd) {
    int unread = 0;
    return !deadline_unsent(fd) && !ioctl(fd, FIONREAD, &unread) && !unread;
}

static void linger(struct connection *c) {
    if (unlikely(c->out.tls != NULL)) secure_say_end(c);
    if (!input_size(&c->in) && is_settled(c->fd)) return;
    input_end(&c->in);
    deadline_set(c->fd, PHASE_LINGER, LINGER_QUIET);
    enum shut shut = deadline_shut(c->fd);
    if (unlikely(shut == SHUT_INPUT)) linger_blindly(c);
    if (unlikely(shut) || shutdown(c->fd, SHUT_WR)) return; /* an error: the client has reset the connection */
    for (uint32_t begun = tick_now(); input_wait(&c->in); input_end(&c->in))
        if (tick_now() - begun < LINGER_MOST) deadline_set(c->fd, PHASE_LINGER, LINGER_QUIET);
}

static void end(struct connection *c, enum next next) {
    output_flush(&c->out);
    if (next == NEXT_LAST) linger(c);
    input_end(&c->in);
    deadline_end(c->fd);
    if (unlikely(c->out.tls != NULL))
        weft_tls_close(c->out.tls);
    else
        weft_close(c->fd);
}

/* Serves until the client has closed or is dropped. With `first`, returns true as soon as the first answers were sent
 * and the client may send more. there: bytes have arrived. */
static bool converse(struct connection *c, bool there, bool first) {
    enum next next;
    uint32_t seen = 0;
    for (;; there = false) {
        if (!there && !input_wait(&c->in)) {
            next = give_up(c);
            break;
        }
        next = work(c, &seen);
        if (next >= NEXT_LAST) break;
        if (next == NEXT_REST) continue;
        deadline_set(c->fd, PHASE_IDLE, settings.idle); /* if the server ends, the ticker ends this wait */
        if (first) return true;
    }
    end(c, next);
    return false;
}

static void prepare(struct connection *c, int fd) {
    c->fd = c->in.fd = c->out.fd = fd;
    c->in.begin = c->in.end = c->out.used = 0;
    c->in.buffer = c->out.buffer = NULL;
    c->in.tls = c->out.tls = NULL;
    c->out.broken = false;
    c->out.unsent = 0;
    c->peer[0] = '\0';
}

bool connection_greet(int fd) {
    struct connection c;
    if (unlikely(settings.tls)) return true; /* with TLS, the stream must stay with the fiber of the handshake */
    prepare(&c, fd);
    bool goes_on = converse(&c, input_try(&c.in), true); /* usually a request follows the connection at once */
    if (goes_on) input_end(&c.in);
    return goes_on;
}

void connection_run(int fd) {
    struct connection c;
    prepare(&c, fd);
    if (likely(!settings.tls) || secure_shake(&c))
        converse(&c, false, false);
    else
        end(&c, NEXT_GONE);
}
