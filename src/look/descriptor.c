/* SPDX-License-Identifier: MIT */
/* See descriptor.h. /proc/PID/fd/N is a link to "socket:[1234]", "pipe:[1234]", "anon_inode:[eventfd]" or a path. */
#define _GNU_SOURCE
#include "look/descriptor.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define WEFT_ENDS_LOOKED_AT 1024 /* descriptors among which the other end of a pipe is looked for */

static bool read_link(pid_t pid, int fd, char *to, size_t size) {
    char path[48];
    snprintf(path, sizeof path, "/proc/%d/fd/%d", (int)pid, fd);
    ssize_t n = readlink(path, to, size - 1);
    if (n < 0) return false;
    to[n] = 0;
    return true;
}

/* O_RDONLY or O_WRONLY; -1: unknown. */
static int access_of(pid_t pid, int fd) {
    char path[48], text[256];
    snprintf(path, sizeof path, "/proc/%d/fdinfo/%d", (int)pid, fd);
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0) return -1;
    ssize_t n = read(file, text, sizeof text - 1);
    close(file);
    text[n > 0 ? n : 0] = 0;
    const char *flags = strstr(text, "flags:");
    return flags ? (int)(strtol(flags + 6, NULL, 8) & O_ACCMODE) : -1;
}

/* The descriptor of the same process that is the other end of this pipe; -1: none was found. */
static int other_end(pid_t pid, int fd, const char *pipe) {
    char link[64];
    int access = access_of(pid, fd);
    for (int other = 0; other < WEFT_ENDS_LOOKED_AT; other++)
        if (other != fd && read_link(pid, other, link, sizeof link) && !strcmp(link, pipe) &&
            access_of(pid, other) != access)
            return other;
    return -1;
}

bool weft__descriptor_name(pid_t pid, int fd, char *to, size_t size) {
    char link[256];
    if (fd < 0 || !read_link(pid, fd, link, sizeof link)) return false;
    if (!strncmp(link, "pipe:", 5)) {
        int other = other_end(pid, fd, link);
        if (other >= 0)
            snprintf(to, size, "pipe, the other end is descriptor %d", other);
        else
            snprintf(to, size, "pipe, the other end is in another process");
    } else if (!strncmp(link, "anon_inode:", 11)) {
        snprintf(to, size, "%s", link + 11 + (link[11] == '['));
        to[strcspn(to, "]")] = 0;
    } else {
        if (link[0] != '/') link[strcspn(link, ":")] = 0; /* socket:[1234] */
        snprintf(to, size, "%s", link);
    }
    return true;
}
