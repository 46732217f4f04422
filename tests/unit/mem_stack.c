/* Stacks: classes, guards that fault, caches, and memory that goes back. */
#include "../test.h"

#include "mem/stack.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

static struct weft__stack_cache caches[WEFT_STACK_CLASSES];

static size_t size_of(unsigned class) { return (size_t)1 << (class + WEFT_STACK_MIN_LOG); }

TEST(classes_are_powers_of_two) {
    CHECK_EQ(weft__stack_class(0), 0);
    CHECK_EQ(weft__stack_class(1), 0);
    for (unsigned c = 0; c < WEFT_STACK_CLASSES; c++) {
        CHECK_EQ(weft__stack_class(size_of(c)), c);
        CHECK_EQ(weft__stack_class(size_of(c) - 1), c);
        CHECK_EQ(weft__stack_class(size_of(c) + 1), c + 1 < WEFT_STACK_CLASSES ? (int)c + 1 : -EINVAL);
    }
    CHECK_EQ(weft__stack_class(SIZE_MAX), -EINVAL);
}

TEST(usable_from_low_to_top) {
    for (unsigned c = 0; c < WEFT_STACK_CLASSES; c++) {
        struct weft__stack *s = weft__stack_get(caches, c);
        CHECK(s);
        CHECK_EQ(s->class, c);
        CHECK_EQ(weft__stack_top(s) - s->low, size_of(c));
        CHECK_EQ((uintptr_t)s->low % 4096, 0);
        for (size_t at = 0; at < size_of(c); at += 4096) CHECK_EQ(s->low[at], 0);
        s->low[0] = 1;
        weft__stack_top(s)[-1] = 2;
        if (c < 6) memset(s->low, 0x5a, size_of(c));
        weft__stack_put(caches, s);
    }
}

TEST(stacks_do_not_overlap) {
    enum { N = 600 };
    static struct weft__stack *got[N];
    for (unsigned i = 0; i < N; i++) {
        got[i] = weft__stack_get(caches, i % 3);
        CHECK(got[i]);
        memset(got[i]->low, (int)(i % 251), size_of(i % 3));
    }
    for (unsigned i = 0; i < N; i++) {
        unsigned char want = (unsigned char)(i % 251);
        for (char *p = got[i]->low; p < weft__stack_top(got[i]); p++) CHECK((unsigned char)*p == want);
    }
    for (unsigned i = 0; i < N; i++) weft__stack_put(caches, got[i]);
}

/* --- guards --------------------------------------------------------------------------------------- */

struct poke {
    unsigned class;
    unsigned index;  /* of several stacks of one piece of address space */
    ptrdiff_t below; /* of low */
};

static void poke_guard(void *arg) {
    struct poke *p = arg;
    struct weft__stack *s = NULL;
    signal(SIGSEGV, SIG_DFL);
    for (unsigned i = 0; i <= p->index; i++) s = weft__stack_get(caches, p->class);
    ((volatile char *)s->low)[-p->below] = 1;
}

TEST_WITHIN(the_guard_faults_all_over, 60) {
    static const ptrdiff_t below[] = {1, 4096, 4097, WEFT_STACK_GUARD / 2, WEFT_STACK_GUARD};
    static struct test_child child;
    for (unsigned class = 0; class < WEFT_STACK_CLASSES; class += 4)
        for (unsigned index = 0; index < 6; index += 5)
            for (unsigned i = 0; i < sizeof below / sizeof *below; i++) {
                test_child(&child, poke_guard, &(struct poke){class, index, below[i]});
                CHECK(test_child_killed(&child, SIGSEGV));
            }
}

static void poke_without_guards(void *arg) {
    weft__stack_guards(false);
    poke_guard(arg);
}

TEST(without_guards_nothing_faults) {
    static struct test_child child;
    test_child(&child, poke_without_guards, &(struct poke){1, 0, 100});
    CHECK(test_child_exited(&child, 0));
}

TEST(an_address_in_a_guard_names_its_stack) {
    struct weft__stack *s[8];
    int local = 0;
    for (unsigned i = 0; i < 8; i++) s[i] = weft__stack_get(caches, 1);
    for (unsigned i = 0; i < 8; i++) {
        CHECK(weft__stack_of_guard(s[i]->low - 1) == s[i]);
        CHECK(weft__stack_of_guard(s[i]->low - WEFT_STACK_GUARD) == s[i]);
        CHECK(!weft__stack_of_guard(s[i]->low));
        CHECK(!weft__stack_of_guard(weft__stack_top(s[i]) - 1));
    }
    CHECK(!weft__stack_of_guard(NULL));
    CHECK(!weft__stack_of_guard(&local));
    CHECK(!weft__stack_of_guard((void *)UINTPTR_MAX));
}

