/* SPDX-License-Identifier: MIT */
/* See interned.h. */
#include "look/interned.h"

#include "base/sys.h"

#include <string.h>

void weft__bytes_add(struct weft__bytes *b, const void *bytes, size_t n) {
    if (b->room - b->n < n && !b->failed) {
        size_t room = b->room ? 2 * b->room : 4096;
        while (room < b->n + n) room *= 2;
        char *moved = weft__alloc(room);
        if (!moved) {
            b->failed = true;
            return;
        }
        if (b->n) memcpy(moved, b->at, b->n);
        weft__free(b->at);
        b->at = moved;
        b->room = room;
    }
    if (b->failed || !n) return;
    memcpy(b->at + b->n, bytes, n);
    b->n += n;
}

void weft__bytes_free(struct weft__bytes *b) {
    weft__free(b->at);
    *b = (struct weft__bytes){0};
}

const char *weft__interned_text(const struct weft__interned *s, uint32_t number) {
    size_t at = 0;
    if (!number) return "";
    memcpy(&at, s->starts.at + (number - 1) * sizeof at, sizeof at);
    return s->text.at + at;
}

static uint64_t interned_hash_of(const char *text) {
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    for (; *text; text++) hash = (hash ^ (unsigned char)*text) * UINT64_C(0x100000001b3);
    return hash ^ hash >> 32;
}

/* The slot of a string in the table; if it is not there, the free slot for it. */
static size_t interned_slot_of(const struct weft__interned *s, const char *text) {
    size_t i = interned_hash_of(text) & (s->size - 1);
    while (s->table[i] && strcmp(weft__interned_text(s, s->table[i]), text)) i = (i + 1) & (s->size - 1);
    return i;
}

static bool grow_interned(struct weft__interned *s) {
    size_t size = s->size ? 2 * s->size : 256;
    uint32_t *table = weft__alloc(size * sizeof *table);
    if (!table) return false;
    weft__free(s->table);
    s->table = table;
    s->size = size;
    for (uint32_t number = 1; number <= s->count; number++)
        s->table[interned_slot_of(s, weft__interned_text(s, number))] = number;
    return true;
}

uint32_t weft__intern(struct weft__interned *s, const char *text) {
    if (!*text || s->failed) return 0;
    if (2 * ((size_t)s->count + 1) > s->size && !grow_interned(s)) {
        s->failed = true;
        return 0;
    }
    size_t i = interned_slot_of(s, text), start = s->text.n;
    if (s->table[i]) return s->table[i];
    weft__bytes_add(&s->text, text, strlen(text) + 1);
    weft__bytes_add(&s->starts, &start, sizeof start);
    if (s->text.failed || s->starts.failed) {
        s->failed = true;
        return 0;
    }
    s->table[i] = ++s->count;
    return s->count;
}

void weft__interned_free(struct weft__interned *s) {
    weft__bytes_free(&s->text);
    weft__bytes_free(&s->starts);
    weft__free(s->table);
    *s = (struct weft__interned){.count = 0};
}
