/* SPDX-License-Identifier: MIT */
/*
 * Explores a record and its lives: the real end, join and detach (sched/life/fiber.c), cancel and unpark by a handle
 * (wait.c), and the record's way to the slab and back (mem/slab.h). A record is collected once, in the life that the
 * handle names. Calls with a stale handle do not touch a later life.
 */
#define HAS_SLAB
#include "workers.h"

#include "sched/core/records.c"
#include "sched/life/fiber.c"
#include "sched/wait/wait.c"

int (*weft__scope_helper)(void *(*fn)(void *), struct weft__scope *scope);

enum { ENDER, JOINER, OTHER };
enum { NOTHING, JOINS, DETACHES, CANCELS_JOINER, CANCELS_FIBER, UNPARKS };

static struct weft__fiber *const f = &fiber[0];
static struct {
    uint8_t other, lives_again;
    int joined[2], detached;
    struct weft_fiber second; /* life */
} s;

/* --- what is underneath ---------------------------------------------------------------------------------- */

void explored_switch(struct weft__context *from, struct weft__context *to) { (void)from, (void)to; }
int explored_block(struct weft__fiber *me) {
    weak_block();
    return weft__wait_result(me, load_acq(&me->wait));
}
void explored_ready(struct weft__fiber *who) { claim(weak_release((unsigned)(who - fiber)), "made ready twice"); }
void weft__make_ready_elsewhere(struct weft__worker *w, struct weft__fiber *who) { (void)w, explored_ready(who); }
int weft__background_spawn(struct weft_fiber *fiber, const struct weft_attr *attr, void *(*fn)(void *), void *arg,
                           const char *where) {
    return (void)fiber, (void)attr, (void)fn, (void)arg, (void)where, -EINVAL;
}
int weft__cancel_heed(struct weft__fiber *me) { return load_rlx(&me->wait) & WEFT_WAIT_CANCEL ? -ECANCELED : 0; }
int weft__cancel_result(struct weft__fiber *me) { return (void)me, -ECANCELED; }
void weft__cancel_log_add(struct weft__fiber *who, int why) { (void)who, (void)why; }
bool weak_goes_too_far(void) { return false; }

/* --- what the threads do ----------------------------------------------------------------------------------- */

/* The handle of the first life. */
static struct weft_fiber handle_of(unsigned index) { return (struct weft_fiber){WEFT_LIFE_ONE | index}; }
#define RESULT ((void *)77)

static void end_it(struct weft__worker *w) {
    f->result = RESULT;
    struct weft__fiber *joiner = announce_end(w, f);
    if (joiner) explored_ready(joiner);
}

static int join_it(void) {
    void *result = NULL;
    int err = weft_join(handle_of(0), &result);
    if (!err) claim(result == RESULT, "another result");
    return err;
}

/* The record begins the life of another fiber of the same worker, so it comes from that worker's cache. */
static void live_again(struct weft__worker *w) {
    struct weft__fiber *again = weft__fiber_get(w);
    if (!again) return;
    claim(again == f, "another record");
    weft__fiber_init(again, NULL, NULL, NULL, 0, 0, WEFT_JOIN_NOBODY);
    s.second = weft__handle(again);
}

static void cancel(unsigned index) {
    bool wakes = false;
    weft__wait_cancel(&fiber[index], handle_of(index), &wakes);
    if (wakes) explored_ready(&fiber[index]);
}

void run_thread(unsigned t) {
    struct weft__worker *w = weft__self();
    if (t == ENDER) end_it(w);
    if (t == JOINER) {
        s.joined[0] = join_it();
        if (!s.joined[0] && s.lives_again) live_again(w);
    }
    if (t != OTHER) return;
    switch (s.other) {
    case JOINS: s.joined[1] = join_it(); break;
    case DETACHES: s.detached = weft_detach(handle_of(0)); break;
    case CANCELS_JOINER: cancel(JOINER); break;
    case CANCELS_FIBER: cancel(ENDER); break;
    case UNPARKS: weft_unpark(handle_of(0)); break;
    }
}

/* --- scenes -------------------------------------------------------------------------------------------------- */

static void set_up_for(unsigned other, bool lives_again) {
    set_up_workers(3);
    for (unsigned t = 0; t < 3; t++) {
        driven[t] = &worker[t];
        store_rlx(&worker[t].current, &fiber[t]);
        store_rlx(&fiber[t].join, weft__join_of(handle_of(t), WEFT_JOIN_NOBODY));
    }
    s.joined[0] = s.joined[1] = s.detached = -EAGAIN; /* not done */
    s.other = (uint8_t)other;
    s.lives_again = lives_again;
}
static void alone(void) { set_up_for(NOTHING, true); }
static void two(void) { set_up_for(JOINS, false); }
static void detached(void) { set_up_for(DETACHES, true); }
static void given_up(void) { set_up_for(CANCELS_JOINER, true); }
static void stale_cancel(void) { set_up_for(CANCELS_FIBER, true); }
static void stale_unpark(void) { set_up_for(UNPARKS, true); }

static void check(void) {
    uint64_t generation = load_rlx(&f->slot.life) / WEFT_LIFE_ONE;
    unsigned collected = (s.joined[0] == 0) + (s.joined[1] == 0) + (s.detached == 0);
    for (unsigned t = 0; t < 3; t++) claim(!weak_goes_on(t), "waits for ever");
    claim(collected <= 1, "collected twice");
    claim(collected || s.joined[0] == -ECANCELED, "joined by nobody");
    claim(generation == (s.second.id ? 3 : collected ? 2 : 1), "the record is in another life");
    if (!s.second.id) return;
    claim(load_rlx(&f->join) == weft__join_of(s.second, WEFT_JOIN_NOBODY), "a stale handle has changed the next life");
    claim(!(load_rlx(&f->wait) & WEFT_WAIT_STICKY), "a stale handle has reached the next life");
}

static bool all_scenes(void) {
    return weak_explore(&(struct weak_scene){"join, one", 3, alone, check}) &&
           weak_explore(&(struct weak_scene){"join, two", 3, two, check}) &&
           weak_explore(&(struct weak_scene){"join, a detach", 3, detached, check}) &&
           weak_explore(&(struct weak_scene){"join, given up", 3, given_up, check}) &&
           weak_explore(&(struct weak_scene){"join, a cancellation that is late", 3, stale_cancel, check}) &&
           weak_explore(&(struct weak_scene){"join, a permit that is late", 3, stale_unpark, check});
}

int main(int argc, char **argv) {
    share_workers(3);
    weak_share(&s, sizeof s);
    for (unsigned i = 0; i < 3; i++) weak_share(&worker[i].cache.records, sizeof worker[i].cache.records);
    return weak_main(argc, argv, all_scenes);
}
