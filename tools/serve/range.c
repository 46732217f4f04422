/* SPDX-License-Identifier: MIT */
/* See range.h. */
#include "range.h"

/* Takes a number off the front. A number that is too large counts as the largest. False: there is no number. */
static bool number(struct text *t, uint64_t *value) {
    bool any = false;
    *value = 0;
    for (; t->size && *t->at >= '0' && *t->at <= '9'; t->at++, t->size--) {
        any = true;
        if (__builtin_mul_overflow(*value, 10, value) || __builtin_add_overflow(*value, *t->at - '0', value))
            *value = UINT64_MAX / 16;
    }
    return any;
}

/* Reads one range. Returns 1 if it lies in the file, 0 if it lies outside, -1 if it is not a range. */
static int parse_one(struct text t, uint64_t size, struct range *range) {
    uint64_t first, last = UINT64_MAX;
    bool has_first = number(&t, &first);
    if (!t.size || *t.at != '-') return -1;
    t.at++, t.size--;
    bool has_last = number(&t, &last);
    if (t.size || (!has_first && !has_last)) return -1;
    if (!has_last) last = UINT64_MAX;
    if (has_first && last < first) return -1;
    if (!has_first) { /* "-N": the last N bytes */
        if (!last || !size) return 0;
        first = last < size ? size - last : 0;
        last = UINT64_MAX;
    }
    if (first >= size) return 0;
    *range = (struct range){first, last < size ? last : size - 1};
    return 1;
}

int range_parse(struct text value, uint64_t size, struct range list[RANGES_MOST]) {
    if (value.size < 6 || strncasecmp(value.at, "bytes=", 6)) return 0;
    struct text rest = {value.at + 6, value.size - 6}, item;
    uint64_t sum = 0;
    int n = 0, outside = 0;
    while (text_next(&rest, &item)) {
        if (n + outside == RANGES_MOST) return 0;
        int found = parse_one(item, size, &list[n]);
        if (found < 0) return 0;
        if (found) sum += list[n].last - list[n].first + 1;
        n += found;
        outside += !found;
    }
    if (!n) return outside ? -1 : 0;
    return n > 1 && sum > size ? 0 : n;
}
