/* SPDX-License-Identifier: MIT */
/* Connections by name, exact reads and writes, lines, streams, files by name, directories; and typed channels. */
#define _GNU_SOURCE
#include "io.h"

#include "../scratch.h"

#include <weft/file.h>
#include <weft/stream.h>
#include <weft/typed.h>

#include <fcntl.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

/* fn in a fiber, on one worker and on four. */
static void each(void (*fn)(void *), void *arg) {
    test_in_fiber(1, fn, arg);
    test_in_fiber(4, fn, arg);
}

/* --- dial and listen ----------------------------------------------------------------------------------- */

static char port_text[16];
static const char *port_of(int listener) {
    snprintf(port_text, sizeof port_text, "%d", weft_tcp_port(listener));
    return port_text;
}

static void *echoes(void *listener) {
    char bytes[64];
    ssize_t n;
    int fd = weft_accept((int)(intptr_t)listener, NULL, NULL);
    CHECK(fd >= 0);
    while ((n = weft_read(fd, bytes, sizeof bytes)) > 0) CHECK_EQ(weft_fd_write_all(fd, bytes, (size_t)n), 0);
    CHECK_EQ(n, 0);
    weft_close(fd);
    return NULL;
}

static void dial_and_talk(const char *listen_at, const char *dial) {
    struct weft_fiber server;
    char answer[6] = "";
    int listener = weft_tcp_listen(listen_at, "0", 0);
    CHECK(listener >= 0);
    CHECK_EQ(weft_spawn(&server, NULL, echoes, (void *)(intptr_t)listener), 0);
    int fd = weft_tcp_dial(dial, port_of(listener), weft_now() + 20 * WEFT_SECOND);
    if (fd < 0) test_fail(__FILE__, __LINE__, "%s: %s", dial ? dial : "NULL", strerror(-fd));
    CHECK_EQ(weft_fd_write_all(fd, "hello", 5), 0);
    CHECK_EQ(weft_fd_read_exactly(fd, answer, 5), 5);
    CHECK(!strcmp(answer, "hello"));
    CHECK_EQ(weft_shutdown(fd, SHUT_WR), 0);
    CHECK_EQ(weft_fd_read_exactly(fd, answer, 5), 0); /* the end */
    CHECK_EQ(weft_join(server, NULL), 0);
    weft_close(fd);
    weft_close(listener);
}
static void dials(void *unused) {
    (void)unused;
    dial_and_talk("127.0.0.1", "127.0.0.1");
    /* The first address may be ::1, which refuses: then the next address is tried. */
    dial_and_talk("127.0.0.1", "localhost");
    dial_and_talk(NULL, "127.0.0.1");
    dial_and_talk(NULL, NULL);
}
TEST(by_name_and_by_address) { each(dials, NULL); }

static void refusals(void *unused) {
    (void)unused;
    int taken = weft_tcp_listen("127.0.0.1", "0", 1);
    const char *port = port_of(taken);
    CHECK_EQ(weft_tcp_listen("127.0.0.1", port, 0), -EADDRINUSE);
    weft_close(taken);
    CHECK_EQ(weft_tcp_dial("127.0.0.1", port, WEFT_FOREVER), -ECONNREFUSED);
    CHECK_EQ(weft_tcp_dial("127.0.0.1", "no such service", WEFT_FOREVER), -ENOENT);
    CHECK_EQ(weft_tcp_dial("no such address", "1", weft_now() + 20 * WEFT_SECOND), -ENOENT);
    CHECK_EQ(weft_tcp_dial("127.0.0.1", port, 0), -ETIMEDOUT);
    CHECK_EQ(weft_tcp_port(0), -ENOTSOCK);
}
TEST(what_cannot_be_had) { each(refusals, NULL); }

/* A listener with a full queue does not answer: the dial waits until its deadline, or until it is cancelled, and no
 * descriptor is left over. */
