/* SPDX-License-Identifier: MIT */
/* Regular files: bytes at positions, in memory or not; names; the same errors as the POSIX calls. */
#define _GNU_SOURCE
#include "../state.h"
#include "io.h"

#include <signal.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/stat.h>

static void bytes(void *unused) {
    (void)unused;
    char got[32] = "", rest[32] = "";
    int fd = make_file();
    CHECK_EQ(weft_write(fd, "hello", 5), 5);
    CHECK_EQ(weft_pwrite(fd, "J", 1, 0), 1);
    CHECK_EQ(weft_pwritev(fd, (struct iovec[]){{" wor", 4}, {"ld", 2}}, 2, 5), 6);
    CHECK_EQ(weft_pread(fd, got, sizeof got, 0), 11);
    CHECK(!strcmp(got, "Jello world"));
    CHECK_EQ(weft_pread(fd, got, 3, 9), 2);
    CHECK_EQ(weft_pread(fd, got, 3, 11), 0);
    CHECK_EQ(weft_read(fd, got, 6), 6); /* the position is where the first write left it */
    CHECK_EQ(weft_read(fd, got, 6), 0);
    CHECK_EQ(lseek(fd, 1, SEEK_SET), 1);
    memset(got, 0, sizeof got);
    CHECK_EQ(weft_readv(fd, (struct iovec[]){{got, 3}, {rest, sizeof rest}}, 2), 10);
    CHECK(!strcmp(got, "ell") && !strcmp(rest, "o world"));
    CHECK_EQ(weft_preadv(fd, (struct iovec[]){{got, 1}, {rest, 1}}, 2, 4), 2);
    CHECK(got[0] == 'o' && rest[0] == ' ');
    CHECK_EQ(weft_writev(fd, (struct iovec[]){{"!", 1}, {"", 0}, {"?", 1}}, 3), 2);
    CHECK_EQ(weft_fsync(fd), 0);
    CHECK_EQ(weft_fdatasync(fd), 0);
    CHECK_EQ(lseek(fd, 0, SEEK_CUR), 13);
    int last = fcntl(fd, F_DUPFD_CLOEXEC, 500); /* a number that no other open returns meanwhile */
    CHECK_EQ(weft_close(fd), 0);
    CHECK_EQ(weft_close(last), 0);
    CHECK_EQ(told(weft_pread(last, got, 1, 0)), -EBADF);
}
TEST(bytes_at_positions) {
    each_runtime(bytes);
    bytes(NULL); /* a thread */
}

/* Some pages of the file are in memory, others are not: all the bytes are read. */
static void cold(void *unused) {
    (void)unused;
    enum { SIZE = 1 << 20, PIECE = 1 << 18 };
    static char all[SIZE], got[SIZE];
    int fd = make_file();
    for (size_t i = 0; i < SIZE; i++) all[i] = (char)(i * 31 >> 3);
    CHECK_EQ(weft_write(fd, all, SIZE), SIZE);
    CHECK_EQ(weft_fsync(fd), 0);
    for (int round = 0; round < 4; round++) {
        posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
        CHECK_EQ(pread(fd, got, 4096 * 3, round % 2 ? PIECE : 0), 4096 * 3);
        memset(got, 0, sizeof got);
        CHECK_EQ(lseek(fd, 0, SEEK_SET), 0);
        if (round < 2)
            for (size_t i = 0; i < SIZE; i += PIECE) CHECK_EQ(weft_pread(fd, got + i, PIECE, (off_t)i), PIECE);
        else
            for (size_t i = 0; i < SIZE; i += PIECE)
                CHECK_EQ(weft_readv(fd, (struct iovec[]){{got + i, 5000}, {got + i + 5000, PIECE - 5000}}, 2), PIECE);
        CHECK(!memcmp(all, got, SIZE));
    }
    CHECK_EQ(weft_close(fd), 0);
}
TEST(what_is_not_in_memory_is_read) { each_runtime(cold); }

/* --- several at one position ------------------------------------------------------------------------------------ */

