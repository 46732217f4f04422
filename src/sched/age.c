/*
 * How long ready fibers wait: measured, published, and acted upon.
 *
 * A clock read for each fiber would cost more than the switch. So of each queue one fiber at a time
 * is timed, exactly, and at no cost to the others: when it is time for a new one, the trap of the
 * queue (queue/ready.h) is set, so the next push comes to weft__age_mark, which notes the time and the
 * place in the queue; and the worker's countdown is set so that it comes home just when that fiber is
 * the next to run. One in WEFT_MARK_EVERY at most.
 *
 * `since`: when a timed fiber has come to the head, everybody behind it became ready later than it
 * did. That time is published, and holds until the next timed fiber comes to the head: whoever reads
 * it may think the queue older than it is, never younger. A queue whose owner does not come by ages.
 *
 * Once in WEFT_POLL_EVERY dispatches, but not more often than in WEFT_LOOK_EVERY, a worker looks at what
 * one other has published: a line that is written seldom, so the look mostly costs nothing. Only if
 * that calls for help (help.h) the queue itself is looked at, and its oldest fibers are taken.
 */
#include "base/say.h"
#include "sched/dispatch.h"
#include "sched/help.h"

#define WEFT_MARK_EVERY (8 * WEFT_MICROSECOND)
#define WEFT_LOOK_EVERY (4 * WEFT_MICROSECOND)
#define WEFT_HELP_MOST 128
#define WEFT_CALLS_EVERY (100 * WEFT_MICROSECOND) /* the look takes a line from a fiber that forks */
#define WEFT_CALL_PATIENCE (1 * WEFT_MILLISECOND)
#define WEFT_REPORT_EVERY (100 * WEFT_MILLISECOND)

/* Eight buckets an octave: a bucket spans an eighth of its value. */
static unsigned bucket_of(uint64_t ns) {
    if (ns < 8) return (unsigned)ns;
    unsigned octave = 63 - (unsigned)__builtin_clzll(ns);
    return octave * 8 + (unsigned)(ns >> (octave - 3) & 7);
}

static void note(struct weft__worker *w, struct weft__fiber *f, uint64_t delay, uint64_t now) {
    uint64_t bound = load_rlx(&w->cluster->late_after);
    count_add(&w->delays[bucket_of(delay)], 1);
    if (delay > load_rlx(&w->delay_max)) store_rlx(&w->delay_max, delay);
    if (likely(!bound || delay <= bound)) return;
    count_add(&w->late, 1);
    weft__report_late(w, f, NULL, delay, now);
}

/* Come home when so many have run, if not earlier. */
static void come_home_after(struct weft__worker *w, uint64_t dispatches) {
    if (dispatches >= (uint64_t)w->until_poll) return;
    w->poll_from -= w->until_poll - (int)dispatches - 1;
    w->until_poll = (int)dispatches + 1;
}

WEFT_COLD void weft__age_mark(struct weft__worker *w) {
    w->marking = false;
    store_rlx(&w->age.mark, load_rlx(&w->ready.tail));
    store_rlx(&w->age.marked_at, weft__clock());
    come_home_after(w, weft__ready_length(&w->ready));
}

static void publish(struct weft__worker *w, uint64_t since) {
    store_rlx(&w->age.since, since);
    store_rlx(&w->age.length, weft__ready_length(&w->ready));
    store_rlx(&w->age.turn, w->mean_turn / 16);
}

/* Has the timed fiber come to the head? Then the next one. */
static void time_one(struct weft__worker *w, uint64_t now) {
    uint64_t marked_at = load_rlx(&w->age.marked_at);
    if (marked_at) {
        int64_t ahead = (int64_t)(load_rlx(&w->age.mark) - load_rlx(&w->ready.head));
        if (ahead > 0) {
            come_home_after(w, (uint64_t)ahead);
            return;
        }
        if (ahead == 0) {                                 /* else it was taken by another, who knows when */
            uint64_t delay = weft__since(marked_at, now); /* it may have been marked after `now` was read */
            note(w, weft__ready_peek(&w->ready), delay, now);
            store_rlx(&w->age.average, weft__help_average(load_rlx(&w->age.average), delay));
        }
        store_rlx(&w->age.marked_at, 0);
        publish(w, marked_at);
    } else if (!weft__ready_length(&w->ready))
        publish(w, now);
    if (w->marking || now < w->next_mark) return;
    w->next_mark = now + WEFT_MARK_EVERY;
    weft__age_begin(w);
}

