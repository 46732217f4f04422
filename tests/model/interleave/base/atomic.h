/*
 * In the stead of src/base/atomic.h: before every operation the explorer may go on with another thread.
 * The operations themselves are the real ones; orders of memory are not looked at, see interleave.h.
 */
#ifndef WEFT_BASE_ATOMIC_H
#define WEFT_BASE_ATOMIC_H

#include <stdatomic.h>

void interleave_point(void);

#define load_rlx(p) (interleave_point(), atomic_load(p))
#define load_acq(p) (interleave_point(), atomic_load(p))
#define store_rlx(p, v) (interleave_point(), atomic_store(p, v))
#define store_rel(p, v) (interleave_point(), atomic_store(p, v))
#define xchg_ar(p, v) (interleave_point(), atomic_exchange(p, v))
#define add_rlx(p, v) (interleave_point(), atomic_fetch_add(p, v))
#define add_ar(p, v) (interleave_point(), atomic_fetch_add(p, v))
#define cas_ar(p, e, d) (interleave_point(), atomic_compare_exchange_strong(p, e, d))
#define fence_sc() ((void)0)
#define fence_compiler() ((void)0)
#define count_add(p, n) atomic_store(p, atomic_load(p) + (n))

#endif
