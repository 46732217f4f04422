/* SPDX-License-Identifier: MIT */
/*
 * The asymmetric fence: two threads each store one word and load the other's word. At least one of them must see the
 * other's store, even if the kernel begins to refuse membarrier.
 */
#include "../forbid.h"
#include "../test.h"

#include "base/sys.h"

#include <pthread.h>
#include <string.h>

static void refuse(int err) {
    if (forbid(SYS_membarrier, err)) test_skip("no filter can be installed");
}

#define KEPT (1u << 16)
static _Atomic uint64_t ours WEFT_ALIGNED, theirs WEFT_ALIGNED;
static _Atomic bool over WEFT_ALIGNED;
static _Atomic uint64_t history[KEPT]; /* of the light side: the round, and its view of the heavy side */
static _Atomic uint64_t last WEFT_ALIGNED;
static _Atomic uint64_t wanted WEFT_ALIGNED; /* the heavy side reads this round next: it is kept until then */

/* Between two rounds: the wanted round must not be overwritten. */
static void wait_for_reader(uint64_t round) {
    while (round >= load_acq(&wanted) + KEPT && !load_rlx(&over)) weft__cpu_yield(); /* pairs with heavy_round */
}

static void *light_side(void *light) {
    for (uint64_t round = 1; !load_rlx(&over); round++) {
        wait_for_reader(round);
        store_rlx(&ours, round);
        if (light)
            weft__fence_light();
        else
            fence_compiler();
        uint64_t seen = load_rlx(&theirs);
        store_rlx(&history[round % KEPT], round << 32 | seen);
        store_rel(&last, round); /* pairs with heavy_round */
    }
    return NULL;
}

/* The light side's first round that is not seen here must have seen our store. */
static void heavy_round(uint64_t mine, void (*fence)(void)) {
    store_rlx(&theirs, mine);
    fence();
    uint64_t next = load_rlx(&ours) + 1;
    store_rel(&wanted, next);                         /* pairs with wait_for_reader */
    while (load_acq(&last) < next) weft__cpu_yield(); /* pairs with light_side */
    uint64_t then = load_rlx(&history[next % KEPT]);
    CHECK_EQ(then >> 32, next & UINT32_MAX);
    CHECK((then & UINT32_MAX) >= mine);
}

static void rounds(unsigned n, unsigned refuse_at, void (*fence)(void), bool light) {
    pthread_t thread;
    CHECK(!pthread_create(&thread, NULL, light_side, light ? &over : NULL));
    for (unsigned i = 1; i <= n; i++) {
        if (i == refuse_at) refuse(EPERM);
        heavy_round(i, fence);
    }
    store_rlx(&over, true);
    CHECK(!pthread_join(thread, NULL));
}

static void needs_membarrier(void) {
    if (test_emulated()) test_skip("no filter for system calls");
    weft__fence_init();
    if (load_rlx(&weft__fence_is_symmetric)) test_skip("the kernel has no membarrier");
}

TEST(one_side_sees_the_other) {
    weft__fence_init();
    rounds((unsigned)test_size(4000), 0, weft__fence_heavy, true);
}

TEST(one_side_sees_the_other_without_membarrier) {
    refuse(ENOSYS);
    weft__fence_init();
    CHECK(load_rlx(&weft__fence_is_symmetric));
    rounds((unsigned)test_size(4000), 0, weft__fence_heavy, true);
}

TEST(membarrier_may_be_refused_at_any_moment) {
    needs_membarrier();
    rounds((unsigned)test_size(4000), (unsigned)test_size(2000), weft__fence_heavy, true);
    CHECK(load_rlx(&weft__fence_is_symmetric));
    weft__fence_init(); /* a start after that */
    CHECK(load_rlx(&weft__fence_is_symmetric));
}

TEST(a_compiler_barrier_is_enough_against_a_fence_of_all) {
    needs_membarrier();
    rounds((unsigned)test_size(4000), (unsigned)test_size(3900), weft__fence_all, false);
}

static void lose(void *unused) {
    (void)unused;
    weft__fence_init();
    refuse(EACCES);
    for (int i = 0; i < 3; i++) weft__fence_heavy();
    for (int i = 0; i < 3; i++) weft__fence_all();
}

TEST(it_is_said_once_that_membarrier_is_refused) {
    needs_membarrier();
    struct test_child child;
    test_child(&child, lose, NULL);
    CHECK_EQ(child.status, 0);
    CHECK_HAS(child.said, "weft: membarrier is refused, which worked before (Permission denied): weft goes on without");
    CHECK(!test_has(child.said + strlen("weft:"), "weft:"));
}