/* --- caches and the pool -------------------------------------------------------------------------- */

TEST(the_last_one_back_is_the_first_out) {
    struct weft__stack *a = weft__stack_get(caches, 2), *b = weft__stack_get(caches, 2);
    CHECK(a != b);
    weft__stack_put(caches, a);
    weft__stack_put(caches, b);
    CHECK(weft__stack_get(caches, 2) == b);
    CHECK(weft__stack_get(caches, 2) == a);
}

TEST(a_cache_keeps_so_many_and_no_more) {
    enum { N = 5 * WEFT_STACK_CACHED };
    static struct weft__stack *got[N];
    static struct weft__stack_cache other[WEFT_STACK_CLASSES];
    for (unsigned i = 0; i < N; i++) CHECK((got[i] = weft__stack_get(caches, 0)));
    CHECK(weft__stack_in_use() >= N);
    for (unsigned i = 0; i < N; i++) {
        weft__stack_put(caches, got[i]);
        CHECK(caches[0].count <= 2 * WEFT_STACK_CACHED);
        /* The one the caller stands on may not be where others can take it. */
        CHECK(caches[0].free == got[i]);
    }
    CHECK_EQ(weft__stack_in_use(), caches[0].count);
    weft__stack_flush(caches, 3);
    CHECK_EQ(caches[0].count, 3);
    CHECK_EQ(weft__stack_in_use(), 3);
    weft__stack_flush(caches, 0);
    CHECK_EQ(caches[0].count, 0);
    CHECK(!caches[0].free);
    struct weft__stack *s = weft__stack_get(other, 0); /* what one returned another may have */
    CHECK(s);
    weft__stack_put(other, s);
    weft__stack_flush(other, 0);
    CHECK_EQ(weft__stack_in_use(), 0);
}

/* --- memory nodes ---------------------------------------------------------------------------------- */

TEST(a_stack_goes_back_to_its_node_whoever_returns_it) {
    enum { N = 300 };
    static struct weft__stack_cache one[WEFT_STACK_CLASSES], two[WEFT_STACK_CLASSES];
    static struct weft__stack *got[N];
    weft__stack_on_node(one, 1);
    weft__stack_on_node(two, WEFT_MEM_NODES + 2); /* there are only so many pools */
    for (unsigned round = 0; round < 3; round++) {
        for (unsigned i = 0; i < N; i++) {
            CHECK((got[i] = weft__stack_get(i % 2 ? one : two, 1)));
            CHECK_EQ(got[i]->node, i % 2 ? 1 : 2);
        }
        for (unsigned i = 0; i < N; i++) weft__stack_put(i % 3 ? one : two, got[i]);
        weft__stack_flush(one, 0);
        weft__stack_flush(two, 0);
        CHECK_EQ(weft__stack_in_use(), 0);
        if (round == 1) /* also when their pages were given back */
            while (weft__stack_trim()) continue;
    }
}

TEST(a_worker_that_moves_takes_from_its_new_node) {
    struct weft__stack *s = weft__stack_get(caches, 0);
    CHECK_EQ(s->node, 0);
    weft__stack_put(caches, s);
    weft__stack_flush(caches, 0);
    weft__stack_on_node(caches, 5);
    CHECK_EQ((s = weft__stack_get(caches, 0))->node, 5);
    weft__stack_put(caches, s);
}