/* Each record is in one piece, and in the file once. It is longer than two pages, so a read takes several steps if only
 * some of its pages are in memory. */
enum { WRITERS = 8, EACH = 40, RECORD = 8192 + 100 };
struct record {
    int number;
    char fill[RECORD - sizeof(int)];
};
static int shared_file, seen[WRITERS * EACH];

static void make_record(struct record *r, int number) {
    r->number = number;
    memset(r->fill, 'a' + number % 26, sizeof r->fill);
}
static void see_record(const struct record *r) {
    CHECK(r->number >= 0 && r->number < WRITERS * EACH);
    CHECK_EQ(ADD(&seen[r->number], 1), 0);
    for (size_t i = 0; i < sizeof r->fill; i++) CHECK_EQ(r->fill[i], 'a' + r->number % 26);
}
static void each_record_once(void) {
    for (int i = 0; i < WRITERS * EACH; i++) CHECK_EQ(seen[i], 1);
    memset(seen, 0, sizeof seen);
}

static void *writes_records(void *who) {
    struct record *r = malloc(sizeof *r);
    for (int i = 0; i < EACH; i++) {
        make_record(r, (int)(intptr_t)who * EACH + i);
        if (i % 2)
            CHECK_EQ(weft_write(shared_file, r, RECORD), RECORD);
        else
            CHECK_EQ(weft_writev(shared_file, (struct iovec[]){{r, 5000}, {(char *)r + 5000, RECORD - 5000}}, 2),
                     RECORD);
    }
    free(r);
    return NULL;
}
static void *reads_records(void *unused) {
    struct record *r = malloc(sizeof *r);
    for (ssize_t n; (n = weft_read(shared_file, r, RECORD)) != 0;) {
        CHECK_EQ(n, RECORD);
        see_record(r);
    }
    free(r);
    return unused;
}
static void at_once(void *(*fn)(void *)) {
    struct weft_fiber f[WRITERS];
    for (int i = 0; i < WRITERS; i++) f[i] = spawn(fn, (void *)(intptr_t)i);
    for (int i = 0; i < WRITERS; i++) join(f[i]);
}
static void one_position(void *unused) {
    (void)unused;
    for (int append = 0; append < 2; append++) {
        shared_file = make_file();
        if (append) CHECK(!fcntl(shared_file, F_SETFL, O_APPEND));
        at_once(writes_records);
        CHECK_EQ(lseek(shared_file, 0, SEEK_END), WRITERS * EACH * RECORD);
        CHECK_EQ(lseek(shared_file, 0, SEEK_SET), 0);
        reads_records(NULL);
        each_record_once();
        CHECK_EQ(weft_fsync(shared_file), 0);
        for (int cold = 0; cold < 2; cold++) {
            if (cold) posix_fadvise(shared_file, 0, 0, POSIX_FADV_RANDOM);
            if (cold) posix_fadvise(shared_file, 0, 0, POSIX_FADV_DONTNEED);
            CHECK_EQ(lseek(shared_file, 0, SEEK_SET), 0);
            at_once(reads_records);
            each_record_once();
        }
        CHECK_EQ(weft_close(shared_file), 0);
    }
}
TEST_WITHIN(several_fibers_at_one_position, 40) { each_runtime(one_position); }

