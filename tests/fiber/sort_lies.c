/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
/*
 * Contradictory comparisons: numbers with NaNs, random answers, changing answers. The sort then leaves some order. But
 * it must end, every element must be there once, and nothing outside the array may be touched (AddressSanitizer checks
 * that).
 */
#include "fiber.h"

#include <math.h>
#include <string.h>

/* --- answers ----------------------------------------------------------------------------------------- */

enum { AT_RANDOM, ALWAYS_LESS, NEVER_LESS, BY_TURNS, MOSTLY_RIGHT, CHANGES_ITS_MIND, ANSWERS };

struct liar {
    uint64_t asked; /* the number of comparisons; several workers compare at the same time */
    int how;
};

static bool answers_less(struct liar *liar, uint32_t a, uint32_t b) {
    uint64_t asked = __atomic_fetch_add(&liar->asked, 1, __ATOMIC_RELAXED), random = asked;
    switch (liar->how) {
    case AT_RANDOM: return test_below(&random, 2);
    case ALWAYS_LESS: return true;
    case NEVER_LESS: return false;
    case BY_TURNS: return asked % 2;
    case MOSTLY_RIGHT: return test_below(&random, 16) ? a < b : test_below(&random, 2);
    default: return asked / 1000 % 2 ? a < b : b < a;
    }
}

static int compare(const void *a, const void *b, void *liar) {
    uint32_t x = 0, y = 0;
    memcpy(&x, a, 1); /* also for elements of one byte */
    memcpy(&y, b, 1);
    return answers_less(liar, x, y) ? -1 : 1;
}

typedef struct {
    uint32_t number, more;
} two_words;
typedef struct {
    uint32_t number, more[4];
} five_words;

#define WEFT_SORT_NAME sort_words
#define WEFT_SORT_TYPE uint32_t
#define WEFT_SORT_LESS(a, b, arg) answers_less((struct liar *)(arg), *(a), *(b))
#include <weft/sort.h>
#define WEFT_SORT_NAME sort_two_words
#define WEFT_SORT_TYPE two_words
#define WEFT_SORT_LESS(a, b, arg) answers_less((struct liar *)(arg), (a)->number, (b)->number)
#include <weft/sort.h>
#define WEFT_SORT_NAME sort_five_words
#define WEFT_SORT_TYPE five_words
#define WEFT_SORT_LESS(a, b, arg) answers_less((struct liar *)(arg), (a)->number, (b)->number)
#include <weft/sort.h>

/* --- every element is there ------------------------------------------------------------------------------- */

/* Fills element i: its number, as far as it fits, and then bytes that follow from the number. */
static void fill(unsigned char *v, size_t n, size_t size, uint64_t *random) {
    /* an odd factor, so that the numbers differ but are not in order */
    uint32_t multiplier = (uint32_t)test_random(random) | 1;
    for (size_t i = 0; i < n; i++) {
        uint32_t number = (uint32_t)i * multiplier;
        memset(v + i * size, (int)(number >> 7), size);
        memcpy(v + i * size, &number, size < sizeof number ? size : sizeof number);
    }
}

static int by_bytes(const void *a, const void *b, void *size) { return memcmp(a, b, *(size_t *)size); }

static void check_all_there(unsigned char *v, const unsigned char *before, size_t n, size_t size) {
    unsigned char *sorted = malloc(n * size + 1);
    memcpy(sorted, before, n * size);
    qsort_r(sorted, n, size, by_bytes, &size);
    qsort_r(v, n, size, by_bytes, &size);
    CHECK(!memcmp(v, sorted, n * size));
    free(sorted);
}

static int sort_typed(void *v, size_t n, size_t size, struct liar *liar) {
    if (size == sizeof(uint32_t)) return sort_words(v, n, liar);
    if (size == sizeof(two_words)) return sort_two_words(v, n, liar);
    return sort_five_words(v, n, liar);
}

static void sort_one(size_t n, size_t size, bool typed, int how, uint64_t *random) {
    unsigned char *before = malloc(n * size + 1), *v = malloc(n * size);
    fill(before, n, size, random);
    memcpy(v, before, n * size);
    struct liar liar = {test_random(random) % 1000000, how};
    CHECK_EQ(typed ? sort_typed(v, n, size, &liar) : weft_sort(v, n, size, compare, &liar), 0);
    check_all_there(v, before, n, size);
    free(v);
    free(before);
}

static const size_t sizes[] = {1, 2, 3, 4, 5, 8, 12, 16, 20, 100}, typed_sizes[] = {4, 8, 20};
#define NUMBER(array) (sizeof(array) / sizeof *(array))

