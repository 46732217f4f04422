/* SPDX-License-Identifier: MIT */
/*
 * Stored files: reading and writing at a position, syncing, locking. The program's own fibers park while a disk works.
 * Threads of an unmodified program park only in calls that usually take long: fsync, flock.
 */
#undef _FILE_OFFSET_BITS /* it makes one name of pread and pread64 */
#define _GNU_SOURCE
#include "weft/file.h"
#include "threads/shared.h"

#include <sys/file.h>
#include <unistd.h>

static bool is_posix_fiber(void) { return weft__posix && weft__caller_fiber(); }

/* A call on a stored file: weft makes it for a fiber, and the C library for other callers. */
#define FILE_CALL(name, by_weft, parameters, arguments) \
    REAL(name); \
    WEFT_INTERPOSED ssize_t name parameters { return is_posix_fiber() ? by_weft arguments : real(name) arguments; }

FILE_CALL(pread, weft_pread, (int fd, void *buffer, size_t size, off_t at), (fd, buffer, size, at))
FILE_CALL(pread64, weft_pread, (int fd, void *buffer, size_t size, off64_t at), (fd, buffer, size, at))
FILE_CALL(pwrite, weft_pwrite, (int fd, const void *buffer, size_t size, off_t at), (fd, buffer, size, at))
FILE_CALL(pwrite64, weft_pwrite, (int fd, const void *buffer, size_t size, off64_t at), (fd, buffer, size, at))
FILE_CALL(preadv, weft_preadv, (int fd, const struct iovec *parts, int n, off_t at), (fd, parts, n, at))
FILE_CALL(preadv64, weft_preadv, (int fd, const struct iovec *parts, int n, off64_t at), (fd, parts, n, at))
FILE_CALL(pwritev, weft_pwritev, (int fd, const struct iovec *parts, int n, off_t at), (fd, parts, n, at))
FILE_CALL(pwritev64, weft_pwritev, (int fd, const struct iovec *parts, int n, off64_t at), (fd, parts, n, at))

ssize_t __pread_chk(int, void *, size_t, off_t, size_t);
ssize_t __pread64_chk(int, void *, size_t, off64_t, size_t);
REAL(__pread_chk);
REAL(__pread64_chk);
WEFT_INTERPOSED ssize_t __pread_chk(int fd, void *buffer, size_t size, off_t at, size_t room) {
    return size > room ? real(__pread_chk)(fd, buffer, size, at, room) : pread(fd, buffer, size, at);
}
WEFT_INTERPOSED ssize_t __pread64_chk(int fd, void *buffer, size_t size, off64_t at, size_t room) {
    return size > room ? real(__pread64_chk)(fd, buffer, size, at, room) : pread64(fd, buffer, size, at);
}

/* Calls that end by themselves: a signal or a cancellation takes effect when the call has ended. */
#define INSIDE(call) \
    ({ \
        weft__thread_enter(); \
        int result_ = call; \
        weft__thread_leave(); \
        result_; \
    })

REAL(fsync);
REAL(fdatasync);
REAL(flock);
WEFT_INTERPOSED int fsync(int fd) { return weft__caller_parks() ? INSIDE(weft_fsync(fd)) : real(fsync)(fd); }
WEFT_INTERPOSED int fdatasync(int fd) {
    return weft__caller_parks() ? INSIDE(weft_fdatasync(fd)) : real(fdatasync)(fd);
}
enum { BUSY = -2 };
static int try_flock(int fd, int operation) {
    int result = real(flock)(fd, operation | LOCK_NB);
    return result < 0 && errno == EWOULDBLOCK ? BUSY : result;
}
WEFT_INTERPOSED int flock(int fd, int operation) {
    bool waits = !(operation & (LOCK_NB | LOCK_UN));
    if (is_posix_fiber() && waits) return weft_flock(fd, operation);
    return waits ? SHARED_WAIT(WEFT_FOREVER, real(flock)(fd, operation), try_flock(fd, operation), BUSY)
                 : real(flock)(fd, operation);
}
