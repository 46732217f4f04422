/* SPDX-License-Identifier: MIT */
/*
 * weft's typed forks. tools/bench/forkjoin/forkjoin.h explains the names.
 */
#ifndef BENCH_FORM_H
#define BENCH_FORM_H

#include "loop.h"

#define FORM(name) typed_##name

/* A spawn needs no slot: the deque stores it. */
#define TASK_1(R, f, ...) \
    typedef struct { \
        char none[1]; \
    } f##_slot; \
    WEFT_TASK_1(R, f, __VA_ARGS__)
#define TASK_2(R, f, ...) \
    typedef struct { \
        char none[1]; \
    } f##_slot; \
    WEFT_TASK_2(R, f, __VA_ARGS__)
#define TASK_3(R, f, ...) \
    typedef struct { \
        char none[1]; \
    } f##_slot; \
    WEFT_TASK_3(R, f, __VA_ARGS__)
#define TASK_4(R, f, ...) \
    typedef struct { \
        char none[1]; \
    } f##_slot; \
    WEFT_TASK_4(R, f, __VA_ARGS__)

#define FRAME
#define SLOT(f, s) __attribute__((unused)) f##_slot s
#define FORK(s, f, ...) WEFT_SPAWN(f, __VA_ARGS__)
#define CALL(f, ...) WEFT_CALL(f, __VA_ARGS__)
#define SYNC
#define JOIN(s, f) WEFT_SYNC(f)
#define ROOT(f, ...) WEFT_RUN(f, __VA_ARGS__)

#endif