TEST(trim_gives_memory_back) {
    enum { N = 700, CLASS = 3 }; /* 128 KiB each */
    static struct weft__stack *got[N];
    for (unsigned i = 0; i < N; i++) CHECK((got[i] = weft__stack_get(caches, CLASS)));
    size_t before = test_rss_kib();
    for (unsigned i = 0; i < N; i++) memset(got[i]->low, 1, size_of(CLASS));
    size_t touched = test_rss_kib(), all = N * size_of(CLASS) / 1024;
    CHECK(touched - before > all * 9 / 10);
    for (unsigned i = 0; i < N; i++) weft__stack_put(caches, got[i]);
    weft__stack_flush(caches, 0);
    unsigned rounds = 0;
    while (weft__stack_trim()) CHECK(++rounds < 100);
    CHECK(rounds > 0);                                         /* a little at a time */
    if (!TEST_TSAN) CHECK(test_rss_kib() < before + all / 10); /* its shadow stays */
    for (unsigned i = 0; i < N; i++) {                         /* usable again, and zero */
        struct weft__stack *s = weft__stack_get(caches, CLASS);
        CHECK(s);
        CHECK_EQ(s->low[0] | weft__stack_top(s)[-1], 0);
        s->low[0] = 1;
    }
}

/* As many as fit where not as many as usual do at a time; and there are more when there is more room. */
static void use_all_room(void *unused) {
    enum { SOME = 600, CLASS = 3, FIT = 16 };
    struct rlimit all, little;
    size_t of_arenas = 4, fit = 0;
    (void)unused;
    for (int i = 0; i < SOME; i++) CHECK(weft__stack_get(caches, CLASS));
    for (unsigned n = 8; of_arenas < SOME; n = n < 256 ? 2 * n : n) of_arenas += n;
    CHECK(!getrlimit(RLIMIT_AS, &all));
    little = all;
    little.rlim_cur = test_mapped_kib() * 1024 + (FIT + 1) * size_of(CLASS);
    CHECK(!setrlimit(RLIMIT_AS, &little));
    while (weft__stack_get(caches, CLASS)) fit++;
    CHECK(weft__stack_exhausted());
    fit -= of_arenas - SOME;
    CHECK(fit >= 4 && fit <= FIT);
    CHECK(!setrlimit(RLIMIT_AS, &all));
    CHECK(weft__stack_get(caches, CLASS) && !weft__stack_exhausted());
}
TEST(a_few_stacks_where_many_do_not_fit) {
    static struct test_child child;
    if (TEST_ASAN || TEST_TSAN || test_valgrind() || test_emulated()) test_skip("address space is the tool's");
    test_child(&child, use_all_room, NULL);
    if (!test_child_exited(&child, 0)) test_fail(__FILE__, __LINE__, "%s", child.said);
    CHECK_EQ(test_lines_with(child.said, "no more stacks"), 1);
}

#ifdef WEFT_FAULTS
static void exhaust(void *arg) {
    unsigned *nth = arg;
    weft__fault_countdown = *nth;
    struct weft__stack *s = weft__stack_get(caches, 5);
    CHECK(!s || weft__fault_countdown > 0);
    CHECK_EQ(weft__stack_exhausted(), !s);
    weft__fault_countdown = -1;
    if (!s) CHECK((s = weft__stack_get(caches, 5)));
    weft__stack_put(caches, s);
    weft__stack_flush(caches, 0);
    CHECK(!weft__stack_exhausted());
}

/* What one node cannot make another may have. */
TEST(without_memory_a_node_takes_from_another) {
    static struct weft__stack_cache one[WEFT_STACK_CLASSES], two[WEFT_STACK_CLASSES];
    weft__stack_on_node(one, 1);
    weft__stack_on_node(two, 2);
    weft__stack_put(two, weft__stack_get(two, 4));
    weft__stack_flush(two, 0);
    weft__fault_countdown = 1;
    struct weft__stack *s = weft__stack_get(one, 4);
    CHECK_EQ(weft__fault_countdown, 0);
    CHECK(s && !weft__stack_exhausted());
    CHECK_EQ(s->node, 2);
    CHECK_EQ(weft__stack_in_use(), one[4].count + 1);
    weft__stack_put(one, s);
    weft__stack_flush(one, 0);
    CHECK_EQ(weft__stack_in_use(), 0);
    CHECK_EQ(weft__stack_get(two, 4)->node, 2);
}

/* Each call that makes stacks fails once: no stack, one line, and all is well afterwards. */
TEST(no_memory_for_stacks_is_said_once_and_passes) {
    static struct test_child child;
    for (unsigned nth = 1; nth <= 6; nth++) {
        test_child(&child, exhaust, &nth);
        if (!test_child_exited(&child, 0)) test_fail(__FILE__, __LINE__, "call %u: %s", nth, child.said);
        CHECK(test_lines_with(child.said, "no more stacks") <= 1);
    }
}
#endif
