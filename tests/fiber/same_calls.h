/* SPDX-License-Identifier: MIT */
/*
 * Calls with arguments of all kinds, for io_same.c: the original, or the look-alike with the same arguments. b has 64
 * bytes, "abcdefgh" repeated. The memory behind them is inaccessible.
 */
#ifndef WEFT_TESTS_FIBER_SAME_CALLS_H
#define WEFT_TESTS_FIBER_SAME_CALLS_H

#include "same_kinds.h"

#include <limits.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/wait.h>

/* Read at run time: a compiler that knew them would refuse such calls. */
static void *volatile nothing, *volatile bad_pointer = (void *)8;
static volatile size_t huge_size = (size_t)SSIZE_MAX + 1, most_size = SIZE_MAX;
static volatile int negative = -1, many = IOV_MAX + 1;
#define NOTHING ((void *)nothing)
#define BAD ((void *)bad_pointer)
#define HUGE_SIZE ((size_t)huge_size)
#define MOST_SIZE ((size_t)most_size)
#define ROOM 64

struct call {
    const char *text;
    long (*run)(bool weft, struct made *m, char *b);
    bool closes; /* the descriptor, if it can */
};

/* The call as it is, and the call with the prefix weft_. */
#define EITHER(name, ...) (weft ? (long)weft_##name(__VA_ARGS__) : (long)name(__VA_ARGS__))
#define CALL(id, expression) \
    static long id(bool weft, struct made *m, char *b) { \
        (void)b, (void)m; \
        return expression; \
    }

#define SA(m) ((struct sockaddr *)&(m)->address)
#define SIZE_OF_SA ((socklen_t)sizeof(struct sockaddr_in))

/* --- bytes ---------------------------------------------------------------------------------------------------- */

CALL(read_some, EITHER(read, m->fd, b, 8))
CALL(read_none, EITHER(read, m->fd, b, 0))
CALL(read_none_null, EITHER(read, m->fd, NOTHING, 0))
CALL(read_null, EITHER(read, m->fd, NOTHING, 8))
CALL(read_bad, EITHER(read, m->fd, BAD, 8))
CALL(read_beyond, EITHER(read, m->fd, b, 4096))
CALL(read_huge, EITHER(read, m->fd, b, HUGE_SIZE))
CALL(read_most, EITHER(read, m->fd, b, MOST_SIZE))
CALL(write_some, EITHER(write, m->fd, b, 8))
CALL(write_none, EITHER(write, m->fd, b, 0))
CALL(write_none_null, EITHER(write, m->fd, NOTHING, 0))
CALL(write_null, EITHER(write, m->fd, NOTHING, 8))
CALL(write_bad, EITHER(write, m->fd, BAD, 8))
CALL(write_beyond, EITHER(write, m->fd, b, 4096))
CALL(write_huge, EITHER(write, m->fd, b, HUGE_SIZE))
CALL(write_most, EITHER(write, m->fd, b, MOST_SIZE))
CALL(pread_some, EITHER(pread, m->fd, b, 8, 4))
CALL(pread_none, EITHER(pread, m->fd, b, 0, 4))
CALL(pread_behind, EITHER(pread, m->fd, b, 8, 100))
CALL(pread_negative, EITHER(pread, m->fd, b, 8, -1))
CALL(pread_far, EITHER(pread, m->fd, b, 8, INT64_MAX))
CALL(pread_bad, EITHER(pread, m->fd, BAD, 8, 4))
CALL(pread_huge, EITHER(pread, m->fd, b, HUGE_SIZE, 4))
CALL(pwrite_some, EITHER(pwrite, m->fd, b, 8, 4))
CALL(pwrite_none, EITHER(pwrite, m->fd, b, 0, 4))
CALL(pwrite_negative, EITHER(pwrite, m->fd, b, 8, -1))
CALL(pwrite_far, EITHER(pwrite, m->fd, b, 8, INT64_MAX - 4))
CALL(pwrite_bad, EITHER(pwrite, m->fd, BAD, 8, 4))
CALL(pwrite_huge, EITHER(pwrite, m->fd, b, HUGE_SIZE, 4))

