/* Stands in for src/base/atomic.h: each operation is a step, done at once and seen by all. See whole.h. */
#ifndef WEFT_BASE_ATOMIC_H
#define WEFT_BASE_ATOMIC_H

#include <stdatomic.h>

void whole_step(void);

#define load_rlx(p) (whole_step(), atomic_load(p))
#define load_acq(p) load_rlx(p)
#define store_rlx(p, v) (whole_step(), atomic_store(p, v))
#define store_rel(p, v) store_rlx(p, v)
#define xchg_ar(p, v) (whole_step(), atomic_exchange(p, v))
#define add_rlx(p, v) (whole_step(), atomic_fetch_add(p, v))
#define add_ar(p, v) add_rlx(p, v)
#define cas_ar(p, e, d) (whole_step(), atomic_compare_exchange_strong(p, e, d))
#define fence_sc() ((void)0)
#define fence_compiler() ((void)0)
#define count_add(p, n) ((void)(p), (void)(n))

#endif
