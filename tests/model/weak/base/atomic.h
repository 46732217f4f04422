/* SPDX-License-Identifier: MIT */
/* Replaces src/base/atomic.h: each atomic operation is a step of the explorer. See weak.h. */
#ifndef WEFT_BASE_ATOMIC_H
#define WEFT_BASE_ATOMIC_H

#include <stdatomic.h>

#include "weak.h"

#define WEAK_TYPE(p) __typeof__(atomic_load(p))
#define weak_load(p, order, text) ((WEAK_TYPE(p))WEAK_STEP(STEP_LOAD, p, sizeof *(p), order, 0, 0, text).read)
#define weak_change(kind, p, v, order, text) \
    ((WEAK_TYPE(p))WEAK_STEP(kind, p, sizeof *(p), order, (uint64_t)(WEAK_TYPE(p))(v), 0, text).read)
#define weak_store(p, v, order, text) ((void)weak_change(STEP_STORE, p, v, order, text))
#define weak_swap(p, e, d, order, text) \
    ({ \
        struct weak_result weak_result = \
            WEAK_STEP(STEP_SWAP, p, sizeof *(p), order, (uint64_t)(WEAK_TYPE(p))(d), (uint64_t) * (e), text); \
        if (!weak_result.done) *(e) = (WEAK_TYPE(p))weak_result.read; \
        weak_result.done; \
    })

#define load_rlx(p) weak_load(p, ORDER_RELAXED, "load_rlx(" #p ")")
#define load_acq(p) weak_load(p, ORDER_ACQUIRE, "load_acq(" #p ")")
#define load_sc(p) weak_load(p, ORDER_FULL | ORDER_ACQUIRE, "load_sc(" #p ")")
#define store_rlx(p, v) weak_store(p, v, ORDER_RELAXED, "store_rlx(" #p ")")
#define store_rel(p, v) weak_store(p, v, ORDER_RELEASE, "store_rel(" #p ")")
#define xchg_acq(p, v) weak_change(STEP_XCHG, p, v, ORDER_ACQUIRE, "xchg_acq(" #p ", " #v ")")
#define xchg_ar(p, v) weak_change(STEP_XCHG, p, v, ORDER_BOTH, "xchg_ar(" #p ", " #v ")")
#define add_rlx(p, v) weak_change(STEP_ADD, p, v, ORDER_RELAXED, "add_rlx(" #p ", " #v ")")
#define or_rel(p, v) weak_change(STEP_OR, p, v, ORDER_RELEASE, "or_rel(" #p ", " #v ")")
#define or_ar(p, v) weak_change(STEP_OR, p, v, ORDER_BOTH, "or_ar(" #p ", " #v ")")
#define add_ar(p, v) weak_change(STEP_ADD, p, v, ORDER_BOTH, "add_ar(" #p ", " #v ")")
#define add_sc(p, v) weak_change(STEP_ADD, p, v, ORDER_FULL | ORDER_BOTH, "add_sc(" #p ", " #v ")")
#define cas_ar(p, e, d) weak_swap(p, e, d, ORDER_BOTH, "cas_ar(" #p ", " #e ", " #d ")")
#define cas_sc(p, e, d) weak_swap(p, e, d, ORDER_FULL | ORDER_BOTH, "cas_sc(" #p ", " #e ", " #d ")")
#define cas_weak_rel(p, e, d) weak_swap(p, e, d, ORDER_RELEASE, "cas_weak_rel(" #p ", " #e ", " #d ")")
#define fence_sc() ((void)WEAK_STEP(STEP_FENCE, NULL, 0, ORDER_FULL, 0, 0, "fence_sc()"))
#define fence_acq() ((void)WEAK_STEP(STEP_FENCE, NULL, 0, ORDER_ACQUIRE, 0, 0, "fence_acq()"))
#define fence_rel() ((void)WEAK_STEP(STEP_FENCE, NULL, 0, ORDER_RELEASE, 0, 0, "fence_rel()"))
#define fence_compiler() ((void)0)
#define count_add(p, n) store_rlx(p, load_rlx(p) + (n))

#endif
