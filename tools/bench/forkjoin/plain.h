/* SPDX-License-Identifier: MIT */
/* The part of a form.h that is common to all forms in which a forking function is an ordinary function. */
#ifndef BENCH_PLAIN_H
#define BENCH_PLAIN_H

#define TASK_1(R, f, T1, a1) \
    typedef R f##_slot; \
    static R f(T1 a1)
#define TASK_2(R, f, T1, a1, T2, a2) \
    typedef R f##_slot; \
    static R f(T1 a1, T2 a2)
#define TASK_3(R, f, T1, a1, T2, a2, T3, a3) \
    typedef R f##_slot; \
    static R f(T1 a1, T2 a2, T3 a3)
#define TASK_4(R, f, T1, a1, T2, a2, T3, a3, T4, a4) \
    typedef R f##_slot; \
    static R f(T1 a1, T2 a2, T3 a3, T4 a4)

#define SLOT(f, s) f##_slot s
#define CALL(f, ...) f(__VA_ARGS__)
#define JOIN(s, f) (s)
#define ROOT(f, ...) f(__VA_ARGS__)

#endif