static void silence(void *unused) {
    (void)unused;
    int listener = weft_tcp_listen("127.0.0.1", "0", 1), fds[8], n = 0, last = -1;
    const char *port = port_of(listener);
    while (n < 8 && (last = weft_tcp_dial("127.0.0.1", port, weft_now() + 50 * WEFT_MILLISECOND)) >= 0) fds[n++] = last;
    CHECK_EQ(last, -ETIMEDOUT);
    int before = dup(0);
    close(before);
    CHECK_EQ(weft_tcp_dial("127.0.0.1", port, weft_now() + 5 * WEFT_MILLISECOND), -ETIMEDOUT);
    struct weft_scope scope;
    weft_scope_begin(&scope, weft_now() + 5 * WEFT_MILLISECOND);
    CHECK_EQ(weft_tcp_dial("127.0.0.1", port, WEFT_FOREVER), -ETIMEDOUT);
    CHECK_EQ(weft_scope_end(&scope), -ETIMEDOUT);
    int after = dup(0);
    close(after);
    CHECK_EQ(after, before);
    while (n) weft_close(fds[--n]);
    weft_close(listener);
}
TEST(a_peer_that_does_not_answer) { each(silence, NULL); }

static void local_sockets(void *unused) {
    char dir[SCRATCH_SIZE], path[SCRATCH_SIZE + 8], longest[200] = "";
    struct weft_fiber server;
    (void)unused;
    CHECK(mkdtemp(scratch_name(dir)));
    snprintf(path, sizeof path, "%s/socket", dir);
    CHECK_EQ(weft_unix_dial(path, WEFT_FOREVER), -ENOENT);
    int first = weft_unix_listen(path, 0);
    CHECK(first >= 0);
    CHECK_EQ(weft_unix_listen(path, 0), -EADDRINUSE); /* a socket in use stays */
    CHECK_EQ(weft_spawn(&server, NULL, echoes, (void *)(intptr_t)first), 0);
    int fd = weft_unix_dial(path, weft_now() + 20 * WEFT_SECOND);
    CHECK(fd >= 0);
    weft_close(fd);
    CHECK_EQ(weft_join(server, NULL), 0);
    weft_close(first);
    int second = weft_unix_listen(path, 0); /* a deserted socket is replaced */
    CHECK(second >= 0);
    weft_close(second);
    unlink(path);
    close(open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
    CHECK_EQ(weft_unix_listen(path, 0), -EADDRINUSE); /* a file that is not a socket stays */
    CHECK_EQ(access(path, F_OK), 0);
    memset(longest, 'x', sizeof longest - 1);
    CHECK_EQ(weft_unix_listen(longest, 0), -ENAMETOOLONG);
    unlink(path);
    rmdir(dir);
}
TEST(local) { each(local_sockets, NULL); }

/* --- streams ------------------------------------------------------------------------------------------- */

static void *writes_slowly(void *arg) {
    static const char text[] = "one\ntwo\r\n\r\n\nlast";
    int fd = *(int *)arg;
    for (size_t i = 0; i < sizeof text - 1; i++) {
        CHECK_EQ(weft_fd_write_all(fd, &text[i], 1), 0);
        if (i % 3 == 0) weft_yield();
    }
    weft_close(fd);
    return NULL;
}
static void lines(void *unused) {
    static const char *const wanted[] = {"one", "two", "", "", "last"};
    struct weft_stream stream;
    struct weft_fiber writer;
    int ends[2];
    char *line;
    (void)unused;
    for (size_t size = 5; size < 40; size += 7) {
        CHECK(!pipe2(ends, O_CLOEXEC));
        CHECK_EQ(weft_spawn(&writer, NULL, writes_slowly, &ends[1]), 0);
        CHECK_EQ(weft_stream_open(&stream, ends[0], size), 0);
        for (size_t i = 0; i < 5; i++) {
            CHECK_EQ(weft_stream_line(&stream, &line), (ssize_t)strlen(wanted[i]));
            CHECK(!strcmp(line, wanted[i]));
        }
        CHECK_EQ(weft_stream_line(&stream, &line), -ENODATA);
        CHECK_EQ(weft_join(writer, NULL), 0);
        CHECK_EQ(weft_stream_close(&stream), 0);
        CHECK_EQ(weft_stream_close(&stream), 0); /* it is no stream any more */
        CHECK_EQ(weft_stream_line(&stream, &line), -EINVAL);
    }
}
TEST(lines_of_any_kind) { each(lines, NULL); }

static void too_long(void *unused) {
    struct weft_stream stream;
    int ends[2];
    char *line, byte;
    (void)unused;
    CHECK(!pipe2(ends, O_CLOEXEC));
    CHECK_EQ(weft_fd_write_all(ends[1], "0123456789\nnext\n", 16), 0);
    CHECK_EQ(weft_stream_open(&stream, ends[0], 8), 0);
    CHECK_EQ(weft_stream_line(&stream, &line), -EMSGSIZE);
    for (int i = 0; i < 11; i++) CHECK_EQ(weft_stream_read(&stream, &byte, 1), 1);
    CHECK_EQ(byte, '\n');
    CHECK_EQ(weft_stream_line(&stream, &line), 4);
    CHECK(!strcmp(line, "next"));
    /* Half of a line has come at the deadline. It is not lost. */
    struct weft_scope scope;
    CHECK_EQ(weft_fd_write_all(ends[1], "half", 4), 0);
    weft_scope_begin(&scope, weft_now() + 2 * WEFT_MILLISECOND);
    CHECK_EQ(weft_stream_line(&stream, &line), -ETIMEDOUT);
    weft_scope_end(&scope);
    CHECK_EQ(weft_fd_write_all(ends[1], "\n", 1), 0);
    CHECK_EQ(weft_stream_line(&stream, &line), 4);
    CHECK(!strcmp(line, "half"));
    CHECK_EQ(weft_stream_close(&stream), 0);
    weft_close(ends[1]);
}
TEST(lines_that_are_too_long_or_late) { each(too_long, NULL); }

/* One fiber writes pieces of all sizes, another reads them: every byte arrives, in order. */
static void *reads_all(void *arg) {
    struct weft_stream *stream = arg;
    unsigned char piece[3000];
    size_t at = 0, size = 1;
    ssize_t n;
    while ((n = weft_stream_read_exactly(stream, piece, size)) > 0) {
        for (ssize_t i = 0; i < n; i++) CHECK_EQ(piece[i], (unsigned char)(at++ * 7));
        if ((size_t)n < size) break;
        size = size * 5 % 2999 + 1;
    }
    CHECK(n >= 0);
    return (void *)at;
}
static void pieces(void *unused) {
    struct weft_stream a, b;
    struct weft_fiber reader;
    unsigned char piece[3000];
    size_t at = 0, total = test_size(300000);
    int ends[2];
    void *got;
    (void)unused;
    CHECK(!socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends));
    CHECK(!weft_stream_open(&a, ends[0], 1000) && !weft_stream_open(&b, ends[1], 700));
    CHECK_EQ(weft_spawn(&reader, NULL, reads_all, &b), 0);
    for (size_t size = 1; at < total; size = size * 3 % 2999 + 1) {
        for (size_t i = 0; i < size; i++) piece[i] = (unsigned char)((at + i) * 7);
        CHECK_EQ(weft_stream_write(&a, piece, size), 0);
        at += size;
    }
    CHECK_EQ(weft_stream_close(&a), 0); /* writes the rest */
    CHECK_EQ(weft_join(reader, &got), 0);
    CHECK_EQ((size_t)got, at);
    CHECK_EQ(weft_stream_close(&b), 0);
}
TEST(pieces_of_any_size) { each(pieces, NULL); }

