/* SPDX-License-Identifier: MIT */
/*
 * Which rank is asked for work, and when. Pure decisions: no clock, no messages, no memory of their own, so that a
 * simulation with thousands of ranks runs the same code (tests/dist/sim.c).
 *
 * A rank that has run dry asks a few ranks at random, first on its own node, one after the other. If none has work, it
 * notifies its lifelines, a few fixed ranks, and goes to sleep. A lifeline that gets work gives some of it. The
 * lifelines form a hypercube over the living ranks, so work reaches every rank in at most log2(ranks) steps.
 */
#ifndef WEFT_DIST_POLICY_H
#define WEFT_DIST_POLICY_H

#include <stdbool.h>
#include <stdint.h>

#define WEFT_POLICY_TRIES 4      /* ranks asked before the lifelines are notified */
#define WEFT_POLICY_LIFELINES 20 /* at most: a hypercube of 2^20 ranks */
#define WEFT_POLICY_CALLS 8      /* calls taken at a time, at most */
#define WEFT_POLICY_FEW 2        /* calls taken at a time while steals bring much work */
#define WEFT_POLICY_PAYS 20000   /* ns: calls of a steal that took less have not paid */
#define WEFT_POLICY_LITTLE 50000 /* ns: after calls that took less, the next steal asks for twice as many */
#define WEFT_POLICY_PAUSE_MOST 100000

struct weft__policy {
    unsigned rank, ranks;
    unsigned near_first, near_count; /* the ranks of this node are near_first to near_first + near_count - 1, mostly */
    uint64_t random;
    unsigned tries;    /* in this round */
    unsigned wants;    /* calls to ask for */
    uint64_t pause_ns; /* before the next round */
};

void weft__policy_begin(struct weft__policy *p, unsigned rank, unsigned ranks, uint64_t seed);
/* The rank to ask next; UINT32_MAX: enough ranks were asked. is_lost: is this rank lost? NULL: no rank is lost. */
unsigned weft__policy_victim(struct weft__policy *p, bool (*is_lost)(unsigned rank));
/* The lifelines of this rank; returns how many. */
unsigned weft__policy_lifelines(const struct weft__policy *p, bool (*is_lost)(unsigned rank),
                                unsigned lines[WEFT_POLICY_LIFELINES]);
/* The calls of the last steal have run for `ns` in all. */
void weft__policy_ran(struct weft__policy *p, uint64_t ns);

#endif
