/* SPDX-License-Identifier: MIT */
/* See blocks.h. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "blocks.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define AT_ONCE 256 /* blocks in one write */

void blocks_make(struct blocks *blocks, uint64_t count, bool direct) {
    static uint64_t chunk[AT_ONCE][BLOCK / 8];
    char path[SCRATCH_SIZE];
    scratch_name(path);
    int fd = mkostemp(path, O_CLOEXEC);
    if (fd < 0) fail(path, errno);
    for (uint64_t i = 0; i < count; i += AT_ONCE) {
        for (uint64_t j = 0; j < AT_ONCE; j++) chunk[j][0] = chunk[j][BLOCK / 8 - 1] = i + j;
        if (write(fd, chunk, sizeof chunk) != (ssize_t)sizeof chunk) fail(path, errno);
    }
    if (direct && (fsync(fd) || posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED))) fail(path, errno);
    blocks->fd = open(path, O_RDONLY | O_CLOEXEC | (direct ? O_DIRECT : 0));
    if (blocks->fd < 0) fail(path, errno);
    blocks->count = count;
    close(fd);
    unlink(path);
}

char *blocks_buffers(unsigned count) {
    char *buffers = (char *)aligned_alloc(BLOCK, (size_t)count * BLOCK);
    if (!buffers) fail("memory", ENOMEM);
    return (char *)memset(buffers, 0, (size_t)count * BLOCK);
}

static uint64_t cpu_now(void) {
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

void blocks_begin(struct blocks_clock *clock) {
    clock->began = clock_ns();
    clock->cpu = cpu_now();
}

void blocks_end(const struct blocks_clock *clock, uint64_t reads, struct result *result) {
    result->values[0] = (double)(cpu_now() - clock->cpu) / (double)reads / 1e3;
    result->values[1] = (double)reads / (double)(clock_ns() - clock->began) * 1e6;
    result->right &= reads > 0;
}
