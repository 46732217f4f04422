/* SPDX-License-Identifier: MIT */
/*
 * A buffer of bytes that grows, and strings with numbers, for the writers of profiles. An error is remembered, so the
 * caller checks once, at the end.
 */
#ifndef WEFT_LOOK_INTERNED_H
#define WEFT_LOOK_INTERNED_H

#include "base/base.h"

#include <stddef.h>
#include <stdint.h>

struct weft__bytes {
    char *at;
    size_t n, room;
    bool failed; /* out of memory */
};

void weft__bytes_add(struct weft__bytes *b, const void *bytes, size_t n);
void weft__bytes_free(struct weft__bytes *b);

/* Gives each different string a number, from 1 on. The empty string has the number 0. */
struct weft__interned {
    struct weft__bytes text;   /* all of them, each with its zero */
    struct weft__bytes starts; /* size_t: where each begins */
    uint32_t *table;           /* number + 1, by hash */
    size_t size;
    uint32_t count;
    bool failed;
};

uint32_t weft__intern(struct weft__interned *s, const char *text);
const char *weft__interned_text(const struct weft__interned *s, uint32_t number);
void weft__interned_free(struct weft__interned *s);

#endif
