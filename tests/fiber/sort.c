/* SPDX-License-Identifier: MIT */
/* Sorting: against qsort, with many distributions and sizes of elements; stability. sort_lies.c tests contradictory
 * comparisons. */
#include "fiber.h"

#include <stdlib.h>
#include <string.h>

struct pair {
    int key, place;
};
#define WEFT_SORT_NAME sort_pairs
#define WEFT_SORT_TYPE struct pair
#define WEFT_SORT_LESS(a, b, arg) ((a)->key < (b)->key)
#include <weft/sort.h>

typedef const char *text;
#define WEFT_SORT_NAME sort_texts
#define WEFT_SORT_TYPE text
#define WEFT_SORT_LESS(a, b, arg) (strcmp(*(a), *(b)) < *(int *)(arg))
#include <weft/sort.h>

static uint64_t random_state = 1;

/* The distributions of keys. */
enum {
    RANDOM,
    FEW,
    EQUAL,
    RISING,
    FALLING,
    ORGAN_PIPES,
    NEARLY,
    SAWTOOTH,
    ONE_LAST,
    STAIRS_DOWN,
    BLOCKS,
    RARE,
    OUTLIERS,
    KINDS
};
static int key_of(int kind, size_t i, size_t n) {
    switch (kind) {
    case RANDOM: return (int)test_random(&random_state);
    case FEW: return (int)test_below(&random_state, 4);
    case EQUAL: return 5;
    case RISING: return (int)i;
    case FALLING: return -(int)i;
    case ORGAN_PIPES: return (int)(i < n / 2 ? i : n - i);
    case NEARLY: return (int)i + (test_below(&random_state, 50) ? 0 : (int)test_below(&random_state, 1000));
    case SAWTOOTH: return (int)(i % 100);
    case STAIRS_DOWN: return -(int)(i / 7);
    case BLOCKS: return i / 3000 % 2 ? (int)i : -(int)i; /* rising and falling runs in turn */
    case RARE:
        /* a few values, and some others */
        return (int)test_below(&random_state, test_below(&random_state, 100) ? 5 : 1000);
    case OUTLIERS: return (int)(test_below(&random_state, 300) ? i / 3 : test_below(&random_state, n / 3 + 1));
    default: return i + 1 < n ? (int)i : -1;
    }
}

/* Elements of any size: a key of four bytes at the front, and then the original position if there is room. */
static int compare_keys(const void *a, const void *b, void *calls) {
    int x, y;
    memcpy(&x, a, sizeof x);
    memcpy(&y, b, sizeof y);
    if (calls) ADD((int *)calls, 1);
    return (x > y) - (x < y);
}
static int compare_plainly(const void *a, const void *b) { return compare_keys(a, b, NULL); }

static void fill(char *v, int *keys, size_t n, size_t size, int kind) {
    for (size_t i = 0; i < n; i++) {
        int key = key_of(kind, i, n), place = (int)i;
        keys[i] = key;
        memset(v + i * size, (int)i, size);
        memcpy(v + i * size, &key, 4);
        if (size >= 8) memcpy(v + i * size + 4, &place, 4);
    }
}

static void check_sorted(const char *v, const int *keys, size_t n, size_t size) {
    for (size_t i = 0; i < n; i++) {
        int key, place, before;
        memcpy(&key, v + i * size, 4);
        CHECK_EQ(key, keys[i]);
        if (size < 8 || i == 0 || key != keys[i - 1]) continue;
        memcpy(&place, v + i * size + 4, 4);
        memcpy(&before, v + (i - 1) * size + 4, 4);
        CHECK(before < place); /* equal elements stay in order */
    }
}

static void check_rest(const char *v, size_t n, size_t size) {
    for (size_t i = 0; i < n && size > 8; i++) {
        int place;
        memcpy(&place, v + i * size + 4, 4);
        for (size_t k = 8; k < size; k++) CHECK_EQ((unsigned char)v[i * size + k], (unsigned char)place);
    }
}

static void sort_one(size_t n, size_t size, int kind, size_t offset) {
    char *memory = malloc(n * size + offset + 1), *v = memory + offset;
    int *keys = malloc((n + 1) * sizeof *keys);
    fill(v, keys, n, size, kind);
    qsort(keys, n, sizeof *keys, compare_plainly);
    CHECK_EQ(weft_sort(v, n, size, compare_keys, NULL), 0);
    check_sorted(v, keys, n, size);
    check_rest(v, n, size);
    free(keys);
    free(memory);
}

static void all_kinds(void *unused) {
    (void)unused;
    static const size_t bytes[] = {4, 5, 8, 12, 16, 24, 100};
    static const size_t sizes[] = {0, 1, 2, 3, 7, 8, 9, 15, 16, 17, 31, 100, 255, 1000, 2049, 8193};
    enum { BYTES = sizeof bytes / sizeof *bytes, SIZES = sizeof sizes / sizeof *sizes };
    /* With a sanitizer each distribution and length has one size of elements, and each size has many of them. */
    unsigned few = test_scale() < 20 ? 1 : BYTES;
    for (unsigned kind = 0; kind < KINDS; kind++)
        for (unsigned s = 0; s < SIZES; s++)
            for (unsigned b = 0; b < BYTES; b += few) sort_one(sizes[s], bytes[(b + kind + s) % BYTES], (int)kind, 0);
    for (int kind = 0; kind < KINDS; kind++)
        for (size_t offset = 1; offset < 16; offset += 5) {
            sort_one(3000, 4, kind, offset);
            sort_one(3000, 8, kind, offset);
            sort_one(3000, 16, kind, offset);
        }
}
TEST_WITHIN(all_distributions_and_sizes, 100) { each_size(all_kinds); }
TEST_WITHIN(oversubscribed, 100) { test_in_fiber(16, all_kinds, NULL); }

