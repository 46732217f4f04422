/* SPDX-License-Identifier: MIT */
/*
 * Stands before src/base/atomic.h when the library is built to be counted (see ../counts.c): the same
 * operations, each full fence and each locked instruction noted.
 */
#ifndef BENCH_COUNTED_ATOMIC_H
#define BENCH_COUNTED_ATOMIC_H

#include_next "base/atomic.h"

extern _Atomic unsigned long counted_fences, counted_locked;
#define counted(what) ((void)atomic_fetch_add_explicit(&counted_##what, 1, memory_order_relaxed))

#undef xchg_acq
#undef xchg_ar
#undef add_rlx
#undef add_ar
#undef cas_ar
#undef fence_sc
#define xchg_acq(p, v) (counted(locked), atomic_exchange_explicit(p, v, memory_order_acquire))
#define xchg_ar(p, v) (counted(locked), atomic_exchange_explicit(p, v, memory_order_acq_rel))
#define add_rlx(p, v) (counted(locked), atomic_fetch_add_explicit(p, v, memory_order_relaxed))
#define add_ar(p, v) (counted(locked), atomic_fetch_add_explicit(p, v, memory_order_acq_rel))
#define cas_ar(p, e, d) \
    (counted(locked), atomic_compare_exchange_strong_explicit(p, e, d, memory_order_acq_rel, memory_order_acquire))
#define fence_sc() (counted(fences), atomic_thread_fence(memory_order_seq_cst))

#endif
