/* SPDX-License-Identifier: MIT */
/* Loops: every index exactly once, whatever the partitioner, the range, and the cost of the body. And weft_invoke. */
#include "loops.h"
#include "word.h"

#include <stdlib.h>

static void ranges(void *unused) {
    (void)unused;
    static const size_t sizes[] = {0, 1, 2, 3, 5, 15, 16, 17, 63, 64, 65, 127, 1000, 4096, 9999, MOST};
    static const size_t begins[] = {0, 1, 63, 1000003, SIZE_MAX - MOST};
    for (unsigned k = 0; k < KINDS; k++)
        for (unsigned s = 0; s < sizeof sizes / sizeof *sizes; s++)
            for (unsigned b = 0; b < sizeof begins / sizeof *begins; b++)
                if (sizes[s] <= 1000 || b == 1 || b == 4) once(begins[b], sizes[s], &kinds[k]);
    once(SIZE_MAX - 77, 77, NULL);
}
TEST_WITHIN(every_index_once, 60) { each_size(ranges); }

static void more_workers_than_cpus(void *unused) {
    (void)unused;
    for (unsigned k = 0; k < KINDS; k++)
        for (size_t i = 0; i < 5; i++) once(i, test_size(20000) + i, &kinds[k]);
}
TEST_WITHIN(oversubscribed, 60) { test_in_fiber(32, more_workers_than_cpus, NULL); }

/* A range that is too long for small pieces. */
static uint64_t covered;
static int add_up(size_t begin, size_t end, void *arg) {
    (void)arg;
    __atomic_fetch_add(&covered, end - begin, __ATOMIC_RELAXED);
    return 0;
}
static void huge(void *unused) {
    (void)unused;
    covered = 0;
    CHECK_EQ(weft_for(0, SIZE_MAX, add_up, NULL, NULL), 0);
    CHECK(covered == SIZE_MAX);
    struct weft_for_options options = {.partition = WEFT_FOR_STATIC};
    covered = 0;
    CHECK_EQ(weft_for(3, SIZE_MAX, add_up, NULL, &options), 0);
    CHECK(covered == SIZE_MAX - 3);
    options = (struct weft_for_options){.partition = WEFT_FOR_GRAIN, .grain = SIZE_MAX / 1000};
    covered = 0;
    CHECK_EQ(weft_for(0, SIZE_MAX, add_up, NULL, &options), 0);
    CHECK(covered == SIZE_MAX);
}
TEST(all_numbers_there_are) { each_size(huge); }

/* Pieces begin at cache lines. */
static int at_lines(size_t begin, size_t end, void *element) {
    size_t bytes = *(size_t *)element;
    CHECK(begin * bytes % 64 == 0 || begin == 3);
    CHECK(end * bytes % 64 == 0 || end == 5003);
    return 0;
}
static void aligned(void *unused) {
    (void)unused;
    static const size_t bytes[] = {1, 4, 8, 12, 64, 100};
    for (unsigned i = 0; i < sizeof bytes / sizeof *bytes; i++) {
        size_t element = bytes[i];
        struct weft_for_options options = {.partition = WEFT_FOR_GRAIN, .grain = 256, .element = element};
        CHECK_EQ(weft_for(3, 5003, at_lines, &element, &options), 0);
        options.partition = WEFT_FOR_STATIC;
        options.grain = 0;
        CHECK_EQ(weft_for(3, 5003, at_lines, &element, &options), 0);
    }
}
TEST(pieces_begin_at_cache_lines) { each_size(aligned); }

/* A given grain is obeyed: it is the largest size of a piece, or the least. */
static int at_most_10(size_t begin, size_t end, void *unused) {
    CHECK(end - begin <= 10);
    return unused != NULL;
}
static void grains(void *unused) {
    (void)unused;
    struct weft_for_options options = {.partition = WEFT_FOR_GRAIN, .grain = 10};
    CHECK_EQ(weft_for(0, 1003, at_most_10, NULL, &options), 0);
    options.partition = WEFT_FOR_LAZY;
    CHECK_EQ(weft_for(0, 1003, at_most_10, NULL, &options), 0);
    options.partition = WEFT_FOR_STATIC;
    CHECK_EQ(weft_for(0, 1003, at_most_10, NULL, &options), 0);
    options = (struct weft_for_options){.grain = 1000, .partition = WEFT_FOR_MORSEL};
    calls = 0;
    once(0, 900, &options);
    CHECK_EQ(calls, 1);
    options.partition = WEFT_FOR_STATIC;
    options.grain = 0;
    calls = 0;
    once(0, 1000, &options);
    CHECK_EQ(calls, weft_workers());
}
TEST(grains_by_hand) { each_size(grains); }

