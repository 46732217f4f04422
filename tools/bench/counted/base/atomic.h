/* SPDX-License-Identifier: MIT */
/*
 * Takes the place of src/base/atomic.h when the library is built for counting (see ../counts.c): the same operations,
 * but each full fence, each locked instruction and each transfer of a cache line is counted.
 */
#ifndef BENCH_COUNTED_ATOMIC_H
#define BENCH_COUNTED_ATOMIC_H

#include_next "base/atomic.h"

extern _Atomic unsigned long counted_fences, counted_locked;
#define counted(what) ((void)atomic_fetch_add_explicit(&counted_##what, 1, memory_order_relaxed))

/* Counts a read or a write of this line by the calling thread. */
void counted_read(const volatile void *p);
void counted_write(const volatile void *p);

#define counted_load(p, order) \
    ({ \
        __auto_type counted_p = (p); \
        counted_read(counted_p); \
        atomic_load_explicit(counted_p, order); \
    })
#define counted_store(p, v, order) \
    ({ \
        __auto_type counted_p = (p); \
        counted_write(counted_p); \
        atomic_store_explicit(counted_p, v, order); \
    })
#define counted_change(change, p, ...) \
    ({ \
        __auto_type counted_p = (p); \
        counted(locked); \
        counted_write(counted_p); \
        atomic_##change##_explicit(counted_p, __VA_ARGS__); \
    })

#undef load_rlx
#undef load_acq
#undef load_sc
#undef store_rlx
#undef store_rel
#undef xchg_acq
#undef xchg_ar
#undef add_rlx
#undef add_ar
#undef add_sc
#undef or_ar
#undef or_rel
#undef cas_weak_rel
#undef cas_ar
#undef cas_sc
#undef fence_sc
#define load_rlx(p) counted_load(p, memory_order_relaxed)
#define load_acq(p) counted_load(p, memory_order_acquire)
#define load_sc(p) counted_load(p, memory_order_seq_cst)
#define store_rlx(p, v) counted_store(p, v, memory_order_relaxed)
#define store_rel(p, v) counted_store(p, v, memory_order_release)
#define xchg_acq(p, v) counted_change(exchange, p, v, memory_order_acquire)
#define xchg_ar(p, v) counted_change(exchange, p, v, memory_order_acq_rel)
#define add_rlx(p, v) counted_change(fetch_add, p, v, memory_order_relaxed)
#define add_ar(p, v) counted_change(fetch_add, p, v, memory_order_acq_rel)
#define add_sc(p, v) counted_change(fetch_add, p, v, memory_order_seq_cst)
#define or_ar(p, v) counted_change(fetch_or, p, v, memory_order_acq_rel)
#define or_rel(p, v) counted_change(fetch_or, p, v, memory_order_release)
#define cas_weak_rel(p, e, d) counted_change(compare_exchange_weak, p, e, d, memory_order_release, memory_order_relaxed)
#define cas_ar(p, e, d) counted_change(compare_exchange_strong, p, e, d, memory_order_acq_rel, memory_order_acquire)
#define cas_sc(p, e, d) counted_change(compare_exchange_strong, p, e, d, memory_order_seq_cst, memory_order_seq_cst)
#define fence_sc() (counted(fences), atomic_thread_fence(memory_order_seq_cst))

#endif