static ssize_t fails(void *handle, const void *buffer, size_t size) {
    (void)handle, (void)buffer, (void)size;
    errno = ENOSPC;
    return -1;
}
static ssize_t gives(void *handle, void *buffer, size_t size) {
    return (void)size, *(char *)buffer = 'x', ++*(int *)handle < 4 ? 1 : 0;
}
static int counts(void *handle) { return ++*(int *)handle, 0; }
static void other_calls(void *unused) {
    static const struct weft_stream_calls calls = {gives, fails, counts};
    struct weft_stream stream;
    int count = 0;
    char *line;
    (void)unused;
    CHECK_EQ(weft_stream_open_calls(&stream, &calls, &count, 16), 0);
    CHECK_EQ(weft_stream_line(&stream, &line), 3);
    CHECK(!strcmp(line, "xxx"));
    CHECK_EQ(weft_stream_write(&stream, "text", 4), 0);
    CHECK_EQ(weft_stream_flush(&stream), -ENOSPC);
    CHECK_EQ(weft_stream_write(&stream, "more", 4), -ENOSPC); /* again */
    int before = count;
    CHECK_EQ(weft_stream_close(&stream), -ENOSPC);
    CHECK_EQ(count, before + 1);
}
TEST(calls_of_the_user) { each(other_calls, NULL); }

