/*
 * The split deque. Below the split calls are public: thieves take the oldest by a compare-and-swap of
 * `public`, which holds tail and split. From the split on they are the owner's alone, who forks and
 * joins there by plain loads and stores (weft/task.h), knowing the split from in.split.
 *
 * in.split is never below the split of `public` for an owner that reads it: it is raised before, and
 * lowered after. Nor is it below the floor; and while there are holes it is at the end.
 *
 * How calls become public. A thief that finds none asks: it sets in.span to 0 and in.split to the end, so
 * that the owner's next fork comes to push, or its next join to pop; either makes the older half of what is
 * there public. A thief that takes the last public call asks at once: the answer is there when it has run.
 * After an ask forks also come by whenever there are twice as many calls as the last time (`eager`): those that
 * are forked in a row, before the thief is here, would else be private but for the first.
 *
 * An owner that neither forks nor joins - it computes, or blocks in C - does not hear that. A thief that
 * asked WEFT_DEQUE_PATIENCE ago, which is what the fence costs, moves the split itself (the thief of last
 * resort), against joins that go on without a fence meanwhile:
 *
 *   the owner's join of call c                    the thief, holding the lock
 *   1. head = c                                   1. in.split = new
 *   -- light fence: the compiler's only --        -- heavy fence: every thread has passed a full one --
 *   2. c >= in.split? then it is its own          2. reads head: calls from there on are gone or in the
 *      else it takes the lock, and looks             owner's hands, so new = head if that is less
 *                                                 3. in.split = new, and `public` says so
 *
 * Either the owner's (2) sees the new split, or the thief's (2) sees the head: they never both have c.
 * Head moves up again by forks only, whose calls are as good as the ones before. Where the kernel has no
 * membarrier the fence is a wait of milliseconds, with the lock held, so the thief is patient for longer.
 *
 * The lock is held by whoever moves the split or lowers in.split, owner included; thieves that take or ask need
 * it not: an in.split that is too high only brings a join here.
 */
#include "queue/deque.h"

#define WEFT_DEQUE_PATIENCE (20 * WEFT_MICROSECOND)
#define WEFT_DEQUE_PATIENCE_SYMMETRIC (50 * WEFT_MILLISECOND) /* without membarrier */

static uint64_t pack(uint32_t tail, uint32_t split) { return (uint64_t)tail << 32 | split; }
static uint32_t tail_of(uint64_t public) { return (uint32_t)(public >> 32); }
static uint32_t split_of(uint64_t public) { return (uint32_t) public; }

/* What the owner's joins compare with. Locked. */
static void set_bound(struct weft__deque *d, uint32_t split) {
    struct weft_call *bound = load_rlx(&d->holes) ? d->calls + WEFT_DEQUE_MOST : d->calls + split;
    store_rlx(weft__deque_bound(d), bound > d->floor ? bound : d->floor);
}

/* The split of `public` becomes this; thieves may move the tail meanwhile. Locked. */
static void publish(struct weft__deque *d, uint32_t split) {
    uint64_t public = load_rlx(&d->public);
    /* Release: pairs with steal; the calls are seen by who takes them. */
    while (!cas_ar(&d->public, &public, pack(tail_of(public), split))) {
    }
}

/* The owner, whose head stands there, makes the older half public, or all. Locked. */
static void give(struct weft__deque *d, uint32_t head, bool all) {
    uint64_t public = load_rlx(&d->public);
    uint32_t tail = tail_of(public), split = split_of(public);
    uint32_t new = all ? head : tail + (head - tail + 1) / 2;
    if (new < split) new = split;
    set_bound(d, new);
    if (new > split) publish(d, new);
}

static void ask(struct weft__deque *d, uint64_t now) {
    store_rlx(&d->asked, now);
    store_rlx(weft__deque_span(d), 0);
    store_rlx(weft__deque_bound(d), d->calls + WEFT_DEQUE_MOST);
}

/* Places that were forgotten are there again. Below the head all is taken, so no thief swaps, and nobody
 * moves the split. */
static void settle(struct weft__deque *d, uint32_t place) {
    weft__lock(&d->lock);
    store_rel(&d->public, pack(place, place)); /* pairs with steal */
    set_bound(d, place);
    d->lags = false;
    weft__unlock(&d->lock);
}

static void split_push(struct weft__deque *d, struct weft_call *c) {
    uint32_t place = weft__deque_place(d, c);
    if (d->lags) settle(d, place);
    weft__deque_touch(d, c);
    bool hungry = !load_rlx(weft__deque_span(d)) || (d->eager && place);
    uint32_t twice = 2 * (place + 1) - tail_of(load_rlx(&d->public));
    d->eager = hungry && twice < d->used;
    store_rlx(weft__deque_span(d), ((d->eager ? twice : d->used) - 1) * sizeof *c);
    if (!hungry) return;
    weft__lock(&d->lock);
    give(d, place + 1, false);
    weft__unlock(&d->lock);
}

static void split_yield(struct weft__deque *d) {
    weft__lock(&d->lock);
    give(d, weft__deque_place(d, d->in.head), true);
    weft__unlock(&d->lock);
}

