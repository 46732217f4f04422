/* SPDX-License-Identifier: MIT */
/*
 * A file of numbered blocks for `file`: made for one measurement, and read at random places. Each block is checked. The
 * name is removed as soon as the file is open.
 */
#ifndef BENCH_IO_BLOCKS_H
#define BENCH_IO_BLOCKS_H

#include "measure.h"

#include <sys/types.h>

#define BLOCK 4096

struct blocks {
    int fd;
    uint64_t count;
};

/* direct: opened with O_DIRECT, and written to the disk; otherwise in the page cache. Ends the program if the file
 * cannot be made. */
void blocks_make(struct blocks *blocks, uint64_t count, bool direct);

/* Allocates aligned buffers, as O_DIRECT requires. */
char *blocks_buffers(unsigned count);

static inline off_t blocks_at(const struct blocks *blocks, uint64_t *random) {
    return (off_t)random_below(random, blocks->count) * BLOCK;
}

static inline bool blocks_right(const char *buffer, off_t at) {
    const uint64_t *words = (const uint64_t *)buffer;
    return words[0] == (uint64_t)at / BLOCK && words[BLOCK / 8 - 1] == words[0];
}

/* The metrics of all systems: CPU us of this process for each read, thousand reads a second. */
struct blocks_clock {
    uint64_t began, cpu;
};
void blocks_begin(struct blocks_clock *clock);
void blocks_end(const struct blocks_clock *clock, uint64_t reads, struct result *result);

#endif
