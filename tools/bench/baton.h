/* SPDX-License-Identifier: MIT */
/*
 * A baton: one fiber waits for it until another hands it over. A baton that is handed over before the wait is not lost.
 *
 * By default a baton is a semaphore in every system, so that all do the same work. With primitive=park it is the
 * system's cheapest wait (sys_permit): for weft a bare park and unpark, for threads a plain futex. Reports show that in
 * a separate row.
 */
#ifndef BENCH_BATON_H
#define BENCH_BATON_H

#include "measure.h"
#include "system.h"

#include <string.h>

struct baton {
    bool bare;
    struct sys_sem sem;
    struct sys_permit permit;
};

static inline bool baton_is_bare(const struct args *args) {
    return !strcmp(arg_text(args, "primitive", "sem"), "park");
}

static inline void baton_init(struct baton *baton, bool bare) {
    baton->bare = bare;
    if (bare)
        sys_permit_init(&baton->permit);
    else
        sys_sem_init(&baton->sem, 0);
}

/* Call it after the spawn of the fiber that will wait, and before the baton is first handed over. */
static inline void baton_bind(struct baton *baton, const struct sys_fiber *fiber) {
    if (baton->bare) sys_permit_bind(&baton->permit, fiber);
}

static inline void baton_wait(struct baton *baton) {
    if (baton->bare)
        sys_permit_wait(&baton->permit);
    else
        sys_sem_wait(&baton->sem);
}

static inline void baton_give(struct baton *baton) {
    if (baton->bare)
        sys_permit_give(&baton->permit);
    else
        sys_sem_post(&baton->sem);
}

#endif
