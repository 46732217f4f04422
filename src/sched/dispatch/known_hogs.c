/* SPDX-License-Identifier: MIT */
/*
 * A table of fibers that were hogs. The monitor adds them (hog.c). The reserve looks them up, because it runs only
 * quick fibers.
 */
#include "sched/dispatch/make_ready.h"

/* Handles of fibers that were hogs lately, each in a slot that the number of its record determines. These are only
 * hints: a fiber may lose its slot to another fiber. */
enum { KNOWN = 1024 };
static _Atomic uint64_t known[KNOWN];

static _Atomic uint64_t *known_hog_slot(struct weft_fiber fiber) { return &known[weft__life_index(fiber.id) % KNOWN]; }

void weft__hog_remember(struct weft__fiber *f) {
    struct weft_fiber fiber = weft__handle(f);
    store_rlx(known_hog_slot(fiber), fiber.id);
}

bool weft__is_quick(struct weft__fiber *f) {
    struct weft_fiber fiber = weft__handle(f);
    return load_rlx(&f->context.on_stack) != WEFT_FRESH && load_rlx(known_hog_slot(fiber)) != fiber.id;
}
