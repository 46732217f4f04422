/* SPDX-License-Identifier: MIT */
/*
 * Handshake, read and write: call OpenSSL, classify the result, wait outside of OpenSSL, call again.
 *
 * OpenSSL's error queue belongs to the kernel thread. It is emptied before each call and read after it, without a wait
 * in between. So its contents belong to this call, whatever other streams did on this thread.
 */
#define _GNU_SOURCE
#include "tls.h"

#include <openssl/err.h>
#include <openssl/sslerr.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>

/* Bytes that are sent before other fibers get a turn, if the socket takes them without a wait. */
#define AT_ONCE (1024 * 1024)
#define RECORD 16384

/* --- results of a call ------------------------------------------------------------------------------------ */

/* The peer was refused, or has refused. */
WEFT_COLD static void note_failure(struct weft_tls *tls) {
    unsigned long error = ERR_peek_last_error();
    long verdict = SSL_get_verify_result(tls->ssl);
    bool refused = ERR_GET_REASON(error) == SSL_R_CERTIFICATE_VERIFY_FAILED ||
                   ERR_GET_REASON(error) == SSL_R_PEER_DID_NOT_RETURN_A_CERTIFICATE;
    tls->broken = refused ? EKEYREJECTED : EPROTO;
    if (refused && verdict != X509_V_OK) {
        snprintf(tls->reason, sizeof tls->reason, "%s", X509_verify_cert_error_string(verdict));
        ERR_clear_error();
    } else {
        weft__tls_read_errors(tls->reason);
    }
}

WEFT_COLD static enum tls_next transfer_failed(struct weft_tls *tls, int kind) {
    if (tls->socket_error) {
        tls->broken = tls->socket_error;
        snprintf(tls->reason, sizeof tls->reason, "%s", strerror(tls->broken));
    } else if (kind == SSL_ERROR_SSL) {
        note_failure(tls);
    } else {
        tls->broken = EPROTO;
    }
    ERR_clear_error();
    return TLS_FAILED;
}

enum tls_next weft__tls_classify(struct weft_tls *tls, int result) {
    if (result > 0) return TLS_DONE;
    int kind = SSL_get_error(tls->ssl, result);
    switch (kind) {
    case SSL_ERROR_WANT_READ: return TLS_WANTS_INPUT;
    case SSL_ERROR_WANT_WRITE: return TLS_WANTS_OUTPUT;
    case SSL_ERROR_ZERO_RETURN: return TLS_PEER_ENDED;
    default: return transfer_failed(tls, kind);
    }
}

/* The socket has ended, and OpenSSL wants more. Written data may still arrive. */
WEFT_COLD static int cut_off(struct weft_tls *tls) {
    snprintf(tls->reason, sizeof tls->reason, "the connection ended before the peer's last word");
    return -ECONNABORTED;
}

/* --- waits ------------------------------------------------------------------------------------------------ */

static int await_readiness(int fd, short events) {
    struct pollfd one = {.fd = fd, .events = events};
    return weft_poll(&one, 1, -1) < 0 ? -errno : 0;
}

/* For the reader, or the fiber that does the handshake: no other fiber uses the lent buffer. */
static int await_input(struct weft_tls *tls) {
    tls->dry = false;
    if (!weft_self().id) return await_readiness(tls->fd, POLLIN);
    ssize_t n = weft_recv_lease(tls->fd, &tls->lent);
    if (n > 0) {
        tls->lent_at = 0;
        tls->lent_size = (uint32_t)n;
        tls->dry = n < WEFT_LEASE_SIZE;
    }
    if (n == 0) tls->ended = true;
    if (n == -ECANCELED || n == -ETIMEDOUT || n == -ENOMEM) return (int)n;
    if (n < 0) tls->socket_error = (int)-n; /* the kernel reports it once; OpenSSL's read reports it again */
    return 0;
}

int weft__tls_await(struct weft_tls *tls, enum tls_next what) {
    return what == TLS_WANTS_INPUT ? await_input(tls) : await_readiness(tls->fd, POLLOUT);
}

