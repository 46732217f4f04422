/* SPDX-License-Identifier: MIT */
/*
 * How OpenSSL reaches the socket: OpenSSL's own BIO for sockets, with another read and write. These never wait, never
 * raise SIGPIPE, delay partial packets while more follows, and first take bytes that the reader received while it
 * waited. The rest of the BIO, including what kernel TLS needs, is OpenSSL's.
 *
 * Input arrives in two ways. A fiber that waits receives into a lent buffer (weft_recv_lease): one request to the
 * kernel, and no memory while nothing arrives. Other data goes from the socket to OpenSSL's buffer. The descriptor's
 * flags are neither read nor changed.
 */
#define _GNU_SOURCE
#include "tls.h"

#include <linux/tls.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/bio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* OpenSSL has these in a header that is not installed. */
enum { CTRL_SET_KTLS = 72, CTRL_SET_KTLS_RECORD = 74, FLAG_KTLS_TX_CONTROL = 0x1000 };

static BIO_METHOD *method;

/* --- reading ---------------------------------------------------------------------------------------------- */

static int take_lent(struct weft_tls *tls, char *to, int size) {
    uint32_t left = tls->lent_size - tls->lent_at, n = (uint32_t)size < left ? (uint32_t)size : left;
    memcpy(to, (char *)tls->lent.data + tls->lent_at, n);
    tls->lent_at += n;
    if (tls->lent_at == tls->lent_size) {
        weft_lease_return(&tls->lent);
        tls->lent_at = tls->lent_size = 0;
    }
    return (int)n;
}

/* OpenSSL does not learn of an end: it would send an alert, and refuse to send close_notify. The stream handles it. */
static int read_socket(BIO *bio, char *to, int size) {
    struct weft_tls *tls = BIO_get_app_data(bio);
    BIO_clear_retry_flags(bio);
    if (tls->lent_size) return take_lent(tls, to, size);
    if (unlikely(tls->socket_error)) return -1;
    bool asked = !tls->dry && !tls->ended;
    ssize_t n = asked ? recv(tls->fd, to, (size_t)size, MSG_DONTWAIT) : -1;
    if (n > 0) {
        tls->dry = n < size;
        return (int)n;
    }
    if (n == 0) tls->ended = true;
    if (asked && n < 0 && errno != EAGAIN && errno != EINTR) {
        tls->socket_error = errno;
        return -1;
    }
    tls->dry = !tls->ended;
    BIO_set_retry_read(bio);
    return -1;
}

/* --- writing ---------------------------------------------------------------------------------------------- */

/* Tickets, which a TLS 1.3 server sends after the handshake, may wait in the kernel for the first answer. The kernel
 * sends them after 200 ms at the latest. */
static bool is_ticket(const struct weft_tls *tls) {
    return !load_rlx(&tls->established) && SSL_get_state(tls->ssl) == TLS_ST_SW_SESSION_TICKET &&
           SSL_version(tls->ssl) == TLS1_3_VERSION;
}

/* A record of another kind than data, an alert or a ticket, while the kernel encrypts: the kernel has to know the kind.
 * OpenSSL's own function for this would raise SIGPIPE. */
static ssize_t send_special(BIO *bio, const struct weft_tls *tls, const char *data, size_t size, int flags) {
    union {
        struct cmsghdr head;
        char room[CMSG_SPACE(sizeof(unsigned char))];
    } control = {.head = {.cmsg_level = SOL_TLS, .cmsg_type = TLS_SET_RECORD_TYPE, .cmsg_len = CMSG_LEN(1)}};
    struct iovec part = {(void *)data, size};
    struct msghdr message = {
        .msg_iov = &part, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control};
    *CMSG_DATA(&control.head) = tls->record_kind;
    ssize_t n = sendmsg(tls->fd, &message, flags & ~MSG_MORE);
    if (n >= 0) BIO_clear_flags(bio, FLAG_KTLS_TX_CONTROL);
    return n;
}

static int write_socket(BIO *bio, const char *data, int size) {
    struct weft_tls *tls = BIO_get_app_data(bio);
    BIO_clear_retry_flags(bio);
    bool more = tls->more || is_ticket(tls);
    int flags = MSG_DONTWAIT | MSG_NOSIGNAL | (more ? MSG_MORE : 0);
    ssize_t n = unlikely(BIO_test_flags(bio, FLAG_KTLS_TX_CONTROL)) ? send_special(bio, tls, data, (size_t)size, flags)
                                                                    : send(tls->fd, data, (size_t)size, flags);
    if (n >= 0) return (int)n;
    if (errno == EAGAIN || errno == EINTR)
        BIO_set_retry_write(bio);
    else
        tls->socket_error = errno;
    return -1;
}

/* The kernel must not decrypt: OpenSSL 3.0 cannot do that with TLS 1.3, and received bytes may be in memory already. */
static long transport_control(BIO *bio, int command, long number, void *pointer) {
    if (command == CTRL_SET_KTLS && !number) return 0;
    if (command == CTRL_SET_KTLS_RECORD)
        ((struct weft_tls *)BIO_get_app_data(bio))->record_kind = (unsigned char)number;
    return BIO_meth_get_ctrl(BIO_s_socket())(bio, command, number, pointer);
}

/* --- the method ------------------------------------------------------------------------------------------- */

static void make_method(void) {
    const BIO_METHOD *socket_method = BIO_s_socket();
    BIO_METHOD *made = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK | BIO_TYPE_DESCRIPTOR, "weft");
    if (!made) return;
    if (BIO_meth_set_read(made, read_socket) && BIO_meth_set_write(made, write_socket) &&
        BIO_meth_set_ctrl(made, transport_control) && BIO_meth_set_create(made, BIO_meth_get_create(socket_method)) &&
        BIO_meth_set_destroy(made, BIO_meth_get_destroy(socket_method)))
        method = made;
    else
        BIO_meth_free(made);
}

/* Prepares the socket for kernel TLS; otherwise the kernel takes no keys. SSL_set_fd would do this, but it is not used
 * here. The socket works as before until OpenSSL gives the keys to the kernel. If that fails, OpenSSL encrypts. */
static void offer_kernel(const struct weft_tls *tls) {
    if (SSL_get_options(tls->ssl) & SSL_OP_ENABLE_KTLS)
        (void)setsockopt(tls->fd, IPPROTO_TCP, TCP_ULP, "tls", sizeof "tls");
}

bool weft__tls_transport_attach(struct weft_tls *tls) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, make_method);
    BIO *bio = method ? BIO_new(method) : NULL;
    if (!bio) return false;
    BIO_set_fd(bio, tls->fd, BIO_NOCLOSE);
    if (!BIO_set_app_data(bio, tls)) {
        BIO_free(bio);
        return false;
    }
    SSL_set_bio(tls->ssl, bio, bio);
    offer_kernel(tls);
    return true;
}

/* Does the kernel offer TLS? Asked once: a kernel that does so reports an error for an unconnected socket. */
static bool kernel_offers;
static void ask_kernel(void) {
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0) return;
    kernel_offers = !setsockopt(fd, IPPROTO_TCP, TCP_ULP, "tls", sizeof "tls") || errno == ENOTCONN;
    close(fd);
}
bool weft__tls_kernel_is_able(void) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, ask_kernel);
    return kernel_offers;
}
