/* SPDX-License-Identifier: MIT */
#include "dist/policy.h"

void weft__policy_begin(struct weft__policy *p, unsigned rank, unsigned ranks, uint64_t seed) {
    *p = (struct weft__policy){.rank = rank,
                               .ranks = ranks,
                               .random = (seed + rank + 1) * UINT64_C(0x9e3779b97f4a7c15),
                               .wants = WEFT_POLICY_FEW};
}

/* xorshift64* */
static uint32_t next_random(struct weft__policy *p, uint32_t below) {
    p->random ^= p->random >> 12;
    p->random ^= p->random << 25;
    p->random ^= p->random >> 27;
    return (uint32_t)((p->random * UINT64_C(2685821657736338717) >> 32) * below >> 32);
}

static unsigned living_from(const struct weft__policy *p, bool (*is_lost)(unsigned), unsigned rank) {
    for (unsigned i = 0; i < p->ranks; i++, rank++) {
        if (rank >= p->ranks) rank -= p->ranks;
        if (rank != p->rank && !(is_lost && is_lost(rank))) return rank;
    }
    return UINT32_MAX;
}

/* The first half of the tries goes to ranks of the same node, if there are any. */
unsigned weft__policy_victim(struct weft__policy *p, bool (*is_lost)(unsigned)) {
    unsigned most = p->ranks - 1 < WEFT_POLICY_TRIES ? p->ranks - 1 : WEFT_POLICY_TRIES;
    if (p->tries >= most) return UINT32_MAX;
    bool near = p->near_count > 1 && p->near_count < p->ranks && p->tries < WEFT_POLICY_TRIES / 2;
    p->tries++;
    unsigned rank = near ? p->near_first + next_random(p, p->near_count) : next_random(p, p->ranks);
    return living_from(p, is_lost, rank % p->ranks);
}

/*
 * The neighbours in a hypercube: the ranks with a number that differs in a single bit. Numbers beyond the last rank are
 * left out, which keeps the graph connected, because clearing bits leads to 0. The next living rank takes the place of
 * a lost one.
 */
unsigned weft__policy_lifelines(const struct weft__policy *p, bool (*is_lost)(unsigned),
                                unsigned lines[WEFT_POLICY_LIFELINES]) {
    unsigned n = 0;
    for (unsigned bit = 1; bit < p->ranks && n < WEFT_POLICY_LIFELINES; bit <<= 1) {
        unsigned rank = p->rank ^ bit;
        if (rank >= p->ranks) continue;
        rank = living_from(p, is_lost, rank);
        bool is_new = rank != UINT32_MAX;
        for (unsigned i = 0; i < n; i++) is_new = is_new && lines[i] != rank;
        if (is_new) lines[n++] = rank;
    }
    return n;
}

/*
 * How many calls to ask for. Where calls shrink with each fork, the oldest two are most of the victim's work: a thief
 * that takes eight leaves it almost nothing, and the victim must steal them back. Where most calls are small, eight are
 * cheaper than four times two. Only the time that stolen calls ran shows which it is.
 */
void weft__policy_ran(struct weft__policy *p, uint64_t ns) {
    if (ns >= WEFT_POLICY_LITTLE)
        p->wants = WEFT_POLICY_FEW;
    else if (p->wants < WEFT_POLICY_CALLS)
        p->wants *= 2;
    if (ns >= WEFT_POLICY_PAYS)
        p->pause_ns = 0;
    else if (!p->pause_ns)
        p->pause_ns = WEFT_POLICY_PAYS;
    else if (p->pause_ns < WEFT_POLICY_PAUSE_MOST)
        p->pause_ns *= 2;
}