#define PARTS(...) ((struct iovec[]){__VA_ARGS__})
CALL(readv_some, EITHER(readv, m->fd, PARTS({b, 3}, {b + 16, 5}), 2))
CALL(readv_nothing, EITHER(readv, m->fd, PARTS({b, 0}, {NOTHING, 0}), 2))
CALL(readv_no_parts, EITHER(readv, m->fd, NOTHING, 0))
CALL(readv_null, EITHER(readv, m->fd, NOTHING, 1))
CALL(readv_bad, EITHER(readv, m->fd, BAD, 1))
CALL(readv_negative, EITHER(readv, m->fd, PARTS({b, 3}), negative))
CALL(readv_many, EITHER(readv, m->fd, PARTS({b, 3}), many))
CALL(readv_bad_part, EITHER(readv, m->fd, PARTS({BAD, 3}, {b, 5}), 2))
CALL(readv_huge, EITHER(readv, m->fd, PARTS({b, 3}, {b, HUGE_SIZE}), 2))
CALL(writev_some, EITHER(writev, m->fd, PARTS({b, 3}, {b + 16, 5}), 2))
CALL(writev_nothing, EITHER(writev, m->fd, PARTS({b, 0}, {NOTHING, 0}), 2))
CALL(writev_no_parts, EITHER(writev, m->fd, NOTHING, 0))
CALL(writev_null, EITHER(writev, m->fd, NOTHING, 1))
CALL(writev_bad, EITHER(writev, m->fd, BAD, 1))
CALL(writev_negative, EITHER(writev, m->fd, PARTS({b, 3}), negative))
CALL(writev_many, EITHER(writev, m->fd, PARTS({b, 3}), many))
CALL(writev_bad_part, EITHER(writev, m->fd, PARTS({BAD, 3}, {b, 5}), 2))
CALL(writev_huge, EITHER(writev, m->fd, PARTS({b, 3}, {b, HUGE_SIZE}), 2))
CALL(preadv_some, EITHER(preadv, m->fd, PARTS({b, 3}, {b + 16, 5}), 2, 1))
CALL(preadv_negative, EITHER(preadv, m->fd, PARTS({b, 3}), 1, -1))
CALL(pwritev_some, EITHER(pwritev, m->fd, PARTS({b, 3}, {b + 16, 5}), 2, 1))
CALL(pwritev_negative, EITHER(pwritev, m->fd, PARTS({b, 3}), 1, -1))

/* --- messages ---------------------------------------------------------------------------------------------------- */

