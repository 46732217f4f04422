/* SPDX-License-Identifier: MIT */
/*
 * The inside of libweft-tls. It uses only the public interface of weft, and OpenSSL 3.
 *
 *   context     settings, and the certificates built from them (context.c, certificates.c)
 *   stream      a connection: an SSL, a socket, turns (stream.c, transfer.c, sendfile.c, info.c)
 *   transport   how OpenSSL reaches the socket: a BIO that never waits (transport.c)
 *   sessions    the sessions that a client can resume (sessions.c)
 *
 * The main rule: no fiber parks while a function of OpenSSL is on its stack. Instead the transport reports that it
 * would block, OpenSSL returns, and the stream waits outside and calls again. So OpenSSL never continues on another
 * kernel thread.
 * Its error queue, its random generators and errno, which belong to the thread, stay correct; its locks are never held
 * by a parked fiber; and its frames do not stay on the stack of a waiting connection.
 */
#ifndef WEFT_TLS_TLS_H
#define WEFT_TLS_TLS_H

#define OPENSSL_API_COMPAT 30000
#include "base/atomic.h"
#include "base/base.h"
#include "weft/io.h"
#include "weft/tls.h"

#include <openssl/ssl.h>
#include <pthread.h>

#define TLS_REASON 160 /* bytes of a message */

/* --- contexts ------------------------------------------------------------------------------------------------- */

struct tls_files { /* a certificate, as requested */
    char *chain, *key;
    struct tls_files *next;
};

/* All settings. A rebuild makes an SSL_CTX of them. */
struct tls_settings {
    struct tls_files *files; /* the first is for clients that ask for no known name */
    char *trust;             /* NULL: the system's certificates */
    char *ciphers;
    unsigned char *alpn; /* in wire format: a length byte before each name */
    unsigned alpn_size;
    int verify, least, most;
    bool trusts, resumption, kernel; /* trusts: the user asked for issuers, if only the system's */
};

struct tls_sessions;

struct weft_tls_context {
    bool server;
    _Atomic unsigned users; /* the owner, and each stream */
    /* Held for a few instructions, or while files are read. A fiber that holds one never parks. */
    pthread_mutex_t changing; /* protects the settings during a change */
    pthread_mutex_t lock;     /* protects `current` */
    struct tls_settings settings;
    SSL_CTX *current;              /* of the first certificate; owns the others */
    struct tls_sessions *sessions; /* for a client */
    _Atomic uint64_t handshakes, resumed, failed, kernel;
    char reason[TLS_REASON];
};

/* The current SSL_CTX, with a reference. */
SSL_CTX *weft__tls_context_current(struct weft_tls_context *context);
void weft__tls_context_leave(struct weft_tls_context *context);

/* certificates.c: builds an SSL_CTX, with those of the other certificates. NULL: errno and the reason are set. The
 * ticket keys of `old` (may be NULL) are kept. */
SSL_CTX *weft__tls_context_build(const struct weft_tls_context *context, SSL_CTX *old, char reason[TLS_REASON]);

/* Describes OpenSSL's error queue in words, and empties it. */
void weft__tls_read_errors(char reason[TLS_REASON]);

/* --- sessions ------------------------------------------------------------------------------------------------- */

struct tls_sessions *weft__tls_sessions_new(void);
void weft__tls_sessions_free(struct tls_sessions *sessions);
void weft__tls_sessions_forget(struct tls_sessions *sessions);
void weft__tls_sessions_put(struct tls_sessions *sessions, const char *server,
                            SSL_SESSION *session); /* takes ownership */
SSL_SESSION *weft__tls_sessions_take(struct tls_sessions *sessions,
                                     const char *server); /* NULL, or owned by the caller */

/* --- streams -------------------------------------------------------------------------------------------------- */

struct weft_tls {
    SSL *ssl;
    struct weft_tls_context *context;
    int fd;
    _Atomic unsigned users;           /* the owner, and each call in progress: the last user frees it */
    _Atomic bool closed, established; /* established: the handshake is done */
    bool shut;                        /* close_notify was sent */
    bool cut;                         /* a record may have been sent in part: nothing can be written any more */
    bool ended;                       /* the socket has ended */
    int broken;                       /* the error of all later calls; 0: none */
    int socket_error;                 /* the last error of the transport */
    /* For the transport. dry: the last receive returned all data, so there is no need to try before a wait. more: more
     * data follows at once. */
    bool dry, more;
    unsigned char record_kind; /* of a record that is not data, while the kernel encrypts */
    uint32_t lent_at, lent_size;
    struct weft_lease lent; /* bytes that arrived while the reader waited, until OpenSSL has taken them */
    /* reading, writing: held by a call, also while it waits. using: held only within a call of OpenSSL. */
    struct weft_sem reading, writing, using;
    char *alpn;   /* the agreed protocol; NULL: none */
    char *server; /* for a client: the key of its sessions; NULL: none */
    char reason[TLS_REASON];
};

/* transport.c. False: no memory. */
bool weft__tls_transport_attach(struct weft_tls *tls);
bool weft__tls_kernel_is_able(void);

/* stream.c. Each call is between enter and leave. enter: false, with errno, if the stream cannot be used. */
bool weft__tls_enter(struct weft_tls *tls);
void weft__tls_leave(struct weft_tls *tls);
/* Takes one of the two turns. 0 or a negative errno. */
int weft__tls_turn_take(struct weft_sem *turn);
/* Only one fiber calls OpenSSL at a time. Uncancellable. */
void weft__tls_ssl_lock(struct weft_tls *tls);
void weft__tls_ssl_unlock(struct weft_tls *tls);

/* transfer.c: the result of a call of OpenSSL. */
enum tls_next { TLS_DONE, TLS_WANTS_INPUT, TLS_WANTS_OUTPUT, TLS_PEER_ENDED, TLS_FAILED };
/* Call on the same thread, before the next call. After TLS_FAILED, tls->broken has the error. */
enum tls_next weft__tls_classify(struct weft_tls *tls, int result);
/* Waits until the socket is ready for that. 0 or a negative errno. */
int weft__tls_await(struct weft_tls *tls, enum tls_next what);
/* Sends everything, in the caller's turn to write. more: more follows at once. Returns the bytes of whole records that
 * were sent; -errno if none. */
ssize_t weft__tls_send(struct weft_tls *tls, const char *data, size_t size, bool more);

#endif
