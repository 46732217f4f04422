/* SPDX-License-Identifier: MIT */
/* Stacks: classes, guards that fault, caches, memory that goes back, shortage. */
#include "../forbid.h"
#include "../test.h"

#include "mem/stack.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

static struct weft__stack_cache caches[WEFT_STACK_CACHES];

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
    weft__stack_set_guards(false);
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
        CHECK(weft__stack_of_gap(s[i]->low - 1) == s[i]);
        CHECK(weft__stack_of_gap(s[i]->low - WEFT_STACK_GUARD) == s[i]);
        CHECK(!weft__stack_of_gap(s[i]->low));
        CHECK(!weft__stack_of_gap(weft__stack_top(s[i]) - 1));
    }
    CHECK(!weft__stack_of_gap(NULL));
    CHECK(!weft__stack_of_gap(&local));
    CHECK(!weft__stack_of_gap((void *)UINTPTR_MAX));
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
    static struct weft__stack_cache other[WEFT_STACK_CACHES];
    for (unsigned i = 0; i < N; i++) CHECK((got[i] = weft__stack_get(caches, 0)));
    CHECK(weft__stack_count_in_use() >= N);
    for (unsigned i = 0; i < N; i++) {
        weft__stack_put(caches, got[i]);
        CHECK(weft__stack_count_cached(&caches[0]) <= 2 * WEFT_STACK_CACHED);
        /* The stack on which the caller runs must not be where other threads can take it. */
        CHECK(caches[0].free == &got[i]->link);
    }
    CHECK_EQ(weft__stack_count_in_use(), weft__stack_count_cached(&caches[0]));
    weft__stack_flush(caches, 3);
    CHECK_EQ(weft__stack_count_cached(&caches[0]), 3);
    CHECK_EQ(weft__stack_count_in_use(), 3);
    CHECK_EQ(weft__stack_flush(caches, 0), 3);
    CHECK(!caches[0].free);
    struct weft__stack *s = weft__stack_get(other, 0); /* what one returned another may have */
    CHECK(s);
    weft__stack_put(other, s);
    weft__stack_flush(other, 0);
    CHECK_EQ(weft__stack_count_in_use(), 0);
}

/* --- memory nodes ---------------------------------------------------------------------------------- */

TEST(a_stack_returns_to_its_node_from_any_worker) {
    enum { N = 300 };
    static struct weft__stack_cache one[WEFT_STACK_CACHES], two[WEFT_STACK_CACHES];
    static struct weft__stack *got[N];
    weft__stack_set_node(one, 1);
    weft__stack_set_node(two, WEFT_MEM_NODES + 2); /* there are only so many pools */
    for (unsigned round = 0; round < 3; round++) {
        for (unsigned i = 0; i < N; i++) {
            CHECK((got[i] = weft__stack_get(i % 2 ? one : two, 1)));
            CHECK_EQ(got[i]->node, i % 2 ? 1 : 2);
        }
        for (unsigned i = 0; i < N; i++) weft__stack_put(i % 3 ? one : two, got[i]);
        weft__stack_flush(one, 0);
        weft__stack_flush(two, 0);
        CHECK_EQ(weft__stack_count_in_use(), 0);
        for (unsigned i = 0; i < round * 2; i++) { /* also when their pages were given back */
            weft__stacks_end_period();
            while (weft__stacks_trim()) continue;
        }
    }
}

TEST(a_worker_that_moves_takes_from_its_new_node) {
    struct weft__stack *s = weft__stack_get(caches, 0);
    CHECK_EQ(s->node, 0);
    weft__stack_put(caches, s);
    weft__stack_flush(caches, 0);
    weft__stack_set_node(caches, 5);
    CHECK_EQ((s = weft__stack_get(caches, 0))->node, 5);
    weft__stack_put(caches, s);
}

/* Of large stacks a worker keeps few. */
TEST(a_cache_keeps_few_large_ones) {
    enum { N = 200 };
    static struct weft__stack *got[N];
    for (unsigned class = 3; class < 9; class ++) {
        for (unsigned i = 0; i < N; i++) CHECK((got[i] = weft__stack_get(caches, class)));
        for (unsigned i = 0; i < N; i++) weft__stack_put(caches, got[i]);
        CHECK(weft__stack_count_cached(&caches[class]) * size_of(class) <= (size_t)16 << 20);
        weft__stack_flush(caches, 8);
        CHECK(weft__stack_count_cached(&caches[class]) * size_of(class) <= (size_t)1 << 20);
        weft__stack_flush(caches, 0);
    }
    CHECK_EQ(weft__stack_count_in_use(), 0);
}