CALL(recv_some, EITHER(recv, m->fd, b, 8, 0))
CALL(recv_none, EITHER(recv, m->fd, b, 0, 0))
CALL(recv_now, EITHER(recv, m->fd, b, 8, MSG_DONTWAIT))
CALL(recv_peek, EITHER(recv, m->fd, b, 3, MSG_PEEK))
CALL(recv_all, EITHER(recv, m->fd, b, 5, MSG_WAITALL))
CALL(recv_truncated, EITHER(recv, m->fd, b, 2, MSG_TRUNC))
CALL(recv_urgent, EITHER(recv, m->fd, b, 8, MSG_OOB))
CALL(recv_errors, EITHER(recv, m->fd, b, 8, MSG_ERRQUEUE))
CALL(recv_odd_flags, EITHER(recv, m->fd, b, 8, 0x00800000))
CALL(recv_null, EITHER(recv, m->fd, NOTHING, 8, 0))
CALL(recv_bad, EITHER(recv, m->fd, BAD, 8, 0))
CALL(recv_beyond, EITHER(recv, m->fd, b, 4096, 0))
CALL(send_some, EITHER(send, m->fd, b, 8, 0))
CALL(send_quietly, EITHER(send, m->fd, b, 8, MSG_NOSIGNAL))
CALL(send_none, EITHER(send, m->fd, b, 0, 0))
CALL(send_now, EITHER(send, m->fd, b, 8, MSG_DONTWAIT))
CALL(send_urgent, EITHER(send, m->fd, b, 1, MSG_OOB))
CALL(send_null, EITHER(send, m->fd, NOTHING, 8, 0))
CALL(send_bad, EITHER(send, m->fd, BAD, 8, 0))
CALL(send_beyond, EITHER(send, m->fd, b, 4096, 0))
CALL(send_odd_flags, EITHER(send, m->fd, b, 8, 0x00800000))
CALL(sendto_some, EITHER(sendto, m->fd, b, 8, 0, SA(m), SIZE_OF_SA))
CALL(sendto_none, EITHER(sendto, m->fd, b, 0, 0, SA(m), SIZE_OF_SA))
CALL(sendto_short, EITHER(sendto, m->fd, b, 8, 0, SA(m), 3))
CALL(sendto_bad, EITHER(sendto, m->fd, b, 8, 0, BAD, SIZE_OF_SA))
CALL(sendto_long, EITHER(sendto, m->fd, b, 8, 0, SA(m), 1000))
CALL(sendto_no_size, EITHER(sendto, m->fd, b, 8, 0, SA(m), 0))

static struct sockaddr_storage from;
static socklen_t from_size;
CALL(recvfrom_some, (from_size = sizeof from, EITHER(recvfrom, m->fd, b, 8, 0, (struct sockaddr *)&from, &from_size)))
CALL(recvfrom_nobody, EITHER(recvfrom, m->fd, b, 8, 0, NOTHING, NOTHING))
CALL(recvfrom_no_size, EITHER(recvfrom, m->fd, b, 8, 0, (struct sockaddr *)&from, NOTHING))
CALL(recvfrom_bad_size, EITHER(recvfrom, m->fd, b, 8, 0, (struct sockaddr *)&from, BAD))
CALL(recvfrom_bad, (from_size = sizeof from, EITHER(recvfrom, m->fd, b, 8, 0, BAD, &from_size)))
CALL(recvfrom_negative,
     (from_size = (socklen_t)-1, EITHER(recvfrom, m->fd, b, 8, 0, (struct sockaddr *)&from, &from_size)))

#define MESSAGE(...) (&(struct msghdr){__VA_ARGS__})
CALL(sendmsg_some, EITHER(sendmsg, m->fd, MESSAGE(.msg_iov = PARTS({b, 3}, {b + 16, 5}), .msg_iovlen = 2), 0))
CALL(sendmsg_nothing, EITHER(sendmsg, m->fd, MESSAGE(.msg_iov = NOTHING), 0))
CALL(sendmsg_null, EITHER(sendmsg, m->fd, NOTHING, 0))
CALL(sendmsg_bad, EITHER(sendmsg, m->fd, BAD, 0))
CALL(sendmsg_bad_parts, EITHER(sendmsg, m->fd, MESSAGE(.msg_iov = BAD, .msg_iovlen = 1), 0))
CALL(sendmsg_many, EITHER(sendmsg, m->fd, MESSAGE(.msg_iov = PARTS({b, 3}), .msg_iovlen = IOV_MAX + 1), 0))
CALL(recvmsg_some, EITHER(recvmsg, m->fd, MESSAGE(.msg_iov = PARTS({b, 3}, {b + 16, 5}), .msg_iovlen = 2), 0))
CALL(recvmsg_nothing, EITHER(recvmsg, m->fd, MESSAGE(.msg_iov = NOTHING), 0))
CALL(recvmsg_null, EITHER(recvmsg, m->fd, NOTHING, 0))
CALL(recvmsg_bad, EITHER(recvmsg, m->fd, BAD, 0))
CALL(recvmsg_bad_parts, EITHER(recvmsg, m->fd, MESSAGE(.msg_iov = BAD, .msg_iovlen = 1), 0))
CALL(recvmsg_bad_peek, EITHER(recvmsg, m->fd, MESSAGE(.msg_iov = BAD, .msg_iovlen = 1), MSG_PEEK | MSG_WAITALL))
CALL(recvmsg_bad_all, EITHER(recvmsg, m->fd, BAD, MSG_PEEK | MSG_WAITALL))
CALL(recvmsg_many, EITHER(recvmsg, m->fd, MESSAGE(.msg_iov = PARTS({b, 3}), .msg_iovlen = IOV_MAX + 1), 0))

