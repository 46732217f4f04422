/* SPDX-License-Identifier: MIT */
/*
 * The bits of the wait word, which says what a fiber waits in. The protocol is in wait/wait.h.
 */
#ifndef WEFT_SCHED_CORE_WAIT_WORD_H
#define WEFT_SCHED_CORE_WAIT_WORD_H

#include "sched/core/fiber.h"

#define WEFT_WAIT_PERMIT UINT64_C(0x01)
#define WEFT_WAIT_CANCEL UINT64_C(0x02)
#define WEFT_WAIT_WAITING UINT64_C(0x04)
#define WEFT_WAIT_BY_PERMIT UINT64_C(0x08)
#define WEFT_WAIT_BY_CANCEL UINT64_C(0x10)
#define WEFT_WAIT_REASON UINT64_C(0x60)
#define WEFT_WAIT_LOOK UINT64_C(0x80)
/* While it waits, in the place of the reason: what it waits for is outside, so it is not blocked for ever. */
#define WEFT_WAIT_OUTSIDE UINT64_C(0x40)
#define WEFT_WAIT_EPOCH (~UINT64_C(0xff))
#define WEFT_WAIT_ONE UINT64_C(0x100)
#define WEFT_WAIT_STICKY (WEFT_WAIT_PERMIT | WEFT_WAIT_CANCEL | WEFT_WAIT_LOOK)

enum {
    WEFT_WON_DONE = 0x20, /* what was waited for happened, or the permit came */
    WEFT_WON_DEADLINE = 0x40,
    WEFT_WON_CANCEL = 0x60,
};

/* The record begins another life. The epoch goes on counting: a ticket of the last life must not fit
 * this life. Release: a reader of this word sees the generation of this life, too (weft_unpark). */
static inline void weft__wait_anew(struct weft__fiber *f, uint64_t sticky) {
    store_rel(&f->wait, ((load_rlx(&f->wait) & WEFT_WAIT_EPOCH) + WEFT_WAIT_ONE) | sticky);
}

#endif
