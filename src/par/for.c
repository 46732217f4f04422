/* SPDX-License-Identifier: MIT */
/*
 * The public functions for loops and reductions. loop.c cuts and runs them.
 */
#include "par/loop.h"

struct call {
    struct weft__loop loop;
    void *value;
};

static int for_run(void *p) {
    struct call *c = p;
    return weft__loop_run(&c->loop, c->value);
}

WEFT_PUBLIC int weft_for(size_t begin, size_t end, int (*body)(size_t begin, size_t end, void *arg), void *arg,
                         const struct weft_for_options *options) {
    struct call c = {.loop = {.name = "weft_for", .body = body, .arg = arg, .begin = begin, .end = end}};
    if (!body || end < begin) return -EINVAL;
    int err = weft__loop_set_options(&c.loop, options);
    return err ? err : weft__par_enter(for_run, &c, c.loop.name);
}

WEFT_PUBLIC int weft_reduce(size_t begin, size_t end, void *value, const struct weft_reduction *how, void *arg,
                            const struct weft_for_options *options) {
    if (!value || !how || !how->size || !how->identity || !how->fold || !how->combine || end < begin) return -EINVAL;
    struct call c = {.loop = {.name = "weft_reduce",
                              .fold = how->fold,
                              .combine = how->combine,
                              .identity = how->identity,
                              .size = how->size,
                              .arg = arg,
                              .begin = begin,
                              .end = end},
                     .value = value};
    int err = weft__loop_set_options(&c.loop, options);
    return err ? err : weft__par_enter(for_run, &c, c.loop.name);
}
