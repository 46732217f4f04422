/* SPDX-License-Identifier: MIT */
/* See rings.h. */
#define _GNU_SOURCE
#include "sched/rings/rings.h"
#include "base/assert.h"
#include "base/probe.h"
#include "sched/record/record.h"
#include "sched/wait/block.h"

#include <stdlib.h>
#include <string.h>

/*
 * Counts the requests under way for each descriptor, so that a close need not ask all rings. A request is counted from
 * before the kernel gets it until it has completed. Descriptors with equal last bits share a count. The kernel commits
 * the pages of this array when they are first touched.
 */
enum { WEFT_DESCRIPTORS = 1 << 20 };
static _Atomic uint32_t under_way[WEFT_DESCRIPTORS];

static _Atomic uint32_t *ring_count_of(int fd) { return &under_way[(unsigned)fd % WEFT_DESCRIPTORS]; }

/* --- submission ------------------------------------------------------------------------------------ */

static unsigned ring_entries(void) {
    const char *text = getenv("WEFT_RING"); /* a test may ask for a tiny ring */
    int n = text ? atoi(text) : 0;
    return n > 0 && n <= WEFT_RING_ENTRIES ? (unsigned)n : WEFT_RING_ENTRIES;
}

static void take_away(struct weft__uring_options *wish, const char *word, size_t length) {
    static const struct {
        const char *word;
        unsigned lacks;
    } words[] = {{"coop_taskrun", WEFT_LACKS_COOP_TASKRUN},
                 {"ext_arg", WEFT_LACKS_EXT_ARG},
                 {"sync_cancel", WEFT_LACKS_SYNC_CANCEL},
                 {"buffers", WEFT_LACKS_BUFFERS}};
    unsigned long number = strtoul(word, NULL, 10);
    if (length == 3 && !strncmp(word, "all", 3)) wish->without = UINT64_MAX;
    if (*word >= '0' && *word <= '9' && number < 64) wish->without |= UINT64_C(1) << number;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (length == strlen(words[i].word) && !strncmp(word, words[i].word, length)) wish->lacks |= words[i].lacks;
}

/* A test may pretend that the kernel is older. WEFT_RING_WITHOUT lists what is missing, separated by commas: numbers of
 * operations, "all" for all operations, and words for other abilities. */
static struct weft__uring_options ring_wish(void) {
    struct weft__uring_options all = {.entries = ring_entries()};
    const char *text = getenv("WEFT_RING_WITHOUT");
    for (size_t length; text && *text; text += length + (text[length] == ',')) {
        length = strcspn(text, ",");
        take_away(&all, text, length);
    }
    return all;
}

_Atomic(const char *) weft__ring_refusal;

static int open_own(struct weft__uring *r) {
    struct weft__uring_options all = ring_wish();
    const char *why = NULL;
    int err = weft__uring_open(r, &all, &why);
    if (err) store_rlx(&weft__ring_refusal, why);
    return err;
}

struct weft__uring *weft__ring_lock_own(unsigned n, int *err) {
    for (unsigned tries = 0;; tries++) {
        struct weft__uring *r = &weft__self()->ring;
        if (unlikely(!load_rlx(&r->open)) && (*err = open_own(r))) return NULL;
        weft__lock(&r->lock);
        if (likely(weft__uring_has_room(r, n))) return r;
        weft__unlock(&r->lock);
        if (n > weft__uring_size(r)) return *err = -EINVAL, NULL;
        if (tries >= 2) break;
        weft__uring_enter(r);
    }
    *err = -EBUSY;
    return NULL;
}

void weft__ring_unlock(struct weft__uring *r) { weft__unlock(&r->lock); }

static inline bool is_called_later(const struct weft__op *op) { return op->fn && !op->at_once; }

static WEFT_COLD void record_io(enum weft__happened kind, const struct weft__op *op, int number) {
    uint64_t fiber = op->fiber ? load_rlx(&op->fiber->slot.life) : 0;
    weft__record_slow(kind, fiber, (uintptr_t)op, (uint64_t)(int64_t)number);
}

void weft__ring_claim(struct weft__uring *r, struct io_uring_sqe *e, struct weft__op *op) {
    WEFT_ASSERT(weft__lock_is_held(&r->lock));
    op->ring = r;
    op->done = false;
    op->enters = load_rlx(&r->enters);
    weft__probe3(io_begin, op, op->fiber, op->fd);
    if (unlikely(weft__is_recording())) record_io(WEFT_HAPPENED_IO_BEGIN, op, op->fd);
    weft__uring_set_op(e, op);
    store_rlx(&r->in_flight, load_rlx(&r->in_flight) + 1);
    if (is_called_later(op)) store_rlx(&r->functions, load_rlx(&r->functions) + 1);
    if (op->fd >= 0)
        add_sc(ring_count_of(op->fd), 1); /* pairs with weft__rings_close_fd, which sees this and in_flight */
}

