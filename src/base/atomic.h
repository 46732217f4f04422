/*
 * All atomic operations of weft, under short names. One place, so that a test can put others in
 * their stead. The suffix is the order: rlx relaxed, acq acquire, rel release, ar both, sc
 * sequentially consistent. Whoever uses more than rlx says there what it pairs with.
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
/* For a stack that threads push to, in a loop; a failure may be without cause. */
#define cas_weak_rel(p, e, d) atomic_compare_exchange_weak_explicit(p, e, d, memory_order_release, memory_order_relaxed)
#define or_rel(p, v) atomic_fetch_or_explicit(p, v, memory_order_release)
#define add_ar(p, v) atomic_fetch_add_explicit(p, v, memory_order_acq_rel)
/* Sequentially consistent: of two who each change one word and look at the other's, one sees the other. */
#define load_sc(p) atomic_load_explicit(p, memory_order_seq_cst)
#define add_sc(p, v) atomic_fetch_add_explicit(p, v, memory_order_seq_cst)
/* expected is updated on failure; a failure only reads, and what was read is used for the next try. */
#define cas_sc(p, e, d) atomic_compare_exchange_strong_explicit(p, e, d, memory_order_seq_cst, memory_order_seq_cst)
#define cas_ar(p, e, d) atomic_compare_exchange_strong_explicit(p, e, d, memory_order_acq_rel, memory_order_acquire)
#define fence_sc() atomic_thread_fence(memory_order_seq_cst)
/* Between loads, or stores, of several words: an acquire fence pairs with a release fence where what is stored after
 * the one is loaded before the other. */
#define fence_acq() atomic_thread_fence(memory_order_acquire)
#define fence_rel() atomic_thread_fence(memory_order_release)
#define fence_compiler() atomic_signal_fence(memory_order_seq_cst)

/* A counter that one thread writes and others may read: no locked instruction. */
#define count_add(p, n) store_rlx(p, load_rlx(p) + (n))

#endif
