/* See wheel.h. */
#include "driver/wheel.h"

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

static void link_at(struct weft__wheel *w, struct weft__timer *t, unsigned place) {
    struct weft__timer **head = &w->slot[place];
    t->place = (uint16_t)place;
    t->next = *head;
    t->link = head;
    if (t->next) t->next->link = &t->next;
    *head = t;
    w->occupied[place / WEFT_WHEEL_SLOTS] |= UINT64_C(1) << (place % WEFT_WHEEL_SLOTS);
}

/* At the end: whatever is armed for the past again and again does not overtake the rest. */
static void link_overdue(struct weft__wheel *w, struct weft__timer *t) {
    t->place = DUE;
    t->next = NULL;
    t->link = w->overdue_end;
    *w->overdue_end = t;
    w->overdue_end = &t->next;
    w->overdue_count++;
}

static void unlink_it(struct weft__wheel *w, struct weft__timer *t) {
    *t->link = t->next;
    if (t->next) t->next->link = t->link;
    if (t->place == DUE) {
        if (!t->next) w->overdue_end = t->link;
        w->overdue_count--;
    } else if (!w->slot[t->place])
        w->occupied[t->place / WEFT_WHEEL_SLOTS] &= ~(UINT64_C(1) << (t->place % WEFT_WHEEL_SLOTS));
}

static void place_it(struct weft__wheel *w, struct weft__timer *t) {
    if (t->tick <= w->current) {
        link_overdue(w, t);
        return;
    }
    unsigned level = (63 - (unsigned)__builtin_clzll(t->tick ^ w->current)) / WEFT_WHEEL_DIGIT;
    unsigned slot = (t->tick >> (level * WEFT_WHEEL_DIGIT)) & DIGIT_MASK;
    link_at(w, t, level * WEFT_WHEEL_SLOTS + slot);
}

/* The earliest occupied slot and the tick at which it begins; false when all are empty. */
static bool earliest(struct weft__wheel *w, unsigned *place, uint64_t *start) {
    for (unsigned level = 0; level < WEFT_WHEEL_LEVELS; level++) {
        if (!w->occupied[level]) continue;
        unsigned slot = (unsigned)__builtin_ctzll(w->occupied[level]), shift = level * WEFT_WHEEL_DIGIT;
        uint64_t digits_above = shift + WEFT_WHEEL_DIGIT < 64 ? ~UINT64_C(0) << (shift + WEFT_WHEEL_DIGIT) : 0;
        *place = level * WEFT_WHEEL_SLOTS + slot;
        *start = (w->current & digits_above) | (uint64_t)slot << shift;
        return true;
    }
    return false;
}

static void update_next(struct weft__wheel *w) {
    unsigned place;
    uint64_t start, next = WEFT_FOREVER;
    if (w->overdue)
        next = 0;
    else if (earliest(w, &place, &start))
        next = start << WEFT_WHEEL_TICK_LOG;
    store_rlx(&w->next, next);
}

int weft__wheel_arm(struct weft__wheel *w, struct weft__timer *t, uint64_t deadline, struct weft__due due) {
    weft__lock(&w->lock);
    if (unlikely(w->closed)) {
        weft__unlock(&w->lock);
        return -ESRCH;
    }
    store_rlx(&t->wheel, w);
    t->tick = tick_of(deadline);
    t->due = due;
    place_it(w, t);
    count_armed(w, t, 1);
    uint64_t before = load_rlx(&w->next);
    /* The start of its slot, not its deadline: that is when the wheel wants to be looked at. */
    unsigned shift = t->place / WEFT_WHEEL_SLOTS * WEFT_WHEEL_DIGIT;
    uint64_t start = t->place == DUE ? 0 : t->tick >> shift << shift << WEFT_WHEEL_TICK_LOG;
    if (start < before) store_rlx(&w->next, start);
    weft__unlock(&w->lock);
    return start < before;
}

void weft__timer_drop(struct weft__timer *t) { store_rel(&t->wheel, &weft__wheel_dropped); } /* pairs with cancel */

bool weft__timer_take_dropped(struct weft__timer *t) {
    struct weft__wheel *dropped = &weft__wheel_dropped;
    return load_rlx(&t->wheel) == dropped && cas_ar(&t->wheel, &dropped, NULL); /* pairs with drop */
}

/* It may stand in another wheel by the time that we have the lock, see weft__wheel_move. */
static struct weft__wheel *lock_wheel_of(struct weft__timer *t) {
    /* Acquire: pairs with expire, which has let go of the timer. */
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
    store_rel(&t->wheel, NULL); /* from here on it is its owner's: pairs with arm */
    weft__unlock(&w->lock);
    return true;
}

/* Makes the wheel empty. Returns all its timers, chained up. Locked. */
static struct weft__timer *take_all(struct weft__wheel *w) {
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

void weft__wheel_move(struct weft__wheel *from, struct weft__wheel *to) {
    weft__lock(&from->lock);
    weft__lock(&to->lock);
    for (struct weft__timer *t = take_all(from), *next; t; t = next) {
        next = t->next;
        place_it(to, t);
        count_armed(to, t, 1);
        store_rel(&t->wheel, to); /* pairs with cancel */
    }
    update_next(to);
    weft__unlock(&to->lock);
    weft__unlock(&from->lock);
}

/* From its drop on, each is its owner's, who may have seen it already. Locked. */
static void drop_all(struct weft__wheel *w) {
    for (struct weft__timer *t = take_all(w), *next; t; t = next) {
        next = t->next;
        weft__timer_drop(t);
    }
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

void weft__wheel_forked(struct weft__wheel *w) {
    bool held = load_rlx(&w->lock.held);
    weft__unlock(&w->lock);
    if (!held) weft__wheel_close(w);
}

/* Moves `current` to the tick, turning what expires on the way over to the overdue list. */
static void advance(struct weft__wheel *w, uint64_t tick) {
    unsigned place;
    uint64_t start;
    while (earliest(w, &place, &start) && start <= tick) {
        w->current = start;
        struct weft__timer *t = w->slot[place];
        w->slot[place] = NULL;
        w->occupied[place / WEFT_WHEEL_SLOTS] &= ~(UINT64_C(1) << (place % WEFT_WHEEL_SLOTS));
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
        advance(w, now >> WEFT_WHEEL_TICK_LOG);
        *left = w->overdue_count;
    }
    for (; k < n && *left && w->overdue; k++, (*left)--) {
        struct weft__timer *t = w->overdue;
        unlink_it(w, t);
        count_armed(w, t, -UINT64_C(1));
        due[k] = t->due;
        /* From here on the timer is its owner's: nothing of it is touched again. */
        store_rel(&t->wheel, NULL); /* pairs with weft__timer_is_armed */
    }
    update_next(w);
    weft__unlock(&w->lock);
    return k;
}
