/*
 * How many workers run: more or fewer, at any time, by anybody.
 *
 * Workers are made once and kept. Those with an index below `wanted` run; the others are retired:
 * each notices when it next comes home, gives what stands in its queue to the injector, and sleeps
 * until it is wanted again. So a change is a store and a few wake-ups; nobody else stops or even looks,
 * and nothing is lost, because a retired worker still serves its mail and its timers.
 *
 * wanted = what the program asked for + spares in the stead of workers that are stuck (rescue.c).
 *
 * A worker that runs alone takes from its queue without a swap. Before anybody else may take from it,
 * that must end: `sharing` says that it has. The owner sees to it itself, at home; for one that is
 * stuck the monitor does, see weft__share_by_force.
 */
#include "sched/config.h"
#include "sched/dispatch.h"

#include <string.h>

/* --- workers ---------------------------------------------------------------------------------- */

/*
 * Threads that cancel a timer, or ask for statistics, at the moment of a stop find what they look at.
 * What the last carrier left of the shared part is as it was at first: awake, no sleeper, no mail, no
 * timers.
 */
static int make_worker(struct weft__cluster *c, unsigned index) {
    struct weft__worker *w = c->workers[index];
    if (!w) {
        if (!(w = weft__alloc_aligned(WEFT_APART, sizeof *w))) return -ENOMEM;
        weft__wheel_init(&w->wheel, weft__clock());
        c->workers[index] = w;
    }
    weft__wheel_open(&w->wheel);
    memset((void *)w, 0, offsetof(struct weft__worker, numbers)); /* the carrier's own part */
    for (unsigned i = 0; i < WEFT_STATS_NUMBERS; i++) store_rlx(&w->numbers.number[i], 0);
    for (unsigned i = 0; i < WEFT_DELAY_BUCKETS; i++) store_rlx(&w->delays[i], 0);
    store_rlx(&w->delay_max, 0);
    store_rlx(&w->late, 0);
    store_rlx(&w->busy_since, 0);
    for (unsigned i = 0; i < WEFT_ASIDES; i++) weft__timed_none(&w->aside.timed[i]);
    store_rlx(&w->age.marked_at, 0);
    store_rlx(&w->age.average, 0);
    store_rlx(&w->age.since, weft__clock());
    store_rlx(&w->stuck, false);
    store_rlx(&w->deque, NULL);
    store_rlx(&w->parents, NULL);
    store_rlx(&w->sharing, WEFT_SHARED);
    store_rlx(&w->hog.fiber, NULL);
    store_rlx(&w->hog.waited, 0);
    w->hog.head_at = 0;
    w->hog.kept = 0;
    w->hog.blocks = w->hog.unserved = false;
    store_rlx(&w->spared, false);
    w->hog.next_ask = 0;
    w->cluster = c;
    w->place = c->place;
    w->index = index;
    w->random = UINT64_C(0x9e3779b97f4a7c15) * (index + 1);
    return weft__ready_init(&w->ready, WEFT_READY_FIRST, 0);
}

void weft__worker_release(struct weft__worker *w) {
    weft__wheel_close(&w->wheel);
    weft__ready_destroy(&w->ready);
    weft__free(w->seen);
    w->seen = NULL;
    weft__victims_free(&w->victims);
    w->seen_size = 0;
}

/* A worker with a carrier, counted. Locked. */
static int add_worker(struct weft__cluster *c) {
    unsigned index = load_rlx(&c->count);
    int err = make_worker(c, index);
    if (err) return err;
    weft__expect(c->workers[index]);
    add_rlx(&c->map, 1);
    store_rel(&c->count, index + 1); /* before its carrier can say that it sleeps; pairs with whoever goes round */
    err = weft__thread_create(&c->workers[index]->thread, weft__carrier_main, c->workers[index]);
    if (!err) return 0;
    store_rel(&c->count, index);
    weft__worker_release(c->workers[index]);
    weft__tell_quiet(); /* somebody may have waited for it to sleep */
    return err;
}

/* --- more and fewer ----------------------------------------------------------------------------- */

static int set_wanted(struct weft__cluster *c, unsigned wanted) {
    int err = 0;
    while (!err && load_rlx(&c->count) < wanted) err = add_worker(c);
    if (err) wanted = load_rlx(&c->count);
    store_rlx(&c->wanted, wanted);
    fence_sc(); /* pairs with the fence of a worker that announces its sleep: it sees whether it is wanted, or we it */
    for (unsigned i = 0; i < load_rlx(&c->count); i++) weft__idle_wake(c->workers[i]);
    return err;
}

/* Locked. */
static int resize(struct weft__cluster *c, unsigned configured) {
    if (load_rlx(&c->stopping)) return -ESRCH;
    unsigned spares = load_rlx(&c->wanted) - load_rlx(&c->configured);
    if (spares > WEFT_WORKERS_MAX - configured) spares = WEFT_WORKERS_MAX - configured;
    store_rlx(&c->configured, configured);
    int err = set_wanted(c, configured + spares);
    if (err) store_rlx(&c->configured, load_rlx(&c->wanted) - spares);
    return err;
}

int weft__resize(struct weft__cluster *c, unsigned configured) {
    pthread_mutex_lock(&c->resizing);
    int err = resize(c, configured);
    pthread_mutex_unlock(&c->resizing);
    return err;
}

int weft__resize_soon(struct weft__cluster *c, unsigned configured) {
    if (pthread_mutex_trylock(&c->resizing)) return -EBUSY;
    int err = resize(c, configured);
    pthread_mutex_unlock(&c->resizing);
    return err;
}

int weft__spares(struct weft__cluster *c, unsigned spares) {
    if (pthread_mutex_trylock(&c->resizing)) return -EBUSY;
    unsigned configured = load_rlx(&c->configured);
    if (spares > WEFT_WORKERS_MAX - configured) spares = WEFT_WORKERS_MAX - configured;
    int err = load_rlx(&c->stopping) ? -ESRCH : set_wanted(c, configured + spares);
    pthread_mutex_unlock(&c->resizing);
    return err;
}

/* --- alone or shared ---------------------------------------------------------------------------- */

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
    store_rel(&w->sharing, alone ? WEFT_ALONE : from);
}

static void share(struct weft__worker *w) {
    if (!begin_change(w, WEFT_ALONE)) return;
    store_rlx(&w->ready.alone, false);
    store_rel(&w->sharing, WEFT_SHARED); /* pairs with thieves: from here on the owner swaps */
}

void weft__share(struct weft__worker *w) {
    uint8_t sharing = load_rlx(&w->sharing);
    bool rest = others_rest(w->cluster) && !load_rlx(&weft__fence_is_symmetric);
    if (likely(sharing == WEFT_SHARED && !rest)) return;
    if (!rest && sharing == WEFT_ALONE)
        share(w);
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
bool weft__share_by_force(struct weft__worker *w) {
    uint8_t sharing = WEFT_ALONE;
    if (!cas_ar(&w->sharing, &sharing, WEFT_CLAIMED)) return sharing == WEFT_SHARED; /* pairs with begin_change */
    store_rlx(&w->ready.alone, false);
    weft__fence_all();                           /* pairs with the compiler barrier in weft__next */
    bool inside = load_acq(&w->current) != NULL; /* pairs with the stores of a fiber there, as in weft__choose */
    store_rel(&w->sharing, inside ? WEFT_SHARED : WEFT_ALONE); /* pairs with thieves, and with begin_change */
    return inside;
}
