/* SPDX-License-Identifier: MIT */
/*
 * Calls with a deadline, for fibers. Each runs in a scope with that deadline. So the rules of a cancellation hold:
 * bytes that the kernel has transferred before the deadline count, and the kernel does not touch the memory after the
 * call has returned.
 */
#define _GNU_SOURCE
#include "io/engine.h"

#define UNTIL(call) \
    struct weft_scope scope; \
    if (!weft__io_current_fiber()) { \
        errno = EPERM; \
        return -1; \
    } \
    weft_scope_begin(&scope, deadline); /* does not fail in a fiber */ \
    __typeof__(call) result = (call); \
    weft_scope_end(&scope); /* leaves errno unchanged */ \
    return result

WEFT_PUBLIC ssize_t weft_read_until(int fd, void *buffer, size_t size, uint64_t deadline) {
    UNTIL(weft_read(fd, buffer, size));
}
WEFT_PUBLIC ssize_t weft_write_until(int fd, const void *buffer, size_t size, uint64_t deadline) {
    UNTIL(weft_write(fd, buffer, size));
}
WEFT_PUBLIC ssize_t weft_recv_until(int fd, void *buffer, size_t size, int flags, uint64_t deadline) {
    UNTIL(weft_recv(fd, buffer, size, flags));
}
WEFT_PUBLIC ssize_t weft_send_until(int fd, const void *buffer, size_t size, int flags, uint64_t deadline) {
    UNTIL(weft_send(fd, buffer, size, flags));
}
WEFT_PUBLIC int weft_accept_until(int fd, struct sockaddr *address, socklen_t *length, uint64_t deadline) {
    UNTIL(weft_accept(fd, address, length));
}
WEFT_PUBLIC int weft_connect_until(int fd, const struct sockaddr *address, socklen_t length, uint64_t deadline) {
    UNTIL(weft_connect(fd, address, length));
}
WEFT_PUBLIC pid_t weft_waitpid_until(pid_t pid, int *status, int options, uint64_t deadline) {
    UNTIL(weft_waitpid(pid, status, options));
}
