/* SPDX-License-Identifier: MIT */
/* weft/tls.h for tools that are built without OpenSSL: making a context fails, so the other functions are never called.
 * */
#include "weft/tls.h"

struct weft_tls_context *weft_tls_context_create(int kind) {
    (void)kind;
    errno = ENOTSUP;
    return NULL;
}
static int none(void) {
    errno = ENOTSUP;
    return -1;
}
void weft_tls_context_destroy(struct weft_tls_context *c) { (void)c; }
int weft_tls_context_certificate(struct weft_tls_context *c, const char *chain, const char *key) {
    (void)c, (void)chain, (void)key;
    return none();
}
int weft_tls_context_reload(struct weft_tls_context *c) { return (void)c, none(); }
int weft_tls_context_trust(struct weft_tls_context *c, const char *path) { return (void)c, (void)path, none(); }
int weft_tls_context_verify(struct weft_tls_context *c, int how) { return (void)c, (void)how, none(); }
int weft_tls_context_alpn(struct weft_tls_context *c, const char *names) { return (void)c, (void)names, none(); }
int weft_tls_context_versions(struct weft_tls_context *c, int a, int b) { return (void)c, (void)a, (void)b, none(); }
int weft_tls_context_ciphers(struct weft_tls_context *c, const char *list) { return (void)c, (void)list, none(); }
int weft_tls_context_resumption(struct weft_tls_context *c, int on) { return (void)c, (void)on, none(); }
int weft_tls_context_kernel(struct weft_tls_context *c, int on) { return (void)c, (void)on, none(); }
int weft_tls_context_stats(const struct weft_tls_context *c, struct weft_tls_stats *s) {
    return (void)c, (void)s, none();
}
const char *weft_tls_context_reason(const struct weft_tls_context *c) {
    (void)c;
    return "built without OpenSSL";
}
struct weft_tls *weft_tls_open(struct weft_tls_context *c, int fd, const char *host) {
    (void)c, (void)fd, (void)host;
    errno = ENOTSUP;
    return NULL;
}
int weft_tls_handshake(struct weft_tls *t) { return (void)t, none(); }
ssize_t weft_tls_read(struct weft_tls *t, void *b, size_t n) { return (void)t, (void)b, (void)n, none(); }
ssize_t weft_tls_write(struct weft_tls *t, const void *b, size_t n) { return (void)t, (void)b, (void)n, none(); }
ssize_t weft_tls_writev(struct weft_tls *t, const struct iovec *p, int n) { return (void)t, (void)p, (void)n, none(); }
ssize_t weft_tls_send(struct weft_tls *t, const void *b, size_t n, int f) {
    return (void)t, (void)b, (void)n, (void)f, none();
}
ssize_t weft_tls_sendfile(struct weft_tls *t, int in, off_t *at, size_t n) {
    return (void)t, (void)in, (void)at, (void)n, none();
}
int weft_tls_shutdown(struct weft_tls *t) { return (void)t, none(); }
int weft_tls_close(struct weft_tls *t) { return (void)t, 0; }
const char *weft_tls_reason(struct weft_tls *t) { return (void)t, ""; }
int weft_tls_kernel(const struct weft_tls *t) { return (void)t, 0; }
size_t weft_tls_pending(const struct weft_tls *t) { return (void)t, (size_t)0; }
