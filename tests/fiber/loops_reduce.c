/* SPDX-License-Identifier: MIT */
/* Reductions: the order of the values, their sizes, and their rounding. */
#include "loops.h"
#include "word.h"

#include <stddef.h>
#include <stdlib.h>

static int spell(size_t begin, size_t end, void *value, void *unused) {
    for (size_t i = begin; i < end; i++) {
        struct word letter = {i * i + 1, 31};
        append(value, &letter, unused);
    }
    return 0;
}
static const struct weft_reduction spelling = {sizeof(struct word), &empty, spell, append};

static void in_order(void *unused) {
    (void)unused;
    static const size_t sizes[] = {0, 1, 2, 17, 1000, 50000};
    for (unsigned k = 0; k < KINDS; k++)
        for (unsigned s = 0; s < sizeof sizes / sizeof *sizes; s++) {
            struct word wanted = {5, 3}, got = {5, 3}; /* the initial value counts */
            spell(10, 10 + sizes[s], &wanted, NULL);
            CHECK_EQ(weft_reduce(10, 10 + sizes[s], &got, &spelling, NULL, &kinds[k]), 0);
            CHECK(got.hash == wanted.hash && got.power == wanted.power);
        }
}
TEST_WITHIN(reductions_keep_the_order, 60) { each_size(in_order); }

/* Repeated reductions begin with a part for each worker, and each worker begins with its own part. The callers are on
 * several workers, and there are more callers than processors. */
static int spell_slowly(size_t begin, size_t end, void *value, void *unused) {
    for (size_t i = begin; i < end; i++)
        for (volatile int k = 0; k < 50; k++) {
        }
    return spell(begin, end, value, unused);
}
static void *spell_again(void *unused) {
    static const struct weft_reduction slow = {sizeof(struct word), &empty, spell_slowly, append};
    enum { N = 3000, TIMES = 50 };
    struct word wanted = {5, 3};
    spell(0, N, &wanted, NULL);
    for (int k = 0; k < TIMES; k++) {
        struct word got = {5, 3};
        CHECK_EQ(weft_reduce(0, N, &got, &slow, NULL, NULL), 0);
        CHECK(got.hash == wanted.hash && got.power == wanted.power);
        weft_yield();
    }
    return unused;
}
TEST_WITHIN(reductions_like_earlier_ones_keep_the_order, 60) {
    for (unsigned workers = 1; workers <= 8; workers = workers * 2 + 1) {
        test_start(workers);
        struct weft_fiber f[4];
        for (int i = 0; i < 4; i++) f[i] = spawn(spell_again, NULL);
        for (int i = 0; i < 4; i++) join(f[i]);
        test_stop();
    }
}

/* Values of every size, also of sizes that do not fit on a stack. */
enum { LARGE = 5000 };
struct histogram {
    uint32_t count[LARGE];
};
static int count(size_t begin, size_t end, void *value, void *unused) {
    (void)unused;
    for (size_t i = begin; i < end; i++) ((struct histogram *)value)->count[i * 7919 % LARGE]++;
    return 0;
}
static void add_histogram(void *left, const void *right, void *unused) {
    (void)unused;
    for (int i = 0; i < LARGE; i++) ((struct histogram *)left)->count[i] += ((const struct histogram *)right)->count[i];
}
static void large_values(void *unused) {
    (void)unused;
    static struct histogram none, got;
    struct weft_reduction how = {sizeof none, &none, count, add_histogram};
    struct weft_for_options options = {.partition = WEFT_FOR_GRAIN, .grain = 4000};
    memset(&got, 0, sizeof got);
    CHECK_EQ(weft_reduce(0, 10 * LARGE, &got, &how, NULL, &options), 0);
    for (int i = 0; i < LARGE; i++) CHECK_EQ(got.count[i], 10);
}
TEST(reductions_of_large_values) { each_size(large_values); }

static int sum_until(size_t begin, size_t end, void *value, void *unused) {
    (void)unused, (void)value;
    return begin <= 5000 && 5000 < end ? -ERANGE : 0;
}
static void reduction_errors(void *unused) {
    (void)unused;
    struct weft_reduction how = spelling;
    struct word value = empty;
    how.fold = sum_until;
    for (unsigned k = 0; k < KINDS; k++) CHECK_EQ(weft_reduce(0, 10000, &value, &how, NULL, &kinds[k]), -ERANGE);
}
TEST(a_fold_ends_the_reduction) { each_size(reduction_errors); }

/* Values are aligned as by malloc, also if their size is not a multiple of the alignment. */
struct tagged {
    double sum;
    char tag[5];
} __attribute__((packed));
static int sum_aligned(size_t begin, size_t end, void *value, void *unused) {
    (void)unused;
    CHECK_EQ((uintptr_t)value % _Alignof(max_align_t), 0);
    ((struct tagged *)value)->sum += (double)(end - begin);
    return 0;
}
static void add_aligned(void *left, const void *right, void *unused) {
    (void)unused;
    CHECK_EQ((uintptr_t)right % _Alignof(max_align_t), 0);
    ((struct tagged *)left)->sum += ((const struct tagged *)right)->sum;
}
static void aligned_values(void *unused) {
    (void)unused;
    static const struct tagged none;
    struct weft_reduction how = {sizeof none, &none, sum_aligned, add_aligned};
    CHECK_EQ(sizeof none, 13);
    for (unsigned k = 0; k < KINDS; k++) {
        _Alignas(max_align_t) struct tagged value = none;
        CHECK_EQ(weft_reduce(0, 10000, &value, &how, NULL, &kinds[k]), 0);
        CHECK(value.sum == 10000);
    }
}
TEST(values_are_aligned) { each_size(aligned_values); }

/* The same grouping each time, so the rounding is the same. */
static int sum_doubles(size_t begin, size_t end, void *value, void *unused) {
    (void)unused;
    for (size_t i = begin; i < end; i++) *(double *)value += 1.0 / (double)(i + 1);
    return 0;
}
static void add_double(void *left, const void *right, void *unused) {
    (void)unused;
    *(double *)left += *(const double *)right;
}
static void same_rounding(void *unused) {
    (void)unused;
    double zero = 0, first = 0;
    struct weft_reduction how = {sizeof zero, &zero, sum_doubles, add_double};
    struct weft_for_options options = {.partition = WEFT_FOR_GRAIN, .grain = 777};
    for (int round = 0; round < 30; round++) {
        double sum = 0;
        CHECK_EQ(weft_reduce(0, 100000, &sum, &how, NULL, &options), 0);
        if (!round) first = sum;
        CHECK(!memcmp(&sum, &first, sizeof sum));
    }
}
TEST(reductions_by_grain_always_round_alike) { each_size(same_rounding); }
