/* SPDX-License-Identifier: MIT */
/* See system.h. */
#include "system.h"

struct weft_config sys_config(const struct args *args) {
    struct weft_config config = WEFT_CONFIG_INIT;
    config.workers = (unsigned)arg(args, "workers");
    config.no_stealing = !arg_or(args, "stealing", 1);
    config.no_helping = !arg_or(args, "helping", 1);
    config.deque = (unsigned)arg_or(args, "deque", WEFT_DEQUE_SPLIT);
    config.continuations = (unsigned)arg_or(args, "continuations", 0);
    config.unpark = arg_or(args, "last", 0) ? WEFT_UNPARK_LAST : WEFT_UNPARK_LOCAL;
    return config;
}

struct run {
    const struct args *args;
    measure_fn *run;
    struct result *result;
};

static void *first(void *p) {
    struct run *run = p;
    run->run(run->args, run->result);
    return NULL;
}

/* Not weft_run: a measurement may have threads of its own that wake fibers when all of them wait. */
void sys_run(const struct args *args, measure_fn *run, struct result *result) {
    struct weft_config config = sys_config(args);
    struct run r = {args, run, result};
    struct sys_fiber fiber;
    must(weft_start(&config), "weft_start");
    sys_spawn(&fiber, first, &r);
    sys_join(&fiber);
    must(weft_stop(), "weft_stop");
}