void weft__ring_unclaim(struct weft__uring *r, struct weft__op *op) {
    if (op->fd >= 0) add_ar(ring_count_of(op->fd), -1);
    if (is_called_later(op)) store_rlx(&r->functions, load_rlx(&r->functions) - 1);
    store_rlx(&r->in_flight, load_rlx(&r->in_flight) - 1);
}

/* --- completion --------------------------------------------------------------------------------------- */

/* Completes the op, or a part of it. True: the caller must call op->fn after the unlock. *over counts the ops that are
 * complete after that call. They stay in r->in_flight until then, because the function may spawn a fiber. Locked. */
static bool ring_complete(struct weft__uring *r, const struct weft__completion *c, struct weft__list *won,
                          unsigned *over) {
    struct weft__op *op = c->op;
    weft__probe3(io_end, op, op->fd, c->result);
    if (unlikely(weft__is_recording())) record_io(WEFT_HAPPENED_IO_END, op, c->result);
    WEFT_ASSERT(weft__lock_is_held(&r->lock));
    if (likely(!(c->flags & WEFT_COMPLETION_MORE))) {
        WEFT_ASSERT(!op->done);
        WEFT_ASSERT(load_rlx(&r->in_flight) > 0);
        if (op->fd >= 0) add_ar(ring_count_of(op->fd), -1);
        if (is_called_later(op))
            ++*over;
        else
            store_rlx(&r->in_flight, load_rlx(&r->in_flight) - 1);
        op->done = true;
        op->waited = load_rlx(&r->enters) - op->enters > 1;
    }
    if (op->at_once) op->fn(op, c->result, c->flags);
    if (op->fn) return !op->at_once;
    struct weft__fiber *f = op->fiber;
    op->result = c->result;
    op->flags = c->flags;
    if (likely(weft__wait_win(f, op->ticket, WEFT_WON_DONE))) weft__list_put(won, &f->slot.link);
    return false;
}

/*
 * With thousands of connections, the op, the stack and the record of a fiber that waited for long are in no cache. A
 * batch of completions names the records that will be needed, so they are prefetched together.
 */
static void foresee_entries(const struct weft__completion *c, unsigned n) {
    for (unsigned i = 0; i < n; i++) {
        const char *at = (const char *)c[i].op; /* on the fiber's stack, next to the frames that it returns to */
        for (int line = -2; line <= 3; line++) __builtin_prefetch(at + line * 64);
    }
    for (unsigned i = 0; i < n; i++) __builtin_prefetch(c[i].op->fiber);
}

/* Changes the result of requests that the end of the ring has cancelled. Locked. */
static void say_left(struct weft__completion *c, unsigned n) {
    for (unsigned i = 0; i < n; i++)
        if (c[i].result == -ECANCELED) c[i].result = WEFT_RING_LEFT;
}

/* Takes completions out of the ring. wakes: makes the waiters ready; false at the end, when only abandoned fibers are
 * left. */
static unsigned reap_completions(struct weft__uring *r, bool wakes) {
    enum { AT_ONCE = 64 };
    struct weft__completion c[AT_ONCE];
    struct weft__list won = {NULL, NULL};
    unsigned n = 0, called = 0, over = 0;
    weft__lock(&r->lock);
    if (load_rlx(&r->open)) n = weft__uring_reap(r, c, AT_ONCE);
    foresee_entries(c, n);
    if (unlikely(r->leaves)) say_left(c, n);
    for (unsigned i = 0; i < n; i++)
        if (ring_complete(r, &c[i], &won, &over)) c[called++] = c[i];
    weft__unlock(&r->lock);
    if (likely(wakes)) weft__make_arrived_ready(&won);
    for (unsigned i = 0; i < called; i++) c[i].op->fn(c[i].op, c[i].result, c[i].flags);
    if (over) {
        weft__lock(&r->lock);
        store_rel(&r->in_flight, load_rlx(&r->in_flight) -
                                     over); /* pairs with a stop, which then counts the fibers that they spawned */
        store_rel(&r->functions, load_rlx(&r->functions) - over); /* the same */
        weft__unlock(&r->lock);
    }
    return n;
}

void weft__ring_serve(struct weft__uring *r) {
    weft__uring_enter(r);
    while (weft__uring_has_completions(r) && reap_completions(r, true)) {
    }
}

/* --- ending early ------------------------------------------------------------------------------------ */

static struct weft__worker *ring_owner_of(struct weft__uring *r) { return container_of(r, struct weft__worker, ring); }

