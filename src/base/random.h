/*
 * Randomness for choices that need no quality, only to differ: xorshift, 64 bits of state.
 */
#ifndef WEFT_BASE_RANDOM_H
#define WEFT_BASE_RANDOM_H

#include <stdint.h>

static inline uint64_t weft__random(uint64_t *state) {
    uint64_t x = *state;
    x ^= x << 13;
    x ^= x >> 7;
    x ^= x << 17;
    return *state = x;
}

/* One of 0 .. n-1, without a division. */
static inline uint32_t weft__random_below(uint64_t *state, uint32_t n) {
    return (uint32_t)(((weft__random(state) >> 32) * n) >> 32);
}

/*
 * The numbers below 2^bits in an order that looks random. What is handed out in this order is not
 * used in the order of addresses either. If it were, a core that goes round its hundred fibers would
 * have the prefetcher fetch what follows, and where every other ring of fibers belongs to another
 * core, each would keep taking the other's lines: 24 ns a turn instead of 11.
 */
static inline uint32_t weft__scatter(uint32_t i, unsigned bits) {
    uint32_t mask = (1u << bits) - 1, half = (bits + 1) / 2;
    i = (i ^ i >> half) * 0x2c1b3c6d & mask; /* each step can be undone, so no number comes twice */
    i = (i ^ i >> half) * 0x297a2d39 & mask;
    return i ^ i >> half;
}

#endif
