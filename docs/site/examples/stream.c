/* SPDX-License-Identifier: MIT */
/* Examples for the reference: see runtime.c. Connections by name, streams, files. */
#define _GNU_SOURCE
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include <weft.h>
#include <weft/file.h>
#include <weft/stream.h>

int serve(int fd);

static int ask(const char *host, char *answer, size_t size) {
    int fd = weft_tcp_dial(host, "7", weft_now() + 5 * WEFT_SECOND);
    if (fd < 0) return fd;
    memset(answer, '?', size);
    ssize_t n = weft_fd_write_all(fd, answer, size);
    if (n == 0) n = weft_fd_read_exactly(fd, answer, size); /* less than size: the server has closed */
    weft_close(fd);
    return n < 0 ? (int)n : (size_t)n == size ? 0 : -EPIPE;
}

static int listen_anywhere(void) {
    int listener = weft_tcp_listen("localhost", "0", 0);
    if (listener >= 0) printf("at port %d\n", weft_tcp_port(listener));
    return listener;
}

static int ask_locally(void) {
    int fd = weft_unix_dial("/run/example.sock", weft_now() + WEFT_SECOND);
    if (fd < 0) return fd;
    int err = weft_fd_write_all(fd, "reload\n", 7);
    weft_close(fd);
    return err;
}

static int serve_locally(void) {
    int fd, listener = weft_unix_listen("/run/example.sock", 0);
    if (listener < 0) return listener;
    while ((fd = weft_accept(listener, NULL, NULL)) >= 0) serve(fd);
    return -errno;
}

/* The stream owns fd. */
static int echo_lines(int fd) {
    struct weft_stream stream;
    char *line;
    ssize_t n;
    int err = weft_stream_open(&stream, fd, 0);
    if (err) return err;
    while (!err && (n = weft_stream_line(&stream, &line)) >= 0) {
        err = weft_stream_write(&stream, line, (size_t)n);
        if (!err) err = weft_stream_write(&stream, "\n", 1);
        if (!err) err = weft_stream_flush(&stream);
    }
    return weft_stream_close(&stream);
}

/* A message: four bytes with its size, and then as many bytes. Returns the size; 0 at the end. */
static ssize_t read_message(struct weft_stream *stream, char *message, size_t room) {
    uint32_t size;
    ssize_t n = weft_stream_read_exactly(stream, &size, sizeof size);
    if (n <= 0) return n;
    if (n < (ssize_t)sizeof size || size > room) return -EPROTO;
    n = weft_stream_read_exactly(stream, message, size);
    return n == (ssize_t)size ? n : n < 0 ? n : -EPROTO;
}

static ssize_t read_what_is_there(struct weft_stream *stream, char *buffer, size_t size) {
    return weft_stream_read(stream, buffer, size); /* as soon as there is something */
}

/* A stream that counts what it writes, and has nothing to read. */
static ssize_t read_nothing(void *count, void *buffer, size_t size) { return (void)count, (void)buffer, (void)size, 0; }
static ssize_t write_count(void *count, const void *bytes, size_t size) {
    (void)bytes;
    *(size_t *)count += size;
    return (ssize_t)size;
}
static int open_counter(struct weft_stream *stream, size_t *count) {
    static const struct weft_stream_calls calls = {read_nothing, write_count, NULL};
    return weft_stream_open_calls(stream, &calls, count, 0);
}

static long long size_of(const char *path) {
    struct stat status;
    return weft_stat(path, &status) ? -1 : (long long)status.st_size; /* and errno */
}

static int is_executable(const char *path) { return weft_faccessat(AT_FDCWD, path, X_OK, 0) == 0; }

static int print_link(const char *path) {
    char target[512];
    ssize_t n = weft_readlinkat(AT_FDCWD, path, target, sizeof target);
    if (n >= 0) printf("%.*s\n", (int)n, target);
    return n < 0 ? -1 : 0;
}

static int link_to(const char *path, const char *name) {
    return weft_symlinkat(path, AT_FDCWD, name); /* weft_linkat makes a hard link */
}

static int empty(int fd, const char *path) { return weft_ftruncate(fd, 0) || weft_fchmodat(AT_FDCWD, path, 0600, 0); }

static int reserve(int fd, off_t size) { return weft_fallocate(fd, 0, 0, size); }

static ssize_t copy_file(int from, int to, size_t size) {
    return weft_copy_file_range(from, NULL, to, NULL, size, 0); /* within the kernel; may be less than size */
}

/* One process at a time. */
static int locked(int fd, int (*fn)(void)) {
    if (weft_flock(fd, LOCK_EX)) return -1; /* the fiber waits, not the worker */
    int result = fn();
    return weft_flock(fd, LOCK_UN) ? -1 : result;
}

static int list(const char *path) {
    struct weft_dir *dir = weft_opendir(path);
    if (!dir) return -1;
    struct dirent *entry;
    while (errno = 0, (entry = weft_readdir(dir))) puts(entry->d_name);
    int error = errno; /* 0: the end */
    weft_closedir(dir);
    return error ? -1 : 0;
}
