/*
 * Fibers that stand aside of the queue, and whose turn it is.
 *
 * While anything stands aside the dispatches of a worker are counted, and go to
 *
 *   every 32nd      a low fiber
 *   every 4th       the queue
 *   the others      a high fiber; if there is none, a pinned one and the queue take turns
 *
 * or, where there is none of the kind, to the next in the order high, pinned, queue, low. So nobody
 * starves: whoever is k-th of the low ones runs within 32 k dispatches, of the queue within 4 k + the
 * low ones' share, whatever comes in above them. That is how they age: by turns, not by a clock.
 */
#include "sched/dispatch.h"

enum { EVERY_LOW = 32, EVERY_QUEUE = 4 };

static void count(struct weft__aside *a, unsigned which, unsigned n) {
    store_rlx(&a->count, load_rlx(&a->count) + n);
    if (which != WEFT_ASIDE_PINNED) store_rlx(&a->loose, load_rlx(&a->loose) + n);
}

void weft__aside_put(struct weft__worker *w, unsigned which, struct weft__fiber *f) {
    struct weft__aside *a = &w->aside;
    weft__lock(&a->lock);
    weft__list_put(&a->list[which], &f->slot.link);
    weft__timed_put(&a->timed[which], f);
    count(a, which, 1);
    weft__unlock(&a->lock);
}

/* For worker w. */
static struct weft__fiber *take(struct weft__worker *w, struct weft__aside *a, unsigned which) {
    if (!load_rlx(&a->count)) return NULL;
    weft__lock(&a->lock);
    struct weft__link *l = weft__list_take(&a->list[which]);
    struct weft__fiber *f = weft__fiber_of_link(l);
    uint64_t since = 0;
    if (f) {
        count(a, which, -1u);
        since = weft__timed_take(&a->timed[which], f);
    }
    weft__unlock(&a->lock);
    if (unlikely(since)) weft__timed_note(w, f, since);
    return f;
}

/* The first that there is, of four kinds in this order; QUEUE stands for the queue. */
enum { QUEUE = WEFT_ASIDES };
static struct weft__fiber *first_of(struct weft__worker *w, const uint8_t order[4]) {
    struct weft__fiber *f = NULL;
    for (unsigned i = 0; !f && i < 4; i++) f = order[i] == QUEUE ? weft__pop(w) : take(w, &w->aside, order[i]);
    return f;
}

WEFT_COLD struct weft__fiber *weft__aside_next(struct weft__worker *w) {
    static const uint8_t orders[4][4] = {
        {WEFT_ASIDE_LOW, WEFT_ASIDE_HIGH, WEFT_ASIDE_PINNED, QUEUE},
        {QUEUE, WEFT_ASIDE_HIGH, WEFT_ASIDE_PINNED, WEFT_ASIDE_LOW},
        {WEFT_ASIDE_HIGH, WEFT_ASIDE_PINNED, QUEUE, WEFT_ASIDE_LOW},
        {WEFT_ASIDE_HIGH, QUEUE, WEFT_ASIDE_PINNED, WEFT_ASIDE_LOW},
    };
    unsigned turn = ++w->turn;
    unsigned which = turn % EVERY_LOW == 0 ? 0 : turn % EVERY_QUEUE == 0 ? 1 : 2 + turn % 2;
    struct weft__fiber *f = first_of(w, orders[which]);
    return f ? f : weft__next_slow(w);
}

/* The pinned fibers of a worker that is stuck run elsewhere until it comes back. */
static void take_over_pinned(struct weft__worker *w, struct weft__worker *from) {
    for (struct weft__fiber *f; (f = take(w, &from->aside, WEFT_ASIDE_PINNED));)
        weft__aside_put(w, WEFT_ASIDE_PINNED, f);
}

struct weft__fiber *weft__aside_steal(struct weft__worker *w, struct weft__worker *from) {
    if (likely(!load_rlx(&from->aside.count))) return NULL;
    if (w != from && load_acq(&from->stuck)) take_over_pinned(w, from); /* pairs with the monitor */
    if (!load_rlx(&from->aside.loose)) return NULL;
    struct weft__fiber *f = take(w, &from->aside, WEFT_ASIDE_HIGH);
    return f ? f : take(w, &from->aside, WEFT_ASIDE_LOW);
}