void weft__age_begin(struct weft__worker *w) {
    w->marking = true;
    weft__ready_trap(&w->ready);
}

uint64_t weft__age_of(struct weft__worker *w, uint64_t now) {
    bool ahead = (int64_t)(load_rlx(&w->age.mark) - load_rlx(&w->ready.head)) >= 0;
    return ahead ? weft__since(load_rlx(&w->age.marked_at), now) : 0;
}

/* One line in WEFT_REPORT_EVERY, and none that would have to wait: a bound that is broken all the time must not make
 * things worse. */
WEFT_COLD void weft__report_late(struct weft__worker *w, struct weft__fiber *late, struct weft__fiber *hog,
                                 uint64_t waited, uint64_t now) {
    struct weft__cluster *c = w->cluster;
    struct weft__text text, hog_text;
    uint64_t next = load_rlx(&c->next_report);
    if (!late || now < next || !cas_ar(&c->next_report, &next, now + WEFT_REPORT_EVERY)) return;
    weft__say_if_room("late: %s has waited for %z us (bound: %z us) on worker %z%s%s", weft__describe(late, &text),
                      (size_t)(waited / WEFT_MICROSECOND), (size_t)(load_rlx(&c->late_after) / WEFT_MICROSECOND),
                      (size_t)w->index, hog ? ", behind " : "", hog ? weft__describe(hog, &hog_text) : "");
}

/* --- lists other than the queue ------------------------------------------------------------------ */

/* Everybody there pays for a lock; now and then a look at the clock is not much more. */
void weft__timed_put(struct weft__timed *t, struct weft__fiber *f) {
    if (t->fiber) return;
    t->fiber = f;
    store_rlx(&t->since, weft__clock());
}

uint64_t weft__timed_take(struct weft__timed *t, struct weft__fiber *f) {
    if (likely(t->fiber != f)) return 0;
    uint64_t then = load_rlx(&t->since);
    weft__timed_none(t);
    return then;
}

void weft__timed_note(struct weft__worker *w, struct weft__fiber *f, uint64_t then) {
    uint64_t now = weft__clock();
    note(w, f, weft__since(then, now), now);
}

/* --- help ------------------------------------------------------------------------------------------ */

/*
 * A queue's delay is what fibers have waited lately, or what one that is pushed now will wait: the length times the
 * time of a dispatch. The first is late where queues are long: one fiber is timed in a whole round. The second is the
 * same for two queues that are alike, whichever of their fibers are timed just now.
 */
static uint64_t usual_delay(struct weft__worker *w, uint64_t length, uint64_t turn) {
    uint64_t average = load_rlx(&w->age.average);
    return average > length * turn ? average : length * turn;
}

/* What the worker's own queue is like. */
static struct weft__view own_view(struct weft__worker *w, uint64_t now) {
    uint64_t length = weft__ready_length(&w->ready);
    return (struct weft__view){weft__since(load_rlx(&w->age.marked_at), now), usual_delay(w, length, w->mean_turn / 16),
                               length};
}

/* What a queue is like, as its owner published it. `since` is of the last fiber that was timed, which had waited for
 * a round by then; the next one is published a round later. So up to a round more is nothing unusual. */
static struct weft__view published(struct weft__worker *w, uint64_t now) {
    uint64_t length = load_rlx(&w->age.length); /* an empty one may have filled since */
    uint64_t usual = usual_delay(w, length, load_rlx(&w->age.turn)), allowed = usual + WEFT_MARK_EVERY;
    uint64_t waited = weft__since(load_rlx(&w->age.since), now);
    return (struct weft__view){waited > allowed ? waited - allowed : 0, usual, length ? length : 1};
}