/* --- files --------------------------------------------------------------------------------------------- */

static void same_stat(const struct stat *a, const struct stat *b) {
    CHECK(a->st_dev == b->st_dev && a->st_ino == b->st_ino && a->st_mode == b->st_mode && a->st_nlink == b->st_nlink);
    CHECK(a->st_uid == b->st_uid && a->st_gid == b->st_gid && a->st_rdev == b->st_rdev && a->st_size == b->st_size);
    CHECK(a->st_blksize == b->st_blksize && a->st_blocks == b->st_blocks);
    CHECK(a->st_mtim.tv_sec == b->st_mtim.tv_sec && a->st_mtim.tv_nsec == b->st_mtim.tv_nsec);
    CHECK(a->st_ctim.tv_sec == b->st_ctim.tv_sec && a->st_ctim.tv_nsec == b->st_ctim.tv_nsec);
}
static void names(void *unused) {
    char dir[SCRATCH_SIZE], link[64] = "";
    struct stat mine, theirs;
    struct timespec times[2] = {{1000, 5}, {2000, 7}};
    off_t from = 0, to = 0;
    (void)unused;
    CHECK(mkdtemp(scratch_name(dir)));
    int d = weft_open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int file = weft_openat(d, "file", O_CREAT | O_RDWR | O_CLOEXEC, 0600);
    CHECK_EQ(weft_fd_write_all(file, "0123456789", 10), 0);
    CHECK(!weft_fstat(file, &mine) && !fstat(file, &theirs));
    same_stat(&mine, &theirs);
    CHECK(!weft_stat("/dev/null", &mine) && !stat("/dev/null", &theirs));
    same_stat(&mine, &theirs);
    CHECK_EQ(weft_symlinkat("file", d, "link"), 0);
    CHECK(!weft_fstatat(d, "link", &mine, AT_SYMLINK_NOFOLLOW) && S_ISLNK(mine.st_mode));
    CHECK(!weft_lstat("/proc/self", &mine) && S_ISLNK(mine.st_mode));
    CHECK_EQ(weft_readlinkat(d, "link", link, sizeof link), 4);
    CHECK(!strcmp(link, "file"));
    CHECK_EQ(weft_linkat(d, "file", d, "second", 0), 0);
    CHECK(!weft_fstat(file, &mine) && mine.st_nlink == 2);
    CHECK_EQ(weft_ftruncate(file, 4), 0);
    CHECK_EQ(weft_fchmodat(d, "file", 0640, 0), 0);
    CHECK_EQ(weft_fchownat(d, "file", getuid(), getgid(), 0), 0);
    CHECK_EQ(weft_utimensat(d, "file", times, 0), 0);
    CHECK(!weft_fstatat(d, "second", &mine, 0) && mine.st_size == 4 && (mine.st_mode & 0777) == 0640);
    CHECK(mine.st_mtim.tv_sec == 2000 && mine.st_mtim.tv_nsec == 7);
    CHECK_EQ(weft_faccessat(d, "file", R_OK, 0), 0);
    CHECK_EQ(weft_faccessat(d, "nothing", R_OK, 0), -1);
    CHECK_EQ(errno, ENOENT);
    int copy = weft_openat(d, "copy", O_CREAT | O_RDWR | O_CLOEXEC, 0600);
    CHECK_EQ(weft_copy_file_range(file, &from, copy, &to, 4, 0), 4);
    CHECK(from == 4 && to == 4);
    if (weft_fallocate(copy, 0, 0, 8192)) CHECK_EQ(errno, EOPNOTSUPP);
    CHECK_EQ(weft_stat("/no/such/file", &mine), -1);
    CHECK_EQ(errno, ENOENT);
    for (const char *const *n = (const char *const[]){"file", "second", "link", "copy", NULL}; *n; n++)
        CHECK_EQ(weft_unlinkat(d, *n, 0), 0);
    weft_close(copy), weft_close(file), weft_close(d);
    rmdir(dir);
}
TEST(files_by_name) { each(names, NULL); }

