/* SPDX-License-Identifier: MIT */
/*
 * For programs that do not know weft. Each runs with kernel threads and with fibers, and must pass both times. A
 * program ends with "ok", or with the first check that failed.
 */
#ifndef WEFT_TESTS_THREADS_CHECK_H
#define WEFT_TESTS_THREADS_CHECK_H

#include "require.h"

#include <pthread.h>

static inline pthread_t start(void *(*fn)(void *), void *arg) {
    pthread_t t;
    int err = pthread_create(&t, NULL, fn, arg);
    errno = err;
    CHECK(!err);
    return t;
}
static inline void *finish(pthread_t t) {
    void *result;
    int err = pthread_join(t, &result);
    errno = err;
    CHECK(!err);
    return result;
}
static inline int passed(void) {
    puts("ok");
    return 0;
}

#endif