/* What it is like now. If the timed fiber has not come to the head yet, the oldest waits at least as
 * long as that one; else at least since w first saw it at the head. */
static struct weft__view looked_at(struct weft__worker *w, struct weft__worker *other, uint64_t now) {
    uint64_t waited = weft__left_alone(w, other, now), timed = weft__age_of(other, now);
    uint64_t length = weft__ready_length(&other->ready);
    return (struct weft__view){timed > waited ? timed : waited, usual_delay(other, length, load_rlx(&other->age.turn)),
                               length};
}

static void take(struct weft__worker *w, struct weft__worker *from, uint64_t n) {
    void *items[WEFT_HELP_MOST];
    count_add(&w->numbers.steals_tried, 1);
    uint64_t got = weft__ready_take(&from->ready, items, n < WEFT_HELP_MOST ? n : WEFT_HELP_MOST);
    count_add(&w->numbers.helps, got > 0);
    count_add(&w->numbers.moved, got);
    for (uint64_t i = 0; i < got; i++)
        if (!weft__leave_to_others(w, items[i])) weft__push(w, items[i]);
    weft__took(w, from, got);
    w->next_look = 0; /* there may be more */
}

/* The owner does not come by: what stands aside there, and, if it is stuck, its mail and pinned fibers. */
static void serve_aside(struct weft__worker *w, struct weft__worker *other, uint64_t now) {
    bool stuck = load_rlx(&other->stuck);
    if (likely(!stuck && !load_rlx(&other->aside.loose))) return;
    if (!stuck && weft__left_alone(w, other, now) < WEFT_MARK_EVERY) return;
    weft__serve_stuck(w, other);
    struct weft__fiber *f = weft__aside_steal(w, other);
    if (f) weft__push(w, f);
}

/*
 * Forked calls wait at a worker that runs something else. They count as one more fiber there: one of them is taken when
 * they have waited longer than fibers wait here, by the same rule as a queue, and for WEFT_CALL_PATIENCE at least. So
 * short calls stay where they were forked, and a worker that has fibers of its own runs one call a round.
 */
static void help_with_calls(struct weft__worker *w, struct weft__worker *other, const struct weft__view *mine,
                            uint64_t now) {
    if (likely(!load_rlx(&other->deque)) || now < w->next_calls || !weft__takes_calls(w)) return;
    w->next_calls = now + WEFT_CALLS_EVERY;
    struct weft__view theirs = {weft__calls_left_alone(w, other, now), 0, 1};
    if (theirs.waited < WEFT_CALL_PATIENCE || !weft__help(mine, &theirs)) return;
    struct weft__fiber *f = weft__tasks_steal(w, other, now);
    if (f) weft__push(w, f);
}

static void help(struct weft__worker *w, uint64_t now) {
    struct weft__worker *other = w->cluster->workers[weft__victims_one(weft__victims_of(w), w->looks++, &w->random)];
    if (other == w || load_acq(&other->sharing) != WEFT_SHARED) return; /* pairs with weft__share */
    if (weft__wheel_next(&other->wheel) < now - WEFT_MARK_EVERY) weft__expire(w, &other->wheel, now);
    if (!weft__may_take_from(w, other)) return;
    serve_aside(w, other, now);
    struct weft__view mine = own_view(w, now);
    help_with_calls(w, other, &mine, now);
    if (weft__serves_itself(w, other, now)) return;
    struct weft__view theirs = published(other, now);
    if (!weft__help(&mine, &theirs)) return;
    theirs = looked_at(w, other, now);
    uint64_t n = weft__reserve_share(w, other, weft__help(&mine, &theirs));
    if (n) take(w, other, n);
}

void weft__age(struct weft__worker *w, uint64_t now) {
    time_one(w, now);
    if (now < w->next_look || !w->cluster->stealing || w->cluster->count < 2) return;
    w->next_look = now + WEFT_LOOK_EVERY;
    help(w, now);
}