/* Sorts all lengths up to a few blocks, with every kind of element and answer. */
static void short_ones(void *p) {
    uint64_t random = *(uint64_t *)p;
    /* With a sanitizer each number of workers has a third of the lengths. */
    size_t first = test_scale() < 20 ? 0 : random % 3, step = test_scale() < 20 ? 1 : 3;
    for (size_t n = first; n < 70; n += step)
        for (int how = 0; how < ANSWERS; how++) {
            for (unsigned s = 0; s < NUMBER(sizes); s++) sort_one(n, sizes[s], false, how, &random);
            for (unsigned s = 0; s < NUMBER(typed_sizes); s++) sort_one(n, typed_sizes[s], true, how, &random);
        }
}

/* Sorts random lengths, also with tasks and with merges that are split. */
static void any_ones(void *p) {
    uint64_t random = *(uint64_t *)p;
    size_t rounds = test_size(1000);
    for (size_t i = 0; i < rounds; i++) {
        bool typed = test_below(&random, 2);
        size_t size =
            typed ? typed_sizes[test_below(&random, NUMBER(typed_sizes))] : sizes[test_below(&random, NUMBER(sizes))];
        size_t most = (size_t)1 << test_below(&random, i % 16 ? 12 : 17);
        sort_one(test_below(&random, most) + 1, size, typed, (int)test_below(&random, ANSWERS), &random);
    }
}

/* Sorts an array that is long enough for a sample (weft/sort_few.h) and has few values. */
static void few_values(void *p) {
    uint64_t random = *(uint64_t *)p;
    enum { N = WEFT_SORT_SAMPLED + 4321 };
    uint32_t *before = malloc(N * sizeof *before), *v = malloc(N * sizeof *v);
    /* With a sanitizer each number of workers has a third of the answers. */
    int first = test_scale() < 20 ? 0 : (int)(random % 3), step = test_scale() < 20 ? 1 : 3;
    for (int how = first; how < ANSWERS; how += step)
        for (int typed = 0; typed < 2; typed++) {
            struct liar liar = {test_random(&random) % 1000000, how};
            for (size_t i = 0; i < N; i++) before[i] = (uint32_t)test_below(&random, 12);
            memcpy(v, before, N * sizeof *v);
            CHECK_EQ(typed ? sort_words(v, N, &liar) : weft_sort(v, N, sizeof *v, compare, &liar), 0);
            check_all_there((unsigned char *)v, (unsigned char *)before, N, sizeof *v);
        }
    free(v);
    free(before);
}

/* Runs fn on one, two and eight workers, with another seed for each. */
static void each_number(void (*fn)(void *), uint64_t seed) {
    for (unsigned workers = 1; workers <= 8; workers = workers == 1 ? 2 : 4 * workers) {
        seed++;
        test_in_fiber(workers, fn, &seed);
    }
}

TEST_WITHIN(short_arrays, 100) { each_number(short_ones, 0); }
TEST_WITHIN(arrays_of_few_values, 100) { each_number(few_values, 30); }
TEST_WITHIN(arrays_of_any_length, 100) { each_number(any_ones, 10); }

/* For long runs by hand: WEFT_TEST_SEED=n sets the seed. */
TEST_WITHIN(arrays_of_another_seed, 100) {
    const char *seed = getenv("WEFT_TEST_SEED");
    each_number(any_ones, 1000 * (seed ? strtoull(seed, NULL, 0) : 1));
}

/* --- numbers with NaNs, which are neither less nor equal nor greater -------------------------------------- */

#define WEFT_SORT_NAME sort_doubles
#define WEFT_SORT_TYPE double
#define WEFT_SORT_LESS(a, b, arg) (*(a) < *(b))
#include <weft/sort.h>

static int compare_doubles(const void *a, const void *b, void *unused) {
    double x = *(const double *)a, y = *(const double *)b;
    (void)unused;
    return (x > y) - (x < y);
}

static void with_nans(void *p) {
    uint64_t random = *(uint64_t *)p;
    size_t size = sizeof(double);
    for (size_t n = 1; n < 20000; n = n * 5 / 4 + 1)
        for (int typed = 0; typed < 2; typed++) {
            double *before = malloc(n * size), *v = malloc(n * size);
            for (size_t i = 0; i < n; i++) before[i] = test_below(&random, 16) ? (double)test_below(&random, n) : NAN;
            memcpy(v, before, n * size);
            CHECK_EQ(typed ? sort_doubles(v, n, NULL) : weft_sort(v, n, size, compare_doubles, NULL), 0);
            check_all_there((unsigned char *)v, (unsigned char *)before, n, size);
            free(v);
            free(before);
        }
}
TEST_WITHIN(numbers_with_nans, 60) { each_number(with_nans, 20); }
