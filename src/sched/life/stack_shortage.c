/* SPDX-License-Identifier: MIT */
/*
 * Fibers that cannot begin because no stack is available.
 *
 * A fiber gets its stack when it first runs, so a shortage is noticed only then. The fiber waits in a list here, like a
 * parked fiber; neither a permit nor a cancellation ends that wait. While the list is not empty, stacks are scarce
 * (mem/stack.h): caches keep none, and a spawn is refused unless a stack is available for it at that moment.
 *
 *   a worker that has a fiber and no stack        a worker that has a stack, or may get one
 *   1. puts the fiber into the list, and says     1. a fiber ends: its stack goes where it always goes;
 *      that stacks are scarce                        without room there, the worker goes home
 *   -- fence --                                   2. at home: are stacks scarce? then all that it has goes to
 *   2. looks for a stack once more                   the pool,
 *   3. wakes the workers that sleep               3. and to the fibers in the list
 *
 * A worker that looked too early (2) comes home again within a few dispatches, or is woken (3). If it fell asleep just
 * then, the trimmer (trim.c) wakes it. The trimmer also tries to make stacks, less and less often, because address
 * space may become free unnoticed. So nothing spins, and a cluster in which all fibers wait is quiet, whatever they
 * wait for.
 */
#include "sched/life/stack_shortage.h"
#include "sched/dispatch/dispatch.h"
#include "sched/life/own_tls_spawn.h"
#include "sched/life/stack_overflow.h"
#include "sched/wait/wait.h"
#include "sched/wake/helpers.h"

#define WEFT_STARVED_FIRST (4 * WEFT_MILLISECOND) /* the trimmer looks again, */
#define WEFT_STARVED_LAST WEFT_SECOND             /* after twice as long each time, up to this */

static struct weft__lock lock;
static struct weft__list waiting[WEFT_STACK_CLASSES]; /* by the class of stack that each needs */
static unsigned count;                                /* of all */

/* --- beginning ------------------------------------------------------------------------------------ */

/* At the top of a bare stack: the fiber that runs there, for which the stack was made. */
struct bare {
    struct weft__fiber *fiber;
    void *(*fn)(void *);
    void *arg;
};

static void *run_bare(void *p) {
    struct bare *b = p;
    struct weft__fiber *f = b->fiber;
    f->fn = b->fn;
    f->arg = b->arg;
    void *result = f->fn(f->arg);
    weft__overrun_check(f);
    return result;
}

void weft__adopt_any(struct weft__fiber *f, struct weft__stack *s) {
    weft__adopt(f, s);
    if (likely(s->cache != WEFT_STACK_BARE)) return;
    struct bare *b = (struct bare *)f->context.sp - 1;
    *b = (struct bare){f, f->fn, f->arg};
    f->fn = run_bare;
    f->arg = b;
    weft__context_prepare(&f->context, b);
}

/* --- serving -------------------------------------------------------------------------------------- */

static bool stack_is_waited_for(unsigned class) {
    weft__lock(&lock);
    bool is = waiting[class].first != NULL;
    weft__unlock(&lock);
    return is;
}

/* Locked. */
static void set_scarce(bool are) {
    weft__stack_set_scarce(are);
    if (are)
        atomic_fetch_or(&weft__spawn_heeds, WEFT_HEED_SCARCE);
    else
        atomic_fetch_and(&weft__spawn_heeds, (uint8_t)~WEFT_HEED_SCARCE);
}

static struct weft__fiber *starved_take(unsigned class) {
    weft__lock(&lock);
    struct weft__link *l = weft__list_take(&waiting[class]);
    if (l && !--count) set_scarce(false);
    weft__unlock(&lock);
    return weft__fiber_of_link(l);
}

static void starved_give(struct weft__fiber *f, struct weft__stack *s) {
    weft__adopt_any(f, s);
    store_rlx(&f->context.on_stack, WEFT_AT_REST);
    weft__wait_win(f, load_rlx(&f->wait) & WEFT_WAIT_EPOCH, WEFT_WON_DONE); /* nothing else has the ticket */
    weft__make_ready(f);
}

/* Gives stacks to fibers that wait, as long as there are stacks. True: no fiber is left that waits for a stack of this
 * class or a smaller class. */