/*
 * The call is below in.split. If it is still public, the split goes down to half way between tail and call: the
 * next few pops are private, and thieves still find something. If it is private, somebody has asked.
 */
static bool split_pop(struct weft__deque *d, struct weft_call *c) {
    uint32_t place = weft__deque_place(d, c);
    uint64_t public = load_rlx(&d->public);
    if (place < tail_of(public)) return false; /* the tail goes down again only by ourselves */
    weft__lock(&d->lock);
    public = load_rlx(&d->public);
    bool mine = true;
    while (place < split_of(public)) {
        uint32_t tail = tail_of(public);
        if ((mine = place >= tail)) {
            uint32_t split = tail + (place - tail) / 2;
            if (!cas_ar(&d->public, &public, pack(tail, split))) continue; /* a thief was here */
            public = pack(tail, split);
        }
        break;
    }
    if (mine && !load_rlx(weft__deque_span(d)))
        give(d, place, false);
    else
        set_bound(d, split_of(public));
    weft__unlock(&d->lock);
    return mine;
}

/*
 * Those that are older are taken, too; most likely they are joined next. So tail and split stay above the
 * head until there is a fork again, which comes by here because of the span. (A hundred thousand stolen
 * calls, joined one after the other: each costs one line of another core's, not three.)
 */
static void split_forget(struct weft__deque *d, struct weft_call *c) {
    (void)c;
    if (d->lags) return;
    d->lags = true;
    store_rlx(weft__deque_span(d), 0);
}

static void split_reset(struct weft__deque *d) {
    if (d->lags) settle(d, 0);
}

static struct weft_call *split_steal(struct weft__deque *d) {
    uint64_t public = load_acq(&d->public); /* pairs with publish */
    uint32_t tail = tail_of(public);
    if (tail >= split_of(public)) return NULL;
    if (!cas_ar(&d->public, &public, pack(tail + 1, split_of(public)))) return NULL;
    if (tail + 1 == split_of(public)) ask(d, weft__clock());
    return d->calls + tail;
}

/* The thief of last resort, step by step as above. */
static void move_split(struct weft__deque *d) {
    if (!weft__lock_try(&d->lock)) return;
    uint64_t public = load_rlx(&d->public);
    uint32_t split = split_of(public), head = weft__deque_place(d, load_acq(weft__deque_head(d)));
    if (tail_of(public) == split && head > split) {
        uint32_t new = split + (head - split + 1) / 2;
        set_bound(d, new);
        weft__fence_all(); /* pairs with the compiler barrier of a join, as in weft__task_take */
        head = weft__deque_place(d, load_acq(weft__deque_head(d))); /* pairs with the push: the calls are written */
        if (head < new) new = head > split ? head : split;
        set_bound(d, new);
        if (new > split) publish(d, new);
    }
    weft__unlock(&d->lock);
}

static uint64_t patience(void) {
    return likely(!load_rlx(&weft__fence_is_symmetric)) ? WEFT_DEQUE_PATIENCE : WEFT_DEQUE_PATIENCE_SYMMETRIC;
}

static void split_press(struct weft__deque *d, uint64_t now) {
    if (load_rlx(weft__deque_span(d)))
        ask(d, now);
    else if (now > load_rlx(&d->asked) + patience()) {
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
    return tail_of(public) < split_of(public) || weft__deque_place(d, load_rlx(weft__deque_head(d))) > split_of(public);
}

/* A bound that is too high is put right by the join that it brings here. */
void weft__deque_set_floor(struct weft__deque *d, uint32_t place) {
    d->floor = d->calls + place > d->base ? d->calls + place : d->base;
    if (load_rlx(weft__deque_bound(d)) < d->floor) store_rlx(weft__deque_bound(d), d->floor);
}

/*
 * The first hole closes the fast paths, and the last one to go opens them; both under the lock, because a thief that
 * moves the split sets the bound, too, by whether there are any. How many there are in between is the owner's alone, so
 * a million calls that are joined in the order of their forks take the lock twice.
 */
void weft__deque_holes(struct weft__deque *d, unsigned more) {
    unsigned were = load_rlx(&d->holes), are = were + more;
    if (were && are) {
        store_rlx(&d->holes, are);
        return;
    }
    weft__lock(&d->lock);
    store_rlx(&d->holes, are);
    if (d->kind == &weft__deque_split) set_bound(d, split_of(load_rlx(&d->public)));
    weft__unlock(&d->lock);
}

/*
 * The split does not move while the lock is held, so what lies above it is the owner's, and goes without a swap. Head
 * is lowered under the lock: a thief of last resort looks at it there.
 */
void weft__deque_drop_private(struct weft__deque *d) {
    weft__lock(&d->lock);
    uint32_t split = split_of(load_rlx(&d->public));
    struct weft_call *c = d->in.head;
    unsigned holes = load_rlx(&d->holes);
    for (; holes && c > d->calls + split && c > d->base && !c[-1].run; holes--) store_rlx(weft__call_state(--c), 0);
    store_rlx(weft__deque_head(d), c);
    store_rlx(&d->holes, holes);
    set_bound(d, split);
    weft__unlock(&d->lock);
}

const struct weft__deque_kind weft__deque_split = {
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