/*
 * While a body of a lazy loop waits, the others begin, also on one worker: the first body waits for the last. Not with
 * continuation stealing, where only the caller of a fork can be taken.
 */
static struct weft_sem last_began;
static int first_waits(size_t begin, size_t end, void *unused) {
    (void)unused;
    CHECK_EQ(end - begin, 1);
    if (begin == 99) CHECK_EQ(weft_sem_post(&last_began), 0);
    if (begin == 0) CHECK_EQ(weft_sem_wait(&last_began), 0);
    return 0;
}
static int append_waiting(size_t begin, size_t end, void *value, void *unused) {
    struct word letter = {begin * begin + 7, 31};
    append(value, &letter, NULL);
    return first_waits(begin, end, unused);
}
static void lazy_rest(void *unused) {
    (void)unused;
    struct weft_for_options options = {.partition = WEFT_FOR_LAZY};
    const struct weft_reduction how = {sizeof empty, &empty, append_waiting, append};
    struct word word = empty, wanted = empty;
    last_began = (struct weft_sem)WEFT_SEM_INIT(0);
    for (size_t i = 0; i < 100; i++) append(&wanted, &(struct word){i * i + 7, 31}, NULL);
    CHECK_EQ(weft_for(0, 100, first_waits, NULL, &options), 0);
    CHECK_EQ(weft_reduce(0, 100, &word, &how, NULL, &options), 0);
    CHECK(word.hash == wanted.hash && word.power == wanted.power);
}
TEST(others_begin_while_a_lazy_body_waits) {
    if (!getenv("WEFT_CONTINUATIONS")) each_size(lazy_rest);
}

/* The same for a loop that first runs some elements alone, to measure their cost. */
#define PROBED 10000
static int first_piece_waits(size_t begin, size_t end, void *unused) {
    (void)unused;
    if (end == PROBED) CHECK_EQ(weft_sem_post(&last_began), 0);
    if (begin == 0) CHECK_EQ(weft_sem_wait(&last_began), 0);
    return 0;
}
static int append_probed(size_t begin, size_t end, void *value, void *unused) {
    for (size_t i = begin; i < end; i++) append(value, &(struct word){i * i + 7, 31}, NULL);
    return first_piece_waits(begin, end, unused);
}
static void probed_rest(void *unused) {
    (void)unused;
    const struct weft_reduction how = {sizeof empty, &empty, append_probed, append};
    struct word word = empty, wanted = empty;
    last_began = (struct weft_sem)WEFT_SEM_INIT(0);
    for (size_t i = 0; i < PROBED; i++) append(&wanted, &(struct word){i * i + 7, 31}, NULL);
    CHECK_EQ(weft_for(0, PROBED, first_piece_waits, NULL, NULL), 0);
    CHECK_EQ(weft_reduce(0, PROBED, &word, &how, NULL, NULL), 0);
    CHECK(word.hash == wanted.hash && word.power == wanted.power);
}
TEST(others_begin_while_a_probed_body_waits) {
    if (!getenv("WEFT_CONTINUATIONS")) each_size(probed_rest);
}

/* Loops of the same function and length: the cost that the first loop has measured may change only the time of the
 * others. */
static size_t dear_from;
static int costs_something(size_t begin, size_t end, void *unused) {
    for (size_t i = begin; i < end; i++)
        for (volatile int k = 0; k < (i >= dear_from ? 300 : 1); k++) {
        }
    return mark(begin, end, unused);
}
static void again_and_again(void *unused) {
    (void)unused;
    enum { N = 3000 };
    static const size_t from[] = {N, N, N, 0, 0, N / 2, N, N - 1, 0};
    for (unsigned k = 0; k < sizeof from / sizeof *from; k++)
        for (unsigned budget = 0; budget < 3; budget++) {
            struct weft_for_options options = {.budget = budget == 2 ? UINT64_MAX : budget};
            dear_from = from[k];
            base = 0;
            memset(seen, 0, N);
            CHECK_EQ(weft_for(0, N, costs_something, NULL, &options), 0);
            for (size_t i = 0; i < N; i++) CHECK_EQ(seen[i], 1);
        }
}
TEST_WITHIN(loops_like_earlier_ones, 60) { each_size(again_and_again); }

