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
 * Everything is behind the wheel's lock: anybody may arm, cancel, or collect what is due. Expired
 * timers are handed out as copies, so that a timer's memory is its owner's again at once.
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
    _Atomic(struct weft__wheel *) wheel; /* NULL: not armed */
    uint64_t tick;
    struct weft__due due;
    uint16_t place; /* level * SLOTS + slot, or DUE */
};

struct weft__wheel {
    struct weft__lock lock;
    uint64_t current; /* all ticks up to this one have been looked at */
    uint64_t occupied[WEFT_WHEEL_LEVELS];
    struct weft__timer *slot[WEFT_WHEEL_LEVELS * WEFT_WHEEL_SLOTS];
    struct weft__timer *overdue; /* expired, not handed out yet */
    _Atomic uint64_t armed;      /* how many; written under the lock */
    /* Nothing is due before this time (ns). May be early, is never late. Written under the lock. */
    _Atomic uint64_t next;
};

void weft__wheel_init(struct weft__wheel *w, uint64_t now);

/* Arms a timer that is not armed; returns true when it is the earliest now. */
bool weft__wheel_arm(struct weft__wheel *w, struct weft__timer *t, uint64_t deadline, struct weft__due due);

/* All that is armed in one wheel is armed in the other from now on. Always in the same direction between
 * two wheels: both are locked. */
void weft__wheel_move(struct weft__wheel *from, struct weft__wheel *to);

/* True: it was armed, and will not be handed out. The wheel that it was armed in must still exist. */
bool weft__wheel_cancel(struct weft__timer *t);

/* Forgets all timers, as if each had been cancelled. */
void weft__wheel_clear(struct weft__wheel *w);

/* In a forked child, in which nobody looks at this wheel any more: its timers are not armed, and may still be
 * cancelled if a thread that is not there was just changing it. */
void weft__wheel_forked(struct weft__wheel *w);

/* Hands out at most n of the timers whose deadline is not after now. */
unsigned weft__wheel_expire(struct weft__wheel *w, uint64_t now, struct weft__due *due, unsigned n);

static inline uint64_t weft__wheel_next(struct weft__wheel *w) { return load_rlx(&w->next); }

#endif