static void entries(void *unused) {
    enum { FILES = 2000 };
    static bool seen[FILES];
    char dir[SCRATCH_SIZE], name[32];
    struct dirent *entry;
    unsigned dots = 0, count = 0;
    (void)unused;
    memset(seen, 0, sizeof seen);
    CHECK(mkdtemp(scratch_name(dir)));
    int d = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    for (unsigned i = 0; i < FILES; i++) {
        snprintf(name, sizeof name, "file-%u", i);
        close(openat(d, name, O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
    }
    struct weft_dir *listing = weft_opendir(dir);
    CHECK(listing);
    for (errno = 0; (entry = weft_readdir(listing)); errno = 0) {
        unsigned n = FILES;
        if (sscanf(entry->d_name, "file-%u", &n) != 1) {
            dots++;
            continue;
        }
        CHECK(n < FILES && !seen[n]);
        seen[n] = true;
        count++;
        CHECK_EQ(unlinkat(d, entry->d_name, 0), 0);
    }
    CHECK(!errno);
    CHECK_EQ(count, FILES);
    CHECK_EQ(dots, 2);
    CHECK_EQ(weft_closedir(listing), 0);
    close(d);
    rmdir(dir);
    CHECK(!weft_opendir(dir));
    CHECK_EQ(errno, ENOENT);
    CHECK(!weft_opendir("/dev/null"));
    CHECK_EQ(errno, ENOTDIR);
}
TEST(directories) { each(entries, NULL); }

static void *locks_too(void *name) {
    int fd = open(name, O_RDWR | O_CLOEXEC);
    CHECK_EQ(weft_flock(fd, LOCK_EX), 0);
    weft_close(fd);
    return NULL;
}
static void file_locks(void *unused) {
    char name[SCRATCH_SIZE];
    struct weft_fiber waits;
    (void)unused;
    int fd = mkostemp(scratch_name(name), O_CLOEXEC), other = open(name, O_RDWR | O_CLOEXEC);
    CHECK_EQ(weft_flock(fd, LOCK_EX), 0);
    CHECK_EQ(weft_flock(other, LOCK_EX | LOCK_NB), -1);
    CHECK_EQ(errno, EWOULDBLOCK);
    CHECK_EQ(weft_spawn(&waits, NULL, locks_too, name), 0);
    CHECK_EQ(weft_join_until(waits, NULL, weft_now() + 5 * WEFT_MILLISECOND), -ETIMEDOUT);
    CHECK_EQ(weft_flock(fd, LOCK_UN), 0);
    CHECK_EQ(weft_join(waits, NULL), 0);
    weft_close(fd), weft_close(other);
    unlink(name);
}
TEST(locks_of_files) { each(file_locks, NULL); }

/* --- typed channels ------------------------------------------------------------------------------------ */

struct point {
    int x;
    double y;
};
WEFT_CHAN_TYPE(points, struct point);
static struct points unbuffered = WEFT_CHAN_TYPED(struct point);

static void *sends_points(void *to) {
    for (int i = 0; i < 10; i++) CHECK_EQ(points_send(to, (struct point){i, i / 2.0}), 0);
    points_close(to);
    return NULL;
}
static void typed(void *unused) {
    struct points *buffered = points_make(3), *both[] = {buffered, &unbuffered};
    struct weft_fiber sender;
    struct point p = {1, 2};
    (void)unused;
    CHECK(buffered);
    unbuffered = (struct points)WEFT_CHAN_TYPED(struct point);
    CHECK_EQ(points_cap(buffered), 3);
    CHECK_EQ(points_send_try(&unbuffered, p), -EAGAIN);
    CHECK_EQ(points_recv_try(buffered, &p), -EAGAIN);
    CHECK_EQ(points_recv_until(buffered, &p, 0), -ETIMEDOUT);
    for (int c = 0; c < 2; c++) {
        CHECK_EQ(weft_spawn(&sender, NULL, sends_points, both[c]), 0);
        struct weft_case cases[] = {points_case_recv(both[c], &p)};
        CHECK_EQ(weft_case_select(cases, 1), 0);
        CHECK(cases[0].result == 0 && p.x == 0);
        for (int i = 1; i < 10; i++) {
            CHECK_EQ(points_recv(both[c], &p), 0);
            CHECK(p.x == i && p.y == i / 2.0);
        }
        CHECK_EQ(points_recv(both[c], &p), -EPIPE);
        CHECK_EQ(weft_join(sender, NULL), 0);
    }
    CHECK_EQ(points_free(buffered), 0);
}
TEST(typed_channels) { each(typed, NULL); }
