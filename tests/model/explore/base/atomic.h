/* SPDX-License-Identifier: MIT */
/*
 * Replaces src/base/atomic.h: every atomic operation of the source under test becomes a step of the explorer. The
 * explorer knows its place in the source and its memory order.
 */
#ifndef WEFT_BASE_ATOMIC_H
#define WEFT_BASE_ATOMIC_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum step_kind { STEP_LOAD, STEP_STORE, STEP_SWAP, STEP_FENCE, STEP_ALLOC };
enum { ORDER_RELAXED = 0, ORDER_ACQUIRE = 1, ORDER_RELEASE = 2, ORDER_BOTH = 3, ORDER_FULL = 4 };

/* The place of a step in the source, by function name and text, because line numbers change. */
struct explore_site {
    const char *function, *text;
};

/* Makes a step. A swap compares with *expected; if it fails, it stores the value there. Returns whether it
 * succeeded. */
uint64_t explore_step(enum step_kind kind, const volatile void *at, unsigned order, uint64_t value, uint64_t *expected,
                      struct explore_site site);

#define EXPLORE_HERE(text) ((struct explore_site){__func__, text})
#define explore_load(p, order, text) \
    ((__typeof__(atomic_load(p)))explore_step(STEP_LOAD, p, order, 0, NULL, EXPLORE_HERE(text)))
#define explore_store(p, v, order, text) \
    ((void)explore_step(STEP_STORE, p, order, (uint64_t)(uintptr_t)(v), NULL, EXPLORE_HERE(text)))

#define load_rlx(p) explore_load(p, ORDER_RELAXED, "")
#define load_acq(p) explore_load(p, ORDER_ACQUIRE, "load_acq(" #p ")")
#define store_rlx(p, v) explore_store(p, v, ORDER_RELAXED, "")
#define store_rel(p, v) explore_store(p, v, ORDER_RELEASE, "store_rel(" #p ")")
#define cas_ar(p, e, d) \
    ((bool)explore_step(STEP_SWAP, p, ORDER_BOTH, (uint64_t)(uintptr_t)(d), (uint64_t *)(void *)(e), \
                        EXPLORE_HERE("cas_ar(" #p ", " #e ", " #d ")")))
#define fence_sc() ((void)explore_step(STEP_FENCE, NULL, ORDER_FULL, 0, NULL, EXPLORE_HERE("fence_sc()")))

/* Not used by the explored source; needed so that the headers compile. */
#define add_rlx(p, v) atomic_fetch_add_explicit(p, v, memory_order_relaxed)
#define cas_weak_rel(p, e, d) atomic_compare_exchange_weak_explicit(p, e, d, memory_order_release, memory_order_relaxed)
#define or_rel(p, v) atomic_fetch_or_explicit(p, v, memory_order_release)
#define or_ar(p, v) atomic_fetch_or_explicit(p, v, memory_order_acq_rel)
#define add_ar(p, v) atomic_fetch_add_explicit(p, v, memory_order_acq_rel)
#define xchg_acq(p, v) atomic_exchange_explicit(p, v, memory_order_acquire)
#define xchg_ar(p, v) atomic_exchange_explicit(p, v, memory_order_acq_rel)
#define fence_acq() atomic_thread_fence(memory_order_acquire)
#define fence_rel() atomic_thread_fence(memory_order_release)
#define fence_compiler() atomic_signal_fence(memory_order_seq_cst)
#define count_add(p, n) store_rlx(p, load_rlx(p) + (n))

#endif
