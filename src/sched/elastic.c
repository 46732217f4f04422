/*
 * How many workers run: more or fewer, at any time, by any fiber or thread.
 *
 * Workers are made once and kept. Those with an index below `wanted` run; the others are retired:
 * each notices when it next comes home, gives what stands in its queue to the injector, and sleeps
 * until it is wanted again. So a change is a store, and a wake-up for each worker that is wanted now and was not, or
 * the other way round; the other workers neither stop nor look. Nothing is lost, because a retired worker still serves
 * its mail and its timers.
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

static struct weft__worker *make_record(struct weft__cluster *c, unsigned index) {
    struct weft__worker *w = weft__alloc_aligned(WEFT_APART, sizeof *w);
    if (!w) return NULL;
    weft__wheel_init(&w->wheel, weft__clock());
    w->cluster = c;
    w->index = index;
    return c->workers[index] = w;
}

static void forget_hog(struct weft__hog *h) {
    store_rlx(&h->fiber, NULL);
    store_rlx(&h->waited, 0);
    h->head_at = 0;
    h->blocks = h->unserved = false;
    h->next_ask = 0;
    weft__lock(&h->lock); /* a thread may be printing it */
    h->kept = 0;
    weft__unlock(&h->lock);
}

/*
 * Threads that cancel a timer, post mail, or ask for statistics at the moment of a stop find what they look at: the
 * record and its shared part stay. What the last carrier left of that is as it was at first: awake, no sleeper, no
 * mail, no timers.
 *
 * A thread that posts mail looks at the worker's cluster after the fiber is in the mailbox. The fiber may have run and
 * ended by then, and the runtime have been stopped and started again: so `cluster` and `index` are never written again,
 * and what the thread does then is a wake-up too many.
 */
static int make_worker(struct weft__cluster *c, unsigned index) {
    struct weft__worker *w = c->workers[index];
    if (!w && !(w = make_record(c, index))) return -ENOMEM;
    weft__wheel_open(&w->wheel);
    enum { FIRST = offsetof(struct weft__worker, current), LAST = offsetof(struct weft__worker, numbers) };
    memset((char *)w + FIRST, 0, LAST - FIRST); /* the carrier's own part */
    for (unsigned i = 0; i < WEFT_STATS_NUMBERS; i++) store_rlx(&w->numbers.number[i], 0);
    for (unsigned i = 0; i < WEFT_DELAY_BUCKETS; i++) store_rlx(&w->delays[i], 0);
    store_rlx(&w->delay_max, 0);
    store_rlx(&w->late, 0);
    store_rlx(&w->expiring, false);
    store_rlx(&w->busy_since, 0);
    for (unsigned i = 0; i < WEFT_ASIDES; i++) weft__timed_none(&w->aside.timed[i]);
    store_rlx(&w->age.marked_at, 0);
    store_rlx(&w->age.average, 0);
    store_rlx(&w->age.turn, 0);
    store_rlx(&w->age.since, weft__clock());
    store_rlx(&w->stuck, false);
    store_rlx(&w->deque, NULL);
    store_rlx(&w->parents, NULL);
    store_rlx(&w->sharing, WEFT_SHARED);
    store_rlx(&w->spared, false);
    forget_hog(&w->hog);
    w->place = c->place;
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

/*
 * So many of those that there are run from now on. Only workers for which that is a change are told. One that is
 * about to sleep, or to retire, looks whether it is wanted after it has announced that:
 *
 *   the worker                               the thread that changes the number
 *   1. announces that it sleeps, or retires  1. wanted = ...
 *   -- fence --                              -- fence --
 *   2. is it wanted?                         2. does it sleep? wake it
 */
static void tell_wanted(struct weft__cluster *c, unsigned wanted) {
    unsigned before = load_rlx(&c->wanted), first = wanted < before ? wanted : before;
    store_rlx(&c->wanted, wanted);
    fence_sc(); /* pairs with the fences in weft__idle_sleep and weft__idle_retire */
    for (unsigned i = first; i < wanted || i < before; i++) weft__idle_wake(c->workers[i]);
}

/* Those that have to be made run as soon as they are there; and none is wanted that is not there. Locked. */
static int set_wanted(struct weft__cluster *c, unsigned wanted) {
    unsigned there = load_rlx(&c->count);
    int err = 0;
    tell_wanted(c, wanted < there ? wanted : there);
    for (; there < wanted && !(err = add_worker(c)); there++) tell_wanted(c, there + 1);
    return err;
}

/* Locked. */
static int configure(struct weft__cluster *c, unsigned configured) {
    unsigned spares = load_rlx(&c->wanted) - load_rlx(&c->configured);
    if (spares > WEFT_WORKERS_MAX - configured) spares = WEFT_WORKERS_MAX - configured;
    store_rlx(&c->configured, configured);
    int err = set_wanted(c, configured + spares);
    if (err) store_rlx(&c->configured, load_rlx(&c->wanted) - spares);
    return err;
}

int weft__resize(struct weft__cluster *c, uint32_t generation, unsigned configured, bool automatic) {
    pthread_mutex_lock(&c->resizing);
    int err = load_rlx(&c->stopping) || load_rlx(&c->generation) != generation ? -ESRCH : 0;
    if (!err) {
        store_rlx(&c->automatic, automatic);
        err = configure(c, configured);
    }
    pthread_mutex_unlock(&c->resizing);
    return err;
}

void weft__resize_automatic(struct weft__cluster *c, unsigned configured) {
    if (!load_rlx(&c->automatic) || configured == load_rlx(&c->configured)) return;
    if (pthread_mutex_trylock(&c->resizing)) return; /* next time */
    if (load_rlx(&c->automatic) && !load_rlx(&c->stopping)) configure(c, configured);
    pthread_mutex_unlock(&c->resizing);
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