/* May the calling thread submit the entries of this ring? When a thread ends, the kernel cancels all requests that the
 * thread has submitted, whichever fiber made them. Carriers of the ring's cluster live as long as the ring; all other
 * threads leave the ring to its worker. */
static bool may_enter(struct weft__uring *r) {
    struct weft__worker *me = weft__self();
    return me && me->cluster == ring_owner_of(r)->cluster;
}

/* Submits the entries and takes the completions, or wakes the worker of the ring to do so. */
static void ring_serve(struct weft__uring *r) {
    if (likely(may_enter(r)))
        weft__ring_look(r);
    else
        weft__idle_wake(ring_owner_of(r));
}

/* Serves the ring until the kernel has taken all entries. The worker of the ring may be asleep, and must wake first. */
static void serve_now(struct weft__uring *r) {
    ring_serve(r);
    for (unsigned turn = 0; weft__uring_has_entries(r); weft__backoff(&turn)) ring_serve(r);
}

/* Pushes a request that cancels op. False: the ring has no room. Locked. */
static bool push_cancel(struct weft__uring *r, struct weft__op *op) {
    WEFT_ASSERT(weft__lock_is_held(&r->lock) && !op->done);
    if (!weft__uring_has_room(r, 1)) return false;
    weft__uring_fill_cancel(weft__uring_entry(r, 0), op);
    weft__uring_push(r, 1);
    return true;
}

void weft__ring_cancel(struct weft__op *op) {
    struct weft__uring *r = op->ring;
    bool pushed;
    do {
        weft__lock(&r->lock);
        pushed = op->done || push_cancel(r, op);
        weft__unlock(&r->lock);
        serve_now(r);
    } while (!pushed);
}

WEFT_SWITCHES void weft__ring_abandon(struct weft__fiber *me, struct weft__op *op) {
    struct weft__uring *r = op->ring;
    for (;;) {
        weft__lock(&r->lock);
        bool done = op->done, pushed = !done && push_cancel(r, op);
        if (pushed) weft__wait_begin(me, WEFT_WAIT_OUTSIDE, &op->ticket);
        weft__unlock(&r->lock);
        if (done) return;
        serve_now(r);
        if (pushed) weft__wait_block(me, op->ticket, WEFT_FOREVER);
        if (pushed) return;
    }
}

static void close_fd_in(struct weft__cluster *c, int fd) {
    for (unsigned i = 0; i < load_acq(&c->count); i++) { /* pairs with the making of a worker */
        struct weft__uring *r = &c->workers[i]->ring;
        if (!load_rlx(&r->in_flight)) continue;
        ring_serve(r); /* after the close, the kernel would use the next file with this number for the entries */
        if (unlikely(weft__uring_cancel_fd(r, fd)))
            serve_now(r); /* for the same reason: the entry that cancels names the descriptor, too */
        else
            ring_serve(r);
    }
}

static void close_fd_everywhere(int fd) {
    for (unsigned i = 0; i < WEFT_CLUSTERS_MAX; i++) {
        struct weft__cluster *c = load_acq(&weft__clusters[i]); /* pairs with its store; records are kept for ever */
        if (c) close_fd_in(c, fd);
    }
}

/*
 * A cancellation does not find a request that the kernel has woken and is about to try again; that request may wait
 * again afterwards. So we cancel again and again until all requests have completed. Most often one round is enough.
 * More are needed while the kernel must run a request on a thread that computes: it does so at the next tick of its
 * clock, or when another thread enters the ring. The limit of some two seconds is for descriptors that share a count.
 */
void weft__rings_close_fd(int fd) {
    enum { TURNS = 20000 };
    if (fd < 0 || likely(!load_sc(ring_count_of(fd)))) return; /* pairs with weft__ring_claim */
    for (unsigned turn = 0; load_acq(ring_count_of(fd)) && turn < TURNS; weft__backoff(&turn)) close_fd_everywhere(fd);
}

/* --- the end ------------------------------------------------------------------------------------------- */

void weft__ring_worker_ends(struct weft__worker *w) {
    struct weft__uring *r = &w->ring;
    if (!load_rlx(&r->open) || !load_rlx(&r->in_flight)) return;
    bool goes_on = !load_acq(&weft__cluster.ending); /* pairs with weft__clusters_claim */
    w->placement = WEFT_PLACEMENT_NOWHERE;           /* fibers that become ready from here on go to other workers */
    weft__lock(&r->lock);
    r->leaves = goes_on;
    weft__unlock(&r->lock);
    while (!weft__uring_cancel_all(r)) reap_completions(r, goes_on);
}

void weft__rings_after_fork(void) {
    for (unsigned i = 0; i < WEFT_DESCRIPTORS; i++)
        if (load_rlx(&under_way[i])) store_rlx(&under_way[i], 0);
}
