/* SPDX-License-Identifier: MIT */
/* Loops: every index exactly once, whatever the partitioner, the range, and what the body does. */
#include "fiber.h"
#include "word.h"

#include <stdlib.h>
#include <string.h>

enum { MOST = 1 << 16 };
static unsigned char seen[MOST];
static size_t base; /* index of seen[0] */
static int calls;

static int mark(size_t begin, size_t end, void *arg) {
    (void)arg;
    CHECK(begin < end);
    ADD(&calls, 1);
    for (size_t i = begin; i < end; i++) CHECK_EQ(__atomic_fetch_add(&seen[i - base], 1, __ATOMIC_RELAXED), 0);
    return 0;
}

static void once(size_t begin, size_t n, const struct weft_for_options *options) {
    base = begin;
    memset(seen, 0, n);
    CHECK_EQ(weft_for(begin, begin + n, mark, NULL, options), 0);
    for (size_t i = 0; i < n; i++) CHECK_EQ(seen[i], 1);
}

static struct weft_affinity affinity, other_affinity;
static const struct weft_for_options kinds[] = {
    {0},
    {.budget = 1},
    {.grain = 100, .element = 8},
    {.element = 24},
    {.partition = WEFT_FOR_LAZY},
    {.partition = WEFT_FOR_LAZY, .grain = 33, .element = 4},
    {.partition = WEFT_FOR_STATIC},
    {.partition = WEFT_FOR_STATIC, .grain = 7, .element = 16},
    {.partition = WEFT_FOR_GRAIN},
    {.partition = WEFT_FOR_GRAIN, .grain = 1000, .element = 1},
    {.partition = WEFT_FOR_GRAIN, .grain = SIZE_MAX},
    {.spread = WEFT_SPREAD_EVEN},
    {.spread = WEFT_SPREAD_UNEVEN, .element = 8},
    {.spread = WEFT_SPREAD_EVEN, .partition = WEFT_FOR_STATIC},
    {.spread = WEFT_SPREAD_UNEVEN, .partition = WEFT_FOR_LAZY, .grain = 20},
    {.spread = WEFT_SPREAD_EVEN, .partition = WEFT_FOR_GRAIN, .grain = 9},
    {.affinity = &affinity},
    {.affinity = &other_affinity, .spread = WEFT_SPREAD_EVEN, .partition = WEFT_FOR_GRAIN, .grain = 64},
};
enum { KINDS = sizeof kinds / sizeof *kinds };

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

/* --- what a body may do --------------------------------------------------------------------------- */

static uint64_t cells[64][64];
static int inner(size_t begin, size_t end, void *row) {
    for (size_t i = begin; i < end; i++) __atomic_fetch_add(&((uint64_t *)row)[i], 1, __ATOMIC_RELAXED);
    return 0;
}
static const struct weft_for_options *inner_options;
static int outer(size_t begin, size_t end, void *unused) {
    (void)unused;
    for (size_t i = begin; i < end; i++) CHECK_EQ(weft_for(0, 64, inner, cells[i], inner_options), 0);
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
        CHECK_EQ(weft_for(0, 500, inner, mine, NULL), 0);
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

/* --- reductions -------------------------------------------------------------------------------------- */

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

/* --- directed loops ------------------------------------------------------------------------------------ */

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
