/* SPDX-License-Identifier: MIT */
/*
 * For programs that call blocking functions from fibers. They are linked with libweft-posix. A program ends with "ok",
 * or with the first check that failed. WEFT_POSIX_OWN_TLS=1: all fibers have thread-local storage of their own.
 *
 * Hundreds of fibers wait at once: if a call blocked its worker, spare workers would soon be used up, and the program
 * would hang.
 */
#ifndef WEFT_TESTS_POSIX_CHECK_H
#define WEFT_TESTS_POSIX_CHECK_H

#include "../threads/require.h"

#include <weft.h>

static inline struct weft_fiber start(void *(*fn)(void *), void *arg) {
    struct weft_fiber f;
    int err = weft_spawn(&f, NULL, fn, arg);
    errno = -err;
    CHECK(!err);
    return f;
}
static inline void *finish(struct weft_fiber f) {
    void *result;
    int err = weft_join(f, &result);
    errno = -err;
    CHECK(!err);
    return result;
}
/* Runs fn on n fibers, with their numbers. */
static inline void on_fibers(int n, void *(*fn)(void *)) {
    struct weft_fiber *f = calloc((size_t)n, sizeof *f);
    CHECK(f);
    for (long i = 0; i < n; i++) f[i] = start(fn, (void *)i);
    for (int i = 0; i < n; i++) finish(f[i]);
    free(f);
}
static inline int run_all(int (*fn)(void *)) {
    const char *own = getenv("WEFT_POSIX_OWN_TLS");
    struct weft_config config = {.own_tls = own && *own == '1', .stack_size = 256 << 10};
    int err = weft_run(fn, NULL, &config);
    errno = -err;
    CHECK(!err);
    puts("ok");
    return 0;
}

#endif
