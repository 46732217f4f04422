/* SPDX-License-Identifier: MIT */
/* The functions of weft/stream.h for TLS: connections by name, and buffered streams. */
#include "tls.h"
#include "weft/stream.h"

WEFT_PUBLIC struct weft_tls *weft_tls_dial(struct weft_tls_context *context, const char *host, const char *service,
                                           uint64_t deadline) {
    if (!context || context->server || !host) {
        errno = EINVAL;
        return NULL;
    }
    int fd = weft_tcp_dial(host, service, deadline);
    if (fd < 0) {
        errno = -fd;
        return NULL;
    }
    struct weft_tls *tls = weft_tls_open(context, fd, host);
    if (tls) return tls;
    int error = errno;
    weft_close(fd);
    errno = error;
    return NULL;
}

static ssize_t read_stream(void *tls, void *buffer, size_t size) { return weft_tls_read(tls, buffer, size); }
static ssize_t write_stream(void *tls, const void *bytes, size_t size) { return weft_tls_write(tls, bytes, size); }
/* The peer learns that this is the end of the stream, and not a connection that was cut. */
static int close_stream(void *tls) {
    int result = weft_tls_shutdown(tls), error = errno;
    weft_tls_close(tls);
    errno = error;
    return result && error != ENOTCONN ? -1 : 0;
}

WEFT_PUBLIC int weft_tls_stream_open(struct weft_stream *stream, struct weft_tls *tls, size_t size) {
    static const struct weft_stream_calls calls = {read_stream, write_stream, close_stream};
    int error = tls ? weft_stream_open_calls(stream, &calls, tls, size) : -EINVAL;
    if (error) errno = -error;
    return error ? -1 : 0;
}
