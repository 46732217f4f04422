/* SPDX-License-Identifier: MIT */
/* See wheel.h. */
#include "driver/wheel.h"

#include "base/assert.h"
#include "weft.h"

#include <string.h>

#define DUE (WEFT_WHEEL_LEVELS * WEFT_WHEEL_SLOTS)
#define DIGIT_MASK (WEFT_WHEEL_SLOTS - 1)

struct weft__wheel weft__wheel_dropped;

void weft__wheel_init(struct weft__wheel *w, uint64_t now) {
    *w = (struct weft__wheel){.current = now >> WEFT_WHEEL_TICK_LOG, .overdue_end = &w->overdue};
    store_rlx(&w->next, WEFT_FOREVER);
}

static void count_armed(struct weft__wheel *w, const struct weft__timer *t, uint64_t n) {
    if (!t->idle) store_rlx(&w->armed, load_rlx(&w->armed) + n);
}

/* The tick at which a deadline has passed: rounded up. */
static uint64_t tick_of(uint64_t deadline) {
    uint64_t tick = deadline >> WEFT_WHEEL_TICK_LOG;
    if (tick == UINT64_MAX >> WEFT_WHEEL_TICK_LOG) return tick; /* 584 years from boot: no carry out */
    return tick + ((deadline & ((1 << WEFT_WHEEL_TICK_LOG) - 1)) != 0);
}

static void link_at(struct weft__wheel *w, struct weft__timer *t, unsigned index) {
    WEFT_ASSERT(index < WEFT_WHEEL_LEVELS * WEFT_WHEEL_SLOTS);
    struct weft__timer **head = &w->slot[index];
    t->index = (uint16_t)index;
    t->next = *head;
    t->link = head;
    if (t->next) t->next->link = &t->next;
    *head = t;
    w->occupied[index / WEFT_WHEEL_SLOTS] |= UINT64_C(1) << (index % WEFT_WHEEL_SLOTS);
}

/* Append at the end, so that a timer that is armed for the past again and again does not overtake other timers. */
static void link_overdue(struct weft__wheel *w, struct weft__timer *t) {
    t->index = DUE;
    t->next = NULL;
    t->link = w->overdue_end;
    *w->overdue_end = t;
    w->overdue_end = &t->next;
    w->overdue_count++;
}

static void unlink_it(struct weft__wheel *w, struct weft__timer *t) {
    WEFT_ASSERT(weft__lock_is_held(&w->lock));
    WEFT_ASSERT(*t->link == t);
    *t->link = t->next;
    if (t->next) t->next->link = t->link;
    if (t->index == DUE) {
        if (!t->next) w->overdue_end = t->link;
        w->overdue_count--;
    } else if (!w->slot[t->index])
        w->occupied[t->index / WEFT_WHEEL_SLOTS] &= ~(UINT64_C(1) << (t->index % WEFT_WHEEL_SLOTS));
}

static void place_it(struct weft__wheel *w, struct weft__timer *t) {
    WEFT_ASSERT(weft__lock_is_held(&w->lock));
    if (t->tick <= w->current) {
        link_overdue(w, t);
        return;
    }
    unsigned level = (63 - (unsigned)__builtin_clzll(t->tick ^ w->current)) / WEFT_WHEEL_DIGIT;
    unsigned slot = (t->tick >> (level * WEFT_WHEEL_DIGIT)) & DIGIT_MASK;
    link_at(w, t, level * WEFT_WHEEL_SLOTS + slot);
}

/* The earliest occupied slot and its first tick; false if all slots are empty. */
static bool earliest_timer(struct weft__wheel *w, unsigned *index, uint64_t *start) {
    for (unsigned level = 0; level < WEFT_WHEEL_LEVELS; level++) {
        if (!w->occupied[level]) continue;
        unsigned slot = (unsigned)__builtin_ctzll(w->occupied[level]), shift = level * WEFT_WHEEL_DIGIT;
        uint64_t digits_above = shift + WEFT_WHEEL_DIGIT < 64 ? ~UINT64_C(0) << (shift + WEFT_WHEEL_DIGIT) : 0;
        *index = level * WEFT_WHEEL_SLOTS + slot;
        *start = (w->current & digits_above) | (uint64_t)slot << shift;
        return true;
    }
    return false;
}

static void update_next(struct weft__wheel *w) {
    unsigned index;
    uint64_t start, next = WEFT_FOREVER;
    if (w->overdue)
        next = 0;
    else if (earliest_timer(w, &index, &start))
        next = start << WEFT_WHEEL_TICK_LOG;
    store_rlx(&w->next, next);
}

/* The timer belongs to this wheel from now on. False: another thread has armed it. Only the swap tells, because that
 * thread may hold the lock of another wheel. The timer of a wait is armed by its fiber alone. Locked. */
static bool claim_timer(struct weft__wheel *w, struct weft__timer *t, bool is_wait) {
    struct weft__wheel *was = load_rlx(&t->wheel);
    if (likely(is_wait)) {
        store_rlx(&t->wheel, w);
        return true;
    }
    /* Acquire: pairs with expire and cancel, which no longer use the timer. */
    return (!was || was == &weft__wheel_dropped) && cas_ar(&t->wheel, &was, w);
}

