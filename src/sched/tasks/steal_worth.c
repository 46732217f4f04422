/* SPDX-License-Identifier: MIT */
/*
 * Does it pay for a worker to steal forked calls? Each worker judges its own steals. Other threads only read the
 * result, and an old value costs them nothing but time.
 *
 * A steal takes some hundred nanoseconds, and the owner loses as much again when it finds its call taken. So a steal is
 * in vain if the call returns within WEFT_STEAL_PAYS, or parks within WEFT_PARK_PAYS: a call that only waits needs no
 * core of its own. The worker judges a steal when it next searches. A call that computes takes a single dispatch. If
 * the call has woken fibers that then ran here, too, there were more dispatches, and the steal was in vain if these
 * took less than WEFT_TURN_PAYS each.
 *
 * After a few vain steals in a row the worker leaves calls alone for a while, each time twice as long, and takes only
 * calls that are still there afterwards. Two steals that pay end that. So short calls, and calls that wait for each
 * other, stay where they were forked. A long call among them is found within WEFT_PATIENCE_MOST or a tick of the
 * watchman.
 */
#include "sched/tasks/tasks.h"

#define WEFT_STEAL_PAYS 500 /* ns */
#define WEFT_TURN_PAYS (2 * WEFT_MICROSECOND)
#define WEFT_PARK_PAYS (20 * WEFT_MICROSECOND)
#define WEFT_VAIN_FREE 4 /* so many vain steals change nothing: the last calls of a tree are short */
#define WEFT_PATIENCE_DOUBLINGS 9
#define WEFT_PATIENCE_MOST (WEFT_MICROSECOND << WEFT_PATIENCE_DOUBLINGS)

uint64_t weft__worth_patience(struct weft__worker *w) {
    unsigned vain = load_rlx(&w->worth.vain);
    return likely(vain < WEFT_VAIN_FREE) ? 0 : WEFT_MICROSECOND << (vain - WEFT_VAIN_FREE);
}

void weft__worth_stole(struct weft__worker *w, struct weft__fiber *by, uint64_t now) {
    w->worth.stole_at = now;
    w->worth.runs = by;
    w->worth.dispatches = load_rlx(&w->numbers.switches);
}

void weft__worth_ran(struct weft__worker *w, const struct weft__fiber *by) {
    if (w->worth.runs == by) w->worth.runs = NULL;
}

WEFT_COLD void weft__worth_judge(struct weft__worker *w, uint64_t now) {
    struct weft__worth *own = &w->worth;
    uint64_t dispatches = load_rlx(&w->numbers.switches) - own->dispatches, took = now - own->stole_at;
    unsigned vain = load_rlx(&own->vain);
    uint64_t pays = own->runs ? WEFT_PARK_PAYS : dispatches > 1 ? WEFT_TURN_PAYS : WEFT_STEAL_PAYS;
    bool paid = took >= pays * (dispatches > 1 ? dispatches : 1);
    own->stole_at = 0;
    own->runs = NULL;
    if (!paid)
        vain += vain < WEFT_VAIN_FREE + WEFT_PATIENCE_DOUBLINGS;
    else
        vain /= 2;
    store_rlx(&own->vain, vain);
    weft__tasks_stolen(w->cluster, paid);
}
