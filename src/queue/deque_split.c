/* SPDX-License-Identifier: MIT */
/*
 * The split deque. Calls below the split are public: thieves take the oldest by a compare-and-swap of `public`, which
 * holds tail and split. Calls from the split on are private: the owner forks and joins there by plain loads and stores
 * (weft/task.h), and reads the split from in.split.
 *
 * For the owner in.split is never below the split of `public`: it is raised first and lowered last. It is also never
 * below the floor. While there are holes it is at the end.
 *
 * How calls become public. A thief that finds no public call asks: it sets in.span to 0 and in.split to the end, so
 * that the owner's next fork goes to push, or its next join to pop. Both publish the older half of the calls. A thief
 * that takes the last public call asks at once, so that the answer is ready when its call has run. After an ask, forks
 * also take the slow path whenever there are twice as many calls as the last time (`eager`). Otherwise, of many calls
 * that are forked in a row, all but the first would stay private.
 *
 * An owner that computes or blocks in C neither forks nor joins, and does not notice the ask. A thief that asked
 * WEFT_DEQUE_PATIENCE ago (the price of the fence) moves the split itself. This is the thief of last resort. The owner
 * may join without a fence meanwhile:
 *
 *   the owner's join of call c                    the thief, holding the lock
 *   1. head = c                                   1. in.split = new
 *   -- light fence: a compiler barrier --         -- heavy fence: every thread executes a full fence --
 *   2. c >= in.split? then c is the owner's       2. reads head: calls from head on are joined or being
 *      else it takes the lock and looks              joined by the owner; if head < new: new = head
 *                                                 3. in.split = new, then publishes new
 *
 * Either the owner's step 2 sees the new split, or the thief's step 2 sees the head: they never both get c. Only forks
 * raise the head again, and calls that they push are as valid as earlier calls. Without membarrier the heavy fence is a
 * wait of milliseconds with the lock held, so the thief is patient for longer.
 *
 * Any thread that moves the split or lowers in.split holds the lock, the owner included. Thieves that take or ask need
 * no lock: an in.split that is too high only sends a join to the slow path.
 */
#include "base/assert.h"
#include "queue/deque.h"

#define WEFT_DEQUE_PATIENCE (20 * WEFT_MICROSECOND)
#define WEFT_DEQUE_PATIENCE_SYMMETRIC (50 * WEFT_MILLISECOND) /* without membarrier */

static uint64_t split_pack(uint32_t tail, uint32_t split) { return (uint64_t)tail << 32 | split; }
static uint32_t tail_of(uint64_t public) { return (uint32_t)(public >> 32); }
static uint32_t split_of(uint64_t public) { return (uint32_t) public; }

/* Sets in.split, with which the owner's joins compare. Locked. */
static void set_split_pointer(struct weft__deque *d, uint32_t split) {
    WEFT_ASSERT(weft__lock_is_held(&d->lock));
    WEFT_ASSERT(split <= WEFT_DEQUE_CAPACITY);
    struct weft_call *pointer = load_rlx(&d->holes) ? d->calls + WEFT_DEQUE_CAPACITY : d->calls + split;
    store_rlx(weft__deque_split_pointer(d), pointer > d->floor ? pointer : d->floor);
}

/* Sets the split of `public`. Thieves may move the tail meanwhile. Locked. */
static void split_publish(struct weft__deque *d, uint32_t split) {
    uint64_t public = load_rlx(&d->public);
    WEFT_ASSERT(weft__lock_is_held(&d->lock));
    /* Release: pairs with split_steal; a thief sees the calls that it takes. */
    while (!cas_ar(&d->public, &public, split_pack(tail_of(public), split))) {
    }
}

/* The owner publishes the older half of its calls up to the head, or all of them. Locked. */
static void split_give(struct weft__deque *d, uint32_t head, bool all) {
    uint64_t public = load_rlx(&d->public);
    uint32_t tail = tail_of(public), split = split_of(public);
    uint32_t new = all ? head : tail + (head - tail + 1) / 2;
    if (new < split) new = split;
    set_split_pointer(d, new);
    if (new > split) split_publish(d, new);
}

