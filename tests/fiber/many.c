/* SPDX-License-Identifier: MIT */
/* A million fibers: ready at once, and parked at once. */
#include "fiber.h"

#include "mem/stack.h"

#include <stdlib.h>

static unsigned char *times; /* how often each has run */
static struct weft_counter counter;

static void *runs(void *arg) {
    __atomic_fetch_add(&times[(size_t)arg], 1, __ATOMIC_RELAXED);
    return NULL;
}

static void ready_at_once(void *unused) {
    (void)unused;
    size_t n = test_fibers(1000000);
    struct weft_attr attr = {.counter = &counter};
    CHECK((times = calloc(n, 1)));
    CHECK_EQ(weft_counter_add(&counter, n), 0);
    for (size_t i = 0; i < n; i++) CHECK_EQ(weft_spawn(NULL, &attr, runs, (void *)i), 0);
    CHECK_EQ(weft_counter_wait(&counter, 0), 0);
    for (size_t i = 0; i < n; i++) CHECK_EQ(times[i], 1);
    CHECK(weft__stack_count_in_use() < 2000); /* fibers that do not park pass their stack on */
    free(times);
}
TEST_WITHIN(a_million_ready, 120) {
    test_in_fiber(1, ready_at_once, NULL);
    test_in_fiber(2, ready_at_once, NULL);
}

static void *parks(void *arg) {
    CHECK_EQ(weft_counter_complete(&counter), 0);
    CHECK_EQ(weft_park(), 0);
    return runs(arg);
}

TEST_WITHIN(a_million_parked, 180) {
    size_t n = test_fibers(1000000);
    if (n >= 500000 && test_available_mib() < 8192) test_skip("less than 8 GiB of memory are free");
    struct weft_fiber *f = calloc(n, sizeof *f);
    CHECK(f && (times = calloc(n, 1)));
    for (size_t i = 0; i < n; i++) times[i] = 0;
    test_start(2);
    size_t before = test_rss_kib();
    CHECK_EQ(weft_counter_add(&counter, n), 0);
    for (size_t i = 0; i < n; i++) f[i] = spawn(parks, (void *)i);
    CHECK_EQ(weft_counter_wait(&counter, 0), 0);
    size_t each = (test_rss_kib() - before) * 1024 / n;
    if (!TEST_ASAN && !TEST_TSAN && !test_valgrind() && n >= 100000) CHECK(each < 5000); /* a page, and its record */
    for (size_t i = 0; i < n; i++) CHECK_EQ(times[i], 0);
    for (size_t i = 0; i < n; i++) CHECK_EQ(weft_unpark(f[i]), 0);
    for (size_t i = 0; i < n; i++) join(f[i]);
    for (size_t i = 0; i < n; i++) CHECK_EQ(times[i], 1);
    test_stop();
    free(times);
    free(f);
}

/* The memory of many fibers goes back when the runtime has been idle for a while. The test hangs if it does not. */
static bool holds_at_most(void *kib) { return test_rss_kib() <= *(size_t *)kib; }
TEST_WITHIN(memory_goes_back, 60) {
    size_t n = test_fibers(50000);
    if (TEST_ASAN || TEST_TSAN || test_valgrind() || test_emulated()) test_skip("the tool keeps memory of its own");
    struct weft_fiber *f = calloc(n, sizeof *f);
    CHECK(f && (times = calloc(n, 1)));
    test_start(2);
    join(spawn(runs, 0));
    size_t before = test_rss_kib();
    CHECK_EQ(weft_counter_add(&counter, n), 0);
    for (size_t i = 0; i < n; i++) f[i] = spawn(parks, (void *)i);
    CHECK_EQ(weft_counter_wait(&counter, 0), 0);
    size_t most = test_rss_kib();
    for (size_t i = 0; i < n; i++) CHECK_EQ(weft_unpark(f[i]), 0);
    for (size_t i = 0; i < n; i++) join(f[i]);
    size_t quarter = before + (most - before) / 4;
    test_until(holds_at_most, &quarter);
    test_stop();
    free(times);
    free(f);
}
