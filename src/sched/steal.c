/*
 * Stealing: an idle worker takes ready fibers from another's queue, half of them, the oldest.
 *
 * A queue of one is left alone while it moves. Its owner will run that fiber in a moment, and to
 * carry it to another core costs more than the run: two fibers that wake each other would be torn
 * apart for ever. But an owner that does not come by - it computes - must not keep it either. So a
 * thief remembers each queue's head, and takes a single fiber only when the head has not moved for
 * WEFT_STALE.
 *
 * The same with a few: a queue that moves so fast that whoever stands in it runs within WEFT_CARRY is left
 * alone. Else fibers that send each other items at every 100 ns are torn apart, now and then, and from then on all
 * the time, because whoever is woken by a stolen one comes along. See docs/decisions/waking.md.
 */
#include "base/random.h"
#include "sched/dispatch.h"
#include "sched/dry.h"

#define WEFT_STALE (20 * WEFT_MICROSECOND)
#define WEFT_BATCH (2 * WEFT_MILLISECOND) /* the kernel takes this long at most for a ring full of requests */
#define WEFT_CARRY \
    1000 /* ns: it takes about so long until a fiber runs on a core that has nothing of it in its cache */
#define WEFT_STEAL_MOST 128
#define WEFT_RESERVE_PATIENCE \
    (500 * WEFT_MICROSECOND) /* the reserve puts most of what it finds into the injector: not from a queue that moves \
                              */

/* How long to search before going to sleep: longer while searching pays, within these bounds. */
#define WEFT_SEARCH_LEAST (5 * WEFT_MICROSECOND)
#define WEFT_SEARCH_MOST (40 * WEFT_MICROSECOND)

#define WEFT_PAUSE_MOST 32 /* a microsecond: who has begun to fork should not have to wait for longer than that */

/* Room for what was seen of all workers there are now. */
static bool seen_room(struct weft__worker *w, unsigned index) {
    if (likely(index < w->seen_size)) return true;
    unsigned size = load_acq(&w->cluster->count); /* pairs with the making of a worker */
    struct seen *seen = weft__alloc(size * sizeof *seen);
    if (!seen) return false;
    for (unsigned i = 0; i < w->seen_size; i++) seen[i] = w->seen[i];
    weft__free(w->seen);
    w->seen = seen;
    w->seen_size = size;
    return index < size;
}

static void see_head(struct seen *seen, uint64_t head, uint64_t now) {
    seen->head = head;
    seen->at = now;
}

uint64_t weft__left_alone(struct weft__worker *w, struct weft__worker *other, uint64_t now) {
    if (!seen_room(w, other->index)) return 0;
    struct seen *seen = &w->seen[other->index];
    uint64_t head = load_rlx(&other->ready.head);
    if (seen->head == head && seen->at) return now - seen->at;
    see_head(seen, head, now);
    return 0;
}

uint64_t weft__calls_left_alone(struct weft__worker *w, struct weft__worker *other, uint64_t now) {
    if (!seen_room(w, other->index)) return 0;
    struct seen *seen = &w->seen[other->index];
    if (!weft__tasks_wait_at(other))
        seen->calls_at = 0;
    else if (!seen->calls_at)
        seen->calls_at = now;
    return weft__since(seen->calls_at, now);
}

/* It was us who moved its head: for the owner nothing has changed. */
void weft__took(struct weft__worker *w, struct weft__worker *from, uint64_t n) {
    if (from->index < w->seen_size) w->seen[from->index].head += n;
}

static void forget(struct weft__worker *w, struct weft__worker *other) {
    if (other->index < w->seen_size) w->seen[other->index].at = 0;
}

/*
 * Will the owner have come to the last of so many before it could be carried over and run here? Judged by how far the
 * head has moved since an earlier look, so the first look says yes. Who takes an hour for the second takes an old queue
 * for a slow one, and steals.
 */
