/* SPDX-License-Identifier: MIT */
/*
 * Creation and end of a stream, and the turns of its users.
 *
 * There are three semaphores of one unit. A call holds `reading` or `writing` from start to end, its waits included:
 * the second reader waits for the first. `using` is held while OpenSSL runs, and never across a wait: only one fiber at
 * a time may use an SSL, so a reader and a writer take turns. The handshake holds both directions.
 *
 * The end: the owner and every call in progress count as users. The last user frees the stream and closes the socket.
 * So no call uses the number of the descriptor when the number may already belong to another file. A close marks the
 * stream as closed while it holds `using`, and shuts the socket down: each waiter wakes, finds the mark, and returns
 * EBADF.
 */
#define _GNU_SOURCE
#include "tls.h"

#include <arpa/inet.h>
#include <openssl/err.h>
#include <openssl/x509v3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

/* --- turns ------------------------------------------------------------------------------------------------ */

int weft__tls_turn_take(struct weft_sem *turn) { return weft_sem_wait(turn); }

/* A cancelled caller still has to wait: the other user holds it for microseconds. */
WEFT_COLD static void use_later(struct weft_tls *tls) {
    struct weft_shield shield;
    weft_shield_begin(&shield);
    (void)!weft_sem_wait(&tls->using); /* in a shield */
    weft_shield_end(&shield);
}
void weft__tls_ssl_lock(struct weft_tls *tls) {
    if (unlikely(weft_sem_try(&tls->using))) use_later(tls);
}
void weft__tls_ssl_unlock(struct weft_tls *tls) { weft_sem_post(&tls->using); }

/* --- creation --------------------------------------------------------------------------------------------- */

static bool is_address(const char *host) {
    unsigned char address[16];
    return inet_pton(AF_INET, host, address) == 1 || inet_pton(AF_INET6, host, address) == 1;
}

/* The key for sessions: with the port, because another server may be there. */
static char *name_of(int fd, const char *host) {
    struct sockaddr_storage address = {.ss_family = AF_UNSPEC};
    socklen_t size = sizeof address;
    char *name = NULL;
    if (getpeername(fd, (struct sockaddr *)&address, &size)) address.ss_family = AF_UNSPEC;
    unsigned port = address.ss_family == AF_INET    ? ((struct sockaddr_in *)&address)->sin_port
                    : address.ss_family == AF_INET6 ? ((struct sockaddr_in6 *)&address)->sin6_port
                                                    : 0;
    return asprintf(&name, "%s:%u", host, ntohs((uint16_t)port)) < 0 ? NULL : name;
}

static bool set_host(struct weft_tls *tls, const char *host) {
    if (!host) return true;
    if (!*host || strlen(host) > TLSEXT_MAXLEN_host_name) {
        errno = EINVAL;
        return false;
    }
    bool address = is_address(host), set;
    if (address)
        set = X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(tls->ssl), host) == 1;
    else
        set = SSL_set1_host(tls->ssl, host) == 1 && SSL_set_tlsext_host_name(tls->ssl, host) == 1;
    SSL_set_hostflags(tls->ssl, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
    errno = ENOMEM;
    return set && (tls->server = name_of(tls->fd, host));
}

/* Checks the arguments. Returns 0 or the error. */
static int check_stream(const struct weft_tls_context *context, SSL_CTX *ctx, int fd, const char *host) {
    int type = 0;
    socklen_t size = sizeof type;
    if (getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &size)) return errno;
    if (type != SOCK_STREAM || (context->server && host)) return EINVAL;
    if (context->server) return SSL_CTX_get0_certificate(ctx) ? 0 : EPROTO;
    return host || SSL_CTX_get_verify_mode(ctx) == SSL_VERIFY_NONE ? 0 : EINVAL;
}

static void offer_session(struct weft_tls *tls) {
    SSL_SESSION *session = tls->server ? weft__tls_sessions_take(tls->context->sessions, tls->server) : NULL;
    if (!session) return;
    SSL_set_session(tls->ssl, session);
    SSL_SESSION_free(session);
}

static bool set_up(struct weft_tls *tls, SSL_CTX *ctx, const char *host) {
    errno = ENOMEM;
    tls->ssl = SSL_new(ctx);
    if (!tls->ssl || !weft__tls_transport_attach(tls) || !SSL_set_app_data(tls->ssl, tls) || !set_host(tls, host))
        return false;
    if (tls->context->server) {
        SSL_set_accept_state(tls->ssl);
    } else {
        SSL_set_connect_state(tls->ssl);
        offer_session(tls);
    }
    return true;
}

