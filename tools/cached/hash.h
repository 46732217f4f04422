/* SPDX-License-Identifier: MIT */
/*
 * A hash of keys, with a random seed for each run, so that a client cannot choose keys that all fall into one bucket.
 * Eight bytes at a time are folded by a multiplication; the halves of the product are added modulo 2.
 */
#ifndef CACHED_HASH_H
#define CACHED_HASH_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

static inline uint64_t mc_fold(uint64_t a, uint64_t b) {
    __uint128_t product = (__uint128_t)a * b;
    return (uint64_t)product ^ (uint64_t)(product >> 64);
}

static inline uint64_t mc_hash(uint64_t seed, const char *key, size_t size) {
    uint64_t h = seed ^ size * UINT64_C(0x9e3779b97f4a7c15), word;
    for (; size > 8; size -= 8, key += 8) {
        memcpy(&word, key, 8);
        h = mc_fold(h ^ word, UINT64_C(0xa0761d6478bd642f));
    }
    word = 0;
    memcpy(&word, key, size);
    h = mc_fold(h ^ word, UINT64_C(0xe7037ed1a0b428db));
    return mc_fold(h, UINT64_C(0x8ebc6af09c88c6e3) ^ seed);
}

#endif
