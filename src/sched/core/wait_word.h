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
/* Set while the fiber waits for something outside the program, so the fiber is not blocked for ever. The bit is one of
 * those that hold the reason after the wait. */
#define WEFT_WAIT_OUTSIDE UINT64_C(0x40)
#define WEFT_WAIT_EPOCH (~UINT64_C(0xff))
#define WEFT_WAIT_ONE UINT64_C(0x100)
#define WEFT_WAIT_STICKY (WEFT_WAIT_PERMIT | WEFT_WAIT_CANCEL | WEFT_WAIT_LOOK)

enum {
    WEFT_WON_DONE = 0x20, /* the awaited event happened, or the permit came */
    WEFT_WON_DEADLINE = 0x40,
    WEFT_WON_CANCEL = 0x60,
};

/* The record begins another life. The epoch is not reset, so that a ticket from the last life does not match in this
 * life. Release: weft_unpark reads this word, and then sees the generation of this life, too. */
static inline void weft__wait_anew(struct weft__fiber *f, uint64_t sticky) {
    store_rel(&f->wait, ((load_rlx(&f->wait) & WEFT_WAIT_EPOCH) + WEFT_WAIT_ONE) | sticky);
}

#endif
