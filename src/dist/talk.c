/* SPDX-License-Identifier: MIT */
/*
 * The talker: the fiber that handles messages when no other fiber does, and that asks for work when a worker has run
 * dry.
 *
 * A worker that finds nothing to do calls weft__dist_before_sleep, after it has searched its own process: core, cache
 * and node come first. Then this rank asks, as policy.c says. While it waits for an answer it looks for a short time,
 * if the node has a processor for it, and then sleeps until the doorman wakes it.
 */
#include "dist/dist.h"

#include <sched.h>

#define WEFT_ANSWER_SPIN (30 * WEFT_MICROSECOND)

void weft__dist_woken(void) { weft_unpark(weft__dist.talker); }

/* Called by a worker before it sleeps, outside of any fiber. See ring.c for the handshake. A spare that has handled
 * messages beside a worker that computes is not a sign that the rank has run dry. */
int weft__dist_before_sleep(int takes_calls) {
    struct weft__dist *d = &weft__dist;
    if (!atomic_load_explicit(&d->running, memory_order_acquire)) return 0;
    atomic_store_explicit(&d->bell->asleep, 1, memory_order_relaxed);
    atomic_thread_fence(memory_order_seq_cst); /* pairs with weft__dist_ring_bell */
    bool message = atomic_load_explicit(&d->bell->rung, memory_order_relaxed) & WEFT_BELL_MESSAGE;
    bool asks = takes_calls && atomic_load_explicit(&d->state, memory_order_relaxed) == WEFT_DIST_BUSY &&
                !atomic_load_explicit(&d->ended, memory_order_relaxed) && d->ranks > 1 &&
                atomic_load_explicit(&d->living, memory_order_relaxed) > 1;
    if (!message && !asks) return 0;
    if (asks) atomic_store_explicit(&d->dry, true, memory_order_relaxed);
    return weft_unpark(d->talker) == 0;
}

/* Called by a fork that has seen the bell. */
WEFT_EXPORT void weft__dist_poll(void) {
    weft__dist_progress();
    if (atomic_load_explicit(&weft__dist.bell->rung, memory_order_relaxed) & WEFT_BELL_FEED) weft__dist_feed();
}

static bool is_answered(void) {
    return atomic_load(&weft__dist.answered) || atomic_load(&weft__dist.ended) ||
           atomic_load(&weft__dist.state) != WEFT_DIST_ASKING;
}

static void wait_for_answer(void) {
    struct weft__dist *d = &weft__dist;
    struct weft__dist_peer *peer = &d->peers[d->asked];
    uint64_t begun = weft_now(), end = begun + (d->crowded ? 0 : WEFT_ANSWER_SPIN);
    atomic_store_explicit(&d->bell->looked, begun, memory_order_relaxed); /* the answer needs no datagram */
    do weft__dist_progress();
    while (!is_answered() && weft_now() < end);
    if (!is_answered() && peer->local != UINT32_MAX) weft__dist_ring_bell(peer, false); /* the peer may not fork soon */
    while (!is_answered()) {
        (void)!weft_park();
        weft__dist_progress();
    }
}

static void notify_lifelines(void) {
    struct weft__dist *d = &weft__dist;
    unsigned lines[WEFT_POLICY_LIFELINES], n = weft__policy_lifelines(&d->policy, weft__dist_is_lost, lines);
    int asking = WEFT_DIST_ASKING;
    if (!atomic_compare_exchange_strong(&d->state, &asking, WEFT_DIST_WAITING)) return; /* calls have come */
    COUNT(lifelines, 1);
    weft__dist_trace(WEFT_TRACE_WAITS, weft_now(), n, 0);
    for (unsigned i = 0; i < n; i++) weft__dist_send(lines[i], WEFT_MSG_STEAL, 0, d->policy.wants, 1, NULL, 0);
}

/* Asks some ranks for work, one after the other, and then the lifelines. */
static void ask_others(void) {
    struct weft__dist *d = &weft__dist;
    int busy = WEFT_DIST_BUSY;
    if (!atomic_compare_exchange_strong(&d->state, &busy, WEFT_DIST_ASKING)) return;
    d->policy.tries = 0;
    while (atomic_load(&d->state) == WEFT_DIST_ASKING && !atomic_load(&d->ended)) {
        unsigned victim = weft__policy_victim(&d->policy, weft__dist_is_lost);
        if (victim == UINT32_MAX) {
            notify_lifelines();
            return;
        }
        atomic_store(&d->answered, false);
        d->asked = victim;
        uint64_t begun = weft_now();
        COUNT(asked, 1);
        weft__dist_send(victim, WEFT_MSG_STEAL, 0, d->policy.wants, 0, NULL, 0);
        if (weft__dist_is_lost(victim)) continue;
        wait_for_answer();
        weft__dist_trace(WEFT_TRACE_ASKED, begun, victim, atomic_load(&d->state) == WEFT_DIST_BUSY);
    }
}

/* If the last steals did not pay, pauses before the next round. */
static void pause_before(void) {
    struct weft__dist *d = &weft__dist;
    int busy = WEFT_DIST_BUSY;
    uint64_t until = weft_now() + d->policy.pause_ns;
    if (!d->policy.pause_ns || !atomic_compare_exchange_strong(&d->state, &busy, WEFT_DIST_PAUSING)) return;
    while (weft_now() < until && atomic_load(&d->state) == WEFT_DIST_PAUSING && !atomic_load(&d->ended)) {
        (void)!weft_park_until(until);
        weft__dist_progress();
    }
    int pausing = WEFT_DIST_PAUSING;
    atomic_compare_exchange_strong(&d->state, &pausing, WEFT_DIST_BUSY);
}

void *weft__dist_talk(void *unused) {
    struct weft__dist *d = &weft__dist;
    (void)unused;
    while (!atomic_load(&d->left)) {
        weft__dist_progress();
        bool dry = atomic_exchange(&d->dry, false) && !atomic_load(&d->ended);
        if (dry && atomic_load(&d->state) == WEFT_DIST_BUSY) {
            pause_before();
            ask_others();
            continue;
        }
        (void)!weft_park();
    }
    return NULL;
}
