/* SPDX-License-Identifier: MIT */
/*
 * What is known of descriptors, by number: what kind of file it is; and of a socket, whether it blocks and has
 * time-outs. Asking the kernel would take two more system calls for each call that parks. The calls that change this
 * state are interposed here, and forget it. If a descriptor was duplicated, or inherited by a child, another number or
 * process may change the state of its file. Then each call asks the kernel. A wrong kind only costs a system call.
 */
#undef _FILE_OFFSET_BITS /* it makes one name of fcntl and fcntl64 */
#define _GNU_SOURCE
#include "threads/descriptors.h"
#include "threads/shared.h"
#include "threads/threads.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

REAL(socket);
REAL(socketpair);
REAL(fclose);
REAL(closefrom);
REAL(close_range);
REAL(dup);
REAL(dup2);
REAL(dup3);
REAL(fcntl);
REAL(fcntl64);
REAL(ioctl);
REAL(setsockopt);

enum { KIND = 3, BLOCKS = 4, NEVER_BLOCKS = 8, RECEIVES_FOREVER = 16, SENDS_FOREVER = 32, SHARED = 64 };
enum { REMEMBERED = 1 << 16, INHERITED = 3 };
static _Atomic uint8_t known[REMEMBERED];
static _Atomic int highest; /* the highest number that may be in the table */

static bool is_remembered(int fd) { return fd >= 0 && fd < REMEMBERED; }

uint8_t weft__descriptor_kind(int fd) {
    struct stat s;
    if (is_remembered(fd) && load_rlx(&known[fd]) & KIND) return load_rlx(&known[fd]) & KIND;
    if (fstat(fd, &s)) return WEFT_DESCRIPTOR_UNKNOWN;
    uint8_t kind = S_ISSOCK(s.st_mode)                                              ? WEFT_DESCRIPTOR_SOCKET
                   : S_ISREG(s.st_mode) || S_ISBLK(s.st_mode) || S_ISDIR(s.st_mode) ? WEFT_DESCRIPTOR_STORED
                                                                                    : WEFT_DESCRIPTOR_OTHER;
    if (!is_remembered(fd)) return kind;
    if (fd > load_rlx(&highest)) store_rlx(&highest, fd);
    store_rlx(&known[fd], kind | (fd < INHERITED ? SHARED : load_rlx(&known[fd]) & SHARED));
    return kind;
}

void weft__descriptor_forget(int fd) {
    if (is_remembered(fd) && load_rlx(&known[fd])) store_rlx(&known[fd], 0);
}

static void forget_state(int fd, unsigned state) {
    if (is_remembered(fd)) atomic_fetch_and(&known[fd], (uint8_t)~state);
}

/* Called before the caller asks the kernel. Returns what is known now, for remember_state. 0: the answer must not be
 * remembered. That is so in a program that is written for weft, because this file does not see how such a program opens
 * and closes descriptors. */
static uint8_t known_before(int fd) {
    if (unlikely(weft__posix) || !is_remembered(fd)) return 0;
    if (unlikely(!(load_rlx(&known[fd]) & KIND))) {
        int err = errno;
        weft__descriptor_kind(fd);
        errno = err;
    }
    uint8_t is = load_rlx(&known[fd]);
    return (is & KIND) == WEFT_DESCRIPTOR_SOCKET && !(is & SHARED) ? is : 0;
}
/* Remembers an answer of the kernel, unless the entry has changed since known_before. */
static void remember_state(int fd, uint8_t before, unsigned state) {
    if (before) cas_ar(&known[fd], &before, (uint8_t)(before | state));
}

bool weft__descriptor_is_nonblocking(int fd) {
    uint8_t before = known_before(fd);
    if (likely(before & (BLOCKS | NEVER_BLOCKS))) return before & NEVER_BLOCKS;
    int err = errno, flags = real(fcntl)(fd, F_GETFL);
    errno = err;
    if (flags >= 0) remember_state(fd, before, flags & O_NONBLOCK ? NEVER_BLOCKS : BLOCKS);
    return flags < 0 || flags & O_NONBLOCK;
}

uint64_t weft__descriptor_deadline(int fd, int option) {
    struct timeval t = {0, 0};
    socklen_t length = sizeof t;
    unsigned forever = option == SO_RCVTIMEO ? RECEIVES_FOREVER : SENDS_FOREVER;
    uint8_t before = known_before(fd);
    if (!option || before & forever) return WEFT_FOREVER;
    if (getsockopt(fd, SOL_SOCKET, option, &t, &length)) return WEFT_FOREVER;
    if (t.tv_sec || t.tv_usec)
        return weft_now() + (uint64_t)t.tv_sec * WEFT_SECOND + (uint64_t)t.tv_usec * WEFT_MICROSECOND;
    remember_state(fd, before, forever);
    return WEFT_FOREVER;
}

/* --- what changes it ------------------------------------------------------------------------------------------- */

static void share_descriptor(int fd) {
    if (!is_remembered(fd)) return;
    forget_state(fd, BLOCKS | NEVER_BLOCKS | RECEIVES_FOREVER | SENDS_FOREVER);
    atomic_fetch_or(&known[fd], SHARED);
    if (fd > load_rlx(&highest)) store_rlx(&highest, fd);
}