/* --- memory that goes back ----------------------------------------------------------------------------- */

enum { MANY = 700, CLASS = 3 }; /* 128 KiB each */
static struct weft__stack *many[MANY];

static void take_many(void) {
    for (unsigned i = 0; i < MANY; i++) CHECK((many[i] = weft__stack_get(caches, CLASS)));
}
static void touch_many(void) {
    for (unsigned i = 0; i < MANY; i++) memset(many[i]->low, 1, size_of(CLASS));
}
static void put_many(void) {
    for (unsigned i = 0; i < MANY; i++) weft__stack_put(caches, many[i]);
    weft__stack_flush(caches, 0);
}
static unsigned trim_all(void) {
    unsigned steps = 0;
    while (weft__stacks_trim()) CHECK(++steps < 1000);
    return steps;
}
/* Enough periods to free everything that is unused. */
static void pass_time(void) {
    for (unsigned i = 0; i < WEFT_AGES; i++) {
        weft__stacks_end_period();
        trim_all();
    }
}
static bool measures_memory(void) { return !TEST_ASAN && !TEST_TSAN && !test_valgrind() && !test_emulated(); }

TEST(a_burst_goes_back_with_its_address_space) {
    size_t before = test_rss_kib(), mapped = test_mapped_kib(), all = MANY * size_of(CLASS) / 1024;
    for (unsigned round = 0; round < 3; round++) {
        take_many();
        touch_many();
        CHECK(test_rss_kib() - before > all * 9 / 10);
        CHECK(test_mapped_kib() - mapped > all);
        put_many();
        pass_time();
        CHECK(!weft__stacks_end_period()); /* nothing is left that could grow older */
        if (!measures_memory()) continue;
        CHECK(test_rss_kib() < before + all / 10);
        CHECK(test_mapped_kib() < mapped + all / 10);
    }
    take_many(); /* usable again, and zero */
    for (unsigned i = 0; i < MANY; i++) CHECK_EQ(many[i]->low[0] | weft__stack_top(many[i])[-1], 0);
    put_many();
}

/* A stack in use keeps its arena, but not the pages of its neighbours. */
TEST(stacks_in_use_keep_their_own_pages_only) {
    size_t before = test_rss_kib(), all = MANY * size_of(CLASS) / 1024;
    static struct weft__stack *kept[MANY / 50];
    take_many();
    touch_many();
    for (unsigned i = 0; i < MANY / 50; i++) {
        kept[i] = many[i * 50];
        CHECK((many[i * 50] = weft__stack_get(caches, CLASS)));
    }
    put_many();
    pass_time();
    if (measures_memory()) CHECK(test_rss_kib() < before + all / 10);
    for (unsigned i = 0; i < MANY / 50; i++)
        for (char *p = kept[i]->low; p < weft__stack_top(kept[i]); p++) CHECK(*p == 1);
    take_many();
    for (unsigned i = 0; i < MANY; i++) {
        CHECK_EQ(many[i]->low[0] | weft__stack_top(many[i])[-1], 0);
        for (unsigned k = 0; k < MANY / 50; k++) CHECK(many[i] != kept[k]);
    }
    put_many();
}

/* Stacks that are needed in every period are kept, with their pages. Stacks that are no longer needed grow old beside
 * them. */
TEST(stacks_that_are_used_are_kept) {
    take_many();
    touch_many();
    put_many();
    weft__stacks_end_period();
    CHECK_EQ(trim_all(), 0);
    for (unsigned round = 0; round < 5; round++) {
        take_many();
        put_many();
        CHECK(weft__stacks_end_period());
        CHECK_EQ(trim_all(), 0);
    }
    unsigned warm = 0;
    take_many();
    for (unsigned i = 0; i < MANY; i++) warm += many[i]->low[0] & weft__stack_top(many[i])[-1];
    CHECK(warm > MANY - WEFT_STACK_CACHED); /* a cache may have taken some unused stacks */
    put_many();
    for (unsigned round = 0; round < 4; round++) { /* a few: the rest goes */
        struct weft__stack *one = weft__stack_get(caches, CLASS);
        weft__stack_put(caches, one);
        weft__stack_flush(caches, 0);
        weft__stacks_end_period();
        trim_all();
    }
    take_many();
    warm = 0;
    for (unsigned i = 0; i < MANY; i++) warm += many[i]->low[0] == 1;
    CHECK(warm < MANY / 10);
    put_many();
}

