/* SPDX-License-Identifier: MIT */
/*
 * Fibers that stand aside of the queue, and the order of turns.
 *
 * While fibers stand aside, the worker counts its dispatches. The number of a dispatch decides which kind runs:
 *
 *   every 4th            a fiber of the queue
 *   two after each 4th   a pinned fiber
 *   odd numbers          a high fiber; if there is none, pinned fibers and the queue alternate
 *   31, 63, 95, ...      a low fiber, in the turn of a high fiber
 *
 * If there is no fiber of that kind, the next kind runs, in the order high, pinned, queue, low. So no kind starves: the
 * k-th low fiber runs within 32 k dispatches, the k-th fiber of the queue and the k-th pinned fiber within 4 k.
 */
#include "base/assert.h"
#include "sched/dispatch/delay.h"
#include "sched/dispatch/dispatch.h"
#include "sched/record/record.h"

enum { EVERY_LOW = 32, EVERY_QUEUE = 4 };

static void count_aside(struct weft__aside *a, unsigned which, unsigned n) {
    store_rlx(&a->state, load_rlx(&a->state) + n);
    if (which != WEFT_ASIDE_PINNED) store_rlx(&a->loose, load_rlx(&a->loose) + n);
}

void weft__aside_put(struct weft__worker *w, unsigned which, struct weft__fiber *f) {
    WEFT_ASSERT(which < WEFT_ASIDES);
    struct weft__aside *a = &w->aside;
    weft__lock(&a->lock);
    weft__list_put(&a->list[which], &f->slot.link);
    weft__timed_put(&a->timed[which], f);
    count_aside(a, which, 1);
    weft__unlock(&a->lock);
}

/* Takes the oldest fiber of an aside list, which may belong to another worker. w runs the fiber, and counts its delay.
 */
static struct weft__fiber *aside_take(struct weft__worker *w, struct weft__aside *a, unsigned which) {
    if (!(load_rlx(&a->state) & ~WEFT_ASIDE_FLAGS)) return NULL;
    weft__lock(&a->lock);
    struct weft__link *l = weft__list_take(&a->list[which]);
    struct weft__fiber *f = weft__fiber_of_link(l);
    uint64_t since = 0;
    if (f) {
        count_aside(a, which, -1u);
        since = weft__timed_take(&a->timed[which], f);
    }
    weft__unlock(&a->lock);
    if (unlikely(since)) weft__timed_note(w, f, since);
    return f;
}

/* Takes a fiber of the first of four kinds that has any. QUEUE stands for the queue. */
enum { QUEUE = WEFT_ASIDES };
static struct weft__fiber *aside_first_of(struct weft__worker *w, const uint8_t order[4]) {
    struct weft__fiber *f = NULL;
    for (unsigned i = 0; !f && i < 4; i++) f = order[i] == QUEUE ? weft__pop(w) : aside_take(w, &w->aside, order[i]);
    return f;
}

struct weft__fiber *weft__aside_pop(struct weft__worker *w) {
    static const uint8_t low[4] = {WEFT_ASIDE_LOW, WEFT_ASIDE_HIGH, WEFT_ASIDE_PINNED, QUEUE};
    static const uint8_t orders[EVERY_QUEUE][4] = {
        {QUEUE, WEFT_ASIDE_HIGH, WEFT_ASIDE_PINNED, WEFT_ASIDE_LOW},
        {WEFT_ASIDE_HIGH, WEFT_ASIDE_PINNED, QUEUE, WEFT_ASIDE_LOW},
        {WEFT_ASIDE_PINNED, WEFT_ASIDE_HIGH, QUEUE, WEFT_ASIDE_LOW},
        {WEFT_ASIDE_HIGH, QUEUE, WEFT_ASIDE_PINNED, WEFT_ASIDE_LOW},
    };
    unsigned turn = ++w->pace.aside_turn;
    return aside_first_of(w, turn % EVERY_LOW == EVERY_LOW - 1 ? low : orders[turn % EVERY_QUEUE]);
}

