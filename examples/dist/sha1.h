/* SPDX-License-Identifier: MIT */
/*
 * SHA-1 of at most 55 bytes, written from FIPS 180-4. For the random numbers of UTS.
 */
#ifndef SHA1_H
#define SHA1_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

static inline uint32_t sha1_rotate(uint32_t x, int n) { return x << n | x >> (32 - n); }

static inline uint32_t sha1_load(const uint8_t *p) {
    return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

static inline void sha1_store(uint8_t *p, uint32_t x) {
    p[0] = (uint8_t)(x >> 24), p[1] = (uint8_t)(x >> 16), p[2] = (uint8_t)(x >> 8), p[3] = (uint8_t)x;
}

/* The next word of the schedule, in a window of sixteen. */
static inline uint32_t sha1_word(uint32_t *w, int t) {
    if (t < 16) return w[t];
    uint32_t x = sha1_rotate(w[(t - 3) & 15] ^ w[(t - 8) & 15] ^ w[(t - 14) & 15] ^ w[t & 15], 1);
    return w[t & 15] = x;
}

static inline void sha1_short(const uint8_t *bytes, size_t size, uint8_t digest[20]) {
    uint8_t block[64] = {0};
    uint32_t w[16], h[5] = {0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476, 0xc3d2e1f0};
    memcpy(block, bytes, size);
    block[size] = 0x80;
    sha1_store(block + 60, (uint32_t)size * 8);
    for (int i = 0; i < 16; i++) w[i] = sha1_load(block + 4 * i);
    uint32_t a = h[0], b = h[1], c = h[2], d = h[3], e = h[4];
#define SHA1_STEPS(from, to, f, k) \
    for (int t = from; t < to; t++) { \
        uint32_t x = sha1_rotate(a, 5) + (f) + e + (k) + sha1_word(w, t); \
        e = d, d = c, c = sha1_rotate(b, 30), b = a, a = x; \
    }
    SHA1_STEPS(0, 20, (b & c) | (~b & d), 0x5a827999)
    SHA1_STEPS(20, 40, b ^ c ^ d, 0x6ed9eba1)
    SHA1_STEPS(40, 60, (b & c) | (b & d) | (c & d), 0x8f1bbcdc)
    SHA1_STEPS(60, 80, b ^ c ^ d, 0xca62c1d6)
#undef SHA1_STEPS
    uint32_t sum[5] = {h[0] + a, h[1] + b, h[2] + c, h[3] + d, h[4] + e};
    for (int i = 0; i < 5; i++) sha1_store(digest + 4 * i, sum[i]);
}

#endif
