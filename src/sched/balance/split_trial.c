/* SPDX-License-Identifier: MIT */
/*
 * Should the few fibers of a prompt queue run on two workers?
 *
 * A queue is prompt if its owner comes to every fiber in it within WEFT_CARRY. Thieves leave such a queue alone, and
 * wakers wake no thief for it: fibers that wake each other at every 100 ns are slower on two cores than on one, because
 * each turn then waits for cache lines of the other core. But two rings of fibers that have nothing in common would
 * share one worker for ever, while another sleeps. The two cases look alike from outside, so the owner tries:
 *
 *   the owner                                     the thief
 *   1. offers its queue, now and then while
 *      a worker sleeps, and wakes the sleeper
 *                                                 2. takes from a queue that is offered, although it is prompt
 *   3. after WEFT_TRIAL: have its turns become
 *      longer by a half? Then it recalls the
 *      fibers                                     4. sends its ready fibers back if they are recalled, and sleeps
 *
 * If the fibers are still on two workers and the turns are not longer, the split pays, and the owner offers again soon.
 * Otherwise it waits before the next offer, twice as long after each trial in vain.
 *
 * Owner and thief communicate by flags in weft__age. They are relaxed: a flag that is seen late prolongs a trial.
 */
#include "sched/balance/balance.h"
#include "sched/dispatch/make_ready.h"
#include "sched/wake/load.h"

#define WEFT_TRIAL (100 * WEFT_MICROSECOND)
#define WEFT_TRIAL_SOON (1 * WEFT_MILLISECOND)
#define WEFT_TRIAL_DOUBLINGS 8 /* up to a quarter of a second, so that trials in vain cost little */

static void trial_offer(struct weft__worker *w, uint64_t now) {
    w->split_trial.until = now + WEFT_TRIAL;
    w->split_trial.turn = w->pace.mean_turn;
    w->split_trial.length = weft__ready_length(&w->ready);
    store_rlx(&w->age.recalls, false);
    store_rlx(&w->age.taken, false);
    store_rlx(&w->age.offered, true);
    weft__idle_wake_one(w->cluster);
}

static void trial_judge(struct weft__worker *w, uint64_t now) {
    bool are_apart = load_rlx(&w->age.taken) && weft__ready_length(&w->ready) < w->split_trial.length;
    bool slower = w->pace.mean_turn > w->split_trial.turn + w->split_trial.turn / 2;
    store_rlx(&w->age.offered, false);
    store_rlx(&w->age.recalls, are_apart && slower);
    if (are_apart && !slower)
        w->split_trial.vain = 0;
    else if (w->split_trial.vain < WEFT_TRIAL_DOUBLINGS)
        w->split_trial.vain++;
    w->split_trial.next = now + (WEFT_TRIAL_SOON << w->split_trial.vain);
}

/* The thief, while the trial may last. An owner that does not come home does not get its fibers back. */
static void heed_trial(struct weft__worker *w, uint64_t now) {
    struct weft__worker *owner = w->split_trial.owner;
    if (now > w->split_trial.taken_at + 4 * WEFT_TRIAL) w->split_trial.owner = NULL;
    if (!load_rlx(&owner->age.recalls)) return;
    w->split_trial.owner = NULL;
    if (!weft__is_prompt(w) || !weft__is_wanted(owner) || now > load_rlx(&owner->progress.polled_at) + WEFT_TRIAL)
        return;
    for (struct weft__fiber *f; (f = weft__ready_pop(&w->ready));) weft__mail(owner, f);
}

void weft__split_trial_note_taken(struct weft__worker *w, struct weft__worker *from, uint64_t now) {
    store_rlx(&from->age.taken, true);
    w->split_trial.owner = from;
    w->split_trial.taken_at = now;
}

void weft__split_trial_tick(struct weft__worker *w, uint64_t now) {
    if (unlikely(w->split_trial.owner != NULL)) heed_trial(w, now);
    if (load_rlx(&w->age.offered)) {
        if (now >= w->split_trial.until) trial_judge(w, now);
        return;
    }
    uint64_t state = load_rlx(&w->cluster->idle.state);
    if (likely(!(state & WEFT_IDLE_SLEEPERS)) || (state & WEFT_IDLE_SEARCHERS) || now < w->split_trial.next) return;
    if (weft__ready_length(&w->ready) >= 2 && weft__is_prompt(w) && w->cluster->stealing && !weft__keeps_up(w, now))
        trial_offer(w, now);
}
