/* SPDX-License-Identifier: MIT */
/*
 * Files below the root, and nothing else: the kernel resolves each path beneath the root's descriptor, so
 * that neither "..", nor links, nor the directories of /proc lead out of it, whatever changes meanwhile.
 */
#ifndef SERVE_FILES_H
#define SERVE_FILES_H

#include "date.h"
#include "target.h"

#include <sys/stat.h>

/* What tells one state of a file from another. */
struct file_state {
    dev_t device;
    ino_t number;
    struct timespec modified, changed;
    uint64_t size;
};

/* Files up to this size are kept in memory, larger files open. What is sent from there is copied for each client, which
 * is cheaper than sendfile only for so few bytes (docs/SERVE.md). */
#define FILE_SMALL (16 * 1024)

/*
 * A state of a file, and the head of an answer that is all of it. It never changes: so head and bytes of a small
 * file belong together, whatever happens to the file meanwhile.
 */
struct file {
    _Atomic uint32_t users; /* the last one closes it */
    int fd;                 /* -1: it is in memory */
    const char *body;       /* NULL: it is not */
    time_t opened;
    struct file_state state;
    struct text type;
    struct text tag;        /* in head */
    struct text head;       /* the first line and the fields, up to Date, which is put after it */
    struct text validators; /* the end of it: Last-Modified, ETag and Accept-Ranges */
    char *path;
    char memory[];
};

/* The root: 0, or a negative errno. */
int files_begin(const char *directory);
void files_end(void);

/* What a path below the root is: 0, or the status to answer with. */
int file_look(const char *path, struct stat *stat);

/* Opens a regular file, or reads it: 200, or the status to answer with. The caller is its one user. */
int file_open(const char *path, struct file **result);

/* Is it still what its path leads to, and unchanged? */
bool file_current(const struct file *file);

/* Opens a directory: a descriptor, or the status to answer with, negative. */
int directory_open(const char *path);

void file_hold(struct file *file);
void file_release(struct file *file);

#endif
