/* See files.h. A look that the kernel can answer from its memory is made here, others on the pool of threads. */
#include "files.h"

#include "base/atomic.h"
#include "mime.h"
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
    while (o->result == -EAGAIN); /* something was moved meanwhile */
    return NULL;
}

static int open_path(const char *path, int flags) {
    struct opening o = {path, flags, 0};
    o.result = open_beneath(&o, RESOLVE_CACHED);
    if (o.result == -EAGAIN || o.result == -EINVAL) open_slowly(&o);
    return o.result;
}

static int status_of(int err) {
    switch (-err) {
    case EACCES:
    case EPERM: return 403;
    case ENOENT:
    case ENOTDIR:
    case ELOOP:
    case EXDEV: /* a link that leads outside */
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

bool file_current(const struct file *file) {
    struct stat s;
    if (file_look(file->path, &s)) return false;
    struct file_state now = state_of(&s);
    return now.device == file->state.device && now.number == file->state.number && now.size == file->state.size &&
           same_time(now.modified, file->state.modified) && same_time(now.changed, file->state.changed);
}

/* The type is in the head, between its colon and its line's end. */
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

static struct file *make(int fd, const struct stat *s, const char *path) {
    enum { HEAD = 512 };
    size_t size = strlen(path) + 1;
    struct file *f = malloc(sizeof *f + HEAD + size);
    if (!f) return NULL;
    *f = (struct file){.users = 1, .fd = fd, .state = state_of(s), .path = f->memory + HEAD};
    memcpy(f->path, path, size);
    write_head(f, HEAD);
    return f;
}

int file_open(const char *path, struct file **result) {
    struct stat s;
    int status = file_look(path, &s);
    if (status) return status;
    if (!S_ISREG(s.st_mode)) return 403;
    int fd = open_path(path, O_RDONLY | O_NONBLOCK | O_NOCTTY); /* if it has become a pipe since, that does not wait */
    if (fd < 0) return status_of(fd);
    if (fstat(fd, &s) || !S_ISREG(s.st_mode)) {
        close(fd);
        return 403;
    }
    *result = make(fd, &s, path);
    if (*result) return 200;
    close(fd);
    return 503;
}

void file_hold(struct file *file) { add_rlx(&file->users, 1); } /* the caller, or its lock, holds it already */

void file_release(struct file *file) {
    if (atomic_fetch_sub_explicit(&file->users, 1, memory_order_acq_rel) != 1) return; /* pairs with the others' */
    close(file->fd);
    free(file);
}
