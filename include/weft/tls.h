/* SPDX-License-Identifier: MIT */
/*
 * TLS 1.2 and 1.3 on sockets, with OpenSSL 3. A library of its own: link with pkg-config weft-tls. weft.h says how to
 * read this header; docs/TLS.md has promises, costs and design.
 *
 *     struct weft_tls_context *context = weft_tls_context_create(WEFT_TLS_CLIENT);
 *     struct weft_tls *tls = context ? weft_tls_dial(context, "example.org", "443", WEFT_FOREVER) : NULL;
 *     if (!tls) return -errno;
 *     ssize_t n = weft_tls_write(tls, request, size);
 *     if (n >= 0) n = weft_tls_read(tls, buffer, sizeof buffer);
 *     if (n < 0) fprintf(stderr, "%s\n", weft_tls_reason(tls));
 *     weft_tls_close(tls);
 *
 * Functions return what the look-alikes in weft/io.h return: -1 or NULL, and the error in errno. They never raise
 * SIGPIPE. Errors of a stream, besides those of the socket:
 *
 *   EKEYREJECTED   the certificate of the peer was refused: unknown issuer, expired, for another host, or missing
 *   EPROTO         the peer does not speak TLS, not this version, or broke its rules; weft_tls_reason tells more
 *   ECONNABORTED   the connection ended without the peer's closing message: data may be missing at the end
 *   EPIPE          a write after weft_tls_shutdown, or after an earlier write that was cut off
 *   EBADF          weft_tls_close was called meanwhile
 *   ENOMEM         out of memory
 *
 * After EKEYREJECTED, EPROTO and errors of the socket the stream is unusable, and later calls fail with the same error.
 * After ECONNABORTED nothing more can be read, but the stream can still be written.
 *
 * One fiber may read while another one writes. Several readers, or several writers, take turns. Fibers that use TLS
 * need a stack of WEFT_TLS_STACK bytes; the default of 128 KiB is enough.
 */
#ifndef WEFT_TLS_H
#define WEFT_TLS_H

#include "weft/stream.h"

#include <sys/types.h>
#include <sys/uio.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The smallest stack of a fiber that uses TLS. */
#define WEFT_TLS_STACK (64 * 1024)

/* ---------------------------------------------------------------------------------------------
 * Contexts
 *
 * A context holds certificates and settings that many streams share. Settings apply to streams opened afterwards. A
 * call that fails has changed nothing, and weft_tls_context_reason says why. Several fibers and threads may use a
 * context at the same time. Functions that read files block the kernel thread meanwhile; weft_blocking helps.
 * ------------------------------------------------------------------------------------------ */

/* A context. */
struct weft_tls_context;

/* Kinds of contexts. */
enum { WEFT_TLS_CLIENT, WEFT_TLS_SERVER };

/*
 * Creates a context for clients or for servers, both with TLS 1.2 or later, and ciphers with forward secrecy and
 * authenticated encryption. A client requires a certificate that is valid for the host name and signed by an issuer
 * that the system trusts. A server asks for no certificate, and needs one of its own (weft_tls_context_certificate).
 *
 *   kind   WEFT_TLS_CLIENT or WEFT_TLS_SERVER
 *
 * Errors: returns NULL; EINVAL if kind is unknown, ENOMEM, EPROTO if OpenSSL could not start.
 * [fiber thread]
 */
WEFT_MUST_USE struct weft_tls_context *weft_tls_context_create(int kind);

/*
 * Destroys a context. Open streams keep what they need. Does nothing for NULL.
 *
 * Errors: none.
 * [fiber thread]
 */
void weft_tls_context_destroy(struct weft_tls_context *context);

/*
 * Adds a certificate with its chain and its key, from PEM files. A server may have several: the name that a client asks
 * for (SNI) selects one, or the first if none matches. A second certificate for the same names with another kind of
 * key, RSA and ECDSA for instance, is offered beside the first. A client shows its certificate to servers that ask.
 *
 *   chain   the file with the certificate and its chain
 *   key     the file with the key; NULL: the same file
 *
 * Errors:
 *   EINVAL           context or chain is NULL
 *   ENOENT, EACCES   and other errors of open(2)
 *   EPROTO           the file holds no certificate or key, or they do not belong together
 * [fiber thread; blocks the kernel thread]
 */
WEFT_MUST_USE int weft_tls_context_certificate(struct weft_tls_context *context, const char *chain, const char *key);

/*
 * Reads all certificates, keys and trusted issuers again. Existing connections continue; new connections use the new
 * certificates. Sessions can still be resumed. If one file cannot be used, nothing changes.
 *
 * Errors: those of weft_tls_context_certificate.
 * [fiber thread; blocks the kernel thread]
 */
WEFT_MUST_USE int weft_tls_context_reload(struct weft_tls_context *context);

/*
 * Sets the trusted issuers, in place of those set before.
 *
 *   path   a PEM file, or a directory prepared by `openssl rehash`; NULL: those of the system, the default of a client
 *
 * Errors: those of weft_tls_context_certificate.
 * [fiber thread; blocks the kernel thread]
 */
