/* SPDX-License-Identifier: MIT */
/*
 * Free items of a pool, by the period of their last use: this period, the previous period, or earlier. A pool hands out
 * the most recently used items first, so the old items are those that were not needed for a whole period. Only these
 * may be given back to the kernel. A pool that is emptied and refilled in every period keeps its memory.
 *
 * There are three lists, protected by the pool's lock. The end of a period moves two pointers.
 */
#ifndef WEFT_MEM_AGED_H
#define WEFT_MEM_AGED_H

#include "queue/list.h"

enum { WEFT_AGED_NEW, WEFT_AGED_LAST, WEFT_AGED_OLD, WEFT_AGES };

struct weft__aged {
    struct weft__link *list[WEFT_AGES]; /* each last in, first out */
};

/* Inserts a chain, from first to last. */
static inline void weft__aged_put(struct weft__aged *a, struct weft__link *first, struct weft__link *last) {
    last->next = a->list[WEFT_AGED_NEW];
    a->list[WEFT_AGED_NEW] = first;
}

static inline struct weft__link *weft__aged_take_from(struct weft__aged *a, unsigned age) {
    struct weft__link *l = a->list[age];
    if (!l) return NULL;
    a->list[age] = l->next;
    return l;
}

/* Moves up to `most` items, the most recently used first, to the end of the chain at *tail. Returns how many. */
static inline unsigned weft__aged_take(struct weft__aged *a, unsigned most, struct weft__link ***tail) {
    struct weft__link **end = *tail;
    unsigned got = 0;
    for (unsigned age = 0; age < WEFT_AGES && got < most; age++) {
        *end = a->list[age];
        for (; got < most && *end; got++) end = &(*end)->next;
        a->list[age] = *end;
    }
    *end = NULL;
    *tail = end;
    return got;
}

static inline bool weft__aged_is_empty(const struct weft__aged *a) {
    return !a->list[WEFT_AGED_NEW] && !a->list[WEFT_AGED_LAST] && !a->list[WEFT_AGED_OLD];
}

/* Ends a period. While old items are left, the others do not age. */
static inline void weft__aged_end_period(struct weft__aged *a) {
    if (a->list[WEFT_AGED_OLD]) return;
    a->list[WEFT_AGED_OLD] = a->list[WEFT_AGED_LAST];
    a->list[WEFT_AGED_LAST] = a->list[WEFT_AGED_NEW];
    a->list[WEFT_AGED_NEW] = NULL;
}

/* --- doubly linked lists --------------------------------------------------------------------------- */

/* A link that can be removed at any time. at: the pointer that points to it; NULL: it is in no list. */
struct weft__dlink {
    struct weft__dlink *next, **at;
};
static inline void weft__dlink_insert(struct weft__dlink **list, struct weft__dlink *s) {
    if (s->at) return;
    s->next = *list;
    s->at = list;
    if (s->next) s->next->at = &s->next;
    *list = s;
}
static inline void weft__dlink_remove(struct weft__dlink *s) {
    if (!s->at) return;
    *s->at = s->next;
    if (s->next) s->next->at = s->at;
    s->at = NULL;
}

#endif
