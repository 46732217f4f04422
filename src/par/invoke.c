/* SPDX-License-Identifier: MIT */
/*
 * Parallel calls: forks half of the list until one call is left.
 */
#include "par/par.h"
#include "sched/tasks/tasks.h"

struct branches {
    const struct weft_branch *first;
    size_t n;
    _Atomic int *result;
};

static void invoke_make(void *p) {
    struct branches left = *(struct branches *)p, right = left;
    if (left.n == 1) {
        if (weft__par_is_over(left.result)) return;
        WEFT_BARRIER(barrier, "weft_invoke");
        left.first->fn(left.first->arg);
        barrier = NULL;
        weft__par_yield();
        return;
    }
    left.n = (left.n + 1) / 2;
    right.first += left.n;
    right.n -= left.n;
    struct weft_task task;
    weft_task_fork(&task, invoke_make, &right);
    invoke_make(&left);
    weft_task_join(&task);
}

static int invoke_run(void *p) {
    struct branches *branches = p;
    invoke_make(branches);
    return load_rlx(branches->result); /* the joins have ordered it */
}

WEFT_PUBLIC int weft_invoke(const struct weft_branch *branches, size_t n) {
    if (!branches && n) return -EINVAL;
    for (size_t i = 0; i < n; i++)
        if (!branches[i].fn) return -EINVAL;
    _Atomic int result = 0;
    struct branches all = {branches, n, &result};
    return n ? weft__par_enter(invoke_run, &all, "weft_invoke") : 0;
}
