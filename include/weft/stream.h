/* SPDX-License-Identifier: MIT */
/*
 * Connections by name, exact reads and writes, and buffered streams. weft.h says how to read this header. All functions
 * here return a negative errno when they fail, and do not set errno.
 *
 *     int fd = weft_tcp_dial("localhost", "8080", weft_now() + 5 * WEFT_SECOND);
 *     struct weft_stream stream;
 *     if (fd < 0 || weft_stream_open(&stream, fd, 0)) return;
 *     if (weft_stream_write(&stream, "hello\n", 6) == 0 && weft_stream_flush(&stream) == 0) {
 *         char *line;
 *         while (weft_stream_line(&stream, &line) >= 0) puts(line);
 *     }
 *     weft_stream_close(&stream);
 */
#ifndef WEFT_STREAM_H
#define WEFT_STREAM_H

#include "weft/io.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---------------------------------------------------------------------------------------------
 * Connections by name
 * ------------------------------------------------------------------------------------------ */

/*
 * Connects to a host by TCP and returns the socket. If the name has several addresses, weft tries the next address when
 * the attempt before has failed or has not succeeded within 250 ms. The first connection wins and the others are
 * closed. The socket is closed on exec, and sends small pieces at once (TCP_NODELAY).
 *
 *   host       a name or an address; NULL for this machine
 *   service    a number or a name of /etc/services
 *   deadline   for all attempts together, the lookup of the name included
 *
 * Errors:
 *   -EINVAL    service is NULL
 *   -ENOENT    there is no such host or service
 *   -EAGAIN    the name server does not answer
 *   -EPERM     the caller is not a fiber
 *   -ENOMEM    out of memory
 *   other      the error of the last attempt: -ECONNREFUSED, -ENETUNREACH, -EMFILE ...
 * [fiber; parks, cancel]
 */
WEFT_MUST_USE int weft_tcp_dial(const char *host, const char *service, uint64_t deadline);

/*
 * Returns a listening TCP socket for weft_accept or a weft_listener. It is non-blocking and closed on exec. Its address
 * can be used again as soon as the program has ended (SO_REUSEADDR).
 *
 *   host       a name or an address of this machine; NULL for all its addresses, of IPv4 and IPv6
 *   service    a number or a name of /etc/services; "0" for any free port, see weft_tcp_port
 *   backlog    connections that may wait to be accepted; 0 for as many as the kernel allows
 *
 * Errors:
 *   -EINVAL    service is NULL, or backlog is negative
 *   -ENOENT    there is no such host or service
 *   -EAGAIN    the name server does not answer
 *   -ENOMEM    out of memory
 *   other      those of socket, bind and listen: -EADDRINUSE, -EACCES, -EMFILE ...
 * [fiber thread; parks, cancel]
 */
WEFT_MUST_USE int weft_tcp_listen(const char *host, const char *service, int backlog);

/*
 * Returns the local port of a socket, for instance of one that listens at a port that the kernel chose.
 *
 * Errors: -EBADF, -ENOTSOCK, or -EAFNOSUPPORT if it is no socket of IPv4 or IPv6.
 * [fiber thread]
 */
int weft_tcp_port(int fd);

/*
 * Connects to a local socket, and returns the descriptor, which is closed on exec.
 *
 * Errors:
 *   -EINVAL         path is NULL
 *   -ENAMETOOLONG   path has more than 107 bytes
 *   -EPERM          the caller is not a fiber
 *   other           those of socket and connect: -ENOENT, -ECONNREFUSED, -EMFILE ...
 * [fiber; parks, cancel]
 */
WEFT_MUST_USE int weft_unix_dial(const char *path, uint64_t deadline);

/*
 * Returns a local socket that listens at a path. It is non-blocking and closed on exec. If the path holds a socket at
 * which no program listens any more, that socket is removed first. A socket in use is left alone.
 *
 *   backlog    connections that may wait to be accepted; 0 for as many as the kernel allows
 *
 * Errors:
 *   -EINVAL         path is NULL, or backlog is negative
 *   -ENAMETOOLONG   path has more than 107 bytes
 *   -EADDRINUSE     something else is there
 *   other           those of socket, bind and listen: -EACCES, -ENOENT, -EMFILE ...
 * [fiber thread]
 */
WEFT_MUST_USE int weft_unix_listen(const char *path, int backlog);

/* ---------------------------------------------------------------------------------------------
 * Exact reads and writes
 * ------------------------------------------------------------------------------------------ */

/*
 * Reads until the buffer is full, and returns its size. At the end of the file it returns the number of bytes that were
 * left; 0 if there were none. After an error the bytes that were read before it are lost.
 *
 * Errors: those of weft_read, as negative numbers.
 * [fiber thread; parks, cancel]
 */
WEFT_MUST_USE ssize_t weft_fd_read_exactly(int fd, void *buffer, size_t size);

