/* SPDX-License-Identifier: MIT */
/*
 * Files below the root, and no others. The kernel resolves each path beneath the root's descriptor. So neither "..",
 * nor links, nor the directories of /proc lead out of the root, even if files change meanwhile.
 */
#ifndef SERVE_FILES_H
#define SERVE_FILES_H

#include "date.h"
#include "target.h"

#include <sys/stat.h>

/* Distinguishes the states of a file. */
struct file_state {
    dev_t device;
    ino_t number;
    struct timespec modified, changed;
    uint64_t size;
};

/* Files up to this size are kept in memory, larger files are kept open. Sending from memory copies the bytes for each
 * client, which is cheaper than sendfile only for small files (docs/SERVE.md). */
#define FILE_SMALL (16 * 1024)

/*
 * A state of a file, and the head for the whole file. It never changes, so head and bytes of a small file belong
 * together, whatever happens to the file meanwhile.
 */
struct file {
    _Atomic uint32_t users; /* the number of references; the last user closes the file */
    int fd;                 /* -1: the file is in memory */
    const char *body;       /* NULL: the file is not in memory */
    time_t opened;
    struct file_state state;
    struct text type;
    struct text tag;        /* a part of the head */
    struct text head;       /* the first line and the fields before Date */
    struct text validators; /* its last part: Last-Modified, ETag and Accept-Ranges */
    char *path;
    char memory[];
};

/* Opens the root. Returns 0, or a negative errno. */
int files_begin(const char *directory);
void files_end(void);

/* Finds the kind of a path below the root. Returns 0, or the status of the answer. */
int file_look(const char *path, struct stat *stat);

/* Opens or reads a regular file. Returns 200, or the status of the answer. The caller has the only reference. */
int file_open(const char *path, struct file **result);

/* Does the path still lead to this file, unchanged? */
bool file_current(const struct file *file);

/* Opens a directory. Returns a descriptor, or the negative status of the answer. */
int directory_open(const char *path);

void file_hold(struct file *file);
void file_release(struct file *file);

#endif