static struct weft_tls *make_stream(struct weft_tls_context *context, SSL_CTX *ctx, int fd, const char *host) {
    struct weft_tls *tls = calloc(1, sizeof *tls);
    if (!tls) return NULL;
    tls->context = context;
    tls->fd = fd;
    weft_sem_init(&tls->reading, 1);
    weft_sem_init(&tls->writing, 1);
    weft_sem_init(&tls->using, 1);
    store_rlx(&tls->users, 1);
    if (set_up(tls, ctx, host)) {
        add_rlx(&context->users, 1);
        return tls;
    }
    int error = errno;
    SSL_free(tls->ssl);
    free(tls->server);
    free(tls);
    errno = error;
    return NULL;
}

WEFT_PUBLIC struct weft_tls *weft_tls_open(struct weft_tls_context *context, int fd, const char *host) {
    if (!context) {
        errno = EINVAL;
        return NULL;
    }
    SSL_CTX *ctx = weft__tls_context_current(context);
    ERR_clear_error();
    int error = check_stream(context, ctx, fd, host);
    struct weft_tls *tls = error ? NULL : make_stream(context, ctx, fd, host);
    if (!tls && !error) error = errno;
    SSL_CTX_free(ctx);
    ERR_clear_error();
    errno = error;
    return tls;
}

/* --- users ------------------------------------------------------------------------------------------------ */

bool weft__tls_enter(struct weft_tls *tls) {
    if (!tls) {
        errno = EINVAL;
        return false;
    }
    add_rlx(&tls->users, 1); /* the caller may use it, so there is another user */
    return true;
}

WEFT_COLD static void destroy_stream(struct weft_tls *tls) {
    weft_lease_return(&tls->lent);
    if (load_rlx(&tls->established))
        SSL_set_shutdown(tls->ssl, SSL_SENT_SHUTDOWN); /* otherwise OpenSSL would drop the session as bad */
    SSL_free(tls->ssl);
    ERR_clear_error();
    weft_close(tls->fd);
    weft__tls_context_leave(tls->context);
    free(tls->alpn);
    free(tls->server);
    free(tls);
}

void weft__tls_leave(struct weft_tls *tls) {
    int error = errno;
    /* Pairs with itself: the last user sees the changes of the others. */
    if (add_ar(&tls->users, -1u) == 1) destroy_stream(tls);
    errno = error;
}

/* --- the end ---------------------------------------------------------------------------------------------- */

/* Sends close_notify. 0: it was sent. The caller has its turn to write. */
static int say_last_word(struct weft_tls *tls) {
    for (;;) {
        enum tls_next next = TLS_FAILED;
        weft__tls_ssl_lock(tls);
        if (load_rlx(&tls->closed)) {
            weft__tls_ssl_unlock(tls);
            return -EBADF;
        }
        if (tls->broken || tls->cut) {
            weft__tls_ssl_unlock(tls);
            return tls->broken ? -tls->broken : -EPIPE;
        }
        if (tls->shut) {
            weft__tls_ssl_unlock(tls);
            return 0;
        }
        ERR_clear_error();
        int result = SSL_shutdown(tls->ssl); /* 0: sent; the reader handles the peer's */
        if (result >= 0)
            tls->shut = true;
        else
            next = weft__tls_classify(tls, result);
        weft__tls_ssl_unlock(tls);
        if (result >= 0) return 0;
        /* OpenSSL reports an end, not the error of the socket, if the peer had sent close_notify before. */
        if (next >= TLS_PEER_ENDED) return -(tls->broken ? tls->broken : tls->socket_error ? tls->socket_error : EPIPE);
        int error = weft__tls_await(tls, next);
        if (error) return error;
    }
}

WEFT_PUBLIC int weft_tls_shutdown(struct weft_tls *tls) {
    if (!weft__tls_enter(tls)) return -1;
    int error =
        load_acq(&tls->established) ? weft__tls_turn_take(&tls->writing) : -ENOTCONN; /* pairs with note_handshake */
    if (!error) {
        error = say_last_word(tls);
        weft_sem_post(&tls->writing);
    }
    weft__tls_leave(tls);
    errno = -error;
    return error ? -1 : 0;
}

/* Sends close_notify if that needs no wait, because a close does not wait. */
static void try_last_word(struct weft_tls *tls) {
    if (!load_rlx(&tls->established) || tls->shut || tls->broken || tls->cut) return;
    ERR_clear_error();
    SSL_shutdown(tls->ssl);
    tls->shut = true;
    ERR_clear_error();
}

WEFT_PUBLIC int weft_tls_close(struct weft_tls *tls) {
    if (!tls) return 0;
    weft__tls_ssl_lock(tls);
    try_last_word(tls);
    store_rlx(&tls->closed, true); /* read by holders of `using` */
    if (load_acq(&tls->users) > 1) shutdown(tls->fd, SHUT_RDWR);
    weft__tls_ssl_unlock(tls);
    weft__tls_leave(tls);
    return 0;
}
