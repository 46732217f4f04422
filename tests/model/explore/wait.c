/* SPDX-License-Identifier: MIT */
/*
 * The real wait word (src/sched/wait/wait.h, wait.c) under weak memory: a fiber begins a wait, threads end it, and
 * other threads use stale handles.
 */
#include "explore.h"

#include "sched/wait/wait.c"

#define LIFE WEFT_LIFE_ONE /* the first life of record 0 */

__thread struct weft__worker *weft__tls; /* NULL: no thread here is a carrier */
struct weft__slab weft__fibers = {.record_size = sizeof(struct weft__fiber)};
struct weft__cluster weft__cluster;

static struct weft__fiber fiber;
static _Atomic uint64_t data[2];
static const struct weft_fiber handle = {LIFE};

static struct outcome {
    int result;       /* the result of the call */
    unsigned made;    /* how often it made the fiber ready */
    uint64_t seen[2]; /* what the fiber sees after it has taken the permit */
} outcome[THREADS];
static unsigned current;

void weft__make_ready_elsewhere(struct weft__worker *w, struct weft__fiber *f) {
    (void)w, (void)f;
    outcome[current].made++;
}

/* Without scopes: a cancellation is not recorded. */
int weft__cancel_heed(struct weft__fiber *me) { return (void)me, -ECANCELED; }
int weft__cancel_result(struct weft__fiber *me) { return (void)me, -ECANCELED; }
void weft__cancel_log_add(struct weft__fiber *f, int why) { (void)f, (void)why; }

/* Only a carrier would call these. */
_Atomic bool weft__fence_is_symmetric;
int weft__ready_grow(struct weft__ready *q) { abort(), (void)q; }
void weft__push_slow(struct weft__worker *w, struct weft__fiber *f) { abort(), (void)w, (void)f; }
void weft__idle_consider(struct weft__worker *w, uint64_t state, bool fresh) {
    abort(), (void)w, (void)state, (void)fresh;
}

/* --- what the threads do ------------------------------------------------------------------------ */

static void do_nothing(struct outcome *o) { (void)o; }

static void do_park(struct outcome *o) {
    uint64_t ticket;
    o->result = weft__wait_begin(&fiber, WEFT_WAIT_BY_PERMIT | WEFT_WAIT_BY_CANCEL, &ticket);
    if (o->result != 1) return;
    o->seen[0] = load_rlx(&data[0]);
    o->seen[1] = load_rlx(&data[1]);
}
static void do_sleep(struct outcome *o) {
    uint64_t ticket;
    o->result = weft__wait_begin(&fiber, WEFT_WAIT_BY_CANCEL, &ticket);
}
static void do_unpark_0(struct outcome *o) {
    store_rlx(&data[0], 1);
    o->result = weft_unpark(handle);
}
static void do_unpark_1(struct outcome *o) {
    store_rlx(&data[1], 1);
    o->result = weft_unpark(handle);
}
static void do_cancel(struct outcome *o) {
    bool wakes = false;
    o->result = weft__wait_cancel(&fiber, handle, &wakes);
    o->made += wakes;
}
static void do_deadline(struct outcome *o) {
    uint64_t first = (load_rlx(&fiber.wait) & WEFT_WAIT_EPOCH) | WEFT_WAIT_ONE; /* the ticket of the first wait */
    if (weft__wait_win(&fiber, first, WEFT_WON_DEADLINE)) o->made++;
}
/* The fiber is collected, and its record begins another life. */
static void do_live_again(struct outcome *o) {
    (void)o;
    count_add(&fiber.slot.life, WEFT_LIFE_ONE);
    count_add(&fiber.slot.life, WEFT_LIFE_ONE);
    weft__wait_anew(&fiber, 0);
}

/* --- what must hold ----------------------------------------------------------------------------- */

static uint64_t word; /* at the end */

static bool one_winner(void) {
    unsigned made = outcome[0].made + outcome[1].made + outcome[2].made;
    bool waited = outcome[0].result == 0;
    return made == waited && !(word & WEFT_WAIT_WAITING);
}

/* Two permits. One ends the wait and the other stays, or the fiber took the first. If it took both, which count as one,
 * it sees what both givers have written. */
static bool permits_kept(void) {
    bool left = word & WEFT_WAIT_PERMIT;
    if (!one_winner()) return false;
    if (outcome[0].result == 0) return left;
    return left ? outcome[0].seen[0] || outcome[0].seen[1] : outcome[0].seen[0] && outcome[0].seen[1];
}

static bool untouched(void) { return !(word & WEFT_WAIT_STICKY); }

static const struct scene {
    const char *name;
    void (*thread[THREADS])(struct outcome *o);
    bool (*good)(void);
} scenes[] = {
    {"park, two permits", {do_park, do_unpark_0, do_unpark_1}, permits_kept},
    {"sleep, cancellation and deadline", {do_sleep, do_cancel, do_deadline}, one_winner},
    {"park, cancellation and deadline", {do_park, do_cancel, do_deadline}, one_winner},
    {"a stale cancellation", {do_live_again, do_cancel, do_nothing}, untouched},
    {"a stale unpark", {do_live_again, do_unpark_0, do_nothing}, untouched},
};
#define SCENES (sizeof scenes / sizeof scenes[0])
static const struct scene *scene;

static void run_thread(unsigned t) {
    current = t;
    outcome[t] = (struct outcome){0};
    scene->thread[t](&outcome[t]);
}

static void check(const struct state *s) {
    for (unsigned t = 0; t < THREADS; t++) bring_back(s, t);
    word = newest(s, &fiber.wait);
    wrong |= !scene->good();
}

static void set_up(void) {
    store_rlx(&weft__fibers.records, 1);
    store_rlx(&weft__fibers.chunk[0], &fiber);
    store_rlx(&fiber.slot.life, LIFE);
    store_rlx(&fiber.context.kind, WEFT_KIND_FIBER);
    store_rlx(&fiber.wait, 0);
}

static bool may_be_late(unsigned t, const struct op *op) {
    (void)t, (void)op;
    return false;
}

/* The slab's own words never change here. */
static bool is_private(unsigned t, const struct op *op) {
    (void)t;
    return op->at == &weft__fibers.records || op->at == &weft__fibers.chunk[0] || op->at == &fiber.context.kind;
}

static bool run_all(bool loud) {
    bool good = true;
    for (unsigned i = 0; i < SCENES && good; i++) {
        scene = &scenes[i];
        good = explore_all();
        if (loud)
            printf("wait word, %s: %llu states, %llu ends, %s\n", scene->name, (unsigned long long)states,
                   (unsigned long long)runs, good ? "ok" : "WRONG");
    }
    return good;
}

static bool all_are_well(void) { return run_all(false); }

int main(void) {
    setvbuf(stdout, NULL, _IOLBF, 0);
    if (!run_all(true)) return 1;
    weaken_all(all_are_well);
    return 0;
}
