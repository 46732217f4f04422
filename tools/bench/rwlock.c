/* SPDX-License-Identifier: MIT */
/*
 * rwlock: fibers that mostly read, and sometimes write, a table that a reader-writer lock protects.
 *
 *   fibers=  in all      reads=  in a hundred      inside=, outside=  steps of integer work
 *   span=    ms
 *
 * A writer changes two numbers, which every reader must find equal. Metrics: million sections a second, most served
 * over least.
 */
#include "benches.h"
#include "crowd.h"

struct table {
    APART struct sys_rwlock lock;
    APART uint64_t left, right; /* equal unless a writer holds the lock */
    uint64_t inside, outside, reads;
    APART uint64_t broken; /* readers that found them different */
    uint64_t written;
};

static void *body(void *p) {
    struct seat *seat = (struct seat *)p;
    struct table *table = (struct table *)seat->crowd->own;
    uint64_t random = (seat->index + 1) * UINT64_C(0x9E3779B97F4A7C15), count = 0, own = seat->index, writes = 0;

    baton_wait(&seat->baton);
    while (!crowd_stopped(seat->crowd)) {
        if (random_below(&random, 100) < table->reads) {
            sys_rwlock_read(&table->lock);
            uint64_t left = table->left;
            own = work_done(own, table->inside);
            bool equal = left == table->right;
            sys_rwlock_unlock_read(&table->lock);
            if (!equal) __atomic_fetch_add(&table->broken, 1, __ATOMIC_RELAXED);
        } else {
            sys_rwlock_write(&table->lock);
            table->left++;
            own = work_done(own, table->inside);
            table->right++;
            sys_rwlock_unlock_write(&table->lock);
            writes++;
        }
        own = work_done(own, table->outside);
        count++;
    }
    crowd_leave(seat, count);
    __atomic_fetch_add(&table->written, writes, __ATOMIC_RELAXED);
    return NULL;
}

void bench_rwlock(const struct args *args, struct result *result) {
    struct table table;
    struct crowd crowd;
    sys_rwlock_init(&table.lock);
    table.left = table.right = table.broken = table.written = 0;
    table.inside = arg(args, "inside");
    table.outside = arg(args, "outside");
    table.reads = arg(args, "reads");
    crowd.own = &table;
    crowd_run(&crowd, arg(args, "fibers"), 1, arg(args, "span"), body);
    result->right = crowd.right && !table.broken && table.left == table.written && table.right == table.written;
    result->values[0] = (double)crowd.total / crowd.seconds / 1e6;
    result->values[1] = most_over_least(crowd.counts, crowd.size);
    crowd_free(&crowd);
}
