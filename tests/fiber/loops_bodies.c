/* SPDX-License-Identifier: MIT */
/* Loops: what a body may do: loop, wait, and compute for so long that other fibers must get their turns. */
#include "loops.h"

static uint64_t cells[64][64];
static const struct weft_for_options *inner_options;
static int outer(size_t begin, size_t end, void *unused) {
    (void)unused;
    for (size_t i = begin; i < end; i++) CHECK_EQ(weft_for(0, 64, count_each, cells[i], inner_options), 0);
    return 0;
}
enum { WITHOUT_AFFINITY = KINDS - 2 }; /* only one loop at a time may use it */
static void nested(void *unused) {
    (void)unused;
    for (unsigned k = 0; k < KINDS; k++)
        for (unsigned j = 0; j < WITHOUT_AFFINITY; j++) {
            inner_options = &kinds[j];
            memset(cells, 0, sizeof cells);
            CHECK_EQ(weft_for(0, 64, outer, NULL, &kinds[k]), 0);
            for (int a = 0; a < 64; a++)
                for (int b = 0; b < 64; b++) CHECK_EQ(cells[a][b], 1);
        }
}
TEST_WITHIN(loops_in_loops, 60) { each_size(nested); }

static struct weft_mutex mutex;
static struct weft_sem sem;
static uint64_t guarded;
static int blocks(size_t begin, size_t end, void *unused) {
    (void)unused;
    for (size_t i = begin; i < end; i++) {
        if (i % 3 == 0) CHECK_EQ(weft_sleep_for(i % 50 * WEFT_MICROSECOND), 0);
        CHECK_EQ(weft_mutex_lock(&mutex), 0);
        guarded++;
        if (i % 5 == 0) weft_yield();
        CHECK_EQ(weft_mutex_unlock(&mutex), 0);
        if (i % 2) CHECK_EQ(weft_sem_post(&sem), 0);
    }
    return 0;
}
static void *takes_half(void *n) {
    for (size_t i = 0; i < (size_t)n / 2; i++) CHECK_EQ(weft_sem_wait(&sem), 0);
    return NULL;
}
static void blocking(void *unused) {
    (void)unused;
    for (unsigned k = 0; k < KINDS; k++) {
        size_t n = 200;
        guarded = 0;
        struct weft_fiber f = spawn(takes_half, (void *)n);
        CHECK_EQ(weft_for(0, n, blocks, NULL, &kinds[k]), 0);
        CHECK_EQ(guarded, n);
        join(f);
    }
}
TEST_WITHIN(bodies_that_wait, 60) { each_size(blocking); }

/* A ready fiber gets its turn while a loop computes, also with one worker. */
static int turns, over;
static void *takes_turns(void *unused) {
    while (!LOAD(&over)) {
        ADD(&turns, 1);
        weft_yield();
    }
    return unused;
}
static int computes(size_t begin, size_t end, void *unused) {
    (void)unused;
    for (size_t i = begin; i < end; i++) {
        for (volatile int k = 0; k < 5000; k++) {
        }
        if (LOAD(&turns) > 10) return 1;
    }
    return 0;
}
static void lets_in(void *unused) {
    (void)unused;
    for (unsigned k = 0; k < 6; k++) {
        STORE(&over, 0);
        STORE(&turns, 0);
        struct weft_fiber f = spawn(takes_turns, NULL);
        CHECK_EQ(weft_for(0, 100000, computes, NULL,
                          &(struct weft_for_options){.partition = k % 2 ? WEFT_FOR_LAZY : WEFT_FOR_MORSEL}),
                 1);
        STORE(&over, 1);
        join(f);
    }
}
TEST(ready_fibers_are_let_in) { test_in_fiber(1, lets_in, NULL); }

/* The same while one worker scans, sorts or runs weft_invoke. None of these would park. */
#define WEFT_SORT_NAME sort_numbers
#define WEFT_SORT_TYPE uint64_t
#define WEFT_SORT_LESS(a, b, arg) (*(a) < *(b))
#include <weft/sort.h>
enum { NUMBERS = TEST_TSAN ? 3000 : 100000 }; /* each piece may get a fiber, which costs much there */
static uint64_t numbers[NUMBERS];
static int compare_numbers(const void *a, const void *b, void *unused) {
    (void)unused;
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}
static void add_numbers(void *left, const void *right, void *unused) {
    (void)unused;
    *(uint64_t *)left += *(const uint64_t *)right;
}
static void compute_alone(void *unused) {
    (void)unused;
    for (volatile int k = 0; k < 300000; k++) {
    }
}
static void algorithm(unsigned which) {
    struct weft_branch branches[] = {{compute_alone, NULL}, {compute_alone, NULL}, {compute_alone, NULL}};
    uint64_t random = 1, zero = 0;
    for (size_t i = 0; i < NUMBERS; i++) numbers[i] = test_random(&random);
    if (which == 0) CHECK_EQ(weft_sort(numbers, NUMBERS, sizeof *numbers, compare_numbers, NULL), 0);
    if (which == 1) CHECK_EQ(weft_sort(numbers, NUMBERS / 3, 3 * sizeof *numbers, compare_numbers, NULL), 0);
    if (which == 2) CHECK_EQ(sort_numbers(numbers, NUMBERS, NULL), 0);
    if (which == 3)
        CHECK_EQ(weft_scan_inclusive(numbers, numbers, NUMBERS, sizeof *numbers, &zero, add_numbers, NULL), 0);
    if (which == 4) CHECK_EQ(weft_invoke(branches, 3), 0);
}
static void algorithms_let_in(void *unused) {
    (void)unused;
    for (unsigned which = 0; which < 5; which++) {
        STORE(&over, 0);
        STORE(&turns, 0);
        struct weft_fiber f = spawn(takes_turns, NULL);
        algorithm(which);
        CHECK(LOAD(&turns) > 0);
        STORE(&over, 1);
        join(f);
    }
}
TEST(ready_fibers_are_let_in_by_algorithms) {
    no_rescue();
    test_in_fiber(1, algorithms_let_in, NULL);
}