/* Returns a little at a time. The remaining stacks can be used meanwhile. */
TEST(a_trim_can_be_interrupted) {
    take_many();
    touch_many();
    put_many();
    for (unsigned i = 0; i < WEFT_AGES - 1; i++) weft__stacks_end_period();
    CHECK(weft__stacks_trim() && weft__stacks_trim());
    unsigned warm = 0;
    take_many();
    for (unsigned i = 0; i < MANY; i++) warm += many[i]->low[0] == 1;
    CHECK(warm > 0);
    put_many();
    pass_time();
}

static _Atomic bool churning;
static void *churn(void *number) {
    enum { HELD = 300 };
    struct weft__stack_cache own[WEFT_STACK_CACHES] = {{.free = NULL}};
    struct weft__stack *held[HELD];
    uint64_t random = (uintptr_t)number + 1;
    for (size_t round = test_size(300); round > 0; round--) {
        unsigned n = test_below(&random, 4) ? 20 : HELD, class = (unsigned)test_below(&random, 3);
        for (unsigned i = 0; i < n; i++) {
            CHECK((held[i] = weft__stack_get(own, class)));
            weft__stack_top(held[i])[-1] = (char)(uintptr_t)number;
            held[i]->low[0] = (char)i;
        }
        for (unsigned i = 0; i < n; i++) {
            CHECK(held[i]->low[0] == (char)i && weft__stack_top(held[i])[-1] == (char)(uintptr_t)number);
            weft__stack_put(own, held[i]);
        }
        if (round % 8 == 0) weft__stack_flush(own, (unsigned)test_below(&random, 9));
    }
    weft__stack_flush(own, 0);
    return NULL;
}
static void *trim_always(void *unused) {
    while (load_rlx(&churning)) {
        weft__stacks_end_period();
        weft__stacks_trim();
    }
    return unused;
}
static void *reclaim_always(void *unused) {
    while (load_rlx(&churning)) weft__stacks_reclaim();
    return unused;
}
TEST_WITHIN(memory_goes_back_while_stacks_are_used, 60) {
    pthread_t thread[3], trimmer, reclaimer;
    store_rlx(&churning, true);
    CHECK(!pthread_create(&trimmer, NULL, trim_always, NULL));
    CHECK(!pthread_create(&reclaimer, NULL, reclaim_always, NULL));
    for (uintptr_t i = 0; i < 3; i++) CHECK(!pthread_create(&thread[i], NULL, churn, (void *)i));
    for (unsigned i = 0; i < 3; i++) CHECK(!pthread_join(thread[i], NULL));
    store_rlx(&churning, false);
    CHECK(!pthread_join(trimmer, NULL) && !pthread_join(reclaimer, NULL));
    CHECK_EQ(weft__stack_count_in_use(), 0);
}

/* --- when there are few ---------------------------------------------------------------------------------- */

static void limit_address_space(size_t more) {
    struct rlimit limit;
    CHECK(!getrlimit(RLIMIT_AS, &limit));
    limit.rlim_cur = more == SIZE_MAX ? limit.rlim_max : test_mapped_kib() * 1024 + more;
    CHECK(!setrlimit(RLIMIT_AS, &limit));
}
static void needs_limits(void) {
    if (TEST_ASAN || TEST_TSAN || test_valgrind() || test_emulated()) test_skip("address space is the tool's");
}
static void in_child(void (*fn)(void *)) {
    static struct test_child child;
    test_child(&child, fn, NULL);
    if (!test_child_exited(&child, 0)) test_fail(__FILE__, __LINE__, "status %x: %s", child.status, child.said);
}

/* If an arena of the usual size does not fit, makes as many stacks as fit. With more room there are more. */
static void use_all_room(void *unused) {
    enum { SOME = 600, FIT = 16 };
    size_t of_arenas = 4, fit = 0;
    (void)unused;
    for (int i = 0; i < SOME; i++) CHECK(weft__stack_get(caches, CLASS));
    for (unsigned n = 8; of_arenas < SOME; n = n < 256 ? 2 * n : n) of_arenas += n;
    limit_address_space((FIT + 1) * size_of(CLASS));
    while (weft__stack_get(caches, CLASS)) fit++;
    CHECK(!weft__stack_get_any(caches, CLASS));
    fit -= of_arenas - SOME;
    CHECK(fit >= 8 && fit <= FIT);
    limit_address_space(SIZE_MAX);
    CHECK(weft__stack_get(caches, CLASS));
}
TEST(a_few_stacks_where_many_do_not_fit) {
    needs_limits();
    in_child(use_all_room);
}

/* Unused address space of one class can serve another class. */
static void use_others_room(void *unused) {
    (void)unused;
    take_many();
    touch_many();
    put_many();
    limit_address_space(64 * 1024);
    unsigned got = 0;
    for (struct weft__stack *s; (s = weft__stack_get_any(caches, 0)); got++) CHECK_EQ(s->class, 0);
    CHECK(got > MANY);
}
TEST(address_space_that_another_class_does_not_use_is_taken) {
    needs_limits();
    in_child(use_others_room);
}