static void split_ask(struct weft__deque *d, uint64_t now) {
    store_rlx(&d->asked, now);
    store_rlx(weft__deque_span(d), 0);
    store_rlx(weft__deque_split_pointer(d), d->calls + WEFT_DEQUE_CAPACITY);
}

/* Tail and split return to the head. All calls below the head were stolen and have run, so no thief swaps `public` or
 * moves the split. */
static void split_settle(struct weft__deque *d, uint32_t index) {
    WEFT_ASSERT(d->lags);
    weft__lock(&d->lock);
    store_rel(&d->public, split_pack(index, index)); /* pairs with split_steal */
    set_split_pointer(d, index);
    d->lags = false;
    weft__unlock(&d->lock);
}

static void split_push(struct weft__deque *d, struct weft_call *c) {
    uint32_t index = weft__deque_index(d, c);
    if (d->lags) split_settle(d, index);
    weft__deque_touch(d, c);
    bool hungry = !load_rlx(weft__deque_span(d)) || (d->eager && index);
    uint32_t twice = 2 * (index + 1) - tail_of(load_rlx(&d->public));
    d->eager = hungry && twice < d->used;
    store_rlx(weft__deque_span(d), ((d->eager ? twice : d->used) - 1) * sizeof *c);
    if (!hungry) return;
    weft__lock(&d->lock);
    split_give(d, index + 1, false);
    weft__unlock(&d->lock);
}

static void split_yield(struct weft__deque *d) {
    weft__lock(&d->lock);
    split_give(d, weft__deque_index(d, d->in.head), true);
    weft__unlock(&d->lock);
}

/*
 * The call is below in.split. If it is still public, lower the split to half way between tail and call: the next pops
 * are private, and thieves still find calls. If it is private, a thief has asked.
 */
static bool split_pop(struct weft__deque *d, struct weft_call *c) {
    uint32_t index = weft__deque_index(d, c);
    uint64_t public = load_rlx(&d->public);
    if (index < tail_of(public)) return false; /* only the owner lowers the tail */
    weft__lock(&d->lock);
    public = load_rlx(&d->public);
    bool mine = true;
    while (index < split_of(public)) {
        uint32_t tail = tail_of(public);
        if ((mine = index >= tail)) {
            uint32_t split = tail + (index - tail) / 2;
            if (!cas_ar(&d->public, &public, split_pack(tail, split))) continue; /* a thief has taken a call */
            public = split_pack(tail, split);
        }
        break;
    }
    if (mine && !load_rlx(weft__deque_span(d)))
        split_give(d, index, false);
    else
        set_split_pointer(d, split_of(public));
    weft__unlock(&d->lock);
    return mine;
}

/*
 * Older calls were stolen as well, and are most likely joined next. So tail and split stay above the head until the
 * next fork, which takes the slow path because the span is 0. (A hundred thousand stolen calls, joined in turn: each
 * join reads one cache line of another core, not three.)
 */
static void split_forget(struct weft__deque *d, struct weft_call *c) {
    (void)c;
    if (d->lags) return;
    d->lags = true;
    store_rlx(weft__deque_span(d), 0);
}

static void split_reset(struct weft__deque *d) {
    if (d->lags) split_settle(d, 0);
}

static struct weft_call *split_steal(struct weft__deque *d) {
    uint64_t public = load_acq(&d->public); /* pairs with split_publish */
    uint32_t tail = tail_of(public);
    if (tail >= split_of(public)) return NULL;
    if (!cas_ar(&d->public, &public, split_pack(tail + 1, split_of(public)))) return NULL;
    if (tail + 1 == split_of(public)) split_ask(d, weft__clock());
    return d->calls + tail;
}