/* The rest of weft__next_after for a worker with fibers aside or with flags. Keep the two alike. */
static struct weft__fiber *aside_next(struct weft__worker *w) {
    if (unlikely(--w->pace.until_poll <= 0)) return NULL;
    if (unlikely(load_rlx(&w->aside.state) & WEFT_ASIDE_SUMMONED)) {
        w->pace.poll_from -=
            w->pace.until_poll; /* poll_pace computes the number of dispatches as poll_from - until_poll */
        w->pace.until_poll = 0;
        return NULL; /* the worker goes home and calls weft__poll */
    }
    struct weft__fiber *f = weft__aside_count(w) ? weft__aside_pop(w) : weft__pop(w);
    return f ? f : weft__next_slow(w);
}

/* While the worker records, the trap of its queue stays set, so that every push is seen (make_ready.c). Only the owner
 * may set the trap. */
static WEFT_NOINLINE struct weft__fiber *next_recorded(struct weft__worker *w, struct weft__fiber *old,
                                                       struct weft__waits_for what) {
    if (unlikely(!w->ready.trapped)) weft__ready_trap(&w->ready);
    bool left = weft__record_leave(w, old, what);
    struct weft__fiber *f = aside_next(w);
    if (f) weft__record_run(w, f, left);
    return f;
}

WEFT_COLD struct weft__fiber *weft__aside_next(struct weft__worker *w, struct weft__fiber *self,
                                               struct weft__waits_for what) {
    return unlikely(weft__is_recorded(w)) ? next_recorded(w, self, what) : aside_next(w);
}

/* --- summons ---------------------------------------------------------------------------------- */

static void set_state(struct weft__aside *a, unsigned clear, unsigned set) {
    weft__lock(&a->lock);
    store_rlx(&a->state, (load_rlx(&a->state) & ~clear) | set);
    weft__unlock(&a->lock);
}

void weft__worker_summon(struct weft__worker *w) {
    if (!(load_rlx(&w->aside.state) & WEFT_ASIDE_SUMMONED)) set_state(&w->aside, 0, WEFT_ASIDE_SUMMONED);
}

void weft__summons_clear(struct weft__worker *w) {
    if (unlikely(load_rlx(&w->aside.state) & WEFT_ASIDE_SUMMONED)) set_state(&w->aside, WEFT_ASIDE_SUMMONED, 0);
}

void weft__worker_set_recorded(struct weft__worker *w, bool recorded) {
    if (weft__is_recorded(w) != recorded) set_state(&w->aside, WEFT_ASIDE_RECORDED, recorded ? WEFT_ASIDE_RECORDED : 0);
}

/* --- for other workers ------------------------------------------------------------------------- */

/* Moves the pinned fibers of a stuck worker here. They run here until their worker comes back. */
static void take_over_pinned(struct weft__worker *w, struct weft__worker *from) {
    for (struct weft__fiber *f; (f = aside_take(w, &from->aside, WEFT_ASIDE_PINNED));)
        weft__aside_put(w, WEFT_ASIDE_PINNED, f);
}

struct weft__fiber *weft__aside_steal(struct weft__worker *w, struct weft__worker *from) {
    if (likely(!weft__aside_count(from))) return NULL;
    if (unlikely(weft__is_reserve(w)) && w != from && !load_rlx(&from->rescue.is_stuck))
        return NULL;                                                              /* the owner runs them */
    if (w != from && load_acq(&from->rescue.is_stuck)) take_over_pinned(w, from); /* pairs with the monitor */
    if (!load_rlx(&from->aside.loose)) return NULL;
    struct weft__fiber *f = aside_take(w, &from->aside, WEFT_ASIDE_HIGH);
    return f ? f : aside_take(w, &from->aside, WEFT_ASIDE_LOW);
}
