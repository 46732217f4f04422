/* SPDX-License-Identifier: MIT */
/* Prefix sums: inclusive and exclusive, in place, of operations that do not commute. */
#include "fiber.h"
#include "word.h"

#include <stdlib.h>
#include <string.h>

static void append_parking(void *left, const void *right, void *unused) {
    if (((const struct word *)right)->hash % 64 == 0) weft_yield();
    append(left, right, unused);
}

enum { MOST = 20000 };
static struct word in[MOST], out[MOST], wanted[MOST + 1];

static void prepare(size_t n) {
    wanted[0] = empty;
    for (size_t i = 0; i < n; i++) {
        in[i] = (struct word){i * i + 7, 31};
        wanted[i + 1] = wanted[i];
        append(&wanted[i + 1], &in[i], NULL);
    }
    memset(out, 0, sizeof out);
}
static void check(const struct word *got, const struct word *want, size_t n) {
    for (size_t i = 0; i < n; i++) CHECK(got[i].hash == want[i].hash && got[i].power == want[i].power);
}

static void arrays(void *unused) {
    (void)unused;
    static const size_t sizes[] = {0, 1, 2, 255, 256, 257, 1000, 5555, MOST};
    for (unsigned s = 0; s < sizeof sizes / sizeof *sizes; s++) {
        size_t n = sizes[s];
        prepare(n);
        CHECK_EQ(weft_scan_inclusive(out, in, n, sizeof *in, &empty, append, NULL), 0);
        check(out, wanted + 1, n);
        CHECK_EQ(weft_scan_exclusive(out, in, n, sizeof *in, &empty, append_parking, NULL), 0);
        check(out, wanted, n);
        CHECK_EQ(weft_scan_exclusive(in, in, n, sizeof *in, &empty, append, NULL), 0);
        check(in, wanted, n);
        prepare(n);
        CHECK_EQ(weft_scan_inclusive(in, in, n, sizeof *in, &empty, append_parking, NULL), 0);
        check(in, wanted + 1, n);
    }
}
TEST_WITHIN(arrays_of_what_does_not_commute, 60) { each_size(arrays); }
TEST_WITHIN(oversubscribed, 60) { test_in_fiber(16, arrays, NULL); }
TEST(from_a_thread) {
    test_start(2);
    arrays(NULL);
    test_stop();
}

/* The same with the operation inlined. */
static struct word appended(struct word left, struct word right) {
    append(&left, &right, NULL);
    return left;
}
#define WEFT_SCAN_NAME words
#define WEFT_SCAN_TYPE struct word
#define WEFT_SCAN_IDENTITY \
    { 0, 1 }
#define WEFT_SCAN_OPERATION(a, b, arg) appended(a, b)
#include <weft/scan.h>

static void in_line(void *unused) {
    (void)unused;
    static const size_t sizes[] = {0, 1, 2, 127, 128, 129, 257, 1000, 5555, MOST};
    for (unsigned s = 0; s < sizeof sizes / sizeof *sizes; s++) {
        size_t n = sizes[s];
        struct word value = empty;
        prepare(n);
        CHECK_EQ(words_reduce(&value, in, n, NULL), 0);
        check(&value, wanted + n, 1);
        CHECK_EQ(words_inclusive(out, in, n, NULL), 0);
        check(out, wanted + 1, n);
        CHECK_EQ(words_exclusive(out, in, n, NULL), 0);
        check(out, wanted, n);
        CHECK_EQ(words_inclusive(in, in, n, NULL), 0);
        check(in, wanted + 1, n);
    }
    CHECK_EQ(words_inclusive(NULL, in, 1, NULL), -EINVAL);
    CHECK_EQ(words_exclusive(out, NULL, 1, NULL), -EINVAL);
    CHECK_EQ(words_reduce(NULL, in, 1, NULL), -EINVAL);
}
TEST_WITHIN(operations_in_line, 60) { each_size(in_line); }

/* Each index is scanned once, with the right value, and folded at most once. */
static unsigned char scanned[MOST], folded[MOST];
static int fold_numbers(size_t begin, size_t end, void *value, void *unused) {
    (void)unused;
    for (size_t i = begin; i < end; i++) {
        *(uint64_t *)value += i;
        CHECK_EQ(folded[i]++, 0);
    }
    return 0;
}
static int scan_numbers(size_t begin, size_t end, void *value, void *fails_at) {
    for (size_t i = begin; i < end; i++) {
        if (fails_at && i == *(size_t *)fails_at) return -EIO;
        CHECK_EQ(*(uint64_t *)value, 100 + i * (i - 1) / 2);
        *(uint64_t *)value += i;
        CHECK_EQ(scanned[i]++, 0);
    }
    if (begin % 5 == 0) weft_yield();
    return 0;
}
static void add(void *left, const void *right, void *unused) {
    (void)unused;
    *(uint64_t *)left += *(const uint64_t *)right;
}
static void ranges(void *unused) {
    (void)unused;
    uint64_t zero = 0;
    struct weft_prefix how = {{sizeof zero, &zero, fold_numbers, add}, scan_numbers};
    for (size_t grain = 1; grain < 5000; grain *= 3) {
        uint64_t value = 100;
        struct weft_for_options options = {.grain = grain, .element = 8};
        memset(scanned, 0, sizeof scanned);
        memset(folded, 0, sizeof folded);
        CHECK_EQ(weft_scan(0, MOST, &value, &how, NULL, &options), 0);
        CHECK_EQ(value, 100 + (uint64_t)MOST * (MOST - 1) / 2);
        for (int i = 0; i < MOST; i++) CHECK_EQ(scanned[i], 1);
        if (weft_workers() == 1)
            for (int i = 0; i < MOST; i++) CHECK_EQ(folded[i], 0);
        size_t fails_at = grain * 3;
        memset(scanned, 0, sizeof scanned);
        memset(folded, 0, sizeof folded);
        value = 100;
        CHECK_EQ(weft_scan(0, MOST, &value, &how, &fails_at, &options), -EIO);
    }
}
TEST_WITHIN(ranges_with_functions, 60) { each_size(ranges); }

/* Values are aligned as by malloc, also if their size is not a multiple of the alignment. */
struct tagged {
    uint64_t sum;
    char tag[5];
} __attribute__((packed));
static int count(size_t begin, size_t end, void *value, void *unused) {
    (void)unused;
    CHECK_EQ((uintptr_t)value % _Alignof(max_align_t), 0);
    ((struct tagged *)value)->sum += end - begin;
    return 0;
}
static void add_tagged(void *left, const void *right, void *unused) {
    (void)unused;
    CHECK_EQ((uintptr_t)left % _Alignof(max_align_t), 0);
    CHECK_EQ((uintptr_t)right % _Alignof(max_align_t), 0);
    ((struct tagged *)left)->sum += ((const struct tagged *)right)->sum;
}
static void aligned_values(void *unused) {
    (void)unused;
    static const struct tagged none;
    _Alignas(max_align_t) struct tagged value = none;
    struct weft_prefix how = {{sizeof none, &none, count, add_tagged}, count};
    CHECK_EQ(weft_scan(0, MOST, &value, &how, NULL, NULL), 0);
    CHECK_EQ(value.sum, MOST);
}
TEST(values_are_aligned) { each_size(aligned_values); }