WEFT_MUST_USE int weft_tls_context_trust(struct weft_tls_context *context, const char *path);

/* Whether the certificate of the peer is checked. OPTIONAL, for servers: asked for, and checked if there is one. */
enum { WEFT_TLS_VERIFY_NONE, WEFT_TLS_VERIFY_OPTIONAL, WEFT_TLS_VERIFY_REQUIRED };

/*
 * Sets whether the certificate of the peer is checked. Clients begin with WEFT_TLS_VERIFY_REQUIRED, servers with
 * WEFT_TLS_VERIFY_NONE.
 *
 * Errors: EINVAL if context is NULL or the value is unknown.
 * [fiber thread]
 */
WEFT_MUST_USE int weft_tls_context_verify(struct weft_tls_context *context, int how);

/*
 * Sets the protocols above TLS (ALPN), the preferred one first. A server refuses a client that offers protocols but
 * none of these; it accepts a client that offers none at all.
 *
 *   protocols   names separated by commas, "h2,http/1.1"; NULL: none
 *
 * Errors: EINVAL if context is NULL, or a name is empty or longer than 255 bytes.
 * [fiber thread]
 */
WEFT_MUST_USE int weft_tls_context_alpn(struct weft_tls_context *context, const char *protocols);

/* Versions of TLS. */
enum { WEFT_TLS_1_2 = 0x0303, WEFT_TLS_1_3 = 0x0304 };

/*
 * Sets the range of versions, from WEFT_TLS_1_2 or WEFT_TLS_1_3.
 *
 * Errors: EINVAL if context is NULL or the range is empty or unknown.
 * [fiber thread]
 */
WEFT_MUST_USE int weft_tls_context_versions(struct weft_tls_context *context, int least, int most);

/*
 * Sets the ciphers of TLS 1.2.
 *
 *   list   as `openssl ciphers` takes it; NULL: the default
 *
 * Errors: EINVAL if context is NULL; EPROTO if no cipher in the list exists.
 * [fiber thread]
 */
WEFT_MUST_USE int weft_tls_context_ciphers(struct weft_tls_context *context, const char *list);

/*
 * Turns session resumption on or off; it is on by default. A server gives tickets to its clients. A client keeps the
 * tickets of servers by name and port, and shows them when it connects again. That saves both most of the handshake.
 *
 * Errors: EINVAL if context is NULL.
 * [fiber thread]
 */
int weft_tls_context_resumption(struct weft_tls_context *context, int on);

/*
 * Turns kernel TLS on or off; it is on by default. Where the kernel can, it encrypts what is sent, and files are sent
 * without a copy. weft_tls_kernel tells whether it does for a stream.
 *
 * Errors: EINVAL if context is NULL.
 * [fiber thread]
 */
int weft_tls_context_kernel(struct weft_tls_context *context, int on);

/*
 * Returns why the last call on the context failed, for people. The text is valid until the next call. Never NULL.
 *
 * Errors: none.
 * [fiber thread]
 */
const char *weft_tls_context_reason(const struct weft_tls_context *context);

/* Counters of a context. */
struct weft_tls_stats {
    uint64_t handshakes; /* completed */
    uint64_t resumed;    /* completed with a ticket */
    uint64_t failed;     /* started, and ended with an error */
    uint64_t kernel;     /* connections for which the kernel encrypts */
};

/*
 * Reads the counters of all streams of a context.
 *
 * Errors: EINVAL if context or stats is NULL.
 * [fiber thread]
 */
int weft_tls_context_stats(const struct weft_tls_context *context, struct weft_tls_stats *stats);

/* ---------------------------------------------------------------------------------------------
 * Streams
 *
 * A stream is one connection. It owns its socket.
 * ------------------------------------------------------------------------------------------ */

/* A stream. */
struct weft_tls;

/*
 * Opens a stream on a connected socket. Nothing is sent yet. From now on the stream owns the socket: weft_tls_close
 * closes it. After an error the socket still belongs to the caller.
 *
 *   host   client: the host name or address that the certificate must be valid for, NULL only if certificates are not
 *          checked; server: NULL
 *
 * Errors: returns NULL; EINVAL, ENOMEM, or EPROTO if the server has no certificate.
 * [fiber thread]
 */
WEFT_MUST_USE struct weft_tls *weft_tls_open(struct weft_tls_context *context, int fd, const char *host);

/*
 * Connects to a host by TCP, as weft_tcp_dial does, and opens a client's stream for that host. The handshake is part of
 * the first call on the stream; call weft_tls_handshake to know its outcome before.
 *
 *   deadline   for the connection
 *
 * Errors: returns NULL; EINVAL if the context is NULL or one of a server, or host is NULL; others as weft_tcp_dial and
 * weft_tls_open.
 * [fiber; parks, cancel]
 */
WEFT_MUST_USE struct weft_tls *weft_tls_dial(struct weft_tls_context *context, const char *host, const char *service,
                                             uint64_t deadline);

