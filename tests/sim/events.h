/* SPDX-License-Identifier: MIT */
/*
 * A heap of events, ordered by time. Events of the same time stay in the order in which they were added, so every run
 * is the same.
 */
#ifndef WEFT_TESTS_SIM_EVENTS_H
#define WEFT_TESTS_SIM_EVENTS_H

#include <stdint.h>
#include <stdlib.h>

struct event {
    uint64_t at, number;
    void *what;
    uint64_t epoch; /* set by the adder, to recognize an event that is out of date */
};

struct events {
    struct event *heap;
    size_t count, room;
    uint64_t added;
};

static inline int event_before(const struct event *a, const struct event *b) {
    return a->at != b->at ? a->at < b->at : a->number < b->number;
}

static inline void events_add(struct events *e, uint64_t at, void *what, uint64_t epoch) {
    if (e->count == e->room) {
        e->room = e->room ? 2 * e->room : 1024;
        e->heap = realloc(e->heap, e->room * sizeof *e->heap);
        if (!e->heap) abort();
    }
    struct event new = {at, e->added++, what, epoch};
    size_t i = e->count++;
    for (; i && event_before(&new, &e->heap[(i - 1) / 2]); i = (i - 1) / 2) e->heap[i] = e->heap[(i - 1) / 2];
    e->heap[i] = new;
}

/* The next one; there must be one. */
static inline struct event events_take(struct events *e) {
    struct event first = e->heap[0], last = e->heap[--e->count];
    size_t i = 0;
    for (size_t child; (child = 2 * i + 1) < e->count; i = child) {
        if (child + 1 < e->count && event_before(&e->heap[child + 1], &e->heap[child])) child++;
        if (event_before(&last, &e->heap[child])) break;
        e->heap[i] = e->heap[child];
    }
    e->heap[i] = last;
    return first;
}

#endif
