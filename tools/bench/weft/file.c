/* SPDX-License-Identifier: MIT */
/*
 * file: each fiber reads blocks of 4 KiB at random places, one after the other.
 *
 *   fibers=   that read
 *   blocks=   of the file
 *   direct=1  bypass the page cache; 0: the whole file is in it
 *   epoll=1   on the epoll engine
 *   span=     ms
 *
 * Metrics: CPU us of the process for each read; thousand reads a second.
 */
#include "io/blocks.h"
#include "own.h"
#include "system.h"
#include "weft/io.h"

struct reader {
    const struct blocks *blocks;
    char *buffer;
    uint64_t random, reads, wrong, until;
    struct sys_fiber fiber;
};

static void *reads(void *p) {
    struct reader *r = p;
    do {
        for (int i = 0; i < 16; i++) {
            off_t at = blocks_at(r->blocks, &r->random);
            r->wrong += weft_pread(r->blocks->fd, r->buffer, BLOCK, at) != BLOCK || !blocks_right(r->buffer, at);
        }
        r->reads += 16;
    } while (clock_ns() < r->until);
    return NULL;
}

static void run(const struct args *args, struct result *result) {
    unsigned fibers = (unsigned)arg(args, "fibers");
    struct reader *readers = allocate(fibers, sizeof *readers);
    char *buffers = blocks_buffers(fibers);
    struct blocks blocks;
    struct blocks_clock clock;
    uint64_t total = 0, wrong = 0;
    blocks_make(&blocks, arg(args, "blocks"), arg(args, "direct"));
    blocks_begin(&clock);
    for (unsigned i = 0; i < fibers; i++) {
        readers[i] = (struct reader){.blocks = &blocks, .buffer = buffers + (size_t)i * BLOCK, .random = i + 1};
        readers[i].until = clock.began + arg(args, "span") * WEFT_MILLISECOND;
        sys_spawn(&readers[i].fiber, reads, &readers[i]);
    }
    for (unsigned i = 0; i < fibers; i++) {
        sys_join(&readers[i].fiber);
        total += readers[i].reads;
        wrong += readers[i].wrong;
    }
    result->right = !wrong;
    blocks_end(&clock, total, result);
    weft_close(blocks.fd);
    free(buffers);
    free(readers);
}

void own_file(const struct args *args, struct result *result) {
    if (arg_or(args, "epoll", 0)) setenv("WEFT_IO", "epoll", 1);
    sys_run(args, run, result);
}
