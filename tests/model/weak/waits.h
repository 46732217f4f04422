/* SPDX-License-Identifier: MIT */
/*
 * For explorations in which each thread is a fiber that waits: the wait word is real, blocking and being made ready are
 * the explorer's. The program defines struct shared before it includes this.
 */
#ifndef WEAK_WAITS_H
#define WEAK_WAITS_H

#include "weak.h"

#include "sched/dispatch/make_ready.h"
#include "sched/wait/wait.h"

#include <stdio.h>
#include <stdlib.h>

#undef WEFT_SWITCHES /* the thunk that it returns through is not here */
#define WEFT_SWITCHES __attribute__((noinline))

/* What only the checks look at: not part of the program, so no data race. */
#define GHOST __attribute__((noinline, no_sanitize("thread")))

static struct {
    struct weft__fiber record[THREADS];
    struct shared shared;
} all;
#define S (&all.shared)

static unsigned most_waits = 3; /* of one thread: what would go on is cut off, and counted */

/* --- what the source calls -------------------------------------------------------------------------- */

struct weft__worker *waits_worker(void) {
    static struct weft__worker some;
    return &some;
}
struct weft__fiber *waits_me(void) {
    return &all.record[current];
}
uint64_t waits_life(const struct weft__fiber *me) { return (uint64_t)(me - all.record) + 1; }
struct weft__fiber *waits_record(uint32_t index) {
    return &all.record[index];
}

static GHOST bool still_waits(struct weft__fiber *f) {
    uint64_t word;
    memcpy(&word, (void *)&f->wait, sizeof word);
    return word & WEFT_WAIT_WAITING;
}

void waits_ready(struct weft__fiber *f) {
    unsigned t = (unsigned)(f - all.record);
    claim(!still_waits(f), "made ready without having been won");
    claim(weak_release(t), "made ready twice");
}

/* A deadline is passed at any moment by a thread of the program, if at all. */
int waits_block(struct weft__fiber *me, uint64_t ticket, uint64_t deadline) {
    (void)ticket, (void)deadline;
    weak_block();
    uint64_t reason = load_acq(&me->wait) & WEFT_WAIT_REASON;
    return reason == WEFT_WON_DONE ? 0 : reason == WEFT_WON_DEADLINE ? -ETIMEDOUT : -ECANCELED;
}

int weft__refused(struct weft__fiber *me, int err) { return (void)me, err; }
int weft__cancel_heed(struct weft__fiber *me) { return load_rlx(&me->wait) & WEFT_WAIT_CANCEL ? -ECANCELED : 0; }

void weft__make_all_ready(struct weft__list *won) {
    for (struct weft__link *l; (l = weft__list_take(won));) waits_ready(weft__fiber_of_link(l));
}

/* What weft_cancel does to thread t; see wait.c. */
static __attribute__((unused)) void cancel(unsigned t) {
    struct weft__fiber *f = &all.record[t];
    uint64_t word = load_acq(&f->wait), next;
    bool ends_it;
    do {
        ends_it = (word & WEFT_WAIT_WAITING) && (word & WEFT_WAIT_BY_CANCEL);
        next = ends_it ? (word & (WEFT_WAIT_EPOCH | WEFT_WAIT_STICKY)) | WEFT_WON_CANCEL | WEFT_WAIT_CANCEL
                       : word | WEFT_WAIT_CANCEL;
    } while (!cas_ar(&f->wait, &word, next));
    if (ends_it) waits_ready(f);
}

/* --- the explorer ------------------------------------------------------------------------------------ */

void weak_entering(unsigned t) { (void)t; }

bool weak_goes_too_far(void) {
    for (unsigned t = 0; t < n_threads; t++)
        if (load_rlx(&all.record[t].wait) >= (most_waits + 1) * WEFT_WAIT_ONE) return true;
    return false;
}

static bool explore_all(const struct weak_scene *scene) {
    static bool is_shared;
    if (!is_shared) weak_share(&all, sizeof all);
    is_shared = true;
    return weak_explore(scene);
}

#endif
