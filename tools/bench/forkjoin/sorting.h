/* SPDX-License-Identifier: MIT */
/*
 * What the sorts share: count= numbers, whether they are sorted, and the serial parts that all of them end in.
 *
 *   input=  random (unless it is said), sorted, reversed, few (16 different numbers, at random), nearly (sorted, but
 *           one in a thousand)
 */
#ifndef BENCH_SORTING_H
#define BENCH_SORTING_H

#include "measure.h"

#ifdef __cplusplus
extern "C" {
#endif

extern uint32_t *sorting_data, *sorting_room; /* room: as much again */
extern size_t sorting_count;

void sorting_prepare(const struct args *args);
void sorting_reset(void); /* the same disorder as at first */
bool sorting_right(void); /* in order, and the same numbers as at first */

/* Pointers to the same numbers. The numbers stay where they are. */
extern const uint32_t **sorting_pointers;
void sorting_prepare_pointers(const struct args *args);
void sorting_reset_pointers(void);
bool sorting_pointers_right(void);

/* Quicksort, by itself. */
void sorting_run(uint32_t *data, size_t count);

/* Puts what is less than some element of them before the others; returns where that element is. */
size_t sorting_partition(uint32_t *data, size_t count);

/* Of two runs that are in order; `to` is neither of them. */
void sorting_merge(const uint32_t *a, size_t a_count, const uint32_t *b, size_t b_count, uint32_t *to);

#ifdef __cplusplus
}
#endif
#endif
