/* SPDX-License-Identifier: MIT */
/*
 * The lot: threads of the program wait here for a word in memory, as with a futex. A fiber parks. A kernel thread, such
 * as the thread that notifies of a timer, sleeps in the kernel. All locks of this library use the lot.
 *
 *   a waiter                                     a waker
 *   1. counts itself in its bucket; fence        1. changes the word; fence
 *   2. locks the bucket, looks at the word       2. looks at the count
 *   3. begins its wait, enqueues itself,         3. locks, dequeues waiters, unlocks
 *      unlocks, parks                            4. sets `woken`, wins the wait
 *
 * After step 4 of the waker the waiter's frame may no longer exist, so the waker reads its fields before. A late ticket
 * wins nothing.
 *
 * A signal or a cancellation of a thread ends its wait by weft_unpark. The permits of the program's own fibers belong
 * to the program, so their waits here end only by a wake-up or the deadline.
 */
#define _GNU_SOURCE
#include "sched/dispatch/make_ready.h"
#include "sched/record/record.h"
#include "sched/wait/block.h"
#include "threads/threads.h"

#include <errno.h>
#include <limits.h>

struct waiter {
    struct weft__lot_waiter head; /* the ticket is under the lock; the rest of it is for the observer */
    struct waiter *next, *previous;
    _Atomic uint32_t *word; /* NULL: a waker has dequeued this waiter */
    _Atomic uint32_t woken;
};
static struct bucket {
    struct weft__lock lock;
    _Atomic uint32_t count;
    struct waiter *first, *last;
} WEFT_ALIGNED lot[512];

static struct bucket *lot_bucket_of(const void *word) {
    return &lot[((uintptr_t)word >> 2) * UINT64_C(0x9e3779b97f4a7c15) >> 55];
}

static void lot_enqueue(struct bucket *b, struct waiter *w) {
    w->next = NULL;
    w->previous = b->last;
    *(b->last ? &b->last->next : &b->first) = w;
    b->last = w;
}
static void lot_dequeue(struct bucket *b, struct waiter *w) {
    *(w->previous ? &w->previous->next : &b->first) = w->next;
    *(w->next ? &w->next->previous : &b->last) = w->previous;
}

/* Locks the bucket in which the waiter is now: a requeue may have moved it. NULL: a waker has dequeued it. */
static struct bucket *lock_bucket(struct waiter *w) {
    for (;;) {
        _Atomic uint32_t *word = __atomic_load_n(&w->word, __ATOMIC_ACQUIRE); /* pairs with weft__lot_requeue */
        if (!word) return NULL;
        struct bucket *b = lot_bucket_of(word);
        weft__lock(&b->lock);
        if (w->word == word) return b;
        weft__unlock(&b->lock);
    }
}

/* Ends a wait without a wake-up. False: a waker was faster. */
static bool lot_withdraw(struct waiter *w) {
    struct bucket *b = lock_bucket(w);
    if (b) {
        lot_dequeue(b, w);
        add_rlx(&b->count, -1u);
        weft__unlock(&b->lock);
        return true;
    }
    unsigned turn = 0;                                 /* the waker has dequeued us, and will set `woken` */
    while (!load_acq(&w->woken)) weft__backoff(&turn); /* pairs with lot_notify */
    return false;
}

static uint64_t lot_ways(void) { return weft__posix ? WEFT_WAIT_OUTSIDE : WEFT_WAIT_BY_PERMIT; }

/* Locked. Begins the wait. False: there was a permit, which this call has consumed. */
static bool begin_wait(struct waiter *w) {
    return !w->head.fiber || !weft__wait_begin(w->head.fiber, lot_ways(), &w->head.ticket);
}

/* Begins the wait again after something other than a wake-up has ended it. */
static void begin_again(struct waiter *w, bool *begun) {
    struct bucket *b = lock_bucket(w);
    *begun = b && begin_wait(w);
    if (b) weft__unlock(&b->lock);
}

