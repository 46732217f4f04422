/* SPDX-License-Identifier: MIT */
/*
 * weft's generic forks: a struct with the arguments, in the frame of the forking function.
 * tools/bench/forkjoin/forkjoin.h explains the names.
 */
#ifndef BENCH_FORM_H
#define BENCH_FORM_H

#include "loop.h"

#define FORM(name) generic_##name

/* clang-format off */
#define GENERIC_TASK(R, f, params, fields, loads)                            \
    struct f##_args { fields };                                              \
    typedef struct {                                                         \
        struct weft_task task;                                               \
        R result;                                                            \
        struct f##_args args;                                                \
    } f##_slot;                                                              \
    static R f params;                                                       \
    static __attribute__((unused)) void f##_run(void *p) {                   \
        f##_slot *slot = (f##_slot *)p;                                      \
        struct f##_args *args = &slot->args;                                 \
        slot->result = f loads;                                              \
    }                                                                        \
    static R f params

#define TASK_1(R, f, T1, a1) \
    GENERIC_TASK(R, f, (T1 a1), T1 v1;, (args->v1))
#define TASK_2(R, f, T1, a1, T2, a2) \
    GENERIC_TASK(R, f, (T1 a1, T2 a2), T1 v1; T2 v2;, (args->v1, args->v2))
#define TASK_3(R, f, T1, a1, T2, a2, T3, a3) \
    GENERIC_TASK(R, f, (T1 a1, T2 a2, T3 a3), T1 v1; T2 v2; T3 v3;, (args->v1, args->v2, args->v3))
#define TASK_4(R, f, T1, a1, T2, a2, T3, a3, T4, a4) \
    GENERIC_TASK(R, f, (T1 a1, T2 a2, T3 a3, T4 a4), T1 v1; T2 v2; T3 v3; T4 v4;, \
                 (args->v1, args->v2, args->v3, args->v4))
/* clang-format on */

#define FRAME
#define SLOT(f, s) f##_slot s
#define FORK(s, f, ...) \
    do { \
        f##_slot *slot_ = &(s); \
        slot_->args = (struct f##_args){__VA_ARGS__}; \
        must(weft_task_fork(&slot_->task, f##_run, slot_), "fork"); \
    } while (0)
#define CALL(f, ...) f(__VA_ARGS__)
#define SYNC
#define JOIN(s, f) (must(weft_task_join(&(s).task), "join"), (s).result)
#define ROOT(f, ...) f(__VA_ARGS__)

#endif