/* May OpenSSL be called? 0 or a negative errno. The caller holds `using`. */
static int tls_usable(const struct weft_tls *tls) {
    if (unlikely(load_rlx(&tls->closed))) return -EBADF;
    return -tls->broken;
}

/* --- the handshake ---------------------------------------------------------------------------------------- */

static void note_handshake(struct weft_tls *tls) {
    struct weft_tls_context *context = tls->context;
    const unsigned char *name;
    unsigned size;
    add_rlx(&context->handshakes, 1);
    if (SSL_session_reused(tls->ssl)) add_rlx(&context->resumed, 1);
    SSL_get0_alpn_selected(tls->ssl, &name, &size);
    if (size) tls->alpn = strndup((const char *)name, size);
    if (BIO_get_ktls_send(SSL_get_wbio(tls->ssl))) add_rlx(&context->kernel, 1);
    store_rel(&tls->established, true); /* pairs with the loads of `established` */
}

static int shake_hands(struct weft_tls *tls) {
    for (;;) {
        weft__tls_ssl_lock(tls);
        int error = tls_usable(tls);
        enum tls_next next = TLS_DONE;
        if (!error) {
            ERR_clear_error();
            next = weft__tls_classify(tls, SSL_do_handshake(tls->ssl));
            if (next == TLS_DONE) note_handshake(tls);
            if (next == TLS_FAILED) add_rlx(&tls->context->failed, 1);
        }
        weft__tls_ssl_unlock(tls);
        if (error || next == TLS_DONE) return error;
        if (next >= TLS_PEER_ENDED) return tls->broken ? -tls->broken : -EPROTO;
        if (next == TLS_WANTS_INPUT && tls->ended) {
            add_rlx(&tls->context->failed, 1);
            tls->broken = ECONNABORTED;
            return cut_off(tls);
        }
        error = weft__tls_await(tls, next);
        if (error) return error;
    }
}

/* Takes the turns of both directions. */
WEFT_COLD static int establish_stream(struct weft_tls *tls) {
    int error = weft__tls_turn_take(&tls->reading);
    if (error) return error;
    error = weft__tls_turn_take(&tls->writing);
    if (!error) {
        if (!load_rlx(&tls->established)) error = shake_hands(tls);
        weft_sem_post(&tls->writing);
    }
    weft_sem_post(&tls->reading);
    return error;
}

static int is_established(struct weft_tls *tls) {
    return likely(load_acq(&tls->established)) ? 0 : establish_stream(tls); /* pairs with note_handshake */
}

WEFT_PUBLIC int weft_tls_handshake(struct weft_tls *tls) {
    if (!weft__tls_enter(tls)) return -1;
    int error = is_established(tls);
    weft__tls_leave(tls);
    if (error) errno = -error;
    return error ? -1 : 0;
}

/* --- reading ---------------------------------------------------------------------------------------------- */

/* No data is there, as far as is known without asking the kernel. */
static bool is_dry(const struct weft_tls *tls) { return tls->dry && !tls->lent_size && !SSL_has_pending(tls->ssl); }

static ssize_t tls_receive(struct weft_tls *tls, void *buffer, size_t size) {
    for (bool first = true;; first = false) {
        size_t n = 0;
        enum tls_next next = TLS_WANTS_INPUT;
        weft__tls_ssl_lock(tls);
        int error = tls_usable(tls);
        if (!error && !(first && is_dry(tls))) {
            ERR_clear_error();
            next = weft__tls_classify(tls, SSL_read_ex(tls->ssl, buffer, size, &n));
        }
        weft__tls_ssl_unlock(tls);
        if (error) return error;
        if (next == TLS_DONE) return (ssize_t)n;
        if (next == TLS_PEER_ENDED) return 0;
        if (next == TLS_FAILED) return -tls->broken;
        if (next == TLS_WANTS_INPUT && tls->ended) return cut_off(tls);
        if ((error = weft__tls_await(tls, next))) return error;
    }
}

