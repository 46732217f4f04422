/* SPDX-License-Identifier: MIT */
/* Information about a stream. */
#include "tls.h"

WEFT_PUBLIC int weft_tls_fd(const struct weft_tls *tls) { return tls->fd; }
WEFT_PUBLIC const char *weft_tls_reason(struct weft_tls *tls) { return tls->reason; }
WEFT_PUBLIC const char *weft_tls_version(const struct weft_tls *tls) { return SSL_get_version(tls->ssl); }
WEFT_PUBLIC const char *weft_tls_cipher(const struct weft_tls *tls) { return SSL_get_cipher_name(tls->ssl); }
WEFT_PUBLIC const char *weft_tls_host(const struct weft_tls *tls) {
    return SSL_get_servername(tls->ssl, TLSEXT_NAMETYPE_host_name);
}
WEFT_PUBLIC int weft_tls_resumed(const struct weft_tls *tls) { return SSL_session_reused(tls->ssl); }
WEFT_PUBLIC int weft_tls_kernel(const struct weft_tls *tls) { return BIO_get_ktls_send(SSL_get_wbio(tls->ssl)) > 0; }
WEFT_PUBLIC size_t weft_tls_pending(const struct weft_tls *tls) { return (size_t)SSL_pending(tls->ssl); }
WEFT_PUBLIC void *weft_tls_ssl(struct weft_tls *tls) { return tls->ssl; }
WEFT_PUBLIC const char *weft_tls_alpn(const struct weft_tls *tls) { return tls->alpn; }
