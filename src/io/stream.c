/* SPDX-License-Identifier: MIT */
/* Exact reads and writes, and buffered streams: weft/stream.h. It uses the public calls only. */
#define _GNU_SOURCE
#include "base/base.h"
#include "base/sys.h"

#include <weft/stream.h>

#include <string.h>

#define WEFT_STREAM_SIZE 8192

WEFT_PUBLIC ssize_t weft_fd_read_exactly(int fd, void *buffer, size_t size) {
    size_t done = 0;
    do {
        ssize_t n = weft_read(fd, (char *)buffer + done, size - done);
        if (n < 0) return -errno;
        if (n == 0) break;
        done += (size_t)n;
    } while (done < size);
    return (ssize_t)done;
}

WEFT_PUBLIC int weft_fd_write_all(int fd, const void *buffer, size_t size) {
    size_t done = 0;
    do {
        ssize_t n = weft_write(fd, (const char *)buffer + done, size - done);
        if (n < 0) return -errno;
        done += (size_t)n;
    } while (done < size);
    return 0;
}

/* --- streams ------------------------------------------------------------------------------------------ */

static ssize_t read_below(struct weft_stream *s, void *buffer, size_t size) {
    ssize_t n = s->calls ? s->calls->read(s->handle, buffer, size) : weft_read(s->fd, buffer, size);
    return n < 0 ? -errno : n;
}

/* Writes all bytes to the descriptor or handle. A write of 0 bytes is an error: repeating it would take for ever. */
static int write_below(struct weft_stream *s, const char *bytes, size_t size) {
    if (s->failed) return s->failed;
    while (size) {
        ssize_t n = s->calls ? s->calls->write(s->handle, bytes, size) : weft_write(s->fd, bytes, size);
        if (n <= 0) return s->failed = n < 0 ? -errno : -EIO;
        bytes += n;
        size -= (size_t)n;
    }
    return 0;
}

static int open_stream(struct weft_stream *stream, struct weft_stream made, size_t size) {
    made.size = size ? size : WEFT_STREAM_SIZE;
    /* Both buffers in one piece, and room for the 0 after a line that fills the first. */
    if (made.size > SIZE_MAX / 2 - 1 || !(made.in = weft__alloc(2 * made.size + 1))) return -ENOMEM;
    made.out = made.in + made.size + 1;
    *stream = made;
    return 0;
}

WEFT_PUBLIC int weft_stream_open(struct weft_stream *stream, int fd, size_t size) {
    if (!stream) return -EINVAL;
    if (fd < 0) return -EBADF;
    return open_stream(stream, (struct weft_stream){.fd = fd}, size);
}

WEFT_PUBLIC int weft_stream_open_calls(struct weft_stream *stream, const struct weft_stream_calls *calls, void *handle,
                                       size_t size) {
    if (!stream || !calls || !calls->read || !calls->write) return -EINVAL;
    return open_stream(stream, (struct weft_stream){.calls = calls, .handle = handle, .fd = -1}, size);
}

WEFT_PUBLIC int weft_stream_flush(struct weft_stream *stream) {
    if (!stream || !stream->out) return -EINVAL;
    size_t used = stream->used;
    stream->used = 0;
    return write_below(stream, stream->out, used);
}

WEFT_PUBLIC int weft_stream_close(struct weft_stream *stream) {
    if (!stream) return -EINVAL;
    if (!stream->in) return 0;
    int err = weft_stream_flush(stream), closed = 0;
    if (!stream->calls)
        closed = weft_close(stream->fd);
    else if (stream->calls->close)
        closed = stream->calls->close(stream->handle);
    if (closed < 0 && !err) err = -errno;
    weft__free(stream->in);
    *stream = (struct weft_stream){.fd = -1};
    return err;
}

/* Takes at most `size` bytes of those that were read before. */
static size_t stream_take(struct weft_stream *s, void *buffer, size_t size) {
    size_t n = s->end - s->begin < size ? s->end - s->begin : size;
    memcpy(buffer, s->in + s->begin, n);
    s->begin += n;
    return n;
}

WEFT_PUBLIC ssize_t weft_stream_read(struct weft_stream *stream, void *buffer, size_t size) {
    if (!stream || !stream->in) return -EINVAL;
    if (!size) return 0;
    if (!buffer) return -EFAULT;
    if (stream->begin == stream->end) {
        if (size >= stream->size) return read_below(stream, buffer, size); /* a copy less */
        ssize_t n = read_below(stream, stream->in, stream->size);
        if (n <= 0) return n;
        stream->begin = 0;
        stream->end = (size_t)n;
    }
    return (ssize_t)stream_take(stream, buffer, size);
}

WEFT_PUBLIC ssize_t weft_stream_read_exactly(struct weft_stream *stream, void *buffer, size_t size) {
    if (!stream || !stream->in) return -EINVAL;
    for (size_t done = 0;;) {
        ssize_t n = weft_stream_read(stream, (char *)buffer + done, size - done);
        if (n < 0) return n;
        done += (size_t)n;
        if (!n || done == size) return (ssize_t)done;
    }
}

/* Reads more bytes behind those in the buffer. If there is no room, moves these to the front first. -ENODATA: the end.
 */
static int read_more(struct weft_stream *s) {
    if (s->begin) {
        memmove(s->in, s->in + s->begin, s->end - s->begin);
        s->end -= s->begin;
        s->begin = 0;
    }
    if (s->end == s->size) return -EMSGSIZE;
    ssize_t n = read_below(s, s->in + s->end, s->size - s->end);
    if (n <= 0) return n ? (int)n : -ENODATA;
    s->end += (size_t)n;
    return 0;
}

/* Returns the line at the front of the buffer. length: its bytes; newline: the bytes of the end of the line. */
static ssize_t give_line(struct weft_stream *s, char **line, size_t length, size_t newline) {
    char *text = s->in + s->begin;
    s->begin += length + newline;
    if (newline && length && text[length - 1] == '\r') length--;
    text[length] = '\0';
    *line = text;
    return (ssize_t)length;
}

WEFT_PUBLIC ssize_t weft_stream_line(struct weft_stream *stream, char **line) {
    if (!stream || !stream->in || !line) return -EINVAL;
    for (size_t looked_at = 0;;) {
        char *from = stream->in + stream->begin;
        size_t there = stream->end - stream->begin;
        char *newline = memchr(from + looked_at, '\n', there - looked_at);
        if (newline) return give_line(stream, line, (size_t)(newline - from), 1);
        looked_at = there;
        int err = read_more(stream);
        if (err == -ENODATA && there) return give_line(stream, line, there, 0);
        if (err) return err;
    }
}

WEFT_PUBLIC int weft_stream_write(struct weft_stream *stream, const void *bytes, size_t size) {
    if (!stream || !stream->out) return -EINVAL;
    if (size && !bytes) return -EFAULT;
    if (stream->failed) return stream->failed;
    if (size > stream->size - stream->used) {
        int err = weft_stream_flush(stream);
        if (err) return err;
        if (size >= stream->size) return write_below(stream, bytes, size); /* a copy less */
    }
    if (size) memcpy(stream->out + stream->used, bytes, size);
    stream->used += size;
    return 0;
}
