/* SPDX-License-Identifier: MIT */
#include "text.h"

void mc_line_split(struct mc_line *line, const char *text, size_t size) {
    const char *zero = memchr(text, 0, size), *end = zero ? zero : text + size;
    line->count = 0;
    line->end = end;
    while (line->count < MC_WORDS_MOST) {
        while (text < end && *text == ' ') text++;
        if (text == end) break;
        const char *begin = text;
        while (text < end && *text != ' ') text++;
        line->words[line->count++] = (struct mc_word){begin, (size_t)(text - begin)};
        if (text < end) text++;
    }
    line->rest = text;
}

static bool is_space(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

/* Reads digits after optional white space and a sign. Returns false if there are no digits, or too many. */
static bool digits(const char *text, size_t size, bool *minus, uint64_t *value) {
    const char *end = text + size;
    while (text < end && is_space(*text)) text++;
    *minus = text < end && *text == '-';
    if (text < end && (*text == '-' || *text == '+')) text++;
    if (text == end || *text < '0' || *text > '9') return false;
    uint64_t n = 0;
    for (; text < end && *text >= '0' && *text <= '9'; text++)
        if (__builtin_mul_overflow(n, 10, &n) || __builtin_add_overflow(n, (uint64_t)(*text - '0'), &n)) return false;
    *value = n;
    return text == end || is_space(*text);
}

bool mc_u64(const char *text, size_t size, uint64_t *value) {
    bool minus;
    *value = 0;
    uint64_t n;
    if (!digits(text, size, &minus, &n)) return false;
    if (minus && (int64_t)-n < 0) return false;
    *value = minus ? -n : n;
    return true;
}

bool mc_u32(const struct mc_word *word, size_t skip, uint32_t *value) {
    uint64_t n;
    bool ok = mc_word_u64(word, skip, &n);
    *value = (uint32_t)n;
    return ok;
}

bool mc_i32(const struct mc_word *word, size_t skip, int32_t *value) {
    bool minus;
    uint64_t n;
    *value = 0;
    if (!digits(word->at + skip, word->size - skip, &minus, &n)) return false;
    if (n > (uint64_t)INT64_MAX + minus) return false;
    *value = (int32_t)(uint32_t)(minus ? -n : n);
    return true;
}

char *mc_put_u64(char *to, uint64_t value) {
    char text[20], *at = text + sizeof text;
    do *--at = (char)('0' + value % 10);
    while (value /= 10);
    size_t size = (size_t)(text + sizeof text - at);
    memcpy(to, at, size);
    return to + size;
}

static int sextet(char c) {
    if (c >= 'A' && c <= 'Z') return c - 'A';
    if (c >= 'a' && c <= 'z') return c - 'a' + 26;
    if (c >= '0' && c <= '9') return c - '0' + 52;
    return c == '+' ? 62 : c == '/' ? 63 : -1;
}

size_t mc_base64_decode(char *to, const char *text, size_t size) {
    if (!size || size % 4) return 0;
    size_t fill = text[size - 1] == '=' ? 1 + (text[size - 2] == '=') : 0;
    size_t done = 0;
    for (size_t i = 0; i < size; i += 4) {
        uint32_t bits = 0;
        for (size_t k = 0; k < 4; k++) {
            bool filled = i + k >= size - fill;
            int six = filled ? 0 : sextet(text[i + k]);
            if (six < 0) return 0;
            bits = bits << 6 | (uint32_t)six;
        }
        size_t bytes = i + 4 == size ? 3 - fill : 3;
        for (size_t k = 0; k < bytes; k++) to[done++] = (char)(bits >> (16 - 8 * k));
    }
    return done;
}

size_t mc_base64_encode(char *to, const char *bytes, size_t size) {
    static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const unsigned char *in = (const unsigned char *)bytes;
    char *out = to;
    for (; size >= 3; size -= 3, in += 3) {
        uint32_t bits = (uint32_t)in[0] << 16 | (uint32_t)in[1] << 8 | in[2];
        for (int shift = 18; shift >= 0; shift -= 6) *out++ = letters[bits >> shift & 63];
    }
    if (size) {
        uint32_t bits = (uint32_t)in[0] << 16 | (size > 1 ? (uint32_t)in[1] << 8 : 0);
        *out++ = letters[bits >> 18];
        *out++ = letters[bits >> 12 & 63];
        *out++ = size > 1 ? letters[bits >> 6 & 63] : '=';
        *out++ = '=';
    }
    return (size_t)(out - to);
}
