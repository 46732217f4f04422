/* SPDX-License-Identifier: MIT */
/*
 * Loops over an index range that ranks share: halves are forked, down to the grain.
 */
#include "dist/dist.h"

/* The argument of a piece. The user's bytes follow. */
struct range {
    uint64_t begin, end, grain;
    uint64_t loop; /* index of its remote function */
    uint64_t arg_size;
    char arg[] __attribute__((aligned(16)));
};

static const struct weft_dist_loop *loop_of(const struct range *r) {
    return (const struct weft_dist_loop *)(const void *)weft__dist.remotes[r->loop];
}

static void dist_run_piece(const struct range *r, void *result);

/* The second half is forked, the first runs here. */
static void run_halves(const struct range *r, void *result) {
    const struct weft_dist_loop *loop = loop_of(r);
    size_t size = sizeof *r + r->arg_size;
    uint64_t middle = r->begin + (r->end - r->begin) / 2;
    struct range *halves = malloc(2 * size + 2 * 16 + loop->result_size + 1);
    if (!halves) weft__dist_die("no memory for a piece of the loop %s", loop->remote.name);
    struct range *right = (void *)((char *)halves + ((size + 15) & ~(size_t)15));
    char *partial = (char *)right + ((size + 15) & ~(size_t)15);
    memcpy(halves, r, size);
    memcpy(right, r, size);
    memset(partial, 0, loop->result_size);
    halves->end = right->begin = middle;
    struct weft_dist_call call;
    int err = weft_dist_fork(&call, &loop->remote, right, size, partial, loop->result_size);
    dist_run_piece(halves, result);
    if (!err) err = weft_dist_join(&call);
    if (err) dist_run_piece(right, partial);
    if (loop->combine) loop->combine(result, partial);
    free(halves);
}

static void dist_run_piece(const struct range *r, void *result) {
    if (r->end - r->begin <= r->grain)
        loop_of(r)->body(r->begin, r->end, r->arg, result);
    else
        run_halves(r, result);
}

WEFT_EXPORT void weft__dist_loop_run(const void *arg, void *result) { dist_run_piece(arg, result); }

WEFT_EXPORT int weft_dist_reduce(const struct weft_dist_loop *loop, uint64_t begin, uint64_t end, uint64_t grain,
                                 const void *arg, size_t arg_size, void *result) {
    struct weft__dist *d = &weft__dist;
    if (!loop || !loop->body || end < begin || (arg_size && !arg) || (loop->result_size && !result)) return -EINVAL;
    if (!weft_self().id) return -EPERM;
    if (loop->result_size) memset(result, 0, loop->result_size);
    if (begin == end) return 0;
    if (!atomic_load(&d->running)) return loop->body(begin, end, arg, result), 0;
    if (!loop->remote.index) return -ENOENT;
    struct range *r = malloc(sizeof *r + arg_size);
    if (!r) return -ENOMEM;
    uint64_t pieces = (uint64_t)d->ranks * weft_workers() * 64;
    *r = (struct range){begin, end, grain ? grain : (end - begin) / pieces + 1, loop->remote.index, arg_size};
    if (arg_size) memcpy(r->arg, arg, arg_size);
    dist_run_piece(r, result);
    free(r);
    return 0;
}

WEFT_EXPORT int weft_dist_for(const struct weft_dist_loop *loop, uint64_t begin, uint64_t end, uint64_t grain,
                              const void *arg, size_t arg_size) {
    if (!loop) return -EINVAL;
    void *result = loop->result_size ? malloc(loop->result_size) : NULL;
    if (loop->result_size && !result) return -ENOMEM;
    int err = weft_dist_reduce(loop, begin, end, grain, arg, arg_size, result);
    free(result);
    return err;
}