/* The switch of a fiber with storage of its own does not record what the fiber waits for. An event before it does. */
static WEFT_COLD void record_wait(const struct waiter *w) {
    struct weft__waits_for what = weft__for(w->head.on, w->head.object);
    uint64_t name = w->head.owner ? __atomic_load_n((const uintptr_t *)w->head.owner, __ATOMIC_RELAXED) : 0, life = 0;
    if (name == weft__first_thread.name)
        life = weft__first_thread.life;
    else if (weft__lock_owner_is_fiber(name))
        life = weft__lock_owner_life(name);
    if (what.on == WEFT_WAITS_JOIN) {
        what.object = (const void *)(uintptr_t)life;
        life = 0; /* the fiber that is joined holds nothing */
    }
    weft__record_slow(WEFT_HAPPENED_CONTENDED, weft__life(w->head.fiber), weft__what(what), life);
}

static WEFT_SWITCHES int sleep_on(struct waiter *w, uint64_t deadline) {
    if (w->head.fiber && unlikely(weft__is_recording())) record_wait(w);
    if (w->head.fiber)
        return -weft__wait_block_for(w->head.fiber, w->head.ticket, deadline, weft__for(w->head.on, w->head.object));
    errno = 0;
    if (weft__futex_wait(&w->woken, 0, deadline) == -ETIMEDOUT) return ETIMEDOUT;
    return errno == EINTR ? EINTR : 0; /* EINTR: the kernel has run a handler */
}

static bool lot_has_signals(const struct weft__thread *t) {
    return t && unlikely(load_rlx(&t->pending) & ~load_rlx(&t->mask));
}

/* Must the wait end without a wake-up, for a signal or a cancellation? The caller is not enqueued: handlers of the
 * program run here, and may call anything, or leave by a jump. */
static int lot_look_about(struct weft__thread *t, int until, uint32_t handled) {
    if (!t) return 0;
    if (lot_has_signals(t)) {
        unsigned inside = t->inside;
        bool restarts = true;
        t->inside = 0;
        weft__signals_run(t, &restarts);
        t->inside = inside;
    }
    if (until & WEFT_LOT_SIGNAL && load_rlx(&t->handled) != handled) return EINTR;
    return until & WEFT_LOT_CANCEL && weft__cancel_is_due(t) ? ECANCELED : 0;
}

/* Enqueues the waiter, if the word has the value. *begun: its wait has begun; otherwise a permit was present. */
static bool lot_enter(struct waiter *w, uint32_t value, bool *begun) {
    struct bucket *b = lot_bucket_of(w->word);
    add_rlx(&b->count, 1);
    fence_sc(); /* pairs with the fence of a waker: the load of the word must not move before the addition */
    weft__lock(&b->lock);
    bool waits = load_rlx(w->word) == value;
    *begun = waits && begin_wait(w);
    if (waits)
        lot_enqueue(b, w);
    else
        add_rlx(&b->count, -1u);
    weft__unlock(&b->lock);
    return waits;
}

/* Sleeps until the wait ends. *woken: a wake-up has ended it. If it is false, 0 means that a signal or a cancellation
 * may have ended the wait. */
static int sleep_enqueued(struct waiter *w, uint64_t deadline, bool begun, bool *woken) {
    int end = begun ? sleep_on(w, deadline) : 0;
    *woken = load_acq(&w->woken); /* pairs with lot_notify */
    return end;
}

static struct waiter make_waiter(_Atomic uint32_t *word, struct weft__lot_object object) {
    return (struct waiter){.head = {.fiber = weft__caller_fiber(),
                                    .mark = WEFT_LOT_MARK,
                                    .object = object.what.object,
                                    .owner = object.owner,
                                    .readers = object.readers,
                                    .on = object.what.on},
                           .word = word};
}

static int wait_in_lot(_Atomic uint32_t *word, uint32_t value, uint64_t deadline, int until,
                       struct weft__lot_object object) {
    struct weft__thread *t = weft__thread_self();
    struct waiter w = make_waiter(word, object);
    uint32_t handled = t ? load_rlx(&t->handled) : 0;
    bool begun, woken;
    int end = lot_look_about(t, until, handled);
    if (end) return end;
    if (!lot_enter(&w, value, &begun)) return 0;
    for (;;) {
        end = sleep_enqueued(&w, deadline, begun, &woken);
        if (woken) return 0;
        if (end == EINTR && !(until & WEFT_LOT_SIGNAL)) end = 0; /* a kernel thread */
        bool signals = lot_has_signals(t);
        if (end || signals || (until & WEFT_LOT_CANCEL && weft__cancel_is_due(t))) {
            if (!lot_withdraw(&w)) return 0;
            if (!end) end = lot_look_about(t, until, handled);
            if (end) return end;
            w = make_waiter(word, object);
            if (!lot_enter(&w, value, &begun)) return 0;
        } else
            begin_again(&w, &begun);
    }
}

