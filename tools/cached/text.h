/* SPDX-License-Identifier: MIT */
/*
 * Lines of the protocol: words, numbers, keys in base64. Numbers are read as memcached does with strtol and similar
 * functions: white space, a sign, digits, then the end or white space. Of a number that is too large the low bits are
 * used.
 */
#ifndef CACHED_TEXT_H
#define CACHED_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct mc_word {
    const char *at;
    size_t size;
};

#define MC_WORDS_MOST 23

struct mc_line {
    struct mc_word words[MC_WORDS_MOST];
    unsigned count;
    const char *rest, *end; /* the text after the last word that fits */
};

/* Only spaces separate words. A line ends at a zero byte, if it has one. */
void mc_line_split(struct mc_line *line, const char *text, size_t size);

static inline bool mc_word_is(const struct mc_word *word, const char *text) {
    size_t size = strlen(text);
    return word->size == size && !memcmp(word->at, text, size);
}

bool mc_u64(const char *text, size_t size, uint64_t *value);
bool mc_u32(const struct mc_word *word, size_t skip, uint32_t *value);
bool mc_i32(const struct mc_word *word, size_t skip, int32_t *value);
static inline bool mc_word_u64(const struct mc_word *word, size_t skip, uint64_t *value) {
    return mc_u64(word->at + skip, word->size - skip, value);
}

/* Writes a number in decimal, at most 20 digits. Returns the end. */
char *mc_put_u64(char *to, uint64_t value);

/* Decodes base64 into `to`, which has enough room. Returns 0 if the text is not base64. Encoded text has 4 bytes for
 * every 3 bytes, rounded up. */
size_t mc_base64_decode(char *to, const char *text, size_t size);
size_t mc_base64_encode(char *to, const char *bytes, size_t size);

#endif
