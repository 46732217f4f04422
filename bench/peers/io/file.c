/* SPDX-License-Identifier: MIT */
/*
 * `file` without fibers (see tools/bench/weft/file.c): one pread after another, or a plain ring with `fibers` reads
 * under way. With the ring, all requests that follow from a batch of completions are submitted with the wait for the
 * next batch.
 *
 *   ring=1   by the ring
 */
#include "io/blocks.h"

#include <liburing.h>
#include <stdlib.h>
#include <unistd.h>

struct slot {
    char *buffer;
    off_t at;
};

static uint64_t read_inline(const struct blocks *blocks, uint64_t until, struct result *result) {
    char *buffer = blocks_buffers(1);
    uint64_t random = 1, reads = 0;
    do {
        for (int i = 0; i < 16; i++) {
            off_t at = blocks_at(blocks, &random);
            result->right &= pread(blocks->fd, buffer, BLOCK, at) == BLOCK && blocks_right(buffer, at);
        }
        reads += 16;
    } while (clock_ns() < until);
    free(buffer);
    return reads;
}

static void submit(struct io_uring *ring, const struct blocks *blocks, struct slot *slot, uint64_t *random) {
    struct io_uring_sqe *sqe = io_uring_get_sqe(ring);
    slot->at = blocks_at(blocks, random);
    io_uring_prep_read(sqe, blocks->fd, slot->buffer, BLOCK, (uint64_t)slot->at);
    io_uring_sqe_set_data(sqe, slot);
}

static uint64_t read_ring(const struct blocks *blocks, unsigned depth, uint64_t until, struct result *result) {
    struct io_uring ring;
    struct slot *slots = (struct slot *)allocate(depth, sizeof *slots);
    char *buffers = blocks_buffers(depth);
    uint64_t random = 1, reads = 0;
    bool over = false;
    must(io_uring_queue_init(depth, &ring, IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN), "io_uring");
    for (unsigned i = 0; i < depth; i++) {
        slots[i].buffer = buffers + (size_t)i * BLOCK;
        submit(&ring, blocks, &slots[i], &random);
    }
    for (unsigned under_way = depth; under_way;) {
        struct io_uring_cqe *cqe;
        unsigned head, count = 0;
        must(io_uring_submit_and_wait(&ring, 1), "io_uring_submit_and_wait");
        over |= clock_ns() >= until;
        io_uring_for_each_cqe(&ring, head, cqe) {
            struct slot *slot = (struct slot *)io_uring_cqe_get_data(cqe);
            result->right &= cqe->res == BLOCK && blocks_right(slot->buffer, slot->at);
            if (over)
                under_way--;
            else
                submit(&ring, blocks, slot, &random);
            count++;
        }
        io_uring_cq_advance(&ring, count);
        reads += count;
    }
    io_uring_queue_exit(&ring);
    free(buffers);
    free(slots);
    return reads;
}

static void file(const struct args *args, struct result *result) {
    struct blocks blocks;
    struct blocks_clock clock;
    blocks_make(&blocks, arg(args, "blocks"), arg(args, "direct"));
    result->right = true;
    blocks_begin(&clock);
    uint64_t until = clock.began + arg(args, "span") * 1000000;
    uint64_t reads = arg_or(args, "ring", 0) ? read_ring(&blocks, (unsigned)arg(args, "fibers"), until, result)
                                             : read_inline(&blocks, until, result);
    blocks_end(&clock, reads, result);
    close(blocks.fd);
}

int main(int argc, char **argv) {
    static const struct measurement all[] = {{"file", file, true}, {NULL, NULL, false}};
    static const struct measurement *const tables[] = {all, NULL};
    return measure_main(argc, argv, tables);
}
