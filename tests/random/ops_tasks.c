/* SPDX-License-Identifier: MIT */
/* Fork and join: trees, flat forks joined in any order, the typed form, a forker that waits for its task. */
#include "random.h"

#include <stdlib.h>

/* --- typed ------------------------------------------------------------------------------------ */

WEFT_TASK_1(uint64_t, fib, unsigned, n) {
    if (n < 2) return n;
    WEFT_SPAWN(fib, n - 1);
    uint64_t b = WEFT_CALL(fib, n - 2);
    return WEFT_SYNC(fib) + b;
}

/* Writes its numbers, and pauses at some of them. After a pause it may run on another worker. */
WEFT_VOID_TASK_4(number_all, struct party *, p, uint32_t *, at, unsigned, first, unsigned, n) {
    if (n == 1) {
        struct party own = party_for(p, first);
        if (one_in(&own, 8)) pause_a_bit(&own);
        at[first] = first + 1;
        return;
    }
    WEFT_SPAWN(number_all, p, at, first, n / 2);
    WEFT_CALL(number_all, p, at, first + n / 2, n - n / 2);
    WEFT_SYNC(number_all);
}

static uint64_t fib_plain(unsigned n) {
    uint64_t a = 0, b = 1;
    for (; n; n--) {
        uint64_t c = a + b;
        a = b;
        b = c;
    }
    return a;
}

static void run_typed(struct party *p) {
    enum { MOST = 400 };
    unsigned n = (unsigned)below(p, test_emulated() ? 10 : 17);
    WANT(WEFT_RUN(fib, n), fib_plain(n));
    uint32_t *at = calloc(MOST, sizeof *at);
    SO(at);
    n = 1 + (unsigned)below(p, MOST);
    WEFT_RUN(number_all, p, at, 0, n);
    for (unsigned i = 0; i < n; i++) WANT(at[i], i + 1);
    free(at);
}

/* --- generic ---------------------------------------------------------------------------------- */

struct node {
    struct party *party;
    uint64_t path;
    unsigned depth;
    uint64_t leaves;
};

static void grow(void *arg) {
    struct node *n = arg;
    struct party own = party_for(n->party, n->path);
    pause_a_bit(&own);
    if (!n->depth) {
        n->leaves = 1;
        return;
    }
    struct node left = {n->party, 2 * n->path, n->depth - 1, 0}, right = left;
    right.path++;
    struct weft_task task;
    OK(weft_task_fork(&task, grow, &left));
    grow(&right);
    OK(weft_task_join(&task));
    n->leaves = left.leaves + right.leaves;
}

static void run_tree(struct party *p) {
    struct node root = {p, 1, (unsigned)below(p, 7), 0};
    grow(&root);
    WANT(root.leaves, UINT64_C(1) << root.depth);
}

enum { FLAT = 64 };
struct flat {
    struct party *party;
    unsigned number;
    uint64_t result;
    unsigned runs;
};
static void run_one(void *flat) {
    struct flat *f = flat;
    struct party own = party_for(f->party, f->number);
    pause_a_bit(&own);
    f->result = f->number * UINT64_C(1000003);
    f->runs++;
}

static void run_flat(struct party *p) {
    struct weft_task task[FLAT];
    struct flat flat[FLAT];
    unsigned n = 1 + (unsigned)below(p, FLAT), order[FLAT];
    for (unsigned i = 0; i < n; i++) {
        flat[i] = (struct flat){p, i, 0, 0};
        order[i] = i;
        OK(weft_task_fork(&task[i], run_one, &flat[i]));
        if (one_in(p, 16)) pause_a_bit(p);
    }
    bool reverse = one_in(p, 2); /* the usual order; else any */
    for (unsigned i = n; i--;) {
        unsigned j = reverse ? i : (unsigned)below(p, i + 1), which = order[j];
        order[j] = order[i];
        OK(weft_task_join(&task[which]));
        WANT(flat[which].runs, 1);
        WANT(flat[which].result, which * UINT64_C(1000003));
    }
}

/* --- a forker that waits for its task by something else than the join ------------------------- */

static void count_down(void *latch) { OK(weft_latch_count_down(latch, 1)); }

static bool make_awaited(struct program *p, struct op *op) {
    (void)op;
    return p->awaits_tasks = true;
}

static void run_awaited(struct party *p) {
    struct weft_latch latch = WEFT_LATCH_INIT(2);
    struct weft_task a, b;
    OK(weft_task_fork(&a, count_down, &latch));
    OK(weft_task_fork(&b, count_down, &latch));
    if (p->program->free_tasks) OK(insist(p, wait_for_latch, &latch));
    OK(weft_task_join(&b));
    OK(weft_task_join(&a));
    OK(weft_latch_try(&latch));
}

static const struct kind kinds[] = {
    {"typed", 20, 0, 1, 1, 0, NULL, run_typed, NULL},
    {"tree", 20, 0, 1, 1, 0, NULL, run_tree, NULL},
    {"flat", 20, 0, 1, 1, 0, NULL, run_flat, NULL},
    {"awaited", 20, 0, 1, 1, 0, make_awaited, run_awaited, NULL},
    {0},
};
const struct family family_tasks = {kinds, NULL, NULL};