int weft__lot_wait(_Atomic uint32_t *word, uint32_t value, uint64_t deadline, int until,
                   struct weft__lot_object object) {
    int before = errno;
    weft__thread_enter();
    int err = wait_in_lot(word, value, deadline, until, object);
    errno = before;
    weft__thread_leave();
    return err;
}

int weft__lot_park(uint64_t deadline, struct weft__lot_object object) {
    struct waiter w = make_waiter(NULL, object);
    return begin_wait(&w) ? sleep_on(&w, deadline) : 0;
}

/* Dequeues up to n waiters for the word. */
static struct waiter *lot_take(struct bucket *b, const _Atomic uint32_t *word, int n, int *taken) {
    struct waiter *chain = NULL, *last = NULL;
    for (struct waiter *w = b->first, *next; w && *taken < n; w = next) {
        next = w->next;
        if (w->word != word) continue;
        lot_dequeue(b, w);
        __atomic_store_n(&w->word, NULL, __ATOMIC_RELAXED); /* lot_withdraw waits for `woken` then */
        w->next = NULL;
        *(last ? &last->next : &chain) = w;
        last = w;
        ++*taken;
    }
    add_rlx(&b->count, -(uint32_t)*taken);
    return chain;
}

static void lot_notify(struct waiter *w) {
    for (struct waiter *next; w; w = next) {
        next = w->next;
        struct weft__fiber *fiber = w->head.fiber;
        uint64_t ticket = w->head.ticket;
        _Atomic uint32_t *woken = &w->woken;
        store_rel(woken, 1); /* pairs with wait_in_lot */
        if (!fiber)
            weft__futex_wake(woken, 1);
        else if (weft__wait_win(fiber, ticket, WEFT_WON_DONE))
            weft__make_ready(fiber);
    }
}

int weft__lot_wake(_Atomic uint32_t *word, int n) {
    struct bucket *b = lot_bucket_of(word);
    int taken = 0;
    fence_sc(); /* pairs with the count of a waiter */
    if (!load_rlx(&b->count)) return 0;
    int before = errno;
    weft__thread_enter();
    weft__lock(&b->lock);
    struct waiter *chain = lot_take(b, word, n, &taken);
    weft__unlock(&b->lock);
    lot_notify(chain);
    errno = before;
    weft__thread_leave();
    return taken;
}

int weft__lot_requeue(_Atomic uint32_t *word, int n, _Atomic uint32_t *to, int m) {
    int woken = weft__lot_wake(word, n), moved = 0;
    struct bucket *from = lot_bucket_of(word), *b = lot_bucket_of(to);
    weft__thread_enter();
    /* Locks both in the order of their addresses, so that two requeues in opposite directions cannot deadlock. */
    weft__lock(from < b ? &from->lock : &b->lock);
    if (from != b) weft__lock(from < b ? &b->lock : &from->lock);
    for (struct waiter *w = from->first, *next; w && moved < m; w = next) {
        next = w->next;
        if (w->word != word) continue;
        lot_dequeue(from, w);
        add_rlx(&from->count, -1u);
        add_rlx(&b->count, 1);
        w->head.object = to;
        __atomic_store_n(&w->word, to, __ATOMIC_RELEASE);
        lot_enqueue(b, w);
        moved++;
    }
    if (from != b) weft__unlock(&from->lock);
    weft__unlock(&b->lock);
    weft__thread_leave();
    return woken + moved;
}

void weft__lot_after_fork(void) {
    for (size_t i = 0; i < sizeof lot / sizeof *lot; i++) lot[i] = (struct bucket){.first = NULL};
}
