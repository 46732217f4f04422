/* SPDX-License-Identifier: MIT */
/*
 * See sorting.h. A processor cannot predict comparisons of random numbers, so partition and merge have no branches on
 * them. That alone makes them faster than qsort.
 */
#include "sorting.h"

#include <stdlib.h>
#include <string.h>

#define FEW 24

uint32_t *sorting_data, *sorting_room;
const uint32_t **sorting_pointers;
size_t sorting_count;
static uint32_t *disorder;
static uint64_t mixture;

/* A checksum that does not depend on the order. */
static uint64_t mix(const uint32_t *data, size_t count) {
    uint64_t sum = 0;
    for (size_t i = 0; i < count; i++) {
        uint64_t x = (data[i] + UINT64_C(1)) * UINT64_C(0x9e3779b97f4a7c15);
        sum += (x ^ x >> 29) * UINT64_C(0xbf58476d1ce4e5b9);
    }
    return sum;
}

static int by_value(const void *a, const void *b) {
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

static void arrange(const char *input) {
    uint64_t random = 1;
    bool few = !strcmp(input, "few"), reversed = !strcmp(input, "reversed"), nearly = !strcmp(input, "nearly");
    for (size_t i = 0; i < sorting_count; i++)
        disorder[i] = few ? (uint32_t)random_below(&random, 16) * 12345 : random_next(&random);
    if (reversed || nearly || !strcmp(input, "sorted")) {
        qsort(disorder, sorting_count, sizeof *disorder, by_value);
        for (size_t i = 0, j = sorting_count; reversed && i < --j; i++) {
            uint32_t x = disorder[i];
            disorder[i] = disorder[j];
            disorder[j] = x;
        }
        for (size_t i = 0; nearly && i < sorting_count / 1000; i++)
            disorder[random_below(&random, sorting_count)] = random_next(&random);
    } else if (!few && strcmp(input, "random"))
        fail("input", EINVAL);
}

void sorting_prepare(const struct args *args) {
    sorting_count = arg(args, "count");
    memory_check(3 * sizeof(uint32_t) * sorting_count);
    sorting_data = (uint32_t *)allocate(sorting_count, sizeof *sorting_data);
    sorting_room = (uint32_t *)allocate(sorting_count, sizeof *sorting_room);
    disorder = (uint32_t *)allocate(sorting_count, sizeof *disorder);
    arrange(arg_text(args, "input", "random"));
    mixture = mix(disorder, sorting_count);
}

void sorting_reset(void) { memcpy(sorting_data, disorder, sorting_count * sizeof *sorting_data); }

bool sorting_right(void) {
    for (size_t i = 1; i < sorting_count; i++)
        if (sorting_data[i - 1] > sorting_data[i]) return false;
    return mix(sorting_data, sorting_count) == mixture;
}

void sorting_prepare_pointers(const struct args *args) {
    sorting_prepare(args);
    sorting_pointers = (const uint32_t **)allocate(sorting_count, sizeof *sorting_pointers);
}

void sorting_reset_pointers(void) {
    for (size_t i = 0; i < sorting_count; i++) sorting_pointers[i] = disorder + i;
}

bool sorting_pointers_right(void) {
    for (size_t i = 0; i < sorting_count; i++) sorting_data[i] = *sorting_pointers[i];
    return sorting_right();
}

static void insertion(uint32_t *data, size_t count) {
    for (size_t i = 1; i < count; i++) {
        uint32_t x = data[i];
        size_t k = i;
        for (; k > 0 && data[k - 1] > x; k--) data[k] = data[k - 1];
        data[k] = x;
    }
}

static size_t middle_of(const uint32_t *data, size_t i, size_t j, size_t k) {
    if (data[i] > data[j]) {
        size_t t = i;
        i = j;
        j = t;
    }
    return data[k] <= data[i] ? i : data[k] >= data[j] ? j : k;
}

/* Returns the median of three elements, or of three such medians. */
static size_t choose(const uint32_t *data, size_t count) {
    size_t half = count / 2, last = count - 1;
    if (count < 128) return middle_of(data, 0, half, last);
    return middle_of(data, middle_of(data, 0, 1, 2), middle_of(data, half - 1, half, half + 1),
                     middle_of(data, last - 2, last - 1, last));
}

/* Moves each element to its place, and continues with the element that was there. */
size_t sorting_partition(uint32_t *data, size_t count) {
    size_t at = choose(data, count), less = 0, last = count - 1;
    uint32_t pivot = data[at];
    data[at] = data[last];
    for (size_t i = 0; i < last; i++) {
        uint32_t x = data[i];
        data[i] = data[less];
        data[less] = x;
        less += x < pivot;
    }
    data[last] = data[less];
    data[less] = pivot;
    return less;
}

NOINLINE void sorting_run(uint32_t *data, size_t count) {
    while (count > FEW) {
        size_t at = sorting_partition(data, count);
        sorting_run(data + at + 1, count - at - 1);
        count = at;
    }
    insertion(data, count);
}

/*
 * Merges from both ends at once: two chains of dependent loads instead of one. While both runs have elements for these
 * steps, no check for their ends is needed.
 */
NOINLINE void sorting_merge(const uint32_t *a, size_t a_count, const uint32_t *b, size_t b_count, uint32_t *to) {
    const uint32_t *a_end = a + a_count, *b_end = b + b_count;
    uint32_t *to_end = to + a_count + b_count;
    for (;;) {
        size_t left = (size_t)(a_end - a), right = (size_t)(b_end - b);
        size_t steps = (left < right ? left : right) / 2;
        if (!steps) break;
        for (; steps; steps--) {
            bool front = *b < *a;
            *to++ = front ? *b : *a;
            b += front;
            a += !front;
            bool back = b_end[-1] < a_end[-1]; /* among equal elements, those of b come last */
            *--to_end = back ? a_end[-1] : b_end[-1];
            a_end -= back;
            b_end -= !back;
        }
    }
    while (a < a_end && b < b_end) *to++ = *b < *a ? *b++ : *a++;
    memcpy(to, a, (size_t)(a_end - a) * sizeof *to);
    to += a_end - a;
    memcpy(to, b, (size_t)(b_end - b) * sizeof *to);
}