/* --- connections ------------------------------------------------------------------------------------------------- */

/* If the result is a descriptor, its number is not compared. */
static inline long any_fd(long fd) {
    if (fd < 0) return fd;
    weft_close((int)fd);
    return 1000;
}
CALL(accept_plain, any_fd(EITHER(accept, m->fd, NOTHING, NOTHING)))
CALL(accept_from, (from_size = sizeof from, any_fd(EITHER(accept, m->fd, (struct sockaddr *)&from, &from_size))))
CALL(accept_no_size, any_fd(EITHER(accept, m->fd, (struct sockaddr *)&from, NOTHING)))
CALL(accept_bad, (from_size = sizeof from, any_fd(EITHER(accept, m->fd, BAD, &from_size))))
CALL(accept_flags, any_fd(EITHER(accept4, m->fd, NOTHING, NOTHING, SOCK_NONBLOCK | SOCK_CLOEXEC)))
CALL(accept_odd_flags, any_fd(EITHER(accept4, m->fd, NOTHING, NOTHING, 0x1000)))
CALL(connect_some, EITHER(connect, m->fd, SA(m), SIZE_OF_SA))
CALL(connect_null, EITHER(connect, m->fd, NOTHING, SIZE_OF_SA))
CALL(connect_bad, EITHER(connect, m->fd, BAD, SIZE_OF_SA))
CALL(connect_short, EITHER(connect, m->fd, SA(m), 3))
CALL(connect_no_size, EITHER(connect, m->fd, SA(m), 0))
CALL(connect_long, EITHER(connect, m->fd, SA(m), 1000))
CALL(connect_nowhere,
     EITHER(connect, m->fd, (struct sockaddr *)&(struct sockaddr_in){.sin_family = AF_UNSPEC}, SIZE_OF_SA))
CALL(connect_odd, EITHER(connect, m->fd, (struct sockaddr *)&(struct sockaddr_in){.sin_family = 77}, SIZE_OF_SA))
/* Twice to a port without a listener: the second call meets the state of a failed connection. */
#define CLOSED_PORT \
    ((struct sockaddr *)&(struct sockaddr_in){ \
        .sin_family = AF_INET, .sin_port = htons(1), .sin_addr = {htonl(INADDR_LOOPBACK)}})
CALL(connect_refused, EITHER(connect, m->fd, CLOSED_PORT, SIZE_OF_SA))
CALL(connect_refused_twice,
     ((void)EITHER(connect, m->fd, CLOSED_PORT, SIZE_OF_SA), EITHER(connect, m->fd, CLOSED_PORT, SIZE_OF_SA)))
CALL(connect_after_refusal,
     ((void)EITHER(connect, m->fd, CLOSED_PORT, SIZE_OF_SA), EITHER(connect, m->fd, SA(m), SIZE_OF_SA)))
CALL(connect_twice, ((void)EITHER(connect, m->fd, SA(m), SIZE_OF_SA), EITHER(connect, m->fd, SA(m), SIZE_OF_SA)))
CALL(shutdown_read, EITHER(shutdown, m->fd, SHUT_RD))
CALL(shutdown_write, EITHER(shutdown, m->fd, SHUT_WR))
CALL(shutdown_both, EITHER(shutdown, m->fd, SHUT_RDWR))
CALL(shutdown_odd, EITHER(shutdown, m->fd, 7))

/* --- others ----------------------------------------------------------------------------------- */

