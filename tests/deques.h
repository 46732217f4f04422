/* SPDX-License-Identifier: MIT */
/*
 * All deques behind one interface. The three queues by themselves (chase_lev, abp, locked) can begin with few slots and
 * with indices that soon wrap. The four kinds that hold tasks implement the contract of queue/deque.h, and are driven
 * as forks and joins drive them.
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