static bool is_served_at_once(struct weft__worker *w, struct weft__worker *other, uint64_t length, uint64_t now) {
    if (!seen_room(w, other->index)) return false;
    struct seen *seen = &w->seen[other->index], last = *seen;
    uint64_t head = load_rlx(&other->ready.head);
    if (last.at && head == last.head) return false;
    see_head(seen, head, now);
    return !last.at || length * (now - last.at) < (head - last.head) * WEFT_CARRY;
}

/* Two looks at a head that has not moved must lie WEFT_BATCH apart: the owner may be in the kernel with a full ring. */
bool weft__serves_itself(struct weft__worker *w, struct weft__worker *other, uint64_t now) {
    return weft__keeps_up(other, now) && weft__left_alone(w, other, now) < WEFT_BATCH;
}

static struct weft__fiber *take_from(struct weft__worker *w, struct weft__worker *victim, uint64_t now) {
    struct weft__fiber *f = weft__aside_steal(w, victim);
    if (f) return f;
    uint64_t length = weft__ready_length(&victim->ready);
    if (!length) {
        forget(w, victim);
        return NULL;
    }
    if (load_acq(&victim->sharing) != WEFT_SHARED) return NULL; /* pairs with weft__share */
    if (unlikely(weft__is_reserve(w)) && weft__left_alone(w, victim, now) < WEFT_RESERVE_PATIENCE) return NULL;
    if (weft__serves_itself(w, victim, now)) return NULL;
    if (length < 2 && weft__left_alone(w, victim, now) < WEFT_STALE) return NULL;
    if (length >= 2 && is_served_at_once(w, victim, length, now)) return NULL;
    uint64_t want = weft__reserve_share(w, victim, (length + 1) / 2);
    if (unlikely(!want)) return NULL;
    count_add(&w->numbers.steals_tried, 1);
    void *items[WEFT_STEAL_MOST];
    uint64_t got = weft__ready_take(&victim->ready, items, want < WEFT_STEAL_MOST ? want : WEFT_STEAL_MOST);
    if (!got) return NULL;
    count_add(&w->numbers.steals, 1);
    count_add(&w->numbers.moved, got);
    weft__took(w, victim, got);
    for (uint64_t i = 1; i < got; i++)
        if (!weft__leave_to_others(w, items[i])) weft__push(w, items[i]);
    return items[0];
}

/* What is taken runs at once, and does not pass through the queue on its way. */
static struct weft__fiber *steal_from(struct weft__worker *w, struct weft__worker *victim, uint64_t now) {
    struct weft__fiber *f = take_from(w, victim, now);
    if (f) weft__remember_last(w, f);
    return f;
}

/* One look at every other worker, the nearest first. */
static struct weft__fiber *look_round(struct weft__worker *w, uint64_t now) {
    const struct weft__victims *victims = weft__victims_of(w);
    struct weft__victims_round round;
    unsigned i;
    weft__victims_begin(victims, &w->random, &round);
    while (weft__victims_next(victims, &round, &i)) {
        struct weft__worker *victim = w->cluster->workers[i];
        /* Timers of a worker that does not come by are everybody's, and so is the mail of a stuck one. */
        weft__serve_stuck(w, victim);
        if (weft__wheel_next(&victim->wheel) < now - WEFT_STALE) weft__expire(w, &victim->wheel, now);
        struct weft__fiber *f = unlikely(weft__has_ready(w)) ? weft__next(w) : NULL;
        if (!f && weft__may_take_from(w, victim)) f = steal_from(w, victim, now);
        if (!f) f = weft__tasks_steal(w, victim, now);
        if (f) return f;
    }
    return NULL;
}

static struct weft__fiber *own_work(struct weft__worker *w, uint64_t now) {
    weft__poll(w, now);
    return weft__next(w);
}

static void adapt(struct weft__worker *w, bool found) {
    w->search_time = found ? w->search_time * 2 : w->search_time / 2;
    if (w->search_time < WEFT_SEARCH_LEAST) w->search_time = WEFT_SEARCH_LEAST;
    if (w->search_time > WEFT_SEARCH_MOST) w->search_time = WEFT_SEARCH_MOST;
}