void weft__descriptors_share(void) {
    for (int fd = 0; fd <= load_rlx(&highest); fd++)
        if (load_rlx(&known[fd])) share_descriptor(fd);
}

/* Forgets what was known of a number that a call has just returned. The number may have been closed by a call that is
 * not interposed. */
static int note_new(int fd) {
    if (fd >= 0) weft__descriptor_forget(fd);
    return fd;
}
WEFT_INTERPOSED int socket(int family, int type, int protocol) {
    return note_new(real(socket)(family, type, protocol));
}
WEFT_INTERPOSED int socketpair(int family, int type, int protocol, int pair[2]) {
    int err = real(socketpair)(family, type, protocol, pair);
    if (err) return err;
    note_new(pair[0]);
    note_new(pair[1]);
    return 0;
}
WEFT_INTERPOSED int fclose(FILE *file) {
    int fd = fileno(file);
    if (fd >= 0) weft__descriptor_forget(fd);
    return real(fclose)(file);
}
static void forget_range(unsigned from, unsigned to) {
    for (unsigned fd = from; fd <= to && fd <= (unsigned)load_rlx(&highest); fd++) weft__descriptor_forget((int)fd);
}
WEFT_INTERPOSED void closefrom(int from) {
    forget_range(from < 0 ? 0 : (unsigned)from, INT_MAX);
    real(closefrom)(from);
}
WEFT_INTERPOSED int close_range(unsigned from, unsigned to, int flags) {
    forget_range(from, to);
    return real(close_range)(from, to, flags);
}

/* Both the sender and the receiver of a message with descriptors may change them from now on. */
void weft__descriptors_in(const struct msghdr *message) {
    struct msghdr *m = (struct msghdr *)(uintptr_t)message; /* CMSG_NXTHDR takes no const */
    for (struct cmsghdr *c = CMSG_FIRSTHDR(m); c; c = CMSG_NXTHDR(m, c)) {
        if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS) continue;
        for (size_t at = 0; at + sizeof(int) <= c->cmsg_len - CMSG_LEN(0); at += sizeof(int)) {
            int fd;
            memcpy(&fd, CMSG_DATA(c) + at, sizeof fd);
            note_new(fd);
            share_descriptor(fd);
        }
    }
}
/* Notes a copy of a descriptor: both numbers now refer to one file. */
static int note_copy(int fd, int copy) {
    if (copy < 0 || copy == fd) return copy;
    weft__descriptor_forget(copy);
    share_descriptor(copy);
    share_descriptor(fd);
    return copy;
}
WEFT_INTERPOSED int dup(int fd) { return note_copy(fd, real(dup)(fd)); }
WEFT_INTERPOSED int dup2(int fd, int to) { return note_copy(fd, real(dup2)(fd, to)); }
WEFT_INTERPOSED int dup3(int fd, int to, int flags) { return note_copy(fd, real(dup3)(fd, to, flags)); }

/* Locks a part of a file: see shared.h. */
enum { BUSY = -2 };
static int try_lock_file(int fd, int command, void *range) {
    int result = real(fcntl)(fd, command == F_SETLKW ? F_SETLK : F_OFD_SETLK, range);
    return result < 0 && (errno == EAGAIN || errno == EACCES) ? BUSY : result;
}
static int lock_file(int fd, int command, void *range) {
    return SHARED_WAIT(WEFT_FOREVER, real(fcntl)(fd, command, range), try_lock_file(fd, command, range), BUSY);
}

static int note_fcntl(int fd, int command, int result) {
    if (command == F_SETFL) forget_state(fd, BLOCKS | NEVER_BLOCKS);
    return command == F_DUPFD || command == F_DUPFD_CLOEXEC ? note_copy(fd, result) : result;
}
/* The argument is a number or an address, or there is none. */
#define LAST_ARGUMENT(before) \
    ({ \
        va_list list_; \
        va_start(list_, before); \
        void *argument_ = va_arg(list_, void *); \
        va_end(list_); \
        argument_; \
    })
WEFT_INTERPOSED int fcntl(int fd, int command, ...) {
    if (command == F_SETLKW || command == F_OFD_SETLKW) return lock_file(fd, command, LAST_ARGUMENT(command));
    return note_fcntl(fd, command, real(fcntl)(fd, command, LAST_ARGUMENT(command)));
}
WEFT_INTERPOSED int fcntl64(int fd, int command, ...) {
    if (command == F_SETLKW || command == F_OFD_SETLKW) return lock_file(fd, command, LAST_ARGUMENT(command));
    return note_fcntl(fd, command, real(fcntl64)(fd, command, LAST_ARGUMENT(command)));
}
WEFT_INTERPOSED int ioctl(int fd, unsigned long request, ...) {
    int result = real(ioctl)(fd, request, LAST_ARGUMENT(request));
    if (request == FIONBIO) forget_state(fd, BLOCKS | NEVER_BLOCKS);
    return result;
}
WEFT_INTERPOSED int setsockopt(int fd, int level, int option, const void *value, socklen_t length) {
    int result = real(setsockopt)(fd, level, option, value, length);
    if (level == SOL_SOCKET) forget_state(fd, RECEIVES_FOREVER | SENDS_FOREVER);
    return result;
}