/* --- the body ends the loop ----------------------------------------------------------------------- */

static int stops_at(size_t begin, size_t end, void *at) {
    size_t i = *(size_t *)at;
    return i >= begin && i < end ? -EIO : 0;
}
static int stops_at_once(size_t begin, size_t end, void *unused) {
    (void)unused;
    ADD(&calls, 1);
    return begin < end ? 42 : 0;
}
static void errors(void *unused) {
    (void)unused;
    for (unsigned k = 0; k < KINDS; k++) {
        size_t at = 500;
        CHECK_EQ(weft_for(0, 1000, stops_at, &at, &kinds[k]), -EIO);
        at = 0;
        CHECK_EQ(weft_for(0, 100000, stops_at, &at, &kinds[k]), -EIO);
        calls = 0;
        CHECK_EQ(weft_for(0, 100000, stops_at_once, NULL, &kinds[k]), 42);
        if (weft_workers() == 1) CHECK_EQ(calls, 1); /* no other piece was begun */
        at = 99999;
        CHECK_EQ(weft_for(0, 100000, stops_at, &at, &kinds[k]), -EIO);
    }
}
TEST_WITHIN(a_body_ends_the_loop, 60) { each_size(errors); }

static int always_seven(size_t begin, size_t end, void *unused) { return begin + end > 0 && !unused ? 7 : 0; }
TEST(positive_values_are_carried_out) {
    test_start(3);
    for (unsigned k = 0; k < KINDS; k++) CHECK_EQ(weft_for(0, 10000, always_seven, NULL, &kinds[k]), 7);
    test_stop();
}

/* --- from a thread ---------------------------------------------------------------------------------- */

static int in_a_fiber(size_t begin, size_t end, void *unused) {
    (void)unused;
    CHECK(weft_self().id != 0);
    return mark(begin, end, NULL);
}
TEST(from_a_thread) {
    CHECK_EQ(weft_for(0, 10, mark, NULL, NULL), -ESRCH);
    test_start(2);
    for (int round = 0; round < 20; round++) {
        base = 0;
        memset(seen, 0, sizeof seen);
        CHECK_EQ(weft_for(0, 30000, in_a_fiber, NULL, NULL), 0);
        for (size_t i = 0; i < 30000; i++) CHECK_EQ(seen[i], 1);
    }
    CHECK_EQ(weft_for(0, 30000, always_seven, NULL, NULL), 7);
    test_stop();
}

static void *loops_alone(void *unused) {
    for (int round = 0; round < 10; round++) {
        uint64_t mine[500] = {0};
        CHECK_EQ(weft_for(0, 500, count_each, mine, NULL), 0);
        for (int i = 0; i < 500; i++) CHECK_EQ(mine[i], 1);
    }
    return unused;
}
TEST_WITHIN(many_loops_at_once, 60) {
    test_start(3);
    pthread_t t[4];
    struct weft_fiber f[20];
    for (int i = 0; i < 4; i++) t[i] = thread_start(loops_alone, NULL);
    for (int i = 0; i < 20; i++) f[i] = spawn(loops_alone, NULL);
    for (int i = 0; i < 4; i++) thread_join(t[i]);
    for (int i = 0; i < 20; i++) join(f[i]);
    test_stop();
}

/* --- calls -------------------------------------------------------------------------------------------- */

static void count_one(void *n) { ADD((int *)n, 1); }
static void invokes(void *unused) {
    (void)unused;
    enum { N = 300 };
    static int n[N];
    struct weft_branch branches[N];
    memset(n, 0, sizeof n);
    CHECK_EQ(weft_invoke(NULL, 0), 0);
    for (int i = 0; i < N; i++) branches[i] = (struct weft_branch){count_one, &n[i]};
    for (size_t k = 1; k <= N; k += k % 7 + 1) {
        memset(n, 0, sizeof n);
        CHECK_EQ(weft_invoke(branches, k), 0);
        for (size_t i = 0; i < N; i++) CHECK_EQ(n[i], i < k);
    }
    branches[5].fn = NULL;
    memset(n, 0, sizeof n);
    CHECK_EQ(weft_invoke(branches, 10), -EINVAL);
    for (int i = 0; i < N; i++) CHECK_EQ(n[i], 0);
}
TEST(invoke_calls_each_once) { each_size(invokes); }
