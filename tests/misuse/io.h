/* SPDX-License-Identifier: MIT */
/* Descriptors and buffers for the cells of input and output. */
#ifndef WEFT_TESTS_MISUSE_IO_H
#define WEFT_TESTS_MISUSE_IO_H

#include "misuse.h"
#include "weft/file.h"
#include "weft/io.h"
#include "weft/stream.h"

#include <fcntl.h>
#include <limits.h>
#include <linux/io_uring.h>
#include <netdb.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static char buffer[8];
static struct iovec part = {buffer, sizeof buffer};
static struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
static struct statx status;
static struct sockaddr_in address = {.sin_family = AF_INET};
static struct io_uring_sqe entry;
static int number;
static struct addrinfo *found;
static struct weft_io io;
static struct weft_listener listens;
static struct weft_lease lease;

static long long told(long long n) { return n < 0 ? -errno : n; }
static struct weft_io *done(void) {
    weft_future_set(&io.future, NULL);
    return &io;
}
static long long finish(int err) { return err ? err : weft_io_wait(&io); }

/* Descriptors, besides those of cells.c: a file that accepts every write, empty and full pipes, sockets. */
static int sink(void) { return open("/dev/null", O_RDWR | O_CLOEXEC); }
static int pipe_end(void) {
    int ends[2];
    return pipe2(ends, O_CLOEXEC) ? -1 : ends[1];
}
static int fill(int fd) {
    static char much[65536];
    fcntl(fd, F_SETFL, O_NONBLOCK);
    while (write(fd, much, sizeof much) > 0) {
    }
    while (write(fd, much, 1) > 0) {
    }
    return fd;
}
static int full(void) { return fill(pipe_end()); }
static int talk(const char *text) {
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends)) return -1;
    return write(ends[1], text, strlen(text)) < 0 ? -1 : ends[0];
}
static int clogged(void) { return fill(talk("")); }
static int stream(void) { return socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0); }
/* A listening socket with this many connections to accept. */
static int listener(unsigned connections) {
    socklen_t size = sizeof address;
    int fd = stream();
    address = (struct sockaddr_in){.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    CHECK(!bind(fd, (struct sockaddr *)&address, size) && !listen(fd, 8) &&
          !getsockname(fd, (struct sockaddr *)&address, &size));
    for (; connections; connections--) CHECK(!connect(stream(), (struct sockaddr *)&address, size));
    return fd;
}
static struct sockaddr_in *listening(void) { return listener(0), &address; }
static int connected(void) {
    int fd = stream();
    CHECK(!connect(fd, (struct sockaddr *)listening(), sizeof address));
    return fd;
}
static struct pollfd *asked(int fd) {
    static struct pollfd p;
    p = (struct pollfd){fd, POLLIN, 0};
    return &p;
}

static struct weft_listener *listening_at(int fd) {
    weft_listener_begin(&listens, fd, SOCK_CLOEXEC);
    return &listens;
}
static int and_end_listening(int result) {
    weft_listener_end(&listens);
    return result > 0 ? 0 : result;
}
static int and_give_back(int result) {
    weft_lease_return(&lease);
    return result;
}

static pid_t child(void) {
    pid_t pid = fork();
    if (!pid) _exit(0);
    return pid;
}
/* The child ends with its parent, even if the parent ended before the child could ask for that. */
static pid_t lasting_child(void) {
    pid_t parent = getpid(), pid = fork();
    if (!pid && (prctl(PR_SET_PDEATHSIG, SIGKILL) || getppid() != parent)) _exit(0);
    while (!pid) pause();
    return pid;
}
static pid_t waited_for(void) {
    pid_t pid = child();
    waitpid(pid, NULL, 0);
    return pid;
}

/* Streams, and what they are made of. */
static struct weft_stream bytes;
static char *line;
static struct weft_stream *stream_of(int fd) {
    CHECK(!weft_stream_open(&bytes, fd, 0));
    return &bytes;
}
static ssize_t reads_none(void *handle, void *to, size_t size) { return (void)handle, (void)to, (void)size, 0; }
static ssize_t writes_all(void *handle, const void *from, size_t size) {
    return (void)handle, (void)from, (ssize_t)size;
}
static const struct weft_stream_calls calls_of_none = {reads_none, writes_all, NULL};
static long long opened(int result) { return result > 0 ? 0 : result; }
static const char *listening_port(void) {
    static char text[8];
    snprintf(text, sizeof text, "%d", weft_tcp_port(listener(0)));
    return text;
}

/* Files. */
static struct stat about;
static struct weft_dir *directory;
static struct weft_dir *opened_dir(void) { return directory = weft_opendir("/"); }
static int temporary(void) {
    char name[] = "/tmp/weft-misuse-XXXXXX";
    int fd = mkostemp(name, O_CLOEXEC);
    unlink(name);
    return fd;
}
/* A descriptor of a file that another descriptor has locked. */
static int locked_file(void) {
    char name[32];
    int fd = temporary();
    CHECK(!flock(fd, LOCK_EX));
    snprintf(name, sizeof name, "/proc/self/fd/%d", fd);
    return open(name, O_RDWR | O_CLOEXEC);
}

static const char *long_name(void) {
    static char name[PATH_MAX + 2];
    memset(name, 'x', PATH_MAX + 1);
    return name;
}

/* A submission of its own, if there is a ring. */
static bool does_nothing_by_ring(void) {
    int err = weft_uring(&entry, &number, 1);
    return (!err && !number) || err == -ENOTSUP;
}

#endif
