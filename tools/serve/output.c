/* SPDX-License-Identifier: MIT */
/* See output.h. */
#include "output.h"

#include "base/base.h"
#include "deadlines.h"
#include "server.h"
#include "weft.h"
#include "weft/io.h"
#include "weft/tls.h"

#include <stdarg.h>
#include <stdio.h>
#include <sys/sendfile.h>

#define FILE_PIECE (256 * 1024) /* bytes of a file that must be sent within the time for slow clients */
/* The most bytes of a file that are sent in one go if the client takes them. Other connections wait meanwhile. */
#define FILE_AT_ONCE (1024 * 1024)

/* Stops all sending; this many bytes were lost. */
__attribute__((cold, noinline)) static void lose(struct output *o, uint64_t lost) {
    o->broken = true;
    o->unsent += lost;
}

/* Sends as much as the client takes at once. */
static size_t send_now(struct output *o, const char *data, size_t size, int flags) {
    ssize_t n = o->broken ? 0 : weft_send(o->fd, data, size, flags | MSG_NOSIGNAL | MSG_DONTWAIT);
    if (unlikely(n < 0 && errno != EAGAIN)) lose(o, size);
    return n < 0 ? 0 : (size_t)n;
}

/* Handles the result of a send of `size` bytes. */
static void settle(struct output *o, ssize_t sent, size_t size) {
    if (unlikely(sent != (ssize_t)size)) lose(o, size - (sent > 0 ? (size_t)sent : 0));
}

/* Sends through the ring, together with others, unless thousands wait for that, each with a buffer. */
static void send_all(struct output *o, const char *data, size_t size, int flags) {
    if (unlikely(o->tls != NULL)) {
        settle(o, weft_tls_send(o->tls, data, size, flags), size);
        return;
    }
    size_t done = unlikely(buffers_scarce()) ? send_now(o, data, size, flags) : 0;
    if (done == size || o->broken) return;
    settle(o, weft_send(o->fd, data + done, size - done, flags | MSG_NOSIGNAL), size - done);
}

/* The client has not taken the last piece at once: this piece has a new deadline. */
__attribute__((cold, noinline)) static void send_slowly(struct output *o, const char *data, size_t size, int flags) {
    deadline_set(o->fd, PHASE_WRITE, settings.slow);
    send_all(o, data, size, flags);
}

static void flush(struct output *o) {
    if (o->used && !o->broken) send_all(o, o->buffer, o->used, 0);
    o->used = 0;
}

void output_flush(struct output *o) {
    if (!o->buffer) return;
    flush(o);
    buffer_give(o->buffer);
    o->buffer = NULL;
}

char *output_room(struct output *o, size_t size) {
    if (unlikely(o->used + size > BUFFER_SIZE)) flush(o);
    if (!o->buffer && !(o->buffer = buffer_take())) o->broken = true;
    return o->broken ? NULL : o->buffer + o->used;
}

void output_text(struct output *o, struct text text) {
    char *room = output_room(o, text.size);
    if (unlikely(!room)) {
        lose(o, text.size);
        return;
    }
    memcpy(room, text.at, text.size);
    output_add(o, text.size);
}

/* Writes a formatted text. Text that does not fit is a mistake of the caller, and is not sent. */
void output_format(struct output *o, const char *format, ...) {
    enum { MOST = 12 * 1024 };
    char *room = output_room(o, MOST);
    if (!room) return;
    va_list list;
    va_start(list, format);
    int n = vsnprintf(room, MOST, format, list);
    va_end(list);
    if (n < 0 || n >= MOST)
        o->broken = true;
    else
        output_add(o, (size_t)n);
}

/* Sends the rest, which the client did not take at once. */
__attribute__((cold, noinline)) static void send_rest(struct output *o, struct iovec *parts, ssize_t sent) {
    if (sent < 0) o->broken = true;
    size_t done = sent < 0 ? 0 : (size_t)sent;
    for (int i = 0; i < 2; i++) {
        size_t skip = done < parts[i].iov_len ? done : parts[i].iov_len, left = parts[i].iov_len - skip;
        done -= skip;
        if (o->broken)
            lose(o, left);
        else if (left)
            send_slowly(o, (char *)parts[i].iov_base + skip, left, i ? 0 : MSG_MORE);
    }
}

void output_bytes(struct output *o, const char *data, size_t size) {
    enum { COPIED = 4096 };
    if (size <= COPIED) {
        output_text(o, (struct text){data, (uint32_t)size});
        return;
    }
    struct iovec parts[2] = {{o->buffer, o->used}, {(void *)data, size}};
    struct msghdr message = {.msg_iov = parts, .msg_iovlen = 2};
    ssize_t n = o->broken         ? -1
                : likely(!o->tls) ? weft_sendmsg(o->fd, &message, MSG_NOSIGNAL)
                                  : weft_tls_writev(o->tls, parts, 2);
    if (unlikely(n < 0 || (size_t)n < o->used + size)) send_rest(o, parts, n);
    o->used = 0;
}

/* A file that has become shorter ends the connection, because the client was promised more bytes. */
__attribute__((cold, noinline)) static void send_file_slowly(struct output *o, int fd, off_t at, uint64_t size) {
    off_t end = at + (off_t)size;
    while (at < end && !o->broken) {
        size_t piece = end - at < FILE_PIECE ? (size_t)(end - at) : FILE_PIECE;
        deadline_set(o->fd, PHASE_WRITE, settings.slow);
        ssize_t n = likely(!o->tls) ? weft_sendfile(o->fd, fd, &at, piece) : weft_tls_sendfile(o->tls, fd, &at, piece);
        if (n < 0 || (size_t)n < piece) o->broken = true;
    }
    if (at < end) lose(o, (uint64_t)(end - at));
}

/* Sends the collected bytes before a file. They wait for the file in the kernel (MSG_MORE), not in the ring. */
static void send_before(struct output *o) {
    size_t done = send_now(o, o->buffer, o->used, MSG_MORE);
    if (unlikely(done < o->used) && !o->broken) send_slowly(o, o->buffer + done, o->used - done, MSG_MORE);
    o->used = 0;
}

/* The socket does not block, so this sends as much as the client takes at once. */
static void send_file(struct output *o, int fd, uint64_t offset, uint64_t size) {
    off_t at = (off_t)offset;
    if (unlikely(o->tls != NULL)) {
        if (o->used && !o->broken) send_all(o, o->buffer, o->used, MSG_MORE);
        o->used = 0;
        send_file_slowly(o, fd, at, size);
        return;
    }
    send_before(o);
    ssize_t n = o->broken ? -1 : sendfile(o->fd, fd, &at, size < FILE_AT_ONCE ? (size_t)size : FILE_AT_ONCE);
    if (unlikely(n < 0 || (uint64_t)n < size)) send_file_slowly(o, fd, at, n > 0 ? size - (uint64_t)n : size);
}

void output_file(struct output *o, const struct file *f, uint64_t offset, uint64_t size) {
    if (likely(f->body != NULL))
        output_bytes(o, f->body + offset, (size_t)size);
    else
        send_file(o, f->fd, offset, size);
}
