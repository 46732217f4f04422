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

#endif