static void one_position_under_way(void *unused) {
    (void)unused;
    enum { MANY = 32 };
    static struct record records[MANY];
    static struct weft_io io[MANY];
    int file = make_file();
    for (int i = 0; i < MANY; i++) {
        make_record(&records[i], i);
        CHECK_EQ(weft_io_write(&io[i], file, &records[i], RECORD), 0);
    }
    for (int i = 0; i < MANY; i++) CHECK_EQ(weft_io_wait(&io[i]), RECORD);
    CHECK_EQ(lseek(file, 0, SEEK_CUR), MANY * RECORD);
    CHECK_EQ(weft_fsync(file), 0);
    posix_fadvise(file, 0, 0, POSIX_FADV_RANDOM);
    posix_fadvise(file, 0, 0, POSIX_FADV_DONTNEED);
    CHECK_EQ(lseek(file, 0, SEEK_SET), 0);
    memset(records, 0, sizeof records);
    for (int i = 0; i < MANY; i++) CHECK_EQ(weft_io_read(&io[i], file, &records[i], RECORD), 0);
    for (int i = 0; i < MANY; i++) CHECK_EQ(weft_io_wait(&io[i]), RECORD);
    for (int i = 0; i < MANY; i++) see_record(&records[i]);
    for (int i = 0; i < MANY; i++) CHECK_EQ(seen[i], 1);
    memset(seen, 0, sizeof seen);
    CHECK_EQ(weft_close(file), 0);
}
TEST(several_operations_at_one_position) { each_runtime(one_position_under_way); }

/* Bytes that do not fit are not written; the other bytes keep their places. */
static void no_room(void *unused) {
    (void)unused;
    enum { MOST = 100000, MUCH = 200000 };
    static char all[MUCH], got[MUCH];
    struct rlimit before;
    for (size_t i = 0; i < MUCH; i++) all[i] = (char)(i * 31 >> 3);
    signal(SIGXFSZ, SIG_IGN);
    CHECK(!getrlimit(RLIMIT_FSIZE, &before));
    CHECK(!setrlimit(RLIMIT_FSIZE, &(struct rlimit){MOST, before.rlim_max}));
    for (int way = 0; way < 4; way++) {
        struct weft_io io;
        int file = make_file();
        if (way == 0) CHECK_EQ(weft_write(file, all, MUCH), MOST);
        if (way == 1) CHECK_EQ(weft_writev(file, (struct iovec[]){{all, 5000}, {all + 5000, MUCH - 5000}}, 2), MOST);
        if (way == 2) CHECK_EQ(weft_pwrite(file, all, MUCH, 0), MOST);
        if (way == 3) CHECK_EQ(weft_io_write(&io, file, all, MUCH), 0);
        if (way == 3) CHECK_EQ(weft_io_wait(&io), MOST);
        CHECK_EQ(lseek(file, 0, SEEK_CUR), way == 2 ? 0 : MOST);
        if (way != 2) CHECK_EQ(told(weft_write(file, all, 1)), -EFBIG);
        CHECK_EQ(pread(file, got, MUCH, 0), MOST);
        CHECK(!memcmp(all, got, MOST));
        CHECK_EQ(weft_close(file), 0);
    }
    CHECK(!setrlimit(RLIMIT_FSIZE, &before));
}
TEST(a_file_that_has_no_room_for_all) { each_runtime(no_room); }

static void direct(void *unused) {
    (void)unused;
    enum { PAGE = 4096 };
    char *page = aligned_alloc(PAGE, PAGE);
    int fd = open(".", O_TMPFILE | O_RDWR | O_DIRECT | O_CLOEXEC, 0600);
    if (fd < 0) test_skip("no direct access here");
    memset(page, 'x', PAGE);
    CHECK_EQ(weft_pwrite(fd, page, PAGE, 0), PAGE);
    memset(page, 0, PAGE);
    for (int i = 0; i < 300; i++) CHECK_EQ(weft_pread(fd, page, PAGE, 0), PAGE);
    CHECK(page[0] == 'x' && page[PAGE - 1] == 'x');
    CHECK_EQ(weft_close(fd), 0);
    free(page);
}
TEST(past_the_page_cache) { each_runtime(direct); }

