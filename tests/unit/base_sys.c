/* SPDX-License-Identifier: MIT */
/* The kernel as weft uses it: memory, clock, futex. */
#include "../test.h"

#include "base/lock.h"
#include "base/random.h"
#include "base/sys.h"

#include <pthread.h>
#include <string.h>

TEST(allocated_memory_is_zero_and_aligned) {
    for (size_t n = 1; n < 5000; n = n * 3 + 1) {
        char *p = weft__alloc(n), *q = weft__alloc_aligned(128, n);
        CHECK(p && q);
        CHECK_EQ((uintptr_t)q % 128, 0);
        for (size_t i = 0; i < n; i++) CHECK_EQ(p[i] | q[i], 0);
        memset(p, 1, n);
        memset(q, 1, n);
        weft__free(p);
        weft__free(q);
    }
}

TEST(mapped_memory_is_zero_and_discarded_memory_again) {
    enum { BYTES = 64 * WEFT_PAGE };
    void *memory;
    CHECK_EQ(weft__pages_map(&memory, BYTES), 0);
    char *p = memory;
    for (size_t i = 0; i < BYTES; i += 512) CHECK_EQ(p[i], 0);
    memset(p, 7, BYTES);
    struct weft__range r[3] = {{p, WEFT_PAGE}, {p + 8 * WEFT_PAGE, 2 * WEFT_PAGE}, {p + 63 * WEFT_PAGE, WEFT_PAGE}};
    weft__pages_discard(r, 3);
    CHECK_EQ(p[0] | p[8 * WEFT_PAGE] | p[9 * WEFT_PAGE] | p[63 * WEFT_PAGE], 0);
    CHECK_EQ(p[WEFT_PAGE], 7);
    CHECK_EQ(p[10 * WEFT_PAGE], 7);
    weft__pages_unmap(memory, BYTES);
}

TEST(no_address_space_is_an_error) {
    void *memory;
    CHECK(weft__pages_map(&memory, SIZE_MAX / 2) < 0);
}

TEST(the_clock_does_not_go_back) {
    uint64_t last = 0;
    for (int i = 0; i < 10000; i++) {
        uint64_t now = weft__clock();
        CHECK(now >= last);
        last = now;
    }
    CHECK(weft_now() >= last);
}

TEST(a_futex_wait_ends) {
    _Atomic uint32_t word = 1;
    CHECK_EQ(weft__futex_wait(&word, 0, WEFT_FOREVER), 0); /* another value: at once */
    CHECK_EQ(weft__futex_wait(&word, 1, 0), -ETIMEDOUT);
    uint64_t until = weft__clock() + 2 * WEFT_MILLISECOND;
    while (weft__futex_wait(&word, 1, until) != -ETIMEDOUT) {
    }
    CHECK(weft__clock() >= until);
}

static struct weft__lock lock;
static uint64_t guarded[2];

static void *add(void *unused) {
    (void)unused;
    for (size_t i = test_size(200000); i > 0; i--) {
        weft__lock(&lock);
        guarded[0]++;
        guarded[1] = guarded[0];
        weft__unlock(&lock);
    }
    return NULL;
}

TEST(the_lock_excludes) {
    pthread_t thread[4];
    for (unsigned i = 0; i < 4; i++) CHECK(!pthread_create(&thread[i], NULL, add, NULL));
    for (unsigned i = 0; i < 4; i++) CHECK(!pthread_join(thread[i], NULL));
    CHECK_EQ(guarded[0], 4 * test_size(200000));
    CHECK_EQ(guarded[1], guarded[0]);
    CHECK(weft__lock_try(&lock));
    CHECK(!weft__lock_try(&lock));
    weft__unlock(&lock);
}

TEST(random_numbers_cover_their_range) {
    uint64_t state = 1, seen = 0;
    CHECK_EQ(weft__random_below(&state, 1), 0);
    for (int i = 0; i < 2000; i++) {
        uint32_t n = weft__random_below(&state, 40);
        CHECK(n < 40);
        seen |= UINT64_C(1) << n;
    }
    CHECK(seen == (UINT64_C(1) << 40) - 1);
}
