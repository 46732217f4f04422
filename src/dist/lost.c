/* SPDX-License-Identifier: MIT */
/*
 * Lost ranks. Rank 0 decides which ranks are lost, and notifies the others. Only rank 0 must live.
 *
 * Rank 0 has a socket to every rank. It breaks when the process dies; the kernel finds out when the machine is cut off.
 * A process that neither dies nor answers is found by pings, which rank 0 sends only while other ranks have calls of
 * its own, and at the end of the job: all work of a job is below such calls, so an idle job sends nothing.
 *
 * The other ranks ignore all messages of a lost rank, so it does not matter whether it has really died. A rank that
 * learns that it counts as lost ends.
 */
#include "dist/dist.h"

#include <unistd.h>

static bool is_newly_lost(unsigned rank) {
    struct weft__dist *d = &weft__dist;
    return rank < d->ranks && rank != d->rank && !atomic_exchange(&d->peers[rank].lost, true);
}

/* Locked. The rank's calls run here; what it has asked for is not needed any more. */
void weft__dist_lose(unsigned rank) {
    struct weft__dist *d = &weft__dist;
    if (rank == d->rank) {
        weft__dist_say("rank %u did not answer in time and was taken for lost: it ends", d->rank);
        _exit(1);
    }
    if (!is_newly_lost(rank)) return;
    atomic_fetch_sub(&d->living, 1);
    COUNT(lost, 1);
    weft__dist_trace(WEFT_TRACE_LOST, weft_now(), rank, 0);
    weft__dist_take_back(rank);
    weft__dist_data_lost(rank);
    for (struct weft__dist_wait *w = d->waits, *next; w; w = next) {
        next = w->next;
        if (w->to == rank) w->error = -EOWNERDEAD, weft__dist_answer(w->cookie, 0, NULL, 0);
    }
    for (struct weft__dist_batch *b = d->batches; b; b = b->next)
        if (b->from == rank) weft_cancel(b->fiber);
    if (!d->rank)
        for (unsigned r = 1; r < d->ranks; r++)
            if (r == rank || !weft__dist_is_lost(r)) weft__dist_control(r, WEFT_MSG_LOST, rank, 0);
    /* The lost rank does not answer, and this rank may need another lifeline: ends the wait for both. */
    int waiting = WEFT_DIST_WAITING;
    atomic_compare_exchange_strong(&d->state, &waiting, WEFT_DIST_BUSY);
    if (d->asked == rank) atomic_store(&d->answered, true);
    atomic_store(&d->dry, true);
    weft__dist_woken();
    if (atomic_load(&d->ended)) weft_unpark(d->main); /* see leave.c */
}

/* Locked. */
void weft__dist_link_broke(struct weft__dist_link *l) {
    struct weft__dist *d = &weft__dist;
    if (atomic_load(&d->left) || atomic_load(&d->peers[l->rank].left)) return;
    if (l->rank == 0) {
        weft__dist_say("rank %u: rank 0 is lost, and the job with it", d->rank);
        _exit(1);
    }
    if (!d->rank) weft__dist_lose(l->rank); /* rank 0 notifies the other ranks */
}

/* Sends a ping to every rank. Called four times in the period after which a silent rank counts as lost. */
static void ping_rank(uint64_t now) {
    struct weft__dist *d = &weft__dist;
    weft_mutex_lock(&d->lock);
    for (unsigned r = 1; r < d->ranks; r++) {
        struct weft__dist_peer *peer = &d->peers[r];
        if (weft__dist_is_lost(r) || atomic_load(&peer->left)) continue;
        if (now - peer->heard > d->detect)
            weft__dist_lose(r);
        else
            weft__dist_control(r, WEFT_MSG_PING, now, 0);
    }
    weft_mutex_unlock(&d->lock);
}

/* A fiber of rank 0. */
void *weft__dist_detect(void *unused) {
    struct weft__dist *d = &weft__dist;
    uint64_t step = d->detect / 4;
    bool was_busy = false;
    (void)unused;
    while (!weft_sleep_for(step) && !atomic_load(&d->left)) {
        bool busy = atomic_load(&d->outstanding) > 0 || atomic_load(&d->ended);
        uint64_t now = weft_now();
        if (busy && !was_busy) /* silence counts from here */
            for (unsigned r = 1; r < d->ranks; r++) d->peers[r].heard = now;
        if (busy) ping_rank(now);
        was_busy = busy;
    }
    return NULL;
}
