/* SPDX-License-Identifier: MIT */
/*
 * Which workers take from a queue: its owner alone, or all of the cluster.
 *
 * An owner that does not share its queue takes from it without a swap. There are two reasons not to share:
 *
 *   alone   the worker is the only one of its cluster that runs. Nothing that it pushes wakes another worker.
 *   kept    no other worker has wanted anything of the queue for WEFT_KEEP_AFTER, and dispatches are short. Where all
 *           workers have enough to do, all keep their queues. (yield, two workers, 100 fibers each: 21 -> 12 ns.)
 *
 * `sharing` counts the thieves that are taking from a shared queue. The owner stops sharing only if there are none. A
 * thief that finds the queue kept asks for it:
 *
 *   the thief (weft__shared_take)             the owner, at home (weft__sharing_update)
 *   1. wanted_at = now
 *                                             2. sees wanted_at, and shares the queue, until no
 *   3. takes, at its next look                   thief has come for WEFT_KEEP_AFTER
 *
 * If the owner does not come home within WEFT_KEEP_PATIENCE, the thief shares the queue by force, as the monitor does
 * for a worker that is stuck: weft__sharing_end_by_force.
 */
#include "sched/dispatch/sharing.h"
#include "base/assert.h"
#include "sched/wake/idle.h"
#include "sched/wake/load.h"

#define WEFT_KEEP_AFTER (200 * WEFT_MICROSECOND)
#define WEFT_KEEP_PATIENCE (10 * WEFT_MICROSECOND)
#define WEFT_KEEP_TURN \
    200 /* ns: with longer dispatches a swap makes no difference, and the owner seldom comes home \
         */

static bool others_rest(struct weft__cluster *c) {
    return weft__idle_retirees(load_acq(&c->idle.state)) + 1 >= load_acq(&c->count);
}

/* The owner begins to change the state. False: the monitor or a thief has claimed the state, or a thief is taking from
 * the queue now. */
static bool begin_change(struct weft__worker *w, uint32_t from) {
    return cas_ar(&w->sharing, &from, WEFT_CHANGING); /* pairs with a claim, and with thieves that have finished */
}

/* All other workers are retired. A worker that comes back looks at `sharing`. Both sides write, execute a full fence
 * and then read, so at least one side sees the other's write. */
static void try_alone(struct weft__worker *w, uint32_t from) {
    if (!begin_change(w, from)) return;
    fence_sc(); /* pairs with the fence of a carrier that begins or comes back */
    bool alone = others_rest(w->cluster);
    if (alone) store_rlx(&w->ready.alone, WEFT_ALONE);
    WEFT_ASSERT(load_rlx(&w->sharing) == WEFT_CHANGING);
    store_rel(&w->sharing, alone ? WEFT_ALONE : from);
}

static void try_keep(struct weft__worker *w) {
    if (!begin_change(w, WEFT_SHARED)) return;
    store_rlx(&w->ready.alone, WEFT_KEPT);
    store_rel(&w->sharing, WEFT_KEPT); /* pairs with the claim of a thief, which then stores `alone` after us */
}

static void queue_share(struct weft__worker *w, uint32_t from) {
    if (!begin_change(w, from)) return;
    store_rlx(&w->ready.alone, 0);
    store_rel(&w->sharing, WEFT_SHARED); /* pairs with thieves: from now on the owner takes by swaps */
}

/* May the worker keep its queue to itself? Not if processors are scarce: the kernel may interrupt it at home, and there
 * a thief cannot end the keeping by force. */
static bool may_keep(struct weft__worker *w, uint64_t now) {
    struct weft__cluster *c = w->cluster;
    bool is_wanted = load_rlx(&w->age.wanted_at) != 0;
    if (unlikely(is_wanted)) {
        store_rlx(&w->age.wanted_at, 0);
        w->next_keep = now + WEFT_KEEP_AFTER;
    }
    return now >= w->next_keep && w->pace.mean_turn < WEFT_KEEP_TURN * 16 && !weft__is_crowd(c, 1) &&
           !weft__is_crowded(c, now);
}

