/* SPDX-License-Identifier: MIT */
/*
 * weft's loops, the same in both of its forms. how= is the partition (0 morsel, 1 lazy, 2 static, 3 one index at a
 * time) plus ten times the spread (0 none, 1 even, 2 uneven).
 */
#ifndef BENCH_LOOP_H
#define BENCH_LOOP_H

#include "measure.h"
#include "weft.h"

/* May loops mail pieces to workers? See system.c. */
extern bool sys_mail;

static inline void form_begin(void) {}
static inline bool form_over(void) { return true; }

struct form_body {
    void (*fn)(size_t, size_t);
};
static inline int form_piece(size_t begin, size_t end, void *p) {
    ((struct form_body *)p)->fn(begin, end);
    return 0;
}

#define FORM_LOOPS_OUTSIDE false
static inline void form_prepare(unsigned workers) { (void)workers; }
static inline void form_for(size_t n, unsigned how, void (*body)(size_t, size_t)) {
    struct weft_for_options options = {.partition = how % 10, .spread = sys_mail ? how / 10 : 0};
    struct form_body it = {body};
    must(weft_for(0, n, form_piece, &it, &options), "weft_for");
}
static inline void form_sleep(uint64_t nanoseconds) { must(weft_sleep_for(nanoseconds), "weft_sleep_for"); }

#endif
