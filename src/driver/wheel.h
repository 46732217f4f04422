/*
 * The timer wheel of a worker: arm and cancel in constant time, whatever the number.
 *
 * Time is counted in ticks of 4096 ns. Nine levels of 64 slots: a slot of level l spans 64^l
 * ticks, and nine levels span all of 64 bits, so there is no horizon and no wrap. A timer stands in
 * the level of the highest digit (of base 64) in which its tick differs from `current`, at the
 * slot of that digit. Hence on each level all occupied slots lie ahead of the current one, none
 * wraps round, everything on a lower level is earlier than everything on a higher one, and the
 * earliest slot is the lowest bit of the lowest occupied level.
 *
 * When `current` reaches the start of a slot on a higher level, its timers are put in again and
 * come to stand lower. A timer is never early, and late by less than a tick.
 *
 * Everything is behind the wheel's lock: any thread may arm, cancel, or collect what is due. Expired
 * timers are handed out as copies, so that a timer's memory is its owner's again at once. They are handed
 * out in the order in which they expired. A look hands out what had expired when it began: timers that
 * are armed for the past while it lasts wait for the next look, so it ends.
 *
 * A wheel is closed when no worker will look at it again. The timers in it are dropped then: they are not
 * armed any more and will not be handed out, and a later cancel can tell that they were not.
 */
#ifndef WEFT_DRIVER_WHEEL_H
#define WEFT_DRIVER_WHEEL_H

#include "base/lock.h"

#define WEFT_WHEEL_TICK_LOG 12
#define WEFT_WHEEL_DIGIT 6
#define WEFT_WHEEL_SLOTS 64
#define WEFT_WHEEL_LEVELS 9

struct weft__wheel;

/* What is to be done when it expires; the wheel only hands it back. */
struct weft__due {
    void (*fn)(void *); /* NULL: end the wait `ticket` of the fiber `arg` */
    void *arg;
    uint64_t ticket;
};

struct weft__timer {
    struct weft__timer *next, **link;    /* link: what points here */
    _Atomic(struct weft__wheel *) wheel; /* NULL: not armed; or weft__wheel_dropped */
    uint64_t tick;
    struct weft__due due;
    uint16_t place; /* level * SLOTS + slot, or DUE */
    bool idle;      /* set before it is armed: it does not count in `armed` */
};

struct weft__wheel {
    struct weft__lock lock;
    bool closed;      /* nothing can be armed */
    uint64_t current; /* all ticks up to this one have been looked at */
    uint64_t occupied[WEFT_WHEEL_LEVELS];
    struct weft__timer *slot[WEFT_WHEEL_LEVELS * WEFT_WHEEL_SLOTS];
    struct weft__timer *overdue, **overdue_end; /* expired, not handed out yet, the oldest first */
    uint64_t overdue_count;
    _Atomic uint64_t armed; /* how many, but for idle ones; written under the lock */
    /* Nothing is due before this time (ns). May be early, is never late. Written under the lock. */
    _Atomic uint64_t next;
};

/* Stands in timer->wheel of a timer that was in a wheel when that was closed, until it is armed or cancelled. */
extern struct weft__wheel weft__wheel_dropped;

void weft__wheel_init(struct weft__wheel *w, uint64_t now);

/* Arms a timer that is not armed. 1: it is the earliest now. 0: another is. -ESRCH: the wheel is closed. */
int weft__wheel_arm(struct weft__wheel *w, struct weft__timer *t, uint64_t deadline, struct weft__due due);

static inline bool weft__timer_is_armed(const struct weft__timer *t) {
    struct weft__wheel *w = load_acq(&t->wheel); /* pairs with expire and cancel: they have let go of the timer */
    return w && w != &weft__wheel_dropped;
}

/* A timer that is not armed is as if it had been dropped. */
void weft__timer_drop(struct weft__timer *t);
/* True: it was dropped, and is not any more. Of several callers, one is told so. */
bool weft__timer_take_dropped(struct weft__timer *t);

/* All that is armed in one wheel is armed in the other from now on. Always in the same direction between
 * two wheels: both are locked. */
void weft__wheel_move(struct weft__wheel *from, struct weft__wheel *to);

/* True: it was armed, or dropped, and will not be handed out. The wheel that it was armed in must still exist. */
bool weft__wheel_cancel(struct weft__timer *t);

/* Drops all timers, and refuses others until it is opened. A wheel is open at first. */
void weft__wheel_close(struct weft__wheel *w);
void weft__wheel_open(struct weft__wheel *w);

/* In a forked child, in which no thread looks at this wheel any more: its timers are dropped, or may still be cancelled
 * if a thread that is not there was just changing it. */
void weft__wheel_forked(struct weft__wheel *w);

/*
 * Hands out at most n of the timers whose deadline is not after now; fewer: that was all of this look. A look is made
 * of several calls, with the same `left`, which is WEFT_WHEEL_LOOK before the first.
 */
#define WEFT_WHEEL_LOOK UINT64_MAX
unsigned weft__wheel_expire(struct weft__wheel *w, uint64_t now, struct weft__due *due, unsigned n, uint64_t *left);

static inline uint64_t weft__wheel_next(struct weft__wheel *w) { return load_rlx(&w->next); }

#endif
