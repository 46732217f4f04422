/*
 * Free things of a pool, by when they were last used: in this period, in the one before, or earlier. What is
 * taken is the youngest there is, so the old ones are those that nothing has needed for a whole period; these, and
 * only these, may be given back to the kernel. A pool that is emptied and filled in every period keeps what it has.
 *
 * Three lists behind the pool's lock; a period ends by moving two pointers.
 */
#ifndef WEFT_MEM_AGED_H
#define WEFT_MEM_AGED_H

#include "queue/list.h"

enum { WEFT_AGED_NEW, WEFT_AGED_LAST, WEFT_AGED_OLD, WEFT_AGES };

struct weft__aged {
    struct weft__link *list[WEFT_AGES]; /* each last in, first out */
};

/* Puts a chain, from first to last. */
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

/* Moves the youngest, so many at most, to the end of a chain, which is at *tail. Returns how many. */
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

/* A period has ended. As long as old ones are left, the others grow no older. */
static inline void weft__aged_turn(struct weft__aged *a) {
    if (a->list[WEFT_AGED_OLD]) return;
    a->list[WEFT_AGED_OLD] = a->list[WEFT_AGED_LAST];
    a->list[WEFT_AGED_LAST] = a->list[WEFT_AGED_NEW];
    a->list[WEFT_AGED_NEW] = NULL;
}

/* --- where the old ones go ------------------------------------------------------------------------- */

/* A place in a list that can be left at any time; at: NULL, if it is in none. */
struct weft__spot {
    struct weft__spot *next, **at;
};
static inline void weft__spot_put(struct weft__spot **list, struct weft__spot *s) {
    if (s->at) return;
    s->next = *list;
    s->at = list;
    if (s->next) s->next->at = &s->next;
    *list = s;
}
static inline void weft__spot_remove(struct weft__spot *s) {
    if (!s->at) return;
    *s->at = s->next;
    if (s->next) s->next->at = s->at;
    s->at = NULL;
}

#endif
