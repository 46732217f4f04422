/* SPDX-License-Identifier: MIT */
/*
 * Which workers take from a queue: its owner alone, or all of the cluster.
 *
 * A worker that runs alone takes from its queue without a swap. Before another worker may take from it,
 * that must end: `sharing` says that it has. The owner sees to it itself, at home; for a worker that is
 * stuck the monitor does, see weft__sharing_end_by_force.
 */
#include "sched/dispatch/sharing.h"
#include "base/assert.h"
#include "sched/wake/idle.h"

static bool others_rest(struct weft__cluster *c) {
    return weft__idle_retirees(load_acq(&c->idle.state)) + 1 >= load_acq(&c->count);
}

/* The owner alone changes it, unless the monitor has claimed it. */
static bool begin_change(struct weft__worker *w, uint8_t from) {
    return cas_ar(&w->sharing, &from, WEFT_CHANGING); /* pairs with the monitor's claim */
}

/* The others are all retired, and will look at `sharing` when they come back: each side looks at what
 * the other wrote after a full fence, so one of them sees it. */
static void try_alone(struct weft__worker *w, uint8_t from) {
    if (!begin_change(w, from)) return;
    fence_sc(); /* pairs with the fence of a carrier that begins or comes back */
    bool alone = others_rest(w->cluster);
    if (alone) store_rlx(&w->ready.alone, true);
    WEFT_ASSERT(load_rlx(&w->sharing) == WEFT_CHANGING);
    store_rel(&w->sharing, alone ? WEFT_ALONE : from);
}

static void queue_share(struct weft__worker *w) {
    if (!begin_change(w, WEFT_ALONE)) return;
    store_rlx(&w->ready.alone, false);
    store_rel(&w->sharing, WEFT_SHARED); /* pairs with thieves: from here on the owner swaps */
}

void weft__sharing_update(struct weft__worker *w) {
    uint8_t sharing = load_rlx(&w->sharing);
    bool rest = others_rest(w->cluster) && !load_rlx(&weft__fence_is_symmetric);
    if (likely(sharing == WEFT_SHARED && !rest)) return;
    if (!rest && sharing == WEFT_ALONE)
        queue_share(w);
    else if (rest && (sharing == WEFT_SHARED || (sharing == WEFT_ALONE && !load_rlx(&w->ready.alone))))
        try_alone(w, sharing);
}

/*
 * For an owner that is inside a fiber. `current` says whether it is: NULL from before the owner reads
 * `alone` until after it has taken a fiber from the queue. Workers are alone only where fences are asymmetric.
 *
 *   the owner takes (weft__next)            the monitor
 *   1. current = NULL                       1. sharing: ALONE -> CLAIMED   (compare-and-swap)
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
    uint8_t sharing = WEFT_ALONE;
    if (!cas_ar(&w->sharing, &sharing, WEFT_CLAIMED)) return sharing == WEFT_SHARED; /* pairs with begin_change */
    store_rlx(&w->ready.alone, false);
    weft__fence_all();                           /* pairs with the compiler barrier in weft__next */
    bool inside = load_acq(&w->current) != NULL; /* pairs with the stores of a fiber there, as in weft__choose */
    store_rel(&w->sharing, inside ? WEFT_SHARED : WEFT_ALONE); /* pairs with thieves, and with begin_change */
    return inside;
}
