/* SPDX-License-Identifier: MIT */
/*
 * All deques as one thing: the three queues by themselves (chase_lev, abp, locked), which can begin with
 * few slots and near the wrap of their indices; and the four kinds that tasks wait in, each behind the
 * contract of queue/deque.h, driven as forks and joins drive it.
 */
#ifndef WEFT_TESTS_DEQUES_H
#define WEFT_TESTS_DEQUES_H

#include <stdbool.h>
#include <stdint.h>

struct deque_sort {
    const char *name;
    bool bounded;                                     /* a push may be refused */
    void *(*make)(uint64_t capacity, uint64_t first); /* kinds: as they are; NULL: no memory */
    void (*destroy)(void *q);                         /* only of an empty deque */
    bool (*push)(void *q, void *item);                /* owner; false: refused */
    void *(*pop)(void *q);                            /* owner: the youngest, or NULL */
    void *(*steal)(void *q);                          /* any thread: the oldest, or NULL */
};
extern const struct deque_sort deque_sorts[]; /* ends with a NULL name */

/* Once, before any thread steals. */
void deques_prepare(void);

#endif