/*
 * Writes all bytes. After an error some of them may have been written.
 *
 * Errors: those of weft_write, as negative numbers.
 * [fiber thread; parks, cancel]
 */
WEFT_MUST_USE int weft_fd_write_all(int fd, const void *buffer, size_t size);

/* ---------------------------------------------------------------------------------------------
 * Buffered streams
 *
 * A stream has a read buffer and a write buffer. One fiber may read while another fiber writes. Two fibers must not
 * read, or write, at the same time. For a deadline, use a scope (weft/scope.h).
 * ------------------------------------------------------------------------------------------ */

/* The functions by which a stream reads and writes. They return what read and write do, -1 and errno after an error.
 * For TLS there is weft_tls_stream_open. */
struct weft_stream_calls {
    ssize_t (*read)(void *handle, void *buffer, size_t size);
    ssize_t (*write)(void *handle, const void *buffer, size_t size);
    int (*close)(void *handle); /* NULL: nothing is to be closed */
};

/* A stream. Its members are private. */
struct weft_stream {
    const struct weft_stream_calls *calls; /* NULL: a descriptor */
    void *handle;
    int fd;
    int failed; /* the negative errno of a failed write, or 0 */
    size_t size;
    char *in;
    size_t begin, end; /* the bytes in `in` that the program has not taken yet */
    char *out;
    size_t used; /* bytes in `out` that are not written yet */
};

/*
 * Opens a stream on a descriptor. The stream owns the descriptor: weft_stream_close closes it.
 *
 *   size   bytes of each of the two buffers, and the longest line; 0 for 8 KiB
 *
 * Errors: -EINVAL if stream is NULL; -EBADF if fd is negative; -ENOMEM. The descriptor is then still the caller's.
 * [fiber thread]
 */
WEFT_MUST_USE int weft_stream_open(struct weft_stream *stream, int fd, size_t size);

/*
 * Opens a stream that reads and writes by the given functions.
 *
 *   calls   must stay as long as the stream
 *
 * Errors: -EINVAL if stream, calls, or a function other than `close` is NULL; -ENOMEM.
 * [fiber thread]
 */
WEFT_MUST_USE int weft_stream_open_calls(struct weft_stream *stream, const struct weft_stream_calls *calls,
                                         void *handle, size_t size);

/*
 * Writes the bytes in the buffer, frees the buffers, and closes the descriptor or handle. Frees and closes everything
 * even if it returns an error: what was written before may then be lost. Does nothing for a zeroed struct.
 *
 * Errors: -EINVAL if stream is NULL; those of weft_stream_flush, and of close.
 * [fiber thread; parks, cancel]
 */
WEFT_MUST_USE int weft_stream_close(struct weft_stream *stream);

/*
 * Waits until there are bytes to read, stores at most `size` of them, and returns how many; 0 at the end.
 *
 * Errors: -EINVAL if stream is NULL or not open; those of the read below.
 * [fiber thread; parks, cancel]
 */
WEFT_MUST_USE ssize_t weft_stream_read(struct weft_stream *stream, void *buffer, size_t size);

/*
 * Reads until the buffer is full, and returns its size, or less at the end. After an error the bytes that were read
 * before it are lost.
 *
 * Errors: as weft_stream_read.
 * [fiber thread; parks, cancel]
 */
WEFT_MUST_USE ssize_t weft_stream_read_exactly(struct weft_stream *stream, void *buffer, size_t size);

/*
 * Reads a line and returns its length. *line points to it, in the buffer of the stream, with a 0 at its end and without
 * the newline or the carriage return and newline; it stays until the next read. The last line may have no newline.
 *
 * Errors:
 *   -EINVAL     stream or line is NULL, or the stream is not open
 *   -ENODATA    the end: there is no further line
 *   -EMSGSIZE   the line is longer than the buffer; the next read goes on in it
 *   other       errors of the read; the part of the line that was read is kept, and the call can be repeated
 * [fiber thread; parks, cancel]
 */
WEFT_MUST_USE ssize_t weft_stream_line(struct weft_stream *stream, char **line);

/*
 * Writes bytes into the buffer. Writes the buffer to the descriptor or handle when it is full.
 *
 * Errors: -EINVAL if stream is NULL or not open; errors of the write below. After such an error nothing more can be
 * written, and further calls return the same error.
 * [fiber thread; parks, cancel]
 */
WEFT_MUST_USE int weft_stream_write(struct weft_stream *stream, const void *bytes, size_t size);

/*
 * Writes the bytes in the buffer to the descriptor or handle.
 *
 * Errors: as weft_stream_write.
 * [fiber thread; parks, cancel]
 */
WEFT_MUST_USE int weft_stream_flush(struct weft_stream *stream);

#ifdef __cplusplus
}
#endif
#endif
