/* SPDX-License-Identifier: MIT */
/*
 * Runs a function on many fibers, and beside them a heartbeat of one millisecond, which shows that no worker is held
 * up. All fibers have thread-local storage of their own, as the threads have that the library was written for.
 */
#ifndef WEFT_EXAMPLES_POSIX_MANY_H
#define WEFT_EXAMPLES_POSIX_MANY_H

#include <stdio.h>
#include <stdlib.h>
#include <weft.h>

struct many {
    int fibers;
    int (*fn)(long number); /* 0: done; -1: it has said why not */
};

struct many_heartbeat {
    long beats;
    uint64_t longest;
};

static void *many_beat(void *arg) {
    struct many_heartbeat *h = (struct many_heartbeat *)arg;
    for (uint64_t last = weft_now(), now; !weft_sleep_until(last + WEFT_MILLISECOND); last = now) {
        now = weft_now();
        if (now - last > h->longest) h->longest = now - last;
        h->beats++;
    }
    return NULL;
}

static int (*many_fn)(long);
static int many_child(void *number) { return many_fn((long)number); }

static int many_main(void *arg) {
    const struct many *m = (const struct many *)arg;
    struct many_heartbeat h = {0, 0};
    struct weft_fiber heart;
    struct weft_scope scope;
    struct weft_attr attr = {.priority = WEFT_HIGH}; /* fibers that compute do not delay it */
    int err = weft_spawn(&heart, &attr, many_beat, &h);
    if (err) return err;
    many_fn = m->fn;
    weft_scope_begin(&scope, WEFT_FOREVER);
    for (long i = 0; i < m->fibers && !err; i++) err = weft_scope_spawn(&scope, NULL, many_child, (void *)i);
    int failed = weft_scope_end(&scope);
    weft_cancel(heart);
    if (!err) err = weft_join(heart, NULL);
    if (!err && !failed)
        printf("%d fibers: done; %ld heartbeats, the longest took %.1f ms\n", m->fibers, h.beats,
               (double)h.longest / 1e6);
    return err ? err : failed;
}

/* The exit code of the program. */
static inline int many_run(int fibers, int (*fn)(long number)) {
    struct many m = {fibers, fn};
    struct weft_config config = {.own_tls = 1, .stack_size = 256 << 10};
    int err = weft_run(many_main, &m, &config);
    if (err) fprintf(stderr, "failed: %d\n", err);
    return err ? 1 : 0;
}

#endif