static void names(void *unused) {
    (void)unused;
    char dir[SCRATCH_SIZE], path[SCRATCH_SIZE + 16];
    struct statx s;
    CHECK(mkdtemp(scratch_name(dir)));
    int d = weft_open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    CHECK(d >= 0);
    CHECK_EQ(told(weft_openat(d, "file", O_RDWR)), -ENOENT);
    int fd = weft_openat(d, "file", O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0640);
    CHECK(fd >= 0);
    CHECK_EQ(told(weft_openat(d, "file", O_RDWR | O_CREAT | O_EXCL, 0640)), -EEXIST);
    CHECK_EQ(weft_write(fd, "text", 4), 4);
    CHECK_EQ(weft_statx(d, "file", 0, STATX_SIZE | STATX_MODE, &s), 0);
    CHECK_EQ(s.stx_size, 4);
    CHECK_EQ(s.stx_mode & 0777, 0640);
    CHECK_EQ(weft_mkdirat(d, "sub", 0700), 0);
    CHECK_EQ(told(weft_mkdirat(d, "sub", 0700)), -EEXIST);
    CHECK_EQ(weft_renameat(d, "file", d, "sub/other"), 0);
    CHECK_EQ(told(weft_statx(d, "file", 0, 0, &s)), -ENOENT);
    CHECK_EQ(told(weft_unlinkat(d, "sub", AT_REMOVEDIR)), -ENOTEMPTY);
    snprintf(path, sizeof path, "%s/sub/other", dir);
    int again = weft_open(path, O_RDONLY);
    char got[8] = "";
    CHECK_EQ(weft_read(again, got, sizeof got), 4);
    CHECK(!strcmp(got, "text"));
    CHECK_EQ(weft_unlinkat(d, "sub/other", 0), 0);
    CHECK_EQ(weft_unlinkat(d, "sub", AT_REMOVEDIR), 0);
    CHECK(!weft_close(fd) && !weft_close(again) && !weft_close(d) && !rmdir(dir));
}
TEST(files_by_name) {
    each_runtime(names);
    names(NULL);
}

static void *opens_to_read(void *path) {
    int fd = weft_open(path, O_RDONLY | O_CLOEXEC);
    char c = 0;
    CHECK(fd >= 0);
    CHECK_EQ(weft_read(fd, &c, 1), 1);
    CHECK_EQ(c, 'x');
    CHECK_EQ(weft_read(fd, &c, 1), 0);
    CHECK_EQ(weft_close(fd), 0);
    return NULL;
}
static void *opens_to_write(void *path) {
    int fd = weft_open(path, O_WRONLY | O_CLOEXEC);
    CHECK(fd >= 0);
    CHECK_EQ(weft_close(fd), 0);
    return NULL;
}
static void fifo(void *unused) {
    (void)unused;
    char dir[SCRATCH_SIZE], path[SCRATCH_SIZE + 16];
    CHECK(mkdtemp(scratch_name(dir)));
    snprintf(path, sizeof path, "%s/fifo", dir);
    CHECK(!mkfifo(path, 0600));
    struct weft_fiber f = spawn(opens_to_write, path);
    await_state(state_waits, f);
    int fd = weft_open(path, O_RDONLY | O_CLOEXEC);
    CHECK(fd >= 0);
    CHECK_EQ(weft_close(fd), 0);
    join(f);
    f = spawn(opens_to_read, path);
    await_state(state_waits, f);
    fd = weft_open(path, O_WRONLY | O_CLOEXEC);
    CHECK_EQ(weft_write(fd, "x", 1), 1);
    CHECK_EQ(weft_close(fd), 0);
    join(f);
    CHECK(!unlink(path) && !rmdir(dir));
}
TEST(fifos_are_waited_for_when_they_are_opened) { each_runtime(fifo); }

static void too_many(void *unused) {
    (void)unused;
    weft_close(weft_open("/dev/null", O_RDONLY)); /* by now all that has to be open is open */
    struct rlimit before;
    CHECK(!getrlimit(RLIMIT_NOFILE, &before));
    CHECK(!setrlimit(RLIMIT_NOFILE, &(struct rlimit){0, before.rlim_max}));
    CHECK_EQ(told(weft_open("/dev/null", O_RDONLY)), -EMFILE);
    CHECK(!setrlimit(RLIMIT_NOFILE, &before));
    int another = weft_open("/dev/null", O_RDONLY);
    CHECK(another >= 0 && !weft_close(another));
}
TEST(no_descriptor_is_left) { each_runtime(too_many); }