static inline long ready(bool weft, int fd, short events) {
    struct pollfd p = {fd, events, 0};
    long n = EITHER(poll, &p, 1, 0);
    return n < 0 ? n : p.revents;
}
CALL(poll_in, ready(weft, m->fd, POLLIN))
CALL(poll_out, ready(weft, m->fd, POLLOUT))
CALL(poll_all, ready(weft, m->fd, POLLIN | POLLOUT | POLLPRI | POLLRDHUP))
CALL(poll_bad, EITHER(poll, BAD, 1, 0))
CALL(sync_all, EITHER(fsync, m->fd))
CALL(sync_data, EITHER(fdatasync, m->fd))
CALL(close_it, EITHER(close, m->fd))

static inline int other_end(struct made *m, bool reads, int *pipe_end) {
    int ends[2];
    CHECK(!pipe2(ends, O_CLOEXEC) && (!reads || write(ends[1], "12345678", 8) == 8));
    keep(m, ends[reads]);
    *pipe_end = ends[!reads];
    keep(m, *pipe_end);
    return *pipe_end;
}
static int pipe_end;
CALL(splice_out_of, EITHER(splice, m->fd, NOTHING, other_end(m, false, &pipe_end), NOTHING, 5, 0))
CALL(splice_into, EITHER(splice, other_end(m, true, &pipe_end), NOTHING, m->fd, NOTHING, 5, 0))
CALL(splice_none, EITHER(splice, m->fd, NOTHING, other_end(m, false, &pipe_end), NOTHING, 0, 0))
CALL(splice_odd_flags, EITHER(splice, m->fd, NOTHING, other_end(m, false, &pipe_end), NOTHING, 5, 0x1000))
CALL(splice_bad_offset, EITHER(splice, m->fd, BAD, other_end(m, false, &pipe_end), NOTHING, 5, 0))
CALL(splice_itself, EITHER(splice, m->fd, NOTHING, m->fd, NOTHING, 5, 0))
static inline int a_file(struct made *m) {
    int fd = make_file();
    CHECK(write(fd, "file contents", 13) == 13 && !lseek(fd, 0, SEEK_SET));
    keep(m, fd);
    return fd;
}
CALL(sendfile_to, EITHER(sendfile, m->fd, a_file(m), NOTHING, 5))
CALL(sendfile_none, EITHER(sendfile, m->fd, a_file(m), NOTHING, 0))
CALL(sendfile_bad_offset, EITHER(sendfile, m->fd, a_file(m), BAD, 5))
CALL(sendfile_from, EITHER(sendfile, a_file(m), m->fd, NOTHING, 5))
CALL(sendfile_closed, EITHER(sendfile, m->fd, 1018, NOTHING, 5))

CALL(openat_nothing, any_fd(EITHER(openat, m->fd, "no/such/name", O_RDONLY)))
CALL(openat_absolute, any_fd(EITHER(openat, m->fd, "/dev/null", O_RDONLY)))
CALL(openat_null, any_fd(EITHER(openat, m->fd, NOTHING, O_RDONLY)))
CALL(openat_bad, any_fd(EITHER(openat, m->fd, BAD, O_RDONLY)))
CALL(openat_empty, any_fd(EITHER(openat, m->fd, "", O_RDONLY)))
static struct statx seen;
CALL(statx_itself, EITHER(statx, m->fd, "", AT_EMPTY_PATH, STATX_SIZE, &seen))
CALL(statx_nothing, EITHER(statx, m->fd, "no such name", 0, STATX_SIZE, &seen))
CALL(statx_odd_flags, EITHER(statx, m->fd, "", 0x40, STATX_SIZE, &seen))
CALL(statx_null, EITHER(statx, m->fd, "", AT_EMPTY_PATH, STATX_SIZE, NOTHING))
CALL(statx_bad, EITHER(statx, m->fd, "", AT_EMPTY_PATH, STATX_SIZE, BAD))
CALL(unlinkat_nothing, EITHER(unlinkat, m->fd, "no such name", 0))
CALL(unlinkat_odd_flags, EITHER(unlinkat, m->fd, "no such name", 1))
CALL(unlinkat_bad, EITHER(unlinkat, m->fd, BAD, 0))
CALL(mkdirat_there, EITHER(mkdirat, m->fd, "no/such/name", 0700))
CALL(mkdirat_null, EITHER(mkdirat, m->fd, NOTHING, 0700))
CALL(renameat_nothing, EITHER(renameat, m->fd, "no such name", m->fd, "another"))
CALL(renameat_bad, EITHER(renameat, m->fd, BAD, m->fd, "another"))

