/* SPDX-License-Identifier: MIT */
/* Files and their names, operations in the background, bytes that are moved between descriptors. */
#define _GNU_SOURCE
#include "io.h"

#include "../scratch.h"

#include <fcntl.h>
#include <linux/io_uring.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { BYTES = 20000 };

static int open_memory(void) {
    int fd = memfd_create("weft-random", MFD_CLOEXEC);
    SO(fd >= 0);
    return fd;
}

/* --- a file's bytes, at places and at its position -------------------------------------------- */

struct at_place {
    int fd;
    unsigned char *bytes;
    size_t size, place;
    bool writes;
};
static int call_at_place(void *context) {
    struct at_place *a = context;
    ssize_t n = a->writes ? weft_pwrite(a->fd, a->bytes, a->size, (off_t)a->place)
                          : weft_pread(a->fd, a->bytes, a->size, (off_t)a->place);
    return n < 0 ? -errno : (int)n;
}

static void transfer(struct party *p, struct at_place a) {
    size_t end = a.place + a.size;
    while (a.place < end) {
        int n = insist_on(p, call_at_place, &a);
        SO(n > 0 && (size_t)n <= a.size);
        a.bytes += n;
        a.size -= (size_t)n;
        a.place += (size_t)n;
    }
}

static int call_sync(void *fd) { return weft_fdatasync(*(int *)fd) ? -errno : 0; }

static void run_file(struct party *p) {
    unsigned char *bytes = malloc(BYTES);
    SO(bytes);
    int fd = open_memory();
    size_t size = 1 + below(p, BYTES);
    fill_bytes(p->op, bytes, 0, size);
    if (one_in(p, 2))
        write_all(p, fd, bytes, size);
    else
        transfer(p, (struct at_place){fd, bytes, size, 0, true});
    OK(insist_on(p, call_sync, &fd));
    memset(bytes, 0, size);
    if (one_in(p, 2)) {
        WANT(lseek(fd, 0, SEEK_SET), 0);
        read_all(p, fd, bytes, size);
    } else {
        transfer(p, (struct at_place){fd, bytes, size, 0, false});
    }
    check_bytes(p->op, bytes, 0, size);
    close_file(fd);
    free(bytes);
}

/* --- names ------------------------------------------------------------------------------------ */

static char directory[SCRATCH_SIZE];
static int directory_fd = -1;