static bool starved_serve(struct weft__stack_cache *caches, unsigned upto) {
    bool all = true;
    for (unsigned class = 0; class < WEFT_STACK_CLASSES; class ++)
        while (stack_is_waited_for(class)) {
            struct weft__stack *s = weft__stack_get_any(caches, class);
            struct weft__fiber *f = s ? starved_take(class) : NULL;
            if (f) {
                starved_give(f, s);
                continue;
            }
            if (s) weft__stack_put(caches, s); /* another thread has served it */
            all = all && (s || class > upto);
            break;
        }
    return all;
}

WEFT_COLD void weft__starved_help(struct weft__worker *w) {
    if (weft__stack_flush(w->cache.stacks, 0)) starved_serve(w->cache.stacks, 0);
}

/* --- waiting --------------------------------------------------------------------------------------- */

static bool wake_cluster(struct weft__cluster *c, void *unused) {
    (void)unused;
    for (unsigned i = 0; i < load_acq(&c->count); i++) weft__idle_wake(c->workers[i]); /* with resize_add_worker */
    return true;
}

static void starve_for_stack(struct weft__worker *w, struct weft__fiber *f) {
    uint64_t ticket;
    weft__wait_begin(f, 0, &ticket); /* only this worker has the fiber */
    weft__lock(&lock);
    weft__list_put(&waiting[f->context.stack_class], &f->slot.link);
    bool first = !count++;
    if (first) set_scarce(true);
    weft__unlock(&lock);
    fence_sc(); /* pairs with the fence of a worker that announces its sleep */
    if (!first) return;
    weft__stack_say_scarce();
    starved_serve(w->cache.stacks, 0);
    weft__each_cluster(wake_cluster, NULL);
    weft__trimmer_wake(true);
}

/* If other fibers wait for such a stack, this fiber waits behind them. */
WEFT_COLD bool weft__fiber_try_begin(struct weft__worker *w, struct weft__fiber *f) {
    unsigned class = f->context.stack_class;
    struct weft__stack *s = stack_is_waited_for(class) ? NULL : weft__stack_get_any(w->cache.stacks, class);
    if (!s) {
        starve_for_stack(w, f);
        return false;
    }
    weft__adopt_any(f, s);
    store_rlx(&f->context.on_stack, WEFT_STOOD_ON);
    return true;
}

/* --- spawning --------------------------------------------------------------------------------------- */

/* Is a stack available? Then it goes to the pool, for the first fiber that needs it. */
static int starved_check(struct weft__stack_cache *caches, unsigned class) {
    struct weft__stack *s = weft__stack_get_any(caches, class);
    if (!s) return -EAGAIN;
    weft__stack_put(caches, s);
    return 0;
}

WEFT_COLD int weft__spawn_scarce(struct weft__worker *w, unsigned class) {
    struct weft__stack_cache own[WEFT_STACK_CACHES] = {{.free = NULL}}, *caches = w ? w->cache.stacks : own;
    int err = starved_serve(caches, class) ? starved_check(caches, class) : -EAGAIN;
    weft__stack_flush(caches, 0);
    return err;
}

int weft__stack_reserve(unsigned class) {
    struct weft__stack_cache own[WEFT_STACK_CACHES] = {{.free = NULL}};
    int err = starved_check(own, class);
    weft__stack_flush(own, 0);
    return err;
}

/* --- the trimmer ------------------------------------------------------------------------------------ */

uint64_t weft__starved_tend(uint64_t now) {
    static uint64_t next, after;
    struct weft__stack_cache own[WEFT_STACK_CACHES] = {{.free = NULL}};
    if (likely(!load_rlx(&weft__stack_is_scarce))) {
        next = after = 0;
        return WEFT_FOREVER;
    }
    if (now < next) return next;
    starved_serve(own, 0);
    weft__stack_flush(own, 0);
    weft__each_cluster(wake_cluster, NULL);
    after = !after ? WEFT_STARVED_FIRST : after < WEFT_STARVED_LAST / 2 ? 2 * after : WEFT_STARVED_LAST;
    return next = now + after;
}

void weft__starved_forget(void) {
    weft__lock(&lock);
    for (unsigned class = 0; class < WEFT_STACK_CLASSES; class ++) waiting[class] = (struct weft__list){NULL, NULL};
    count = 0;
    set_scarce(false);
    weft__unlock(&lock);
}

void weft__starved_after_fork(void) {
    weft__unlock(&lock);
    weft__starved_forget();
}