/* --- calls without a descriptor: only for the first kind -------------------------------------- */

static int status;
CALL(waitpid_none, EITHER(waitpid, -1, &status, 0))
CALL(waitpid_not_ours, EITHER(waitpid, 1, &status, 0))
CALL(waitpid_odd_flags, EITHER(waitpid, -1, &status, 0x100000))
CALL(waitpid_least, EITHER(waitpid, INT_MIN, &status, 0))
CALL(sleep_null, EITHER(nanosleep, NOTHING, NOTHING))
CALL(sleep_bad, EITHER(nanosleep, BAD, NOTHING))
CALL(sleep_too_many, EITHER(nanosleep, (&(struct timespec){0, 1000000000}), NOTHING))
CALL(sleep_negative, EITHER(nanosleep, (&(struct timespec){-1, 0}), NOTHING))
CALL(sleep_nothing, EITHER(nanosleep, (&(struct timespec){0, 0}), NOTHING))
CALL(poll_nothing, EITHER(poll, NOTHING, 0, 0))
CALL(poll_null, EITHER(poll, NOTHING, 1, 0))
CALL(open_null, any_fd(EITHER(open, NOTHING, O_RDONLY)))

#define NAMED(id) \
    { #id, id, false }
static const struct call calls[] = {
    NAMED(read_some),
    NAMED(read_none),
    NAMED(read_none_null),
    NAMED(read_null),
    NAMED(read_bad),
    NAMED(read_beyond),
    NAMED(read_huge),
    NAMED(read_most),
    NAMED(write_some),
    NAMED(write_none),
    NAMED(write_none_null),
    NAMED(write_null),
    NAMED(write_bad),
    NAMED(write_beyond),
    NAMED(write_huge),
    NAMED(write_most),
    NAMED(pread_some),
    NAMED(pread_none),
    NAMED(pread_behind),
    NAMED(pread_negative),
    NAMED(pread_far),
    NAMED(pread_bad),
    NAMED(pread_huge),
    NAMED(pwrite_some),
    NAMED(pwrite_none),
    NAMED(pwrite_negative),
    NAMED(pwrite_far),
    NAMED(pwrite_bad),
    NAMED(pwrite_huge),
    NAMED(readv_some),
    NAMED(readv_nothing),
    NAMED(readv_no_parts),
    NAMED(readv_null),
    NAMED(readv_bad),
    NAMED(readv_negative),
    NAMED(readv_many),
    NAMED(readv_bad_part),
    NAMED(readv_huge),
    NAMED(writev_some),
    NAMED(writev_nothing),
    NAMED(writev_no_parts),
    NAMED(writev_null),
    NAMED(writev_bad),
    NAMED(writev_negative),
    NAMED(writev_many),
    NAMED(writev_bad_part),
    NAMED(writev_huge),
    NAMED(preadv_some),
    NAMED(preadv_negative),
    NAMED(pwritev_some),
    NAMED(pwritev_negative),
    NAMED(recv_some),
    NAMED(recv_none),
    NAMED(recv_now),
    NAMED(recv_peek),
    NAMED(recv_all),
    NAMED(recv_truncated),
    NAMED(recv_urgent),
    NAMED(recv_errors),
    NAMED(recv_odd_flags),
    NAMED(recv_null),
    NAMED(recv_bad),
    NAMED(recv_beyond),
    NAMED(send_some),
    NAMED(send_quietly),
    NAMED(send_none),
    NAMED(send_now),
    NAMED(send_urgent),
    NAMED(send_null),
    NAMED(send_bad),
    NAMED(send_beyond),
    NAMED(send_odd_flags),
    NAMED(sendto_some),
    NAMED(sendto_none),
    NAMED(sendto_short),
    NAMED(sendto_bad),
    NAMED(sendto_long),
    NAMED(sendto_no_size),
    NAMED(recvfrom_some),
    NAMED(recvfrom_nobody),
    NAMED(recvfrom_no_size),
    NAMED(recvfrom_bad_size),
    NAMED(recvfrom_bad),
    NAMED(recvfrom_negative),
    NAMED(sendmsg_some),
    NAMED(sendmsg_nothing),
    NAMED(sendmsg_null),
    NAMED(sendmsg_bad),
    NAMED(sendmsg_bad_parts),
    NAMED(sendmsg_many),
    NAMED(recvmsg_some),
    NAMED(recvmsg_nothing),
    NAMED(recvmsg_null),
    NAMED(recvmsg_bad),
    NAMED(recvmsg_bad_parts),
    NAMED(recvmsg_bad_peek),
    NAMED(recvmsg_bad_all),
    NAMED(recvmsg_many),
    NAMED(accept_plain),
    NAMED(accept_from),
    NAMED(accept_no_size),
    NAMED(accept_bad),
    NAMED(accept_flags),
    NAMED(accept_odd_flags),
    NAMED(connect_some),
    NAMED(connect_null),
    NAMED(connect_bad),
    NAMED(connect_short),
    NAMED(connect_no_size),
    NAMED(connect_long),
    NAMED(connect_nowhere),
    NAMED(connect_odd),
    NAMED(connect_refused),
    NAMED(connect_refused_twice),
    NAMED(connect_after_refusal),
    NAMED(connect_twice),
    NAMED(shutdown_read),
    NAMED(shutdown_write),
    NAMED(shutdown_both),
    NAMED(shutdown_odd),
    NAMED(poll_in),
    NAMED(poll_out),
    NAMED(poll_all),
    NAMED(poll_bad),
    NAMED(sync_all),
    NAMED(sync_data),
    NAMED(splice_out_of),
    NAMED(splice_into),
    NAMED(splice_none),
    NAMED(splice_odd_flags),
    NAMED(splice_bad_offset),
    NAMED(splice_itself),
    NAMED(sendfile_to),
    NAMED(sendfile_none),
    NAMED(sendfile_bad_offset),
    NAMED(sendfile_from),
    NAMED(sendfile_closed),
    NAMED(openat_nothing),
    NAMED(openat_absolute),
    NAMED(openat_null),
    NAMED(openat_bad),
    NAMED(openat_empty),
    NAMED(statx_itself),
    NAMED(statx_nothing),
    NAMED(statx_odd_flags),
    NAMED(statx_null),
    NAMED(statx_bad),
    NAMED(unlinkat_nothing),
    NAMED(unlinkat_odd_flags),
    NAMED(unlinkat_bad),
    NAMED(mkdirat_there),
    NAMED(mkdirat_null),
    NAMED(renameat_nothing),
    NAMED(renameat_bad),
    {"close_it", close_it, true},
};
static const struct call calls_about_none[] = {
    NAMED(waitpid_none),  NAMED(waitpid_not_ours), NAMED(waitpid_odd_flags), NAMED(waitpid_least),
    NAMED(sleep_null),    NAMED(sleep_bad),        NAMED(sleep_too_many),    NAMED(sleep_negative),
    NAMED(sleep_nothing), NAMED(poll_nothing),     NAMED(poll_null),         NAMED(open_null),
};
enum { CALLS = sizeof calls / sizeof *calls, CALLS_ABOUT_NONE = sizeof calls_about_none / sizeof *calls_about_none };

#endif