static void large(void *unused) {
    (void)unused;
    for (int kind = 0; kind < KINDS; kind++) {
        sort_one(test_size(500000), 8, kind, 0);
        sort_one(test_size(100000), 4, kind, 0);
        sort_one(test_size(100000), 24, kind, 0);
    }
}
TEST_WITHIN(large_arrays, 100) { test_in_fiber(3, large, NULL); }

static void typed(void *unused) {
    (void)unused;
    const size_t sizes[] = {0, 1, 2, 8, 9, 100, 2048, 5000, test_size(100000)};
    for (int kind = 0; kind < KINDS; kind++)
        for (unsigned s = 0; s < sizeof sizes / sizeof *sizes; s++) {
            size_t n = sizes[s];
            struct pair *v = malloc((n + 1) * sizeof *v);
            int *keys = malloc((n + 1) * sizeof *keys);
            fill((char *)v, keys, n, sizeof *v, kind);
            qsort(keys, n, sizeof *keys, compare_plainly);
            CHECK_EQ(sort_pairs(v, n, NULL), 0);
            check_sorted((char *)v, keys, n, sizeof *v);
            free(keys);
            free(v);
        }
    text words[] = {"weft", "warp", "loom", "fiber", "thread", "yarn", "knot", "weave", "spool", "a", "bobbin"};
    int below = 0;
    CHECK_EQ(sort_texts(words, 11, &below), 0);
    for (int i = 1; i < 11; i++) CHECK(strcmp(words[i - 1], words[i]) < 0);
    CHECK_EQ(sort_pairs(NULL, 1, NULL), -EINVAL);
    CHECK_EQ(sort_pairs(NULL, 0, NULL), 0);
}
TEST_WITHIN(of_one_type, 60) { each_size(typed); }

/* The number of comparisons. A sorted array needs one for each element, a reversed or nearly sorted array a few. A
 * random array needs at most n log n. With few values, an element needs as many as it takes to find its value. */
static void comparisons(void *unused) {
    (void)unused;
    enum { N = 1 << 15, MANY = 1 << 17 };
    static int v[N], many[MANY];
    int calls = 0;
    for (int i = 0; i < N; i++) v[i] = i;
    CHECK_EQ(weft_sort(v, N, sizeof *v, compare_keys, &calls), 0);
    CHECK(calls < N + N / 100);
    calls = 0;
    for (int i = 0; i < N; i++) v[i] = (N - i) / 2;
    CHECK_EQ(weft_sort(v, N, sizeof *v, compare_keys, &calls), 0);
    CHECK(calls < 3 * N);
    calls = 0;
    for (int i = 0; i < N; i++) v[i] = i % 500 ? i : (int)test_below(&random_state, N);
    CHECK_EQ(weft_sort(v, N, sizeof *v, compare_keys, &calls), 0);
    CHECK(calls < 8 * N);
    calls = 0;
    for (int i = 0; i < N; i++) v[i] = (int)test_random(&random_state);
    CHECK_EQ(weft_sort(v, N, sizeof *v, compare_keys, &calls), 0);
    CHECK(calls < 16 * N);
    calls = 0;
    for (int i = 0; i < MANY; i++) many[i] = (int)test_below(&random_state, 10);
    CHECK_EQ(weft_sort(many, MANY, sizeof *many, compare_keys, &calls), 0);
    CHECK(calls < 6 * MANY);
    for (int i = 1; i < MANY; i++) CHECK(many[i - 1] <= many[i]);
}
TEST(number_of_comparisons) { /* the number hardly depends on the number of workers */
    if (test_scale() < 20)
        each_size(comparisons);
    else
        test_in_fiber(2, comparisons, NULL);
}

static int compare_waiting(const void *a, const void *b, void *unused) {
    int x = *(const int *)a;
    if (x % 64 == 0) weft_yield();
    if (x % 1024 == 0) weft_sleep_for(1);
    return compare_keys(a, b, unused);
}
static void waiting(void *unused) {
    (void)unused;
    enum { N = 5000 };
    static int v[N], keys[N];
    for (int i = 0; i < N; i++) keys[i] = v[i] = (int)test_random(&random_state);
    qsort(keys, N, sizeof *keys, compare_plainly);
    CHECK_EQ(weft_sort(v, N, sizeof *v, compare_waiting, NULL), 0);
    CHECK(!memcmp(v, keys, sizeof v));
}
TEST_WITHIN(comparisons_that_wait, 60) { each_size(waiting); }
TEST(from_a_thread) {
    test_start(2);
    waiting(NULL);
    typed(NULL);
    test_stop();
}