/* The thief of last resort, in the steps above. */
static void move_split(struct weft__deque *d) {
    if (!weft__lock_try(&d->lock)) return;
    uint64_t public = load_rlx(&d->public);
    uint32_t split = split_of(public), head = weft__deque_index(d, load_acq(weft__deque_head(d)));
    if (tail_of(public) == split && head > split) {
        uint32_t new = split + (head - split + 1) / 2;
        set_split_pointer(d, new);
        weft__fence_all(); /* pairs with the compiler barrier of a join, as in weft__task_take */
        head = weft__deque_index(d, load_acq(weft__deque_head(d))); /* pairs with the push: the calls are written */
        if (head < new) new = head > split ? head : split;
        set_split_pointer(d, new);
        if (new > split) split_publish(d, new);
    }
    weft__unlock(&d->lock);
}

static uint64_t split_patience(void) {
    return likely(!load_rlx(&weft__fence_is_symmetric)) ? WEFT_DEQUE_PATIENCE : WEFT_DEQUE_PATIENCE_SYMMETRIC;
}

static void split_press(struct weft__deque *d, uint64_t now) {
    if (load_rlx(weft__deque_span(d)))
        split_ask(d, now);
    else if (now > load_rlx(&d->asked) + split_patience()) {
        store_rlx(&d->asked, now);
        move_split(d);
    }
}

static bool split_ready(struct weft__deque *d) {
    uint64_t public = load_rlx(&d->public);
    return tail_of(public) < split_of(public);
}

static bool split_several(struct weft__deque *d) {
    uint64_t public = load_rlx(&d->public);
    return tail_of(public) + 1 < split_of(public);
}

static bool split_some(struct weft__deque *d) {
    uint64_t public = load_rlx(&d->public);
    return tail_of(public) < split_of(public) || weft__deque_index(d, load_rlx(weft__deque_head(d))) > split_of(public);
}

/* If in.split becomes too high, the next join that takes the slow path corrects it. */
void weft__deque_set_floor(struct weft__deque *d, uint32_t index) {
    d->floor = d->calls + index > d->base ? d->calls + index : d->base;
    if (load_rlx(weft__deque_split_pointer(d)) < d->floor) store_rlx(weft__deque_split_pointer(d), d->floor);
}

/*
 * The first hole closes the fast paths, and the removal of the last hole opens them. Both happen under the lock,
 * because a thief that moves the split also sets in.split, by whether there are holes. Only the owner needs the exact
 * count, so a million calls that are joined in the order of their forks take the lock twice.
 */
void weft__deque_count_holes(struct weft__deque *d, unsigned more) {
    unsigned were = load_rlx(&d->holes), are = were + more;
    if (were && are) {
        store_rlx(&d->holes, are);
        return;
    }
    weft__lock(&d->lock);
    store_rlx(&d->holes, are);
    if (d->variant == &weft__deque_split) set_split_pointer(d, split_of(load_rlx(&d->public)));
    weft__unlock(&d->lock);
}

/*
 * The split does not move while the lock is held, so calls above it belong to the owner and need no swap. Head is
 * lowered under the lock, because a thief of last resort reads it there.
 */
void weft__deque_drop_private(struct weft__deque *d) {
    weft__lock(&d->lock);
    uint32_t split = split_of(load_rlx(&d->public));
    struct weft_call *c = d->in.head;
    unsigned holes = load_rlx(&d->holes);
    for (; holes && c > d->calls + split && c > d->base && !c[-1].run; holes--) store_rlx(weft__call_state(--c), 0);
    store_rlx(weft__deque_head(d), c);
    store_rlx(&d->holes, holes);
    set_split_pointer(d, split);
    weft__unlock(&d->lock);
}

const struct weft__deque_variant weft__deque_split = {
    .name = "split",
    .push = split_push,
    .pop = split_pop,
    .forget = split_forget,
    .reset = split_reset,
    .steal = split_steal,
    .press = split_press,
    .ready = split_ready,
    .several = split_several,
    .some = split_some,
    .yield = split_yield,
};
