/* What the cells of calls for input and output use. */
#ifndef WEFT_TESTS_MISUSE_IO_H
#define WEFT_TESTS_MISUSE_IO_H

#include "misuse.h"
#include "weft/io.h"

#include <fcntl.h>
#include <limits.h>
#include <linux/io_uring.h>
#include <netdb.h>
#include <netinet/in.h>
#include <signal.h>
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

/* Descriptors, besides those of cells.c: one that takes everything, pipes that are empty and full, sockets. */
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
/* A socket that listens, with so many connections that wait for being accepted. */
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
/* It goes with its parent, also with one that is gone before it could ask for that. */
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

static const char *long_name(void) {
    static char name[PATH_MAX + 2];
    memset(name, 'x', PATH_MAX + 1);
    return name;
}

/* A submission of one's own, where there is a ring. */
static bool does_nothing_by_ring(void) {
    int err = weft_uring(&entry, &number, 1);
    return (!err && !number) || err == -ENOTSUP;
}

#endif
