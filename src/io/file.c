/* SPDX-License-Identifier: MIT */
/* Files by name, and directories: weft/file.h. It uses the public calls only. */
#define _GNU_SOURCE
#include "base/base.h"
#include "base/sys.h"

#include <weft/file.h>

#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

/* --- what is known about a file ------------------------------------------------------------------------- */

static void file_translate(const struct statx *from, struct stat *to) {
    *to = (struct stat){
        .st_dev = makedev(from->stx_dev_major, from->stx_dev_minor),
        .st_ino = from->stx_ino,
        .st_mode = from->stx_mode,
        .st_nlink = (nlink_t)from->stx_nlink,
        .st_uid = from->stx_uid,
        .st_gid = from->stx_gid,
        .st_rdev = makedev(from->stx_rdev_major, from->stx_rdev_minor),
        .st_size = (off_t)from->stx_size,
        .st_blksize = (blksize_t)from->stx_blksize,
        .st_blocks = (blkcnt_t)from->stx_blocks,
        .st_atim = {from->stx_atime.tv_sec, from->stx_atime.tv_nsec},
        .st_mtim = {from->stx_mtime.tv_sec, from->stx_mtime.tv_nsec},
        .st_ctim = {from->stx_ctime.tv_sec, from->stx_ctime.tv_nsec},
    };
}

WEFT_PUBLIC int weft_fstatat(int dir, const char *path, struct stat *result, int flags) {
    struct statx about;
    if (!result) {
        errno = EFAULT;
        return -1;
    }
    if (weft_statx(dir, path, flags, STATX_BASIC_STATS, &about)) return -1;
    file_translate(&about, result);
    return 0;
}

WEFT_PUBLIC int weft_stat(const char *path, struct stat *result) { return weft_fstatat(AT_FDCWD, path, result, 0); }

WEFT_PUBLIC int weft_lstat(const char *path, struct stat *result) {
    return weft_fstatat(AT_FDCWD, path, result, AT_SYMLINK_NOFOLLOW);
}

WEFT_PUBLIC int weft_fstat(int fd, struct stat *result) {
    if (fd < 0) { /* AT_FDCWD is no descriptor here */
        errno = EBADF;
        return -1;
    }
    return weft_fstatat(fd, "", result, AT_EMPTY_PATH);
}

/* --- by a thread of the pool ---------------------------------------------------------------------------- */

/* A call as data: a system call, and its arguments. */
struct plain {
    long number, arguments[6], result;
    int error;
};

static void *make_plain(void *arg) {
    struct plain *p = arg;
    long *a = p->arguments;
    p->result = syscall(p->number, a[0], a[1], a[2], a[3], a[4], a[5]);
    p->error = errno;
    return NULL;
}

static long by_pool(struct plain p) {
    int err = weft_blocking(make_plain, &p, NULL);
    if (!err && p.result >= 0) return p.result;
    errno = err ? -err : p.error;
    return -1;
}
#define BY_POOL(call, ...) by_pool((struct plain){.number = SYS_##call, .arguments = {__VA_ARGS__}})

/* Makes the kernel's call without flags if there are none, as the C library does. */
WEFT_PUBLIC int weft_faccessat(int dir, const char *path, int mode, int flags) {
    if (!flags) return (int)BY_POOL(faccessat, dir, (long)path, mode);
    return (int)BY_POOL(faccessat2, dir, (long)path, mode, flags);
}

WEFT_PUBLIC ssize_t weft_readlinkat(int dir, const char *path, char *buffer, size_t size) {
    return BY_POOL(readlinkat, dir, (long)path, (long)buffer, (long)size);
}

WEFT_PUBLIC int weft_linkat(int from_dir, const char *from, int to_dir, const char *to, int flags) {
    return (int)BY_POOL(linkat, from_dir, (long)from, to_dir, (long)to, flags);
}

WEFT_PUBLIC int weft_symlinkat(const char *target, int dir, const char *path) {
    return (int)BY_POOL(symlinkat, (long)target, dir, (long)path);
}

WEFT_PUBLIC int weft_ftruncate(int fd, off_t size) { return (int)BY_POOL(ftruncate, fd, size); }

WEFT_PUBLIC int weft_fchownat(int dir, const char *path, uid_t owner, gid_t group, int flags) {
    return (int)BY_POOL(fchownat, dir, (long)path, (long)owner, (long)group, flags);
}