/* Each arena has stacks in use, so none can be unmapped: then a larger stack is used. */
static void use_larger(void *unused) {
    (void)unused;
    take_many();
    for (unsigned i = 0; i < MANY; i += 2) {
        weft__stack_put(caches, many[i]);
        many[i] = NULL;
    }
    weft__stack_flush(caches, 0);
    limit_address_space(64 * 1024);
    unsigned got = 0;
    for (struct weft__stack *s; (s = weft__stack_get_any(caches, 0)); got++) CHECK_EQ(s->class, CLASS);
    CHECK(got >= MANY / 2);
    CHECK(!weft__stack_get_any(caches, CLASS));
}
TEST(a_larger_stack_will_do) {
    needs_limits();
    in_child(use_larger);
}

/* While stacks are scarce, caches keep no stacks, except the stack on which the caller may run. */
TEST(scarce_stacks_are_not_kept) {
    struct weft__stack *s[10];
    for (unsigned i = 0; i < 10; i++) CHECK((s[i] = weft__stack_get(caches, CLASS)));
    weft__stack_set_scarce(true);
    weft__stack_flush(caches, 0);
    CHECK_EQ(weft__stack_count_in_use(), 10);
    for (unsigned i = 0; i < 10; i++) {
        CHECK(!weft__stack_put_fast(caches, s[i]));
        weft__stack_put_slow(caches, s[i]);
        CHECK(caches[CLASS].free == &s[i]->link);
        CHECK_EQ(weft__stack_count_cached(&caches[CLASS]), 1);
        CHECK_EQ(weft__stack_count_in_use(), 10 - i);
    }
    weft__stack_set_scarce(false);
    struct weft__stack *one = weft__stack_get(caches, CLASS);
    CHECK(one == s[9]);
    weft__stack_put(caches, one);
    CHECK(weft__stack_put_fast(caches, weft__stack_get(caches, CLASS)));
    CHECK(weft__stack_put_fast(caches, weft__stack_get(caches, CLASS)));
}

/* --- kernels without guards ------------------------------------------------------------------------------ */

static unsigned long mappings(void) {
    unsigned long n = 0;
    FILE *f = fopen("/proc/self/maps", "r");
    for (int c; f && (c = getc(f)) != EOF;) n += c == '\n';
    fclose(f);
    return n;
}

/* Before Linux 6.13: first stacks with guards, then bare stacks. Some mappings are always left for the program. */
static void without_markers(void *unused) {
    enum { ALL = 60000 };
    static struct weft__stack *s[ALL];
    unsigned guarded = 0, bare = 0;
    (void)unused;
    CHECK_EQ(forbid_markers(EINVAL), 0);
    for (unsigned i = 0; i < ALL; i++) {
        CHECK((s[i] = weft__stack_get_any(caches, 0)));
        weft__stack_top(s[i])[-1] = 1;
        *(s[i]->cache == WEFT_STACK_BARE ? &bare : &guarded) += 1;
    }
    CHECK(guarded > 10000 && bare > 10000);
    CHECK(mappings() < weft__mappings_limit() / 8 * 7);
    for (unsigned i = 0; i < ALL; i++) {
        CHECK(!weft__stack_is_overrun(s[i]));
        CHECK_EQ(weft__stack_of_gap(s[i]->low - 1) == s[i], 1);
        weft__stack_put(caches, s[i]);
    }
    weft__stack_flush(caches, 0);
    pass_time();
    for (unsigned i = 0; i < 1000; i++) CHECK((s[i] = weft__stack_get(caches, 0))); /* with guards again */
    CHECK(mappings() < 5000);
}
TEST_WITHIN(many_stacks_on_an_older_kernel, 60) {
    static struct test_child child;
    if (test_valgrind() || test_emulated()) test_skip("no filter for system calls");
    test_child(&child, without_markers, NULL);
    if (!test_child_exited(&child, 0)) test_fail(__FILE__, __LINE__, "status %x: %s", child.status, child.said);
    CHECK_EQ(test_lines_with(child.said, "weft: "), 1);
    CHECK_HAS(test_line_with(child.said, "weft: "), "not every stack has a guard");
}

/* All of them, once. */
static const struct weft__stack *sweep(void) {
    const struct weft__stack *s = NULL;
    for (unsigned i = 0; i < 30 && !s; i++) s = weft__stacks_sweep();
    return s;
}

