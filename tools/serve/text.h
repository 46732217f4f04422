/* SPDX-License-Identifier: MIT */
/* A part of memory, not owned, not ended by a zero byte; {NULL, 0} means none. */
#ifndef SERVE_TEXT_H
#define SERVE_TEXT_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <strings.h>

struct text {
    const char *at;
    uint32_t size;
};

#define TEXT(literal) \
    (struct text) { literal, sizeof(literal) - 1 }

static inline bool text_is(struct text t, struct text other) {
    return t.size == other.size && !memcmp(t.at, other.at, t.size);
}

static inline bool text_is_word(struct text t, struct text word) { /* ignores case */
    return t.size == word.size && !strncasecmp(t.at, word.at, t.size);
}

static inline struct text text_trim(struct text t) {
    while (t.size && (*t.at == ' ' || *t.at == '\t')) t.at++, t.size--;
    while (t.size && (t.at[t.size - 1] == ' ' || t.at[t.size - 1] == '\t')) t.size--;
    return t;
}

/* Takes the next element off the front of a list with commas, trimmed. False at the end. Empty elements are skipped. */
static inline bool text_next(struct text *list, struct text *item) {
    while (list->size) {
        const char *comma = memchr(list->at, ',', list->size);
        uint32_t size = comma ? (uint32_t)(comma - list->at) : list->size, step = size + (comma != NULL);
        *item = text_trim((struct text){list->at, size});
        list->at += step;
        list->size -= step;
        if (item->size) return true;
    }
    return false;
}

#endif