int weft__wheel_arm(struct weft__wheel *w, struct weft__timer *t, uint64_t deadline, struct weft__due due) {
    weft__lock(&w->lock);
    int err = unlikely(w->closed) ? -ESRCH : claim_timer(w, t, !due.fn) ? 0 : -EBUSY;
    if (unlikely(err)) {
        weft__unlock(&w->lock);
        return err;
    }
    t->tick = tick_of(deadline);
    t->due = due;
    place_it(w, t);
    count_armed(w, t, 1);
    uint64_t before = load_rlx(&w->next);
    /* The start of its slot, not its deadline: at that time the wheel must be processed. */
    unsigned shift = t->index / WEFT_WHEEL_SLOTS * WEFT_WHEEL_DIGIT;
    uint64_t start = t->index == DUE ? 0 : t->tick >> shift << shift << WEFT_WHEEL_TICK_LOG;
    if (start < before) store_rlx(&w->next, start);
    weft__unlock(&w->lock);
    return start < before;
}

void weft__timer_drop(struct weft__timer *t) {
    store_rel(&t->wheel, &weft__wheel_dropped);
} /* pairs with weft__timer_take_dropped */

bool weft__timer_take_dropped(struct weft__timer *t) {
    struct weft__wheel *dropped = &weft__wheel_dropped;
    return load_rlx(&t->wheel) == dropped && cas_ar(&t->wheel, &dropped, NULL); /* pairs with weft__timer_drop */
}

/* The timer may have moved to another wheel before this thread gets the lock, see weft__wheel_move. */
static struct weft__wheel *lock_wheel_of(struct weft__timer *t) {
    /* Acquire: pairs with expire, which no longer uses the timer. */
    for (struct weft__wheel *w; (w = load_acq(&t->wheel)) && w != &weft__wheel_dropped;) {
        weft__lock(&w->lock);
        if (load_rlx(&t->wheel) == w) return w;
        weft__unlock(&w->lock);
    }
    return NULL;
}

bool weft__wheel_cancel(struct weft__timer *t) {
    struct weft__wheel *w = lock_wheel_of(t);
    if (!w) return weft__timer_take_dropped(t);
    unlink_it(w, t);
    count_armed(w, t, -UINT64_C(1));
    store_rel(&t->wheel,
              NULL); /* the timer belongs to its owner now; pairs with lock_wheel_of and weft__timer_is_armed */
    weft__unlock(&w->lock);
    return true;
}

/* Empties the wheel and returns all its timers in a chain. Locked. */
static struct weft__timer *take_all(struct weft__wheel *w) {
    WEFT_ASSERT(weft__lock_is_held(&w->lock));
    struct weft__timer *all = w->overdue;
    for (unsigned i = 0; i < WEFT_WHEEL_LEVELS * WEFT_WHEEL_SLOTS; i++)
        for (struct weft__timer *t = w->slot[i], *next; t; t = next) {
            next = t->next;
            t->next = all;
            all = t;
        }
    memset(w->slot, 0, sizeof w->slot);
    memset(w->occupied, 0, sizeof w->occupied);
    w->overdue = NULL;
    w->overdue_end = &w->overdue;
    w->overdue_count = 0;
    store_rlx(&w->armed, 0);
    update_next(w);
    return all;
}

/* After its drop, a timer belongs to its owner, which may reuse it at once. Locked. */
static void drop_all(struct weft__wheel *w) {
    for (struct weft__timer *t = take_all(w), *next; t; t = next) {
        next = t->next;
        weft__timer_drop(t);
    }
}

void weft__wheel_move(struct weft__wheel *from, struct weft__wheel *to) {
    weft__lock(&from->lock);
    weft__lock(&to->lock);
    if (unlikely(to->closed)) drop_all(from);
    for (struct weft__timer *t = take_all(from), *next; t; t = next) {
        next = t->next;
        place_it(to, t);
        count_armed(to, t, 1);
        store_rel(&t->wheel, to); /* pairs with lock_wheel_of */
    }
    update_next(to);
    weft__unlock(&to->lock);
    weft__unlock(&from->lock);
}

void weft__wheel_close(struct weft__wheel *w) {
    weft__lock(&w->lock);
    w->closed = true;
    drop_all(w);
    weft__unlock(&w->lock);
}

void weft__wheel_open(struct weft__wheel *w) {
    weft__lock(&w->lock);
    w->closed = false;
    weft__unlock(&w->lock);
}

void weft__wheel_after_fork(struct weft__wheel *w) {
    bool held = load_rlx(&w->lock.held);
    weft__unlock(&w->lock);
    if (!held) weft__wheel_close(w);
}

/* Advances `current` to the tick, and moves timers that expire on the way to the overdue list. */
static void wheel_advance(struct weft__wheel *w, uint64_t tick) {
    unsigned index;
    uint64_t start;
    while (earliest_timer(w, &index, &start) && start <= tick) {
        w->current = start;
        struct weft__timer *t = w->slot[index];
        w->slot[index] = NULL;
        w->occupied[index / WEFT_WHEEL_SLOTS] &= ~(UINT64_C(1) << (index % WEFT_WHEEL_SLOTS));
        while (t) {
            struct weft__timer *next = t->next;
            place_it(w, t);
            t = next;
        }
    }
    if (tick > w->current) w->current = tick;
}

unsigned weft__wheel_expire(struct weft__wheel *w, uint64_t now, struct weft__due *due, unsigned n, uint64_t *left) {
    unsigned k = 0;
    weft__lock(&w->lock);
    if (*left == WEFT_WHEEL_LOOK) {
        wheel_advance(w, now >> WEFT_WHEEL_TICK_LOG);
        *left = w->overdue_count;
    }
    for (; k < n && *left && w->overdue; k++, (*left)--) {
        struct weft__timer *t = w->overdue;
        unlink_it(w, t);
        count_armed(w, t, -UINT64_C(1));
        due[k] = t->due;
        /* From here on the timer belongs to its owner and is not touched again. */
        store_rel(&t->wheel, NULL); /* pairs with weft__timer_is_armed and lock_wheel_of */
    }
    update_next(w);
    weft__unlock(&w->lock);
    return k;
}