/*
 * Is a search useless? There is no other worker to take from, or the first one keeps up and is left alone. The next
 * fiber comes through the worker's ring, in which it sleeps, or through the poller: the worker has just fetched, and
 * sleeps there, or a thread does.
 */
static bool is_in_vain(const struct weft__worker *w, bool fetched) {
    if (load_rlx(&w->cluster->wanted) == 1) return fetched || weft__ring_in_use(&w->ring);
    return weft__ring_in_use(&w->ring) && weft__keeps_up(w->cluster->workers[0], weft__clock());
}

/*
 * Searches for a while, or once: everything that is the worker's own, and the others' queues, with
 * pauses that grow, and differ between workers.
 */
struct weft__fiber *weft__search(struct weft__worker *w, bool once) {
    bool in_vain = !once && load_rlx(&weft__dry_awaited) && !weft__dry_fetch();
    uint64_t now = weft__clock(), end = now + (is_in_vain(w, in_vain) ? 0 : w->search_time);
    unsigned pause = 4;
    if (w->worth.stole_at) weft__worth_judge(w, now);
    for (;;) {
        struct weft__fiber *f = own_work(w, now);
        if (!f && w->cluster->stealing) f = weft__tasks_steal_suspended(w, now);
        if (!f && w->cluster->stealing) f = look_round(w, now);
        if (f || once || now >= end || load_rlx(&w->cluster->stopping) || !weft__is_wanted(w)) {
            if (!once) adapt(w, f != NULL);
            return f;
        }
        /* Mail is for this worker alone, and looking for it disturbs nobody. */
        for (unsigned i = weft__random_below(&w->random, pause) + pause; i > 0; i--) {
            weft__pause();
            if (!weft__mailbox_empty(&w->mailbox)) break;
        }
        if (pause < WEFT_PAUSE_MOST) pause *= 2;
        now = weft__clock();
    }
}

/* Is there more in the queue than its owner, if it is awake, will see to? With a watchman, who comes if that does not.
 */
static bool waits_for_us(struct weft__worker *w, struct weft__worker *other, uint64_t least) {
    uint64_t length = weft__ready_length(&other->ready);
    if (length < least) return false;
    if (least >= 2 && other != w && weft__serves_itself(w, other, weft__clock())) return false;
    return least < 2 || other == w || !is_served_at_once(w, other, length, weft__clock());
}

/* Is there anything that an idle worker must not sleep over? A single fiber in the queue of a worker that is awake, and
 * several that it runs at once, are that worker's, or the watchman's, if there is one. */
bool weft__work_in_sight(struct weft__worker *w) {
    uint64_t least = load_rlx(&w->cluster->idle.state) & WEFT_IDLE_WATCHED ? 2 : 1;
    struct weft__cluster *c = w->cluster;
    if (!weft__mailbox_empty(&w->mailbox)) return true;
    if (unlikely(weft__is_reserve(w))) return load_acq(&c->stopping); /* pairs with the stop. It looks now and then */
    if (load_rlx(&c->injector.length)) return true;
    unsigned count = load_acq(&c->count);
    for (unsigned i = 0; c->stealing && i < count; i++) {
        struct weft__worker *other = c->workers[i];
        if (!weft__may_take_from(w, other)) continue;
        if (load_rlx(&other->sharing) == WEFT_SHARED && waits_for_us(w, other, least)) return true;
        if (load_rlx(&other->aside.loose) >= least) return true;
        if (load_rlx(&other->stuck) &&
            (weft__aside_count(other) || !weft__mailbox_empty(&other->mailbox) || weft__ring_waits(&other->ring)))
            return true;
    }
    if (c->stealing && weft__tasks_in_sight(w)) return true;
    return load_acq(&c->stopping); /* pairs with the stop */
}
