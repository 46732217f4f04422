/* SPDX-License-Identifier: MIT */
/*
 * Shared by the sorts: count= numbers, the check of the order, and the serial parts.
 *
 *   input=  random (the default), sorted, reversed, few (16 different numbers, at random), nearly (sorted, except one
 *           in a thousand)
 */
#ifndef BENCH_SORTING_H
#define BENCH_SORTING_H

#include "measure.h"

#ifdef __cplusplus
extern "C" {
#endif

extern uint32_t *sorting_data, *sorting_room; /* room: a second array of the same size */
extern size_t sorting_count;

void sorting_prepare(const struct args *args);
void sorting_reset(void); /* restores the original order */
bool sorting_right(void); /* are the numbers sorted, and the same as at first? */

/* Pointers to the same numbers. The numbers stay where they are. */
extern const uint32_t **sorting_pointers;
void sorting_prepare_pointers(const struct args *args);
void sorting_reset_pointers(void);
bool sorting_pointers_right(void);

/* Sorts serially by quicksort. */
void sorting_run(uint32_t *data, size_t count);

/* Partitions by one of the elements: smaller elements come before it. Returns its place. */
size_t sorting_partition(uint32_t *data, size_t count);

/* Merges two sorted runs into `to`, which overlaps neither. */
void sorting_merge(const uint32_t *a, size_t a_count, const uint32_t *b, size_t b_count, uint32_t *to);

#ifdef __cplusplus
}
#endif
#endif