WEFT_PUBLIC int weft_utimensat(int dir, const char *path, const struct timespec times[2], int flags) {
    return (int)BY_POOL(utimensat, dir, (long)path, (long)times, flags);
}

WEFT_PUBLIC int weft_fallocate(int fd, int mode, off_t offset, off_t size) {
    return (int)BY_POOL(fallocate, fd, mode, offset, size);
}

WEFT_PUBLIC ssize_t weft_copy_file_range(int in, off_t *in_offset, int out, off_t *out_offset, size_t size,
                                         unsigned flags) {
    return BY_POOL(copy_file_range, in, (long)in_offset, out, (long)out_offset, (long)size, (long)flags);
}

/* Calls the C library, which can do AT_SYMLINK_NOFOLLOW although older kernels cannot. */
struct chmod_call {
    int dir;
    const char *path;
    mode_t mode;
    int flags, result, error;
};

/* The kernel checks the path, so it may be NULL. */
__attribute__((no_sanitize("nonnull-attribute"))) static void *make_chmod(void *arg) {
    struct chmod_call *c = arg;
    c->result = fchmodat(c->dir, c->path, c->mode, c->flags);
    c->error = errno;
    return NULL;
}

WEFT_PUBLIC int weft_fchmodat(int dir, const char *path, mode_t mode, int flags) {
    struct chmod_call c = {.dir = dir, .path = path, .mode = mode, .flags = flags};
    int err = weft_blocking(make_chmod, &c, NULL);
    if (!err && !c.result) return 0;
    errno = err ? -err : c.error;
    return -1;
}

/* --- locks of files ------------------------------------------------------------------------------------- */

#define WEFT_FLOCK_PAUSE (10 * WEFT_MILLISECOND)

/* Tries again and again: the kernel does not report to a poller that a lock is free, and waiting for locks might occupy
 * all threads of the pool. */
WEFT_PUBLIC int weft_flock(int fd, int operation) {
    if (!weft_self().id || (operation & LOCK_NB)) return flock(fd, operation);
    for (uint64_t pause = WEFT_MILLISECOND;; pause = pause < WEFT_FLOCK_PAUSE / 2 ? 2 * pause : WEFT_FLOCK_PAUSE) {
        if (!flock(fd, operation | LOCK_NB)) return 0;
        if (errno != EWOULDBLOCK) return -1;
        int err = weft_sleep_for(pause);
        if (err) {
            errno = -err;
            return -1;
        }
    }
}

/* --- directories ---------------------------------------------------------------------------------------- */

#define WEFT_DIR_BYTES 32768

/* The kernel writes entries in the layout that struct dirent has on the machines that weft runs on. */
_Static_assert(offsetof(struct dirent, d_reclen) == 16 && offsetof(struct dirent, d_name) == 19,
               "an entry of getdents64");

struct weft_dir {
    int fd;
    size_t next, end; /* bytes of `entries` that were not returned */
    char entries[WEFT_DIR_BYTES] __attribute__((aligned(8)));
};

WEFT_PUBLIC struct weft_dir *weft_opendir(const char *path) {
    struct weft_dir *dir = weft__alloc(sizeof *dir);
    if (!dir) {
        errno = ENOMEM;
        return NULL;
    }
    dir->fd = weft_open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (dir->fd >= 0) return dir;
    int error = errno;
    weft__free(dir);
    errno = error;
    return NULL;
}

WEFT_PUBLIC struct dirent *weft_readdir(struct weft_dir *dir) {
    if (!dir) {
        errno = EINVAL;
        return NULL;
    }
    if (dir->next == dir->end) {
        int before = errno;
        long n = BY_POOL(getdents64, dir->fd, (long)dir->entries, sizeof dir->entries);
        if (n == 0) errno = before; /* set again, because the fiber may be on another thread now */
        if (n <= 0) return NULL;
        dir->next = 0;
        dir->end = (size_t)n;
    }
    struct dirent *entry = (struct dirent *)(void *)(dir->entries + dir->next);
    dir->next += entry->d_reclen;
    return entry;
}

WEFT_PUBLIC int weft_closedir(struct weft_dir *dir) {
    if (!dir) {
        errno = EINVAL;
        return -1;
    }
    weft_close(dir->fd);
    weft__free(dir);
    return 0;
}
