/* SPDX-License-Identifier: MIT */
/*
 * Threads of unmodified programs wait in the lot of libweft-threads (threads/lot.c). Such a wait has no chain whose
 * waiters say what they wait for. So each waiter begins with this head, on the stack of the fiber that waits, and
 * look/waits.c reads it. The mark and the ticket tell it from other words.
 *
 * Locks of that library store an owner's name:
 *
 *   a thread that is a fiber        the life of its fiber, without the bit that is set in every life in use: see
 *                                   weft__lock_owner. The last bit is 1. So no later thread has the same name.
 *   a kernel thread                 its thread pointer
 *   the first thread                its thread pointer, also after it has become a fiber: a lock that it took before
 *                                   must keep its owner. weft__first_thread says which fiber it is.
 */
#ifndef WEFT_LOOK_LOT_WAITER_H
#define WEFT_LOOK_LOT_WAITER_H

#include "mem/slab.h"
#include "sched/core/waits_for.h"

#define WEFT_LOT_MARK UINT64_C(0x7765667420746f6c)

struct weft__lot_waiter {
    struct weft__fiber *fiber; /* NULL: a kernel thread */
    uint64_t ticket;           /* of the fiber's wait */
    uint64_t mark;             /* WEFT_LOT_MARK */
    const void *object;        /* NULL: none has a name */
    const void *owner;         /* where the name of the object's owner is; NULL: the object has no owner */
    const uint32_t *readers;   /* of a reader-writer lock: where their number is */
    unsigned on;               /* enum weft__wait_object, or WEFT_WAITS_ */
};

/* What a thread waits for, as an argument of weft__lot_wait. */
struct weft__lot_object {
    struct weft__waits_for what;
    const void *owner; /* as above */
    const uint32_t *readers;
};

struct weft__first_thread {
    uint64_t name, life; /* 0: the first thread is no fiber */
};
extern struct weft__first_thread weft__first_thread;

#define WEFT_LIFE_UPPER (~(2 * WEFT_LIFE_ONE - 1)) /* the bits above that of records in use */

static inline uint64_t weft__lock_owner(uint64_t life) {
    return (life & WEFT_LIFE_UPPER) | (uint64_t)weft__life_index(life) << 1 | 1;
}
static inline bool weft__lock_owner_is_fiber(uint64_t name) { return name & 1; }
static inline uint64_t weft__lock_owner_life(uint64_t name) {
    return (name & WEFT_LIFE_UPPER) | WEFT_LIFE_ONE | weft__life_index(name >> 1);
}

#endif