void weft__sharing_update(struct weft__worker *w, uint64_t now) {
    uint32_t sharing = load_rlx(&w->sharing);
    bool may = !load_rlx(&weft__fence_is_symmetric), rest = may && others_rest(w->cluster);
    bool keep = may && !rest && may_keep(w, now);
    bool taken_back = !load_rlx(&w->ready.alone); /* a claim was taken back, but has made the owner swap */
    if (sharing == WEFT_KEPT && (!keep || taken_back))
        queue_share(w, WEFT_KEPT);
    else if (sharing == WEFT_ALONE && !rest)
        queue_share(w, WEFT_ALONE);
    else if (rest && (sharing == WEFT_SHARED || (sharing == WEFT_ALONE && taken_back)))
        try_alone(w, sharing);
    else if (keep && sharing == WEFT_SHARED)
        try_keep(w);
}

/* Counts the calling thief, which will take from the queue. False: the queue is not shared. */
static bool sharing_enter(struct weft__worker *w) {
    uint32_t sharing = load_rlx(&w->sharing);
    while ((sharing & WEFT_SHARING_STATE) == WEFT_SHARED)
        if (cas_ar(&w->sharing, &sharing, sharing + WEFT_SHARING_THIEF)) return true; /* pairs with queue_share */
    return false;
}

static bool is_waited_for_in_vain(struct weft__worker *w, uint64_t now) {
    uint64_t wanted_at = load_rlx(&w->age.wanted_at);
    if (!wanted_at) store_rlx(&w->age.wanted_at, now);
    return weft__since(wanted_at, now) > WEFT_KEEP_PATIENCE;
}

uint64_t weft__shared_take(struct weft__worker *from, void **items, uint64_t n, uint64_t now) {
    if (!sharing_enter(from)) {
        if (!is_waited_for_in_vain(from, now) || !weft__sharing_end_by_force(from) || !sharing_enter(from)) return 0;
    }
    uint64_t got = weft__ready_take(&from->ready, items, n);
    store_rlx(&from->age.wanted_at, now);
    add_ar(&from->sharing, -WEFT_SHARING_THIEF); /* pairs with begin_change: the owner may stop swapping */
    return got;
}

/*
 * Ends the keeping for an owner that is inside a fiber. `current` says whether it is: it is NULL from before the owner
 * reads `alone` until after the owner has taken a fiber from the queue. Without asymmetric fences all queues are
 * shared.
 *
 *   the owner takes (weft__next)            the monitor, or a thief
 *   1. current = NULL                       1. sharing: ALONE or KEPT -> CLAIMED   (compare-and-swap)
 *      compiler barrier                     2. alone = false
 *   2. reads alone: true                    3. heavy fence: the owner passes a full fence, at F
 *   3. head = h + 1                         4. reads current (acquire); NULL: takes the claim back
 *   4. current = fiber   (release)          5. sharing = SHARED   (release)
 *
 * A thief reads sharing (acquire), then head. It must see every head that the owner stored in a step 3.
 * The monitor cannot choose F, so each place of F in the steps of the owner must be right:
 *
 *   F before 2          The owner reads alone == false, and swaps instead. The claim keeps it so.
 *   F between 2 and 4   Step 1 came before F, so the monitor does not see the fiber that ran before. It
 *                       sees NULL, or what the owner stored after F: the fiber of step 4. F does not order
 *                       step 3 before step 4 then, as both may come after it. The release in step 4 does:
 *                       3 happens before 4, 4 before the monitor's 4, that before 5.
 *   F after 4           The monitor and all that acquire from it see everything that the owner stored.
 *
 * So each store of a fiber to `current` that may follow a take is a release. The store of NULL need not be
 * one: nothing is concluded from NULL. The barrier keeps the compiler from reading `alone` before step 1;
 * the processor may do that, but not across F.
 */
bool weft__sharing_end_by_force(struct weft__worker *w) {
    uint32_t from = load_rlx(&w->sharing);
    if ((from & WEFT_SHARING_STATE) == WEFT_SHARED) return true;
    if (from != WEFT_ALONE && from != WEFT_KEPT) return false;
    if (!cas_ar(&w->sharing, &from, WEFT_CLAIMED)) return false; /* pairs with begin_change */
    store_rlx(&w->ready.alone, 0);
    weft__fence_all();                           /* pairs with the compiler barrier in weft__next */
    bool inside = load_acq(&w->current) != NULL; /* pairs with the stores of a fiber there, as in weft__choose */
    store_rel(&w->sharing, inside ? WEFT_SHARED : from); /* pairs with thieves, and with begin_change */
    return inside;
}
