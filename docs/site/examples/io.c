/* SPDX-License-Identifier: MIT */
/* Examples for the reference: see runtime.c. Input and output. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <liburing.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <weft.h>
#include <weft/io.h>

void use(const void *bytes, size_t size);
void *ask_library(void *question);
int serve(int fd);

static int copy(int from, int to) {
    char buffer[4096];
    ssize_t n;
    while ((n = weft_read(from, buffer, sizeof buffer)) > 0)
        for (ssize_t done = 0, m; done < n; done += m)
            if ((m = weft_write(to, buffer + done, (size_t)(n - done))) < 0) return -errno;
    return n < 0 ? -errno : 0;
}

static ssize_t send_page(int socket, const char *path) {
    struct stat status;
    int fd = weft_open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return -1;
    off_t at = 0;
    ssize_t n = fstat(fd, &status) ? -1 : weft_sendfile(socket, fd, &at, (size_t)status.st_size); /* without a copy */
    weft_close(fd);
    return n;
}

static ssize_t forward(int from, int to, int pipe_in, int pipe_out) {
    ssize_t n = weft_splice(from, NULL, pipe_in, NULL, 65536, 0);
    return n > 0 ? weft_splice(pipe_out, NULL, to, NULL, (size_t)n, 0) : n;
}

/* The file has either its old or its new contents, even if the program is killed meanwhile. */
static int replace(const char *path, const char *text) {
    int fd = weft_open("new.tmp", O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    if (fd < 0) return -1;
    size_t size = strlen(text);
    int failed = weft_write(fd, text, size) != (ssize_t)size || weft_fsync(fd);
    weft_close(fd);
    if (!failed && !weft_renameat(AT_FDCWD, "new.tmp", AT_FDCWD, path)) return 0;
    weft_unlinkat(AT_FDCWD, "new.tmp", 0);
    return -1;
}

static long long size_of(const char *path) {
    struct statx status;
    if (weft_statx(AT_FDCWD, path, 0, STATX_SIZE, &status)) return -1;
    return (long long)status.stx_size;
}

static int make_directory(const char *path) { return weft_mkdirat(AT_FDCWD, path, 0755) && errno != EEXIST ? -1 : 0; }

static int serve_all(int listener) {
    int fd;
    while ((fd = weft_accept4(listener, NULL, NULL, SOCK_CLOEXEC)) >= 0) serve(fd);
    return -errno; /* ECANCELED: cancelled */
}

static int ask(int fd, const struct sockaddr *server, socklen_t length, char *answer, size_t size) {
    if (weft_connect(fd, server, length) || weft_send(fd, "hello", 5, 0) != 5) return -1;
    if (weft_shutdown(fd, SHUT_WR)) return -1; /* nothing more will be sent */
    return (int)weft_recv(fd, answer, size, MSG_WAITALL);
}

static ssize_t ask_in_time(int fd, char *answer, size_t size) {
    uint64_t deadline = weft_now() + WEFT_SECOND; /* for both */
    if (weft_send_until(fd, "hello", 5, 0, deadline) != 5) return -1;
    return weft_recv_until(fd, answer, size, 0, deadline); /* -1 and ETIMEDOUT */
}

static int wait_for_either(int a, int b) {
    struct pollfd both[] = {{.fd = a, .events = POLLIN}, {.fd = b, .events = POLLIN}};
    int n = weft_poll(both, 2, 1000);
    return n > 0 ? both[0].revents ? a : b : -1; /* 0: a second has passed */
}

/* The child has ten seconds. */
static int wait_for_child(pid_t pid) {
    int status;
    if (weft_waitpid_until(pid, &status, 0, weft_now() + 10 * WEFT_SECOND) < 0) {
        if (errno != ETIMEDOUT) return -1;
        kill(pid, SIGKILL);
        if (weft_waitpid(pid, &status, 0) < 0) return -1;
    }
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void rest(void) { weft_sleep(1); /* as sleep(3); weft_sleep_for takes nanoseconds */ }

/* Two files at once, by one fiber. */
static ssize_t read_both(int a, int b, char *buffer) {
    struct weft_io first = WEFT_IO_INIT, second = WEFT_IO_INIT;
    ssize_t n, m;
    if (weft_io_pread(&first, a, buffer, 4096, 0)) return -1;
    if (weft_io_pread(&second, b, buffer + 4096, 4096, 0)) return weft_io_wait(&first);
    n = weft_io_wait(&first);
    m = weft_io_wait(&second);
    return n < 0 ? n : m < 0 ? m : n + m;
}

static ssize_t open_in_background(const char *path) {
    struct weft_io io = WEFT_IO_INIT;
    int err = weft_io_openat(&io, AT_FDCWD, path, O_RDONLY | O_CLOEXEC, 0);
    return err ? err : weft_io_wait_until(&io, weft_now() + WEFT_SECOND); /* a descriptor, or an error */
}

/* A client or an end: what comes first. */
static ssize_t accept_or_stop(int listener, struct weft_future *stop) {
    struct weft_io io = WEFT_IO_INIT;
    int err = weft_io_accept(&io, listener, NULL, NULL, SOCK_CLOEXEC);
    if (err) return err;
    struct weft_case cases[] = {WEFT_CASE_FUTURE(&io.future, NULL), WEFT_CASE_FUTURE(stop, NULL)};
    if (weft_case_select(cases, 2) != 0) weft_io_cancel(&io);
    return weft_io_wait(&io); /* always: io is on the stack */
}

static ssize_t poll_in_background(int fd) {
    struct weft_io io = WEFT_IO_INIT;
    int err = weft_io_poll(&io, fd, POLLIN);
    return err ? err : weft_io_wait(&io); /* the events */
}

static ssize_t wait_in_background(pid_t pid) {
    struct weft_io io = WEFT_IO_INIT;
    int status, err = weft_io_waitpid(&io, pid, &status, 0);
    if (err) return err;
    /* something else */
    return weft_io_wait(&io);
}

static int advise_kernel(int fd) {
    struct io_uring_sqe entry = {0};
    int result;
    io_uring_prep_fadvise(&entry, fd, 0, 0, POSIX_FADV_SEQUENTIAL); /* of liburing */
    int err = weft_uring(&entry, &result, 1);
    return err ? err : result; /* -ENOTSUP: weft does not use io_uring here */
}

static int accept_quickly(int fd) {
    struct weft_listener listener;
    int client, err = weft_listener_begin(&listener, fd, SOCK_CLOEXEC);
    if (err) return err;
    while ((client = weft_listener_accept(&listener)) >= 0) serve(client);
    weft_listener_end(&listener);
    return client;
}

/* No memory for a buffer while the client is silent. */
static ssize_t take_some(int fd) {
    struct weft_lease lease;
    ssize_t n = weft_recv_lease(fd, &lease);
    if (n > 0) {
        use(lease.data, (size_t)n);
        weft_lease_return(&lease);
    }
    return n;
}

static int ask_slow_library(char *question) {
    void *answer;
    int err = weft_blocking(ask_library, question, &answer); /* on a thread; this fiber waits */
    if (!err) puts(answer);
    return err;
}

static int ask_but_not_for_long(const char *question) {
    char *copy = strdup(question);
    struct weft_scope scope;
    if (!copy) return -ENOMEM;
    weft_scope_begin(&scope, weft_now() + WEFT_SECOND);
    int err = weft_blocking_owned(ask_library, copy, free, NULL);
    weft_scope_end(&scope);
    if (err != -ETIMEDOUT && err != -ECANCELED) free(copy); /* else it is freed when ask_library returns */
    return err;
}

static int look_up(const char *host) {
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM}, *found;
    int err = weft_getaddrinfo(host, "80", &hints, &found);
    if (err) return fprintf(stderr, "%s\n", gai_strerror(err)), -1;
    freeaddrinfo(found);
    return 0;
}

static void print_engine(void) { printf("%s: %s\n", weft_io_engine(), weft_io_engine_why()); }
