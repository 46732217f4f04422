/* Regular files: bytes at positions, in memory or not; names; errors as the originals have them. */
#define _GNU_SOURCE
#include "../state.h"
#include "io.h"

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
    int last = fcntl(fd, F_DUPFD_CLOEXEC, 500); /* a number that nobody else gets meanwhile */
    CHECK_EQ(weft_close(fd), 0);
    CHECK_EQ(weft_close(last), 0);
    CHECK_EQ(told(weft_pread(last, got, 1, 0)), -EBADF);
}
TEST(bytes_at_positions) {
    each_runtime(bytes);
    bytes(NULL); /* a thread */
}

/* Some pages of it are in memory, others are not: all the bytes are read. */
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
    weft_close(weft_open("/dev/null", O_RDONLY)); /* whatever has to be open is */
    struct rlimit before;
    CHECK(!getrlimit(RLIMIT_NOFILE, &before));
    CHECK(!setrlimit(RLIMIT_NOFILE, &(struct rlimit){0, before.rlim_max}));
    CHECK_EQ(told(weft_open("/dev/null", O_RDONLY)), -EMFILE);
    CHECK(!setrlimit(RLIMIT_NOFILE, &before));
    int another = weft_open("/dev/null", O_RDONLY);
    CHECK(another >= 0 && !weft_close(another));
}
TEST(no_descriptor_is_left) { each_runtime(too_many); }
