/* SPDX-License-Identifier: MIT */
/*
 * The slow paths of blocking, and three ways to end the wait of a given fiber: unpark, cancel, deadline. See wait.h.
 */
#include "base/assert.h"
#include "sched/core/thread.h"
#include "sched/wait/block.h"
#include "sched/wait/cancel.h"
#include "sched/wait/cancel_log.h"

static int thread_block(struct weft__fiber *me, uint64_t ticket, uint64_t deadline) {
    uint64_t released, scopes = weft__scopes_deadline(me), word = load_rlx(&me->wait);
    bool for_ever =
        deadline == WEFT_FOREVER && scopes == WEFT_FOREVER && (word & WEFT_WAIT_WAITING) && !(word & WEFT_WAIT_OUTSIDE);
    if (for_ever) weft__thread_waits();
    while ((released = load_acq(&me->join)) != (ticket | 1)) { /* pairs with weft__wait_thread_release */
        bool is_own = deadline <= scopes;
        if (weft__futex_wait(weft__wait_thread_futex(me), (uint32_t)released, is_own ? deadline : scopes) != -ETIMEDOUT)
            continue;
        if (!is_own) {
            weft__scopes_expire(me);
            scopes = weft__scopes_deadline(me);
            continue;
        }
        if (weft__wait_win(me, ticket, WEFT_WON_DEADLINE)) return -ETIMEDOUT;
        deadline = WEFT_FOREVER; /* another thread or fiber has won the wait, and will release this thread soon */
    }
    weft__thread_resumes(for_ever);
    return weft__wait_result(me, load_acq(&me->wait));
}

static int block_until(struct weft__fiber *me, uint64_t ticket, uint64_t deadline, bool idle,
                       struct weft__waits_for what) {
    if (load_rlx(&me->context.kind) != WEFT_KIND_FIBER) return thread_block(me, ticket, deadline);
    if (deadline == WEFT_FOREVER) return weft__wait_block_for(me, ticket, deadline, what);
    WEFT_ASSERT(load_rlx(&weft__self()->current) == me);
    struct weft__timer timer = {.idle = idle};
    weft__wheel_arm(&weft__self()->wheel, &timer, deadline, (struct weft__due){NULL, me, ticket});
    int result = weft__wait_block_for(me, ticket, WEFT_FOREVER, what);
    if (!weft__wait_was_late(me)) weft__wheel_cancel(&timer);
    return result;
}

WEFT_SWITCHES WEFT_COLD int weft__wait_block_slow(struct weft__fiber *me, uint64_t ticket, uint64_t deadline,
                                                  struct weft__waits_for what) {
    return block_until(me, ticket, deadline, false, what);
}

WEFT_SWITCHES int weft__wait_block_idly(struct weft__fiber *me, uint64_t ticket, uint64_t deadline) {
    return block_until(me, ticket, deadline, true, weft__for(0, NULL));
}

WEFT_SWITCHES int weft__wait_withdraw(struct weft__fiber *me, uint64_t ticket) {
    if (weft__wait_win(me, ticket, WEFT_WON_DONE)) return 0;
    return weft__wait_block(me, ticket, WEFT_FOREVER); /* the wait was won: the winner puts the fiber into a queue */
}

WEFT_SWITCHES void weft__wait_nap(struct weft__fiber *me, uint64_t nanoseconds) {
    uint64_t ticket;
    weft__wait_begin(me, 0, &ticket); /* neither a permit nor a cancellation ends it */
    weft__wait_block_for(me, ticket, weft__clock() + nanoseconds, weft__for(WEFT_WAITS_SLEEP, NULL));
}

/* Counts the refusals of all fibers of this kernel thread. A fiber that loops is refused far more often than the
 * others, so mostly it is this fiber that pauses. */
static __thread unsigned refusals;
static WEFT_NOINLINE bool is_to_pause(void) { return ++refusals % WEFT_REFUSALS == 0; }

WEFT_COLD int weft__refused(struct weft__fiber *me, int err) {
    if (is_to_pause()) weft__wait_nap(me, WEFT_REFUSAL_PAUSE);
    return err;
}

static WEFT_SWITCHES int park_until(struct weft__fiber *me, uint64_t deadline) {
    uint64_t ticket;
    int r = weft__wait_begin(me, WEFT_WAIT_BY_PERMIT | WEFT_WAIT_BY_CANCEL, &ticket);
    if (r) return r < 0 ? weft__refused(me, r) : 0;
    return weft__wait_block_for(me, ticket, deadline, weft__for(WEFT_WAITS_PARK, NULL));
}

WEFT_PUBLIC int weft_park_until(uint64_t deadline) {
    struct weft__worker *w = weft__self();
    struct weft__fiber *me = w ? load_rlx(&w->current) : NULL;
    if (unlikely(!me)) return -EPERM;
    uint64_t word = load_rlx(&me->wait);
    /* There is a permit: consume it, and return without a switch. */
    if ((word & WEFT_WAIT_PERMIT) && cas_ar(&me->wait, &word, word & ~WEFT_WAIT_PERMIT)) return 0;
    return park_until(me, deadline);
}

WEFT_PUBLIC int weft_park(void) { return weft_park_until(WEFT_FOREVER); }

struct poked {
    bool ends; /* this ended a wait, and the caller must make the fiber ready */
    bool news; /* the bit was not set before */
};

/*
 * Sets the sticky bit (PERMIT or CANCEL). If the fiber is in a wait that this bit ends, ends the wait; this consumes a
 * permit. If the bit is set already, the swap is still made, so that the fiber sees what this caller wrote before.
 *
 * The handle is checked after the word was read. If the record begins another life in between, its epoch changes, and
 * the swap fails.
 */
static inline int wait_poke(struct weft__fiber *f, struct weft_fiber fiber, uint64_t bit, uint64_t way, uint64_t reason,
                            struct poked *poked) {
    /* Acquire: pairs with the spawn. If the word belongs to a later life, the check below sees that life, too. */
    uint64_t word = load_acq(&f->wait), next;
    do {
        if (unlikely(load_rlx(&f->slot.life) != fiber.id)) return -ESRCH;
        if (unlikely(load_rlx(&f->context.kind) != WEFT_KIND_FIBER)) return -ESRCH;
        poked->ends = (word & (WEFT_WAIT_WAITING | way)) == (WEFT_WAIT_WAITING | way);
        poked->news = !(word & bit);
        if (poked->ends)
            next = (word & (WEFT_WAIT_EPOCH | WEFT_WAIT_STICKY)) | reason | (bit & WEFT_WAIT_CANCEL);
        else
            next = word | bit;
    } while (!cas_ar(&f->wait, &word, next)); /* pairs with weft__wait_begin */
    return 0;
}

WEFT_PUBLIC int weft_unpark(struct weft_fiber fiber) {
    struct weft__fiber *f = weft__fiber_of(fiber);
    struct poked poked;
    if (unlikely(!f || wait_poke(f, fiber, WEFT_WAIT_PERMIT, WEFT_WAIT_BY_PERMIT, WEFT_WON_DONE, &poked)))
        return -ESRCH;
    if (poked.ends) weft__make_ready(f);
    return 0;
}

int weft__wait_cancel(struct weft__fiber *f, struct weft_fiber fiber, bool *wakes) {
    struct poked poked;
    if (wait_poke(f, fiber, WEFT_WAIT_CANCEL, WEFT_WAIT_BY_CANCEL, WEFT_WON_CANCEL, &poked)) return -ESRCH;
    if (poked.news) weft__cancel_log_add(f, WEFT_BY_REQUEST);
    *wakes = poked.ends;
    return 0;
}
