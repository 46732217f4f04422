/* SPDX-License-Identifier: MIT */
/*
 * The fiber of a link: connects, and works in each part of the run. See load.h.
 */
#include "load.h"
#include "weft/sync.h"

#include <math.h>

#define RETRY (10 * WEFT_MILLISECOND) /* after a fault in closed loop, to prevent a storm of connections */

/* Makes the pause of a reader: many short pauses and a few long ones (an exponential distribution). */
static void think(struct load_link *link) {
    double u = (double)load_random(link) / 4294967296.0;
    if (link->load->plan->think > 0) weft_sleep_for((uint64_t)(-1e9 * link->load->plan->think * log1p(-u)));
}

/* Runs one session. The time of its first request counts from `due`, the times of the others from their sending. The
 * end of the part cuts a session off. */
static enum load_fault run_session(struct load_link *link, double due) {
    const struct load *load = link->load;
    enum load_fault fault = LOAD_FINE;
    for (unsigned left = load->plan->session; left && !fault && due < (double)load->end;) {
        unsigned n = left < load->plan->depth ? left : load->plan->depth;
        fault = load_exchange(link, n, due, 0);
        left -= n;
        if (left && !fault) think(link);
        due = (double)weft_now();
    }
    load_hang_up(link);
    return fault;
}

static void drive_closed(struct load_link *link) {
    const struct load *load = link->load;
    for (uint64_t now; (now = weft_now()) < load->end;) {
        enum load_fault fault = load->plan->session ? run_session(link, (double)now)
                                                    : load_exchange(link, load->plan->depth, (double)now, 0);
        if (fault) weft_sleep_for(RETRY);
    }
}

/* Runs the arrivals of this link, `step` apart. The first arrival comes after the first arrivals of the earlier links.
 * Requests that are already due are sent together, at most `depth`. With sessions, each arrival is a session. Requests
 * that are left when the part ends count with their age. */
static void drive_open(struct load_link *link) {
    const struct load *load = link->load;
    unsigned session = load->plan->session, requests = session ? session : 1;
    double apart = requests * 1e9 / load->plan->rate, step = apart * load->plan->connections;
    double due = (double)load->begin + apart * link->index, end = (double)load->end;
    while (due < end) {
        double now = (double)weft_now();
        if (now >= end) break;
        if (now < due) {
            weft_sleep_until((uint64_t)due);
            continue;
        }
        unsigned n = 1;
        if (session) {
            (void)!run_session(link, due);
        } else {
            while (n < load->plan->depth && due + n * step <= now && due + n * step < end) n++;
            load_exchange(link, n, due, step);
        }
        due += n * step;
    }
    for (double now = (double)weft_now(); load->measured && due < end; due += step) {
        __atomic_fetch_add(&load->tally->unsent, requests, __ATOMIC_RELAXED);
        for (unsigned i = 0; i < requests; i++) histogram_add(&load->tally->times, (uint64_t)(now - due));
    }
}

/* The fiber of a link. Its waits do not fail, because nothing cancels a link. */
void *load_drive(void *p) {
    struct load_link *link = p;
    struct load *load = link->load;
    if (!load->plan->one_request && !load->plan->session) {
        (void)!weft_sem_wait(&load->dialling);
        enum load_fault fault = load_dial(link);
        if (fault) __atomic_fetch_add(&load->tally->faults[fault], 1, __ATOMIC_RELAXED);
        weft_sem_post(&load->dialling);
    }
    for (;;) {
        (void)!weft_barrier_wait(&load->turn); /* all links are at rest */
        (void)!weft_barrier_wait(&load->turn); /* the next part has been set up */
        if (load->ended) return NULL;
        (load->plan->rate > 0 ? drive_open : drive_closed)(link);
    }
}