WEFT_PUBLIC ssize_t weft_tls_read(struct weft_tls *tls, void *buffer, size_t size) {
    if (!weft__tls_enter(tls)) return -1;
    ssize_t n = is_established(tls);
    if (!n && size) n = weft__tls_turn_take(&tls->reading);
    if (!n && size) {
        n = tls_receive(tls, buffer, size);
        weft_sem_post(&tls->reading);
    }
    weft__tls_leave(tls);
    if (n < 0) errno = (int)-n;
    return n < 0 ? -1 : n;
}

/* --- writing ---------------------------------------------------------------------------------------------- */

/* Sends a whole record. 0 and the number of bytes in *took, or a negative errno. */
static int send_record(struct weft_tls *tls, const char *data, size_t size, bool more, size_t *took) {
    for (;;) {
        enum tls_next next = TLS_FAILED;
        weft__tls_ssl_lock(tls);
        int error = tls_usable(tls);
        if (!error && (tls->shut || tls->cut)) error = -EPIPE;
        if (!error) {
            tls->more = more;
            ERR_clear_error();
            next = weft__tls_classify(tls, SSL_write_ex(tls->ssl, data, size, took));
            tls->more = false;
        }
        weft__tls_ssl_unlock(tls);
        if (error || next == TLS_DONE) return error;
        if (next >= TLS_PEER_ENDED) return tls->broken ? -tls->broken : -EPIPE;
        if ((error = weft__tls_await(tls, next))) {
            tls->cut = true;
            return error;
        }
    }
}

ssize_t weft__tls_send(struct weft_tls *tls, const char *data, size_t size, bool more) {
    size_t done = 0, since = 0;
    while (done < size) {
        size_t left = size - done, piece = left < RECORD ? left : RECORD, took = 0;
        int error = send_record(tls, data + done, piece, more || piece < left, &took);
        if (error) return done ? (ssize_t)done : error;
        done += took;
        if ((since += took) >= AT_ONCE && done < size) {
            weft_yield();
            since = 0;
        }
    }
    return (ssize_t)done;
}

static ssize_t send_parts(struct weft_tls *tls, const struct iovec *parts, int n, bool more) {
    size_t done = 0;
    for (int i = 0; i < n; i++) {
        ssize_t sent = weft__tls_send(tls, parts[i].iov_base, parts[i].iov_len, more || i + 1 < n);
        if (sent < 0) return done ? (ssize_t)done : sent;
        done += (size_t)sent;
        if ((size_t)sent < parts[i].iov_len) break;
    }
    return (ssize_t)done;
}

static ssize_t tls_write_parts(struct weft_tls *tls, const struct iovec *parts, int n, bool more) {
    if (!weft__tls_enter(tls)) return -1;
    ssize_t sent = is_established(tls);
    if (!sent) sent = weft__tls_turn_take(&tls->writing);
    if (!sent) {
        sent = send_parts(tls, parts, n, more);
        weft_sem_post(&tls->writing);
    }
    weft__tls_leave(tls);
    if (sent < 0) errno = (int)-sent;
    return sent < 0 ? -1 : sent;
}

WEFT_PUBLIC ssize_t weft_tls_writev(struct weft_tls *tls, const struct iovec *parts, int n) {
    if (n < 0 || (n && !parts)) {
        errno = EINVAL;
        return -1;
    }
    while (n && !parts[n - 1].iov_len) n--; /* empty parts do not count as more */
    return tls_write_parts(tls, parts, n, false);
}

WEFT_PUBLIC ssize_t weft_tls_write(struct weft_tls *tls, const void *buffer, size_t size) {
    const struct iovec one = {(void *)buffer, size};
    return tls_write_parts(tls, &one, 1, false);
}

WEFT_PUBLIC ssize_t weft_tls_send(struct weft_tls *tls, const void *buffer, size_t size, int flags) {
    const struct iovec one = {(void *)buffer, size};
    if (flags & ~(MSG_MORE | MSG_NOSIGNAL)) {
        errno = EINVAL;
        return -1;
    }
    return tls_write_parts(tls, &one, 1, flags & MSG_MORE);
}