struct named {
    const char *name, *other;
    struct statx stat;
};
static int call_mkdir(void *n) { return weft_mkdirat(directory_fd, ((struct named *)n)->name, 0700) ? -errno : 0; }
static int call_rmdir(void *n) {
    return weft_unlinkat(directory_fd, ((struct named *)n)->name, AT_REMOVEDIR) ? -errno : 0;
}
static int call_unlink(void *n) { return weft_unlinkat(directory_fd, ((struct named *)n)->other, 0) ? -errno : 0; }
static int call_rename(void *n) {
    struct named *d = n;
    return weft_renameat(directory_fd, d->name, directory_fd, d->other) ? -errno : 0;
}
static int call_open(void *n) {
    int fd = weft_openat(directory_fd, ((struct named *)n)->name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    return fd < 0 ? -errno : fd;
}
static int call_stat(void *n) {
    struct named *d = n;
    return weft_statx(directory_fd, d->other, 0, STATX_SIZE, &d->stat) ? -errno : 0;
}

/* A call with a name that was cancelled has done nothing. */
static void run_names(struct party *p) {
    char name[40], other[40];
    struct named n = {name, other, {0}};
    snprintf(name, sizeof name, "a-%u", p->op->number);
    snprintf(other, sizeof other, "b-%u", p->op->number);
    OK(insist_on(p, call_mkdir, &n));
    OK(insist_on(p, call_rmdir, &n));
    int fd = insist_on(p, call_open, &n);
    SO(fd >= 0);
    write_all(p, fd, name, 7);
    close_file(fd);
    OK(insist_on(p, call_rename, &n));
    OK(insist_on(p, call_stat, &n));
    WANT(n.stat.stx_size, 7);
    OK(insist_on(p, call_unlink, &n));
    WANT(insist_on(p, call_stat, &n), -ENOENT);
}

/* --- under way: a read and a write of one pipe ------------------------------------------------ */

struct under_way {
    struct weft_io read, write;
};
static int wait_for_io(void *future, uint64_t deadline) {
    void *value = NULL;
    int err = deadline == AT_ONCE        ? weft_future_try(future, &value)
              : deadline == WEFT_FOREVER ? weft_future_wait(future, &value)
                                         : weft_future_wait_until(future, &value, deadline);
    return err ? err : (int)(intptr_t)value;
}

/* Waits in one of the possible ways. Returns the result, which may be -ECANCELED. */
static int end_of(struct party *p, struct weft_io *io, bool gently) {
    if (gently) return insist(p, wait_for_io, &io->future);
    return (int)weft_io_wait(io);
}

/* A cancelled read has taken nothing; any other read has the bytes. */
static void run_async(struct party *p) {
    struct under_way u;
    unsigned char out[64], in[64] = {0};
    int fd[2], n = 0;
    OK(pipe2(fd, O_CLOEXEC | (one_in(p, 2) ? O_NONBLOCK : 0)));
    fill_bytes(p->op, out, 0, sizeof out);
    OK(weft_io_read(&u.read, fd[0], in, sizeof in));
    pause_a_bit(p);
    bool cancels = one_in(p, 2);
    if (cancels)
        OK(weft_io_cancel(&u.read));
    else
        write_all(p, fd[1], out, sizeof out);
    n = end_of(p, &u.read, !cancels);
    if (cancels || n < 0) {
        SO(n == -ECANCELED || n == -ETIMEDOUT);
        OK(weft_io_write(&u.write, fd[1], out, sizeof out));
        WANT(insist(p, wait_for_io, &u.write.future), (int)sizeof out);
        read_all(p, fd[0], in, sizeof in);
    } else {
        WANT(n, (int)sizeof out);
    }
    WANT(weft_io_cancel(&u.read), -EALREADY);
    check_bytes(p->op, in, 0, sizeof in);
    close_file(fd[0]);
    close_file(fd[1]);
}

/* --- many at once, awaited by select ---------------------------------------------------------- */

enum { MANY = 5 };
struct many {
    struct weft_io io[MANY];
    bool done[MANY];
};
static int wait_for_any_io(void *many, uint64_t deadline) {
    struct many *m = many;
    struct weft_case cases[MANY] = {{0}};
    for (unsigned i = 0; i < MANY; i++)
        if (!m->done[i]) cases[i] = (struct weft_case)WEFT_CASE_FUTURE(&m->io[i].future, NULL);
    return deadline == AT_ONCE        ? weft_case_select_try(cases, MANY)
           : deadline == WEFT_FOREVER ? weft_case_select(cases, MANY)
                                      : weft_case_select_until(cases, MANY, deadline);
}

static void run_async_many(struct party *p) {
    struct many *m = calloc(1, sizeof *m);
    unsigned char bytes[MANY][100];
    SO(m);
    int fd = open_memory();
    for (unsigned i = 0; i < MANY; i++) {
        fill_bytes(p->op, bytes[i], i * 100, 100);
        OK(weft_io_pwrite(&m->io[i], fd, bytes[i], 100, i * 100));
    }
    for (unsigned i = 0; i < MANY; i++) {
        int which = insist(p, wait_for_any_io, m);
        SO(which >= 0 && which < MANY && !m->done[which]);
        m->done[which] = true;
        WANT(weft_io_wait(&m->io[which]), 100);
    }
    for (unsigned i = 0; i < MANY; i++) {
        memset(bytes[i], 0, 100);
        transfer(p, (struct at_place){fd, bytes[i], 100, i * 100, false});
        check_bytes(p->op, bytes[i], i * 100, 100);
    }
    close_file(fd);
    free(m);
}

/* --- bytes that are moved: file to pipe to pipe ----------------------------------------------- */

struct moving {
    int in, out;
    off_t *offset;
    size_t size;
    bool splices;
};
static int call_move(void *moving) {
    struct moving *m = moving;
    ssize_t n = m->splices ? weft_splice(m->in, m->offset, m->out, NULL, m->size, 0)
                           : weft_sendfile(m->out, m->in, m->offset, m->size);
    return n < 0 ? -errno : (int)n;
}

static void move_all(struct party *p, struct moving m) {
    while (m.size) {
        int n = insist_on(p, call_move, &m);
        SO(n > 0 && (size_t)n <= m.size);
        m.size -= (size_t)n;
    }
}

static void run_splice(struct party *p) {
    unsigned char bytes[4096];
    int file = open_memory(), a[2], b[2];
    off_t offset = 0;
    size_t size = 1 + below(p, sizeof bytes);
    OK(pipe2(a, O_CLOEXEC));
    OK(pipe2(b, O_CLOEXEC));
    fill_bytes(p->op, bytes, 0, size);
    write_all(p, file, bytes, size);
    move_all(p, (struct moving){file, a[1], &offset, size, one_in(p, 2)});
    WANT(offset, size);
    move_all(p, (struct moving){a[0], b[1], NULL, size, true});
    memset(bytes, 0, size);
    read_all(p, b[0], bytes, size);
    check_bytes(p->op, bytes, 0, size);
    for (int i = 0; i < 2; i++) close_file(a[i]), close_file(b[i]);
    close_file(file);
}

/* --- entries of one's own --------------------------------------------------------------------- */

static void run_uring(struct party *p) {
    struct io_uring_sqe entries[4] = {{0}};
    int results[4];
    unsigned n = 1 + (unsigned)below(p, 4);
    for (unsigned i = 0; i < n; i++) {
        results[i] = 1;
        entries[i].opcode = IORING_OP_NOP;
        if (i + 1 < n && one_in(p, 2)) entries[i].flags = IOSQE_IO_LINK;
    }
    int err = weft_uring(entries, results, n);
    if (err == -ENOTSUP) return;
    OK(err);
    for (unsigned i = 0; i < n; i++) SO(!results[i] || (results[i] == -ECANCELED && p->actor->told));
}

static void begin(struct program *p) {
    (void)p;
    SO(mkdtemp(scratch_name(directory)));
    directory_fd = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    SO(directory_fd >= 0);
}

static void end(struct program *p) {
    (void)p;
    OK(close(directory_fd));
    OK(rmdir(directory)); /* it is empty */
}

static const struct kind kinds[] = {
    {"file", 20, BY_THREADS, 1, 1, 0, NULL, run_file, NULL},
    {"names", 10, BY_THREADS, 1, 1, 0, NULL, run_names, NULL},
    {"async", 20, 0, 1, 1, 0, NULL, run_async, NULL},
    {"async_many", 15, 0, 1, 1, 0, NULL, run_async_many, NULL},
    {"splice", 15, BY_THREADS, 1, 1, 0, NULL, run_splice, NULL},
    {"uring", 10, 0, 1, 1, 0, NULL, run_uring, NULL},
    {0},
};
const struct family family_files = {kinds, begin, end};
