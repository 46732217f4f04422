/* SPDX-License-Identifier: MIT */
/* Loops whose parts go to certain workers: by mail, with an affinity, and beside a fiber that yields. */
#include "loops.h"

/* Which worker ran what. */
static int by_worker[64];
static unsigned char ran_by[64];
static int note_worker(size_t begin, size_t end, void *unused) {
    (void)unused;
    for (size_t i = begin; i < end; i++) {
        uint64_t until = weft_now() + 20 * WEFT_MICROSECOND;
        while (weft_now() < until) {
        }
        ran_by[i] = (unsigned char)weft_worker();
        ADD(&by_worker[weft_worker()], 1);
    }
    return 0;
}
static void directed(void *unused) {
    (void)unused;
    for (unsigned spread = WEFT_SPREAD_EVEN; spread <= WEFT_SPREAD_UNEVEN; spread++) {
        struct weft_affinity remembers = WEFT_AFFINITY_INIT;
        struct weft_for_options options = {
            .spread = spread, .partition = WEFT_FOR_GRAIN, .grain = 1, .affinity = &remembers};
        for (int round = 0; round < 20; round++) {
            memset(by_worker, 0, sizeof by_worker);
            CHECK_EQ(weft_for(0, 64, note_worker, NULL, &options), 0);
            int sum = 0;
            for (unsigned i = 0; i < 64; i++) sum += by_worker[i];
            CHECK_EQ(sum, 64);
            CHECK(remembers.parts >= weft_workers());
            for (unsigned part = 0; part < remembers.parts; part++)
                CHECK(remembers.worker[part] >= 1 && remembers.worker[part] <= 64);
        }
    }
}
TEST_WITHIN(parts_are_mailed_to_workers, 60) {
    test_in_fiber(2, directed, NULL);
    test_in_fiber(5, directed, NULL);
}

/* An affinity from a runtime with more workers, or an unused affinity, does no harm. */
TEST(affinity_outlives_the_runtime) {
    struct weft_affinity kept = WEFT_AFFINITY_INIT;
    struct weft_for_options options = {.affinity = &kept};
    for (unsigned workers = 6; workers >= 1; workers--) {
        test_start(workers);
        for (int i = 0; i < 5; i++) once(0, 5000, &options);
        test_stop();
    }
}

/* Mail to a worker that does not come home: the others run its parts, and later it finds nothing to do. */
static int hog_runs;
static void *hogs_worker(void *unused) {
    STORE(&hog_runs, 1);
    while (LOAD(&hog_runs) == 1) {
    }
    return unused;
}
static void *past_a_hog(void *unused) {
    struct weft_attr there = {.pinned = 2};
    struct weft_for_options options = {.spread = WEFT_SPREAD_UNEVEN};
    struct weft_fiber f = spawn_with(&there, hogs_worker, NULL);
    while (LOAD(&hog_runs) == 0) weft_yield();
    for (int i = 0; i < 200; i++) once(0, 1000, &options);
    STORE(&hog_runs, 2);
    join(f);
    once(0, 1000, &options);
    STORE(&hog_runs, 0);
    return unused;
}
TEST(mail_that_is_found_late) {
    struct weft_config config = {.workers = 2, .no_rescue = 1, .no_helping = 1};
#ifdef WEFT_MIGRATE
    test_skip("each fiber that becomes ready is mailed to the other worker");
#endif
    CHECK_EQ(weft_start(&config), 0);
    struct weft_attr here = {.pinned = 1};
    for (int i = 0; i < 5; i++) join(spawn_with(&here, past_a_hog, NULL));
    test_stop();
}

/*
 * A loop that gives turns to other fibers still runs in serial order on one worker. So with continuation stealing it
 * needs no more stacks than its tree is deep.
 */
enum { STACKS_MOST = 1000 };
static uintptr_t stacks[STACKS_MOST];
static unsigned stacks_seen;
static int note_stack(size_t begin, size_t end, void *unused) {
    (void)begin, (void)end, (void)unused;
    uintptr_t here = (uintptr_t)__builtin_frame_address(0) >> 14;
    unsigned i = 0;
    while (i < stacks_seen && stacks[i] != here) i++;
    if (i == stacks_seen && stacks_seen < STACKS_MOST) stacks[stacks_seen++] = here;
    return 0;
}
static int loop_is_over;
static void *yields_meanwhile(void *unused) {
    while (!LOAD(&loop_is_over)) weft_yield();
    return unused;
}
static void few_stacks(void *unused) {
    (void)unused;
    struct weft_for_options options = {.partition = WEFT_FOR_GRAIN, .grain = 1};
    struct weft_fiber other = spawn(yields_meanwhile, NULL);
    CHECK_EQ(weft_for(0, MOST, note_stack, NULL, &options), 0);
    STORE(&loop_is_over, 1);
    join(other);
    CHECK(stacks_seen <
          (TEST_TSAN ? 500 : 100)); /* its frames are large, and its slow calls give turns to other fibers more often */
}
TEST(few_stacks_beside_a_fiber_that_yields) {
    no_rescue();
    test_in_fiber(1, few_stacks, NULL);
}
