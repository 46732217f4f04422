/* SPDX-License-Identifier: MIT */
/* See target.h. */
#include "target.h"

static int digit(char c) {
    if (c >= '0' && c <= '9') return c - '0';
    c |= 0x20;
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Takes one byte off the front, and decodes it; -1: invalid. */
static int next_byte(struct text *path) {
    char c = *path->at;
    uint32_t n = 1;
    int value = (uint8_t)c;
    if (c == '%') {
        if (path->size < 3 || digit(path->at[1]) < 0 || digit(path->at[2]) < 0) return -1;
        value = digit(path->at[1]) * 16 + digit(path->at[2]);
        n = 3;
    }
    path->at += n;
    path->size -= n;
    return value ? value : -1;
}

/* Processes the segment from `begin` to `end`. Returns where the next segment begins; -1: above the root. */
static int end_segment(const char *result, int begin, int end) {
    int size = end - begin;
    if (size == 0 || (size == 1 && result[begin] == '.')) return begin;
    if (size != 2 || result[begin] != '.' || result[begin + 1] != '.') return -2;
    if (!begin) return -1;
    for (begin--; begin && result[begin - 1] != '/';) begin--;
    return begin;
}

int target_decode(struct text path, char result[TARGET_MOST]) {
    int begin = 0, end = 0; /* of the current segment */
    if (!path.size || *path.at != '/') return -400;
    while (path.size) {
        int c = next_byte(&path);
        if (c < 0) return -400;
        bool last = !path.size;
        if (c != '/') result[end++] = (char)c;
        if (end >= TARGET_MOST - 1) return -414;
        if (c != '/' && !last) continue;
        int next = end_segment(result, begin, end);
        if (next == -1) return -400;
        if (next >= 0) {
            end = next;
        } else if (c == '/') {
            result[end++] = '/';
        }
        begin = end;
    }
    result[end] = '\0';
    return end;
}

size_t target_encode(const char *path, size_t size, char *result, size_t most) {
    /* A path may also contain & and ', but they have a meaning in a page. */
    static const char digits[] = "0123456789ABCDEF", plain[] = "-._~/!$()*+,;=:@";
    size_t n = 0;
    for (size_t i = 0; i < size; i++) {
        uint8_t c = (uint8_t)path[i];
        bool as_is = (c >= '0' && c <= '9') || ((c | 0x20) >= 'a' && (c | 0x20) <= 'z') || (c && strchr(plain, c));
        if (as_is) {
            if (n < most) result[n] = (char)c;
            n++;
        } else {
            if (n + 3 <= most) result[n] = '%', result[n + 1] = digits[c >> 4], result[n + 2] = digits[c & 15];
            n += 3;
        }
    }
    return n;
}
