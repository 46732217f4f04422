/* SPDX-License-Identifier: MIT */
/*
 * The atomic operations of weft under short names. All sources use these names, so that a test can replace them. The
 * suffix is the memory order: rlx relaxed, acq acquire, rel release, ar acquire and release, sc sequentially
 * consistent. Every use that is not rlx says what it pairs with.
 */
#ifndef WEFT_BASE_ATOMIC_H
#define WEFT_BASE_ATOMIC_H

#include <stdatomic.h>

#define load_rlx(p) atomic_load_explicit(p, memory_order_relaxed)
#define load_acq(p) atomic_load_explicit(p, memory_order_acquire)
#define store_rlx(p, v) atomic_store_explicit(p, v, memory_order_relaxed)
#define store_rel(p, v) atomic_store_explicit(p, v, memory_order_release)
#define xchg_acq(p, v) atomic_exchange_explicit(p, v, memory_order_acquire)
#define xchg_ar(p, v) atomic_exchange_explicit(p, v, memory_order_acq_rel)
#define add_rlx(p, v) atomic_fetch_add_explicit(p, v, memory_order_relaxed)
/* For a push to a shared stack, in a loop. May fail spuriously. */
#define cas_weak_rel(p, e, d) atomic_compare_exchange_weak_explicit(p, e, d, memory_order_release, memory_order_relaxed)
#define or_rel(p, v) atomic_fetch_or_explicit(p, v, memory_order_release)
#define or_ar(p, v) atomic_fetch_or_explicit(p, v, memory_order_acq_rel)
#define add_ar(p, v) atomic_fetch_add_explicit(p, v, memory_order_acq_rel)
/* Sequentially consistent: if two threads each change one word and then read the other word, at least one sees the
 * change. */
#define load_sc(p) atomic_load_explicit(p, memory_order_seq_cst)
#define add_sc(p, v) atomic_fetch_add_explicit(p, v, memory_order_seq_cst)
/* `expected` is updated on failure. A failure only reads, and the next try uses the value read. */
#define cas_sc(p, e, d) atomic_compare_exchange_strong_explicit(p, e, d, memory_order_seq_cst, memory_order_seq_cst)
#define cas_ar(p, e, d) atomic_compare_exchange_strong_explicit(p, e, d, memory_order_acq_rel, memory_order_acquire)
#define fence_sc() atomic_thread_fence(memory_order_seq_cst)
/* For loads or stores of several words. A release fence pairs with an acquire fence if a store after the first is read
 * by a load before the second. */
#define fence_acq() atomic_thread_fence(memory_order_acquire)
#define fence_rel() atomic_thread_fence(memory_order_release)
#define fence_compiler() atomic_signal_fence(memory_order_seq_cst)

/* For a counter that one thread writes and other threads may read: no locked instruction. */
#define count_add(p, n) store_rlx(p, load_rlx(p) + (n))

#endif
