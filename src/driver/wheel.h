/* SPDX-License-Identifier: MIT */
/*
 * A worker's timer wheel: arm and cancel in constant time, for any number of timers.
 *
 * Time is counted in ticks of 4096 ns. There are nine levels of 64 slots. A slot of level l spans 64^l ticks, and nine
 * levels span 64 bits, so there is no horizon and no wrap-around. Compare the tick of a timer with `current` in base
 * 64: the highest digit that differs gives the level of the timer, and the value of that digit the slot. So on each
 * level all occupied slots lie ahead of the current slot, every timer on a lower level is earlier than every timer on a
 * higher level, and the lowest bit of the lowest occupied level is the earliest slot.
 *
 * When `current` reaches the start of a slot on a higher level, the timers of that slot move to lower levels. A timer
 * is never early, and late by less than a tick.
 *
 * The wheel's lock protects everything: any thread may arm, cancel, or collect expired timers. Expired timers are
 * returned as copies, so that the memory of a timer belongs to its owner at once. They are returned in the order in
 * which they expired. A look returns the timers that had expired when it began. Timers that are armed for the past
 * meanwhile wait for the next look, so a look ends.
 *
 * A wheel is closed when no worker will look at it again. Closing drops its timers: they are no longer armed, will not
 * expire, and a later cancel can tell that they did not.
 */
#ifndef WEFT_DRIVER_WHEEL_H
#define WEFT_DRIVER_WHEEL_H

#include "base/lock.h"

#define WEFT_WHEEL_TICK_LOG 12
#define WEFT_WHEEL_DIGIT 6
#define WEFT_WHEEL_SLOTS 64
#define WEFT_WHEEL_LEVELS 9

struct weft__wheel;

/* What to do at expiry. The wheel only returns it. */
struct weft__due {
    void (*fn)(void *); /* NULL: end the wait `ticket` of the fiber `arg` */
    void *arg;
    uint64_t ticket;
};

struct weft__timer {
    struct weft__timer *next, **link;    /* link: the pointer that points to this timer */
    _Atomic(struct weft__wheel *) wheel; /* NULL: not armed; or &weft__wheel_dropped */
    uint64_t tick;
    struct weft__due due;
    uint16_t index; /* level * SLOTS + slot, or DUE */
    bool idle;      /* set before arming: this timer does not count in `armed` */
};

struct weft__wheel {
    struct weft__lock lock;
    bool closed;      /* no timer can be armed */
    uint64_t current; /* all ticks up to this value have been processed */
    uint64_t occupied[WEFT_WHEEL_LEVELS];
    struct weft__timer *slot[WEFT_WHEEL_LEVELS * WEFT_WHEEL_SLOTS];
    struct weft__timer *overdue, **overdue_end; /* expired but not yet returned, oldest first */
    uint64_t overdue_count;
    _Atomic uint64_t armed; /* number of armed timers that are not idle; written under the lock */
    /* No timer is due before this time (ns). May be early, is never late. Written under the lock. */
    _Atomic uint64_t next;
};

/* The value of timer->wheel for a timer that a close has dropped, until it is armed or cancelled. */
extern struct weft__wheel weft__wheel_dropped;

void weft__wheel_init(struct weft__wheel *w, uint64_t now);

/* Arms a timer. 1: it is the earliest timer now. 0: it is not. -ESRCH: the wheel is closed. -EBUSY: it is armed
 * already, in this wheel or another. Only timers with a function are checked: the timer of a wait is armed by its
 * fiber alone. */
int weft__wheel_arm(struct weft__wheel *w, struct weft__timer *t, uint64_t deadline, struct weft__due due);

static inline bool weft__timer_is_armed(const struct weft__timer *t) {
    struct weft__wheel *w = load_acq(&t->wheel); /* pairs with expire and cancel: they no longer use the timer */
    return w && w != &weft__wheel_dropped;
}

/* Treats a timer that is not armed as dropped. */
void weft__timer_drop(struct weft__timer *t);
/* True: the timer was dropped, and counts as dropped no longer. Exactly one of several callers gets true. */
bool weft__timer_take_dropped(struct weft__timer *t);

/* Moves all timers from one wheel to the other, or drops them if the other is closed. Locks both: always in the same
 * direction between two wheels. */
void weft__wheel_move(struct weft__wheel *from, struct weft__wheel *to);

/* True: the timer was armed or dropped, and will not expire. The wheel in which it was armed must still exist. */
bool weft__wheel_cancel(struct weft__timer *t);

/* Drops all timers and refuses new timers until weft__wheel_open. A wheel is open at first. */
void weft__wheel_close(struct weft__wheel *w);
void weft__wheel_open(struct weft__wheel *w);

/* In a forked child, in which no thread looks at this wheel any more. Drops the timers. If a thread of the parent was
 * just changing the wheel, its timers stay, and can be cancelled. */
void weft__wheel_after_fork(struct weft__wheel *w);

/*
 * Returns at most n timers that expire at or before `now`. Fewer than n: the look is complete. A look takes several
 * calls with the same `left`, which is WEFT_WHEEL_LOOK before the first call.
 */
#define WEFT_WHEEL_LOOK UINT64_MAX
unsigned weft__wheel_expire(struct weft__wheel *w, uint64_t now, struct weft__due *due, unsigned n, uint64_t *left);

static inline uint64_t weft__wheel_next(struct weft__wheel *w) { return load_rlx(&w->next); }

#endif