/*
 * Opens a buffered stream (weft/stream.h) over a TLS stream, for lines and exact sizes. weft_stream_close then ends
 * both: it writes the bytes in the buffer, sends the closing message, and closes the socket.
 *
 *   size   bytes of each of the two buffers, and the longest line; 0 for 8 KiB
 *
 * Errors: EINVAL if stream or tls is NULL; ENOMEM. The TLS stream is then still the caller's.
 * [fiber thread]
 */
WEFT_MUST_USE int weft_tls_stream_open(struct weft_stream *stream, struct weft_tls *tls, size_t size);

/*
 * Does the handshake. The first read or write does it as well. A cancelled handshake can be continued.
 *
 * Errors: those in the introduction.
 * [fiber thread; parks, cancel]
 */
WEFT_MUST_USE int weft_tls_handshake(struct weft_tls *tls);

/*
 * Waits for bytes and returns how many it has stored, at most `size`. 0 means that the peer has ended the stream.
 *
 * Errors: those in the introduction.
 * [fiber thread; parks, cancel]
 */
WEFT_MUST_USE ssize_t weft_tls_read(struct weft_tls *tls, void *buffer, size_t size);

/*
 * Write all bytes. If the call fails or is cancelled, it returns the bytes that were sent completely, or -1. After that
 * nothing more can be written (EPIPE), because a record may have been cut off.
 *
 * Errors: those in the introduction.
 * [fiber thread; parks, cancel]
 */
WEFT_MUST_USE ssize_t weft_tls_write(struct weft_tls *tls, const void *buffer, size_t size);
WEFT_MUST_USE ssize_t weft_tls_writev(struct weft_tls *tls, const struct iovec *parts, int n);

/*
 * Writes as weft_tls_write does. With MSG_MORE the kernel may hold the bytes back because more will follow soon.
 * MSG_NOSIGNAL has no effect.
 *
 * Errors: EINVAL for other flags, and those in the introduction.
 * [fiber thread; parks, cancel]
 */
WEFT_MUST_USE ssize_t weft_tls_send(struct weft_tls *tls, const void *buffer, size_t size, int flags);

/*
 * Sends `size` bytes of a file, unless the file ends first, as weft_sendfile does. Without a copy if the kernel
 * encrypts.
 *
 * Errors: those in the introduction and of pread(2).
 * [fiber thread; parks, cancel]
 */
WEFT_MUST_USE ssize_t weft_tls_sendfile(struct weft_tls *tls, int in, off_t *offset, size_t size);

/*
 * Tells the peer that nothing more will be written; its read returns 0. What the peer still sends can be read. Returns
 * 0, also if that was said before. A cancelled call can be repeated.
 *
 * Errors: those in the introduction.
 * [fiber thread; parks, cancel]
 */
int weft_tls_shutdown(struct weft_tls *tls);

/*
 * Closes the stream and its socket. If the closing message was not sent yet, weft sends it unless that needs a wait.
 * Other calls on the stream end with EBADF, and no further call may begin. Does nothing for NULL.
 *
 * Errors: none; returns 0.
 * [fiber thread]
 */
int weft_tls_close(struct weft_tls *tls);

/* ---------------------------------------------------------------------------------------------
 * Properties of a stream
 *
 * Texts are valid as long as the stream.
 * ------------------------------------------------------------------------------------------ */

/*
 * Returns the descriptor of the socket.
 *
 * Errors: none.
 * [fiber thread]
 */
int weft_tls_fd(const struct weft_tls *tls);

/*
 * Returns why the last call failed, for people; "" if none did.
 *
 * Errors: none.
 * [fiber thread]
 */
const char *weft_tls_reason(struct weft_tls *tls);

/*
 * Return the version, "TLSv1.3", and the cipher, "TLS_AES_256_GCM_SHA384".
 *
 * Errors: none.
 * [fiber thread]
 */
const char *weft_tls_version(const struct weft_tls *tls);
const char *weft_tls_cipher(const struct weft_tls *tls);

/*
 * Return the host name that the client asked for, and the protocol that both sides agreed upon (ALPN); NULL if none.
 *
 * Errors: none.
 * [fiber thread]
 */
const char *weft_tls_host(const struct weft_tls *tls);
const char *weft_tls_alpn(const struct weft_tls *tls);

/*
 * Return 1 if the handshake resumed an earlier session, and 1 if the kernel encrypts what is sent; otherwise 0.
 *
 * Errors: none.
 * [fiber thread]
 */
int weft_tls_resumed(const struct weft_tls *tls);
int weft_tls_kernel(const struct weft_tls *tls);

/*
 * Returns a number of bytes that a read would get without waiting. There may be more.
 *
 * Errors: none.
 * [fiber thread]
 */
size_t weft_tls_pending(const struct weft_tls *tls);

/*
 * Returns the SSL * of OpenSSL, for queries. Do not read or write through it.
 *
 * Errors: none.
 * [fiber thread]
 */
void *weft_tls_ssl(struct weft_tls *tls);

#ifdef __cplusplus
}
#endif
#endif
