/* SPDX-License-Identifier: MIT */
/*
 * Shared by the tests of input and output. They use only the public header, so they hold for every engine. meson.build
 * runs each program on each engine: WEFT_TEST_IO=uring, epoll, forbidden: the ring, by a filter for system
 * calls that every test sets for itself before it starts a runtime; or older: the ring of Linux 5.19.
 */
#ifndef WEFT_TESTS_FIBER_IO_H
#define WEFT_TESTS_FIBER_IO_H

#include "../scratch.h"
#include "fiber.h"
#include "weft/io.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

/* --- the engine ------------------------------------------------------------------------------------------- */

static inline void forbid_rings(void) {
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_io_uring_setup, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog filter = {sizeof code / sizeof *code, code};
    CHECK(!prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) && !prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter));
}
/* No wait for a futex in a ring, which came with 6.7, and no cancellation by a call, 6.0. */
#define OLDER_KERNEL "51,sync_cancel"
static inline const char *engine_asked_for(void) {
    const char *name = getenv("WEFT_TEST_IO");
    return name ? name : "";
}
__attribute__((constructor)) static inline void choose_engine(void) {
    if (!strcmp(engine_asked_for(), "forbidden")) forbid_rings();
    if (!strcmp(engine_asked_for(), "epoll")) CHECK(!setenv("WEFT_IO", "epoll", 1));
    if (!strcmp(engine_asked_for(), "older")) CHECK(!setenv("WEFT_RING_WITHOUT", OLDER_KERNEL, 1));
}

/* --- ends of all kinds ----------------------------------------------------------------------------------- */

/* Connected descriptors, the first to read from, the second to write to; and whether they block. */
enum ends { PIPE, PIPE_NONBLOCKING, LOCAL, LOCAL_NONBLOCKING, TCP, TCP_NONBLOCKING, ENDS };

static inline void make_listener(int *fd, struct sockaddr_in *address, int flags) {
    socklen_t size = sizeof *address;
    *address = (struct sockaddr_in){.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    *fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | flags, 0);
    CHECK(*fd >= 0 && !bind(*fd, (struct sockaddr *)address, size) && !listen(*fd, 4096) &&
          !getsockname(*fd, (struct sockaddr *)address, &size));
}

static inline void make_tcp(int ends[2], int flags) {
    struct sockaddr_in address;
    int listener;
    make_listener(&listener, &address, 0);
    ends[1] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    CHECK(!connect(ends[1], (struct sockaddr *)&address, sizeof address));
    ends[0] = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
    CHECK(ends[0] >= 0 && !close(listener));
    for (int i = 0; i < 2; i++) CHECK(!fcntl(ends[i], F_SETFL, flags));
}

static inline void make_ends(enum ends kind, int ends[2]) {
    int flags = kind % 2 ? O_NONBLOCK : 0;
    if (kind <= PIPE_NONBLOCKING)
        CHECK(!pipe2(ends, O_CLOEXEC | flags));
    else if (kind <= LOCAL_NONBLOCKING)
        CHECK(!socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | flags, 0, ends));
    else
        make_tcp(ends, flags);
}

static inline void close_ends(int ends[2]) { CHECK(!weft_close(ends[0]) && !weft_close(ends[1])); }

static inline bool goes_in(int fd) {
    static const char much[4096];
    bool any = false;
    for (size_t piece = sizeof much; piece; piece /= 2)
        while (write(fd, much, piece) > 0) any = true;
    return any;
}
/* Writes until the buffers are full. The two ends of a TCP connection may later move bytes between their buffers, and
 * enlarge these. So this fixes the sizes, and tries the sender again after the kernel had time to move the bytes. */
static inline void fill_up(const int ends[2]) {
    int flags = fcntl(ends[1], F_GETFL), small = 8192;
    CHECK(!fcntl(ends[1], F_SETFL, flags | O_NONBLOCK));
    bool is_tcp = !setsockopt(ends[0], IPPROTO_TCP, TCP_QUICKACK, &(int){1}, sizeof(int));
    if (is_tcp)
        CHECK(!setsockopt(ends[0], SOL_SOCKET, SO_RCVBUF, &small, sizeof small) &&
              !setsockopt(ends[1], SOL_SOCKET, SO_SNDBUF, &small, sizeof small));
    for (int full = 0; full < 3; full = goes_in(ends[1]) ? 0 : full + 1) {
        if (!is_tcp) continue;
        setsockopt(ends[0], IPPROTO_TCP, TCP_QUICKACK, &(int){1}, sizeof(int));
        test_nap_ms(full);
    }
    CHECK(!fcntl(ends[1], F_SETFL, flags));
}

/* An empty file that has no name. */
static inline int make_file(void) {
    char name[SCRATCH_SIZE];
    int fd = mkostemp(scratch_name(name), O_CLOEXEC);
    CHECK(fd >= 0 && !unlink(name));
    return fd;
}

/* --- calls that are expected to end so -------------------------------------------------------------------- */

/* -errno, if it is -1. */
static inline long long told(long long n) { return n < 0 ? -errno : n; }

/* Usually returns when the fiber waits. Nothing outside shows that for certain. */
static inline void let_it_wait(void) {
    for (int i = 0; i < 10; i++) weft_yield();
    weft_sleep_for(2 * WEFT_MILLISECOND);
}

/* Runs fn(NULL) as a fiber of runtimes of 1, 2 and 8 workers. */
static inline void each_runtime(void (*fn)(void *)) {
    test_in_fiber(1, fn, NULL);
    test_in_fiber(2, fn, NULL);
    test_in_fiber(8, fn, NULL);
}

#endif
