/* SPDX-License-Identifier: MIT */
/* See files.h. Lookups that the kernel can answer from memory are made here, others in the thread pool. */
#include "files.h"

#include "base/atomic.h"
#include "mime.h"
#include "tick.h"
#include "weft.h"
#include "weft/io.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef RESOLVE_CACHED
#define RESOLVE_CACHED 0x20
#endif

static int root = -1;

int files_begin(const char *directory) {
    root = open(directory, O_PATH | O_DIRECTORY | O_CLOEXEC);
    return root < 0 ? -errno : 0;
}

void files_end(void) { close(root); }

/* --- beneath the root ----------------------------------------------------------------------------- */

struct opening {
    const char *path;
    int flags, result;
};

static int open_beneath(const struct opening *o, uint64_t resolve) {
    struct open_how how = {.flags = (uint64_t)(o->flags | O_CLOEXEC),
                           .resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS | resolve};
    long fd = syscall(SYS_openat2, root, *o->path ? o->path : ".", &how, sizeof how);
    return fd < 0 ? -errno : (int)fd;
}

static void *open_slowly(void *arg) {
    struct opening *o = arg;
    do o->result = open_beneath(o, 0);
    while (o->result == -EAGAIN); /* a name was moved meanwhile */
    return NULL;
}

static int open_path(const char *path, int flags) {
    struct opening o = {path, flags, 0};
    o.result = open_beneath(&o, RESOLVE_CACHED);
    bool not_cached = o.result == -EAGAIN || o.result == -EINVAL; /* -EINVAL: the kernel does not know RESOLVE_CACHED */
    if (not_cached && weft_blocking(open_slowly, &o, NULL)) open_slowly(&o);
    return o.result;
}

static int status_of(int err) {
    switch (-err) {
    case EACCES:
    case EPERM: return 403;
    case ENOENT:
    case ENOTDIR:
    case ELOOP:
    case EXDEV: /* a link leads outside of the root */
    case ENAMETOOLONG: return 404;
    case EMFILE:
    case ENFILE:
    case ENOMEM:
    case ECANCELED: return 503;
    default: return 500;
    }
}

int file_look(const char *path, struct stat *stat) {
    int fd = open_path(path, O_PATH);
    if (fd < 0) return status_of(fd);
    int err = fstat(fd, stat) ? -errno : 0;
    close(fd);
    return err ? status_of(err) : 0;
}

int directory_open(const char *path) {
    int fd = open_path(path, O_RDONLY | O_DIRECTORY);
    return fd < 0 ? -status_of(fd) : fd;
}

/* --- files ------------------------------------------------------------------------------------------- */

static struct file_state state_of(const struct stat *s) {
    return (struct file_state){s->st_dev, s->st_ino, s->st_mtim, s->st_ctim, (uint64_t)s->st_size};
}

static bool same_time(struct timespec a, struct timespec b) { return a.tv_sec == b.tv_sec && a.tv_nsec == b.tv_nsec; }

static bool same_state(struct file_state a, struct file_state b) {
    return a.device == b.device && a.number == b.number && a.size == b.size && same_time(a.modified, b.modified) &&
           same_time(a.changed, b.changed);
}

/* A file that was changed in the second in which it was opened may have been changed again with the same time. */
bool file_current(const struct file *file) {
    struct stat s;
    if (file->state.changed.tv_sec >= file->opened - 1 || file_look(file->path, &s)) return false;
    return same_state(state_of(&s), file->state);
}

/* Writes the head. The type is in it, between its colon and the end of the line. */
static void write_head(struct file *f, size_t most) {
    const char *type = mime_type(f->path);
    char date[DATE_SIZE];
    int begin, tag, tag_end;
    date_write(date, f->state.modified.tv_sec);
    int n =
        snprintf(f->memory, most, "HTTP/1.1 200 OK\r\nServer: weft\r\nContent-Type: %s\r\nContent-Length: %ju\r\n%n",
                 type, (uintmax_t)f->state.size, &begin);
    n += snprintf(f->memory + n, most - (size_t)n,
                  "Last-Modified: %.*s\r\nETag: %n\"%jx-%lx-%jx\"%n\r\nAccept-Ranges: bytes\r\n", DATE_SIZE, date, &tag,
                  (uintmax_t)f->state.modified.tv_sec, (unsigned long)f->state.modified.tv_nsec,
                  (uintmax_t)f->state.size, &tag_end);
    f->head = (struct text){f->memory, (uint32_t)n};
    f->validators = (struct text){f->memory + begin, (uint32_t)(n - begin)};
    f->tag = (struct text){f->memory + begin + tag, (uint32_t)(tag_end - tag)};
    f->type = (struct text){type, (uint32_t)strlen(type)};
}

static struct file *make(const struct stat *s, const char *path) {
    enum { HEAD = 512 };
    size_t size = strlen(path) + 1, body = s->st_size <= FILE_SMALL ? (size_t)s->st_size : 0;
    struct file *f = malloc(sizeof *f + HEAD + size + body);
    if (!f) return NULL;
    *f = (struct file){.users = 1, .fd = -1, .opened = tick_time(), .state = state_of(s), .path = f->memory + HEAD};
    memcpy(f->path, path, size);
    write_head(f, HEAD);
    return f;
}

/* Reads a small file. Returns 200, or 0 if the file has changed meanwhile. */
static int read_small(struct file *f, int fd) {
    char *to = f->path + strlen(f->path) + 1;
    struct stat s;
    if (f->state.size && weft_pread(fd, to, f->state.size, 0) != (ssize_t)f->state.size) return 0;
    if (fstat(fd, &s) || !same_state(state_of(&s), f->state)) return 0;
    f->body = to;
    close(fd);
    return 200;
}

/* Opens a file. Returns 200, another status, or 0 if the file has changed meanwhile. */
static int try_open(const char *path, struct file **result) {
    struct stat s;
    /* if the file was just replaced by a pipe, the open does not wait */
    int fd = open_path(path, O_RDONLY | O_NONBLOCK | O_NOCTTY);
    if (fd < 0) return status_of(fd);
    int status = fstat(fd, &s) || !S_ISREG(s.st_mode) ? 403 : 200;
    struct file *f = status == 200 ? make(&s, path) : NULL;
    if (status == 200 && !f) status = 503;
    if (status == 200 && s.st_size <= FILE_SMALL)
        status = read_small(f, fd);
    else if (status == 200)
        f->fd = fd;
    if (status == 200) {
        *result = f;
    } else {
        close(fd);
        free(f);
    }
    return status;
}

int file_open(const char *path, struct file **result) {
    struct stat s;
    int status = file_look(path, &s), tries = 0;
    if (status) return status;
    if (!S_ISREG(s.st_mode)) return 403;
    do status = try_open(path, result);
    while (!status && ++tries < 100);
    return status ? status : 503;
}

/* the caller, or the lock that it holds, already has a reference */
void file_hold(struct file *file) { add_rlx(&file->users, 1); }

void file_release(struct file *file) {
    /* acquire pairs with the release of other users */
    if (atomic_fetch_sub_explicit(&file->users, 1, memory_order_acq_rel) != 1) return;
    if (file->fd >= 0) close(file->fd);
    free(file);
}