/* Neither markers nor protection are allowed: only bare stacks, and overflows are noticed. */
static void without_anything(void *error) {
    CHECK_EQ(forbid_markers(*(int *)error), 0);
    CHECK_EQ(forbid_protection(*(int *)error), 0);
    CHECK(!weft__stack_get(caches, 1));
    for (unsigned i = 0; i < 600; i++) {
        struct weft__stack *s = weft__stack_get_any(caches, 1), *again;
        CHECK(s && s->cache == WEFT_STACK_BARE);
        memset(s->low, 1, size_of(1));
        CHECK(!weft__stack_is_overrun(s) && !weft__stacks_is_overrun(s));
        volatile char *below = s->low - 1 - i * 100 % WEFT_STACK_GUARD;
        CHECK_EQ(*below, 0); /* what is only read is no overflow */
        CHECK(!weft__stack_is_overrun(s));
        *below = 1;
        CHECK(weft__stack_is_overrun(s) && weft__stacks_is_overrun(s));
        CHECK(sweep() == s);
        *below = 0;
        CHECK(!weft__stack_is_overrun(s) && (i % 100 || !sweep()));
        CHECK(!weft__stack_put_fast(caches, s));
        weft__stack_put_slow(caches, s);
        CHECK((again = weft__stack_get_any(caches, 1)));
        CHECK(again != s); /* the caller may stand on it */
    }
}
TEST(stacks_where_nothing_can_be_protected) {
    static struct test_child child;
    static int errors[] = {EPERM, EACCES, ENOSYS, EINVAL, ENOMEM};
    if (test_valgrind() || test_emulated()) test_skip("no filter for system calls");
    if (TEST_ASAN) test_skip("the tool protects memory of its own when it looks for leaks");
    for (unsigned i = 0; i < sizeof errors / sizeof *errors; i++) {
        test_child(&child, without_anything, &errors[i]);
        if (!test_child_exited(&child, 0)) test_fail(__FILE__, __LINE__, "error %d: %s", errors[i], child.said);
        CHECK_EQ(test_lines_with(child.said, "weft: "), 1);
        CHECK_HAS(test_line_with(child.said, "weft: "), "not every stack has a guard");
    }
}

/* Markers are refused and protection is allowed, as on an older kernel. */
static void protected_only(void *unused) {
    (void)unused;
    CHECK_EQ(forbid_markers(EPERM), 0);
    poke_guard(&(struct poke){2, 5, 1000});
}
TEST(guards_where_markers_are_forbidden) {
    static struct test_child child;
    if (test_valgrind() || test_emulated()) test_skip("no filter for system calls");
    test_child(&child, protected_only, NULL);
    CHECK(test_child_killed(&child, SIGSEGV));
}

#ifdef WEFT_FAULTS
static void exhaust(void *arg) {
    unsigned *nth = arg;
    weft__fault_countdown = *nth;
    struct weft__stack *s = weft__stack_get_any(caches, 5);
    CHECK(s || weft__fault_countdown > 0 || *nth <= 2);
    weft__fault_countdown = -1;
    if (!s) CHECK((s = weft__stack_get_any(caches, 5)));
    weft__stack_put(caches, s);
    weft__stack_flush(caches, 0);
    CHECK_EQ(weft__stack_count_in_use(), 0);
}

/* What one node cannot make another may have. */
TEST(without_memory_a_node_takes_from_another) {
    static struct weft__stack_cache one[WEFT_STACK_CACHES], two[WEFT_STACK_CACHES];
    weft__stack_set_node(one, 1);
    weft__stack_set_node(two, 2);
    weft__stack_put(two, weft__stack_get(two, 4));
    weft__stack_flush(two, 0);
    weft__fault_countdown = WEFT_FAULT_ALL;
    struct weft__stack *s = weft__stack_get(one, 4);
    weft__fault_countdown = -1;
    CHECK(s);
    CHECK_EQ(s->node, 2);
    CHECK_EQ(weft__stack_count_in_use(), weft__stack_count_cached(&one[4]) + 1);
    weft__stack_put(one, s);
    weft__stack_flush(one, 0);
    CHECK_EQ(weft__stack_count_in_use(), 0);
    CHECK_EQ(weft__stack_get(two, 4)->node, 2);
}

/* Each call that makes stacks fails once: there is no stack, or it is made in another way. Afterwards everything works.
 * */
TEST(no_memory_for_stacks_passes) {
    static struct test_child child;
    for (unsigned nth = 1; nth <= 12; nth++) {
        test_child(&child, exhaust, &nth);
        if (!test_child_exited(&child, 0)) test_fail(__FILE__, __LINE__, "call %u: %s", nth, child.said);
    }
}
#endif
