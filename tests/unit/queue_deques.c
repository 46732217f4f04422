/* SPDX-License-Identifier: MIT */
/* All deques: one contract. Youngest first for the owner, oldest first for thieves, each item once. */
#include "../deques.h"
#include "../test.h"

#include "base/sys.h"
#include "queue/abp.h"
#include "queue/chase_lev.h"
#include "queue/deque.h"
#include "queue/locked_deque.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

static void *item(uint64_t n) { return (void *)(uintptr_t)(n + 1); }
static uint64_t number(void *p) { return (uint64_t)(uintptr_t)p - 1; }

/* The first indices: they wrap at once, early, late, or never. */
static const uint64_t firsts[] = {0, UINT64_MAX, UINT64_MAX - 1, UINT64_MAX - 2, UINT64_MAX - 7, UINT64_MAX - 100};
#define FIRSTS (sizeof firsts / sizeof *firsts)

#define EACH_SORT(s) for (const struct deque_sort *s = deque_sorts; s->name; s++)

/* A split deque shares more when a thief asks. Its owner notices that at a push. */
static void *steal_at_last(const struct deque_sort *s, void *q) {
    void *got = s->steal(q);
    for (uint64_t end = weft__clock() + WEFT_SECOND; !got && weft__clock() < end;) got = s->steal(q);
    return got;
}

TEST(empty_gives_nothing) {
    deques_prepare();
    EACH_SORT(s) for (unsigned i = 0; i < FIRSTS; i++) {
        void *q = s->make(2, firsts[i]);
        CHECK(q);
        for (int again = 0; again < 3; again++) {
            CHECK(!s->pop(q));
            CHECK(!s->steal(q));
            CHECK(s->push(q, item(1)));
            CHECK_EQ(number(s->pop(q)), 1);
        }
        s->destroy(q);
    }
}

TEST(youngest_first_across_growth) {
    deques_prepare();
    EACH_SORT(s) for (unsigned i = 0; i < FIRSTS; i++) {
        void *q = s->make(2, firsts[i]);
        uint64_t n = 0;
        CHECK(q);
        while (n < 5000 && s->push(q, item(n))) n++;
        CHECK_EQ(n, s->bounded ? 2 : 5000);
        while (n > 0) CHECK_EQ(number(s->pop(q)), --n);
        CHECK(!s->pop(q));
        s->destroy(q);
    }
}

TEST_WITHIN(oldest_first_for_a_thief, 60) {
    deques_prepare();
    EACH_SORT(s) for (unsigned i = 0; i < FIRSTS; i++) {
        void *q = s->make(64, firsts[i]);
        CHECK(q);
        for (uint64_t n = 0; n < 60; n++) CHECK(s->push(q, item(n)));
        for (uint64_t n = 0; n < 10; n++) CHECK_EQ(number(steal_at_last(s, q)), n);
        for (uint64_t n = 60; n > 10; n--) CHECK_EQ(number(s->pop(q)), n - 1);
        CHECK(!s->pop(q));
        s->destroy(q);
    }
}

/* The last item goes to the first taker. */
TEST(the_last_one) {
    deques_prepare();
    EACH_SORT(s) {
        void *q = s->make(2, UINT64_MAX - 20);
        CHECK(q);
        for (uint64_t n = 0; n < 50; n++) {
            CHECK(s->push(q, item(n)));
            CHECK_EQ(number(steal_at_last(s, q)), n);
            CHECK(!s->pop(q));
            CHECK(s->push(q, item(n)));
            CHECK_EQ(number(s->pop(q)), n);
            CHECK(!s->steal(q));
        }
        s->destroy(q);
    }
}

/* Random operations by one thread. A thief may find nothing in a private split deque. */
TEST_WITHIN(random_against_a_model, 60) {
    deques_prepare();
    EACH_SORT(s) for (unsigned round = 0; round < 10; round++) {
        uint64_t random = round + 1, low = 0, high = 0;
        static uint64_t held[4096];
        void *q = s->make(2, UINT64_MAX - test_below(&random, 200)), *got;
        CHECK(q);
        for (size_t step = test_size(20000); step > 0; step--) switch (test_below(&random, 5)) {
            case 0:
            case 1:
            case 2:
                if (high - low < 4000 && high < 4096 && s->push(q, item(step))) held[high++] = step;
                break;
            case 3:
                got = s->pop(q);
                CHECK_EQ(got != NULL, low < high);
                if (got) CHECK_EQ(number(got), held[--high]);
                break;
            default:
                got = s->steal(q);
                if (got) CHECK(low < high && number(got) == held[low++]);
                if (low == high) low = high = 0;
            }
        while (s->pop(q)) high--;
        CHECK_EQ(low, high);
        s->destroy(q);
    }
}

/* --- what is special ---------------------------------------------------------------------------- */

TEST(chase_lev_gives_memory_back) {
    static struct weft__chase_lev q;
    enum { MANY = 1 << 20 };
    CHECK_EQ(weft__chase_lev_init(&q, 2, 0), 0);
    for (uint64_t n = 0; n < MANY; n++) CHECK_EQ(weft__chase_lev_push(&q, item(n)), 0);
    CHECK_EQ(q.size, 19);
    char *large = (char *)q.all_slots[19] + WEFT_PAGE;
    CHECK(*(uint64_t *)(void *)large != 0);
    for (uint64_t n = MANY; n > 0; n--) CHECK_EQ(number(weft__chase_lev_pop(&q)), n - 1);
    CHECK(q.size <= 1);                      /* four slots at most */
    CHECK_EQ(*(uint64_t *)(void *)large, 0); /* given back: reads as zero */
    for (uint64_t n = 0; n < 1000; n++) CHECK_EQ(weft__chase_lev_push(&q, item(n)), 0);
    for (uint64_t n = 1000; n > 0; n--) CHECK_EQ(number(weft__chase_lev_pop(&q)), n - 1);
    weft__chase_lev_destroy(&q);
}

TEST(locked_shrinks) {
    struct weft__locked q;
    CHECK_EQ(weft__locked_init(&q, 2, 0), 0);
    for (uint64_t n = 0; n < 1000; n++) CHECK_EQ(weft__locked_push(&q, item(n)), 0);
    CHECK_EQ(q.mask, 1023);
    for (uint64_t n = 1000; n > 0; n--) CHECK_EQ(number(weft__locked_pop(&q)), n - 1);
    CHECK_EQ(q.mask, 1);
    weft__locked_destroy(&q);
}

/* Everything was stolen, so no pop has decreased the indices. */
TEST(trimmed_after_steals) {
    static struct weft__chase_lev c;
    struct weft__locked l;
    CHECK_EQ(weft__chase_lev_init(&c, 2, 0), 0);
    CHECK_EQ(weft__locked_init(&l, 2, 0), 0);
    for (uint64_t n = 0; n < 100000; n++) {
        CHECK_EQ(weft__chase_lev_push(&c, item(n)), 0);
        CHECK_EQ(weft__locked_push(&l, item(n)), 0);
    }
    for (uint64_t n = 0; n < 100000; n++) {
        CHECK_EQ(number(weft__chase_lev_steal(&c)), n);
        CHECK_EQ(number(weft__locked_steal(&l)), n);
    }
    weft__chase_lev_trim(&c);
    weft__locked_trim(&l);
    CHECK_EQ(c.size, 0);
    CHECK_EQ(*(uint64_t *)(void *)((char *)c.all_slots[16] + WEFT_PAGE), 0); /* given back: reads as zero */
    CHECK_EQ(l.mask, 1);
    for (uint64_t n = 0; n < 1000; n++) {
        CHECK_EQ(weft__chase_lev_push(&c, item(n)), 0);
        CHECK_EQ(weft__locked_push(&l, item(n)), 0);
    }
    for (uint64_t n = 1000; n > 0; n--) {
        CHECK_EQ(number(weft__chase_lev_pop(&c)), n - 1);
        CHECK_EQ(number(weft__locked_pop(&l)), n - 1);
    }
    weft__chase_lev_destroy(&c);
    weft__locked_destroy(&l);
}

/* At the limit a push is refused until the owner finds the deque empty, or all items were taken. */
TEST(abp_at_its_bound) {
    static struct weft__abp q;
    CHECK_EQ(weft__abp_init(&q, 4, UINT32_MAX), 0);
    for (int again = 0; again < 3; again++) {
        for (uint64_t n = 0; n < 4; n++) CHECK_EQ(weft__abp_push(&q, item(n)), 0);
        CHECK_EQ(weft__abp_push(&q, item(4)), -ENOSPC);
        CHECK_EQ(number(weft__abp_steal(&q)), 0);
        CHECK_EQ(weft__abp_push(&q, item(4)), -ENOSPC); /* no slots left, though it has only three items */
        for (uint64_t n = 1; n < 4; n++) CHECK_EQ(number(weft__abp_steal(&q)), n);
        CHECK_EQ(weft__abp_push(&q, item(4)), 0);
        CHECK_EQ(number(weft__abp_pop(&q)), 4);
        CHECK(!weft__abp_pop(&q));
    }
    weft__abp_destroy(&q);
}

/* The contract never refuses an item. Thieves do not see the items that do not fit until there is room. */
TEST(tasks_beyond_the_bound) {
    deques_prepare();
    const struct deque_sort *s = deque_sorts;
    while (s->name && strcmp(s->name, "abp")) s++;
    void *q = s->make(0, 0);
    uint64_t taken = 0, many = 100000;
    for (uint64_t n = 0; n < many; n++) CHECK(s->push(q, item(n)));
    while (s->steal(q)) taken++;
    CHECK(taken > 0 && taken < many);
    CHECK(s->push(q, item(many)));
    CHECK_EQ(number(s->steal(q)), taken); /* the oldest of those that were hidden */
    for (uint64_t n = many + 1; n > taken + 1; n--) CHECK_EQ(number(s->pop(q)), n - 1);
    CHECK(!s->pop(q));
    s->destroy(q);
}

/* --- several thieves ------------------------------------------------------------------------------ */

enum { THIEVES = 3 };

struct shared {
    const struct deque_sort *sort;
    void *q;
    uint64_t items;
    _Atomic uint64_t taken;
    _Atomic unsigned char *times; /* how often each item was taken */
};

static void account(struct shared *s, void *got) {
    CHECK(number(got) < s->items);
    add_rlx(&s->times[number(got)], 1);
    add_rlx(&s->taken, 1);
}

static void *steal_many(void *arg) {
    struct shared *s = arg;
    for (unsigned failed = 0; load_rlx(&s->taken) < s->items;) {
        void *got = s->sort->steal(s->q);
        if (got)
            account(s, got);
        else if (++failed % 16 == 0)
            weft__cpu_yield();
    }
    return NULL;
}

static void several_thieves(const struct deque_sort *sort, uint64_t items, uint64_t seed) {
    struct shared s = {.sort = sort, .items = items, .times = calloc(items, 1)};
    pthread_t thief[THIEVES];
    uint64_t random = seed;
    s.q = sort->make(2, UINT64_MAX - test_below(&random, 1000));
    CHECK(s.q && s.times);
    for (unsigned i = 0; i < THIEVES; i++) CHECK(!pthread_create(&thief[i], NULL, steal_many, &s));
    for (uint64_t n = 0; n < items || load_rlx(&s.taken) < items;) {
        for (uint64_t burst = test_below(&random, 64); burst && n < items && sort->push(s.q, item(n)); burst--) n++;
        for (uint64_t own = test_below(&random, 48) + (n == items); own; own--) {
            void *got = sort->pop(s.q);
            if (!got) break;
            account(&s, got);
        }
        if (!test_below(&random, 32)) weft__cpu_yield();
    }
    for (unsigned i = 0; i < THIEVES; i++) CHECK(!pthread_join(thief[i], NULL));
    CHECK_EQ(load_rlx(&s.taken), items);
    for (uint64_t n = 0; n < items; n++) CHECK_EQ(s.times[n], 1);
    sort->destroy(s.q);
    free((void *)s.times);
}

TEST_WITHIN(several_thieves_each_item_once, 120) {
    deques_prepare();
    EACH_SORT(s) several_thieves(s, test_size(300000), 1);
}

/* Young deques, which grow most often. */
TEST_WITHIN(several_thieves_during_first_growths, 120) {
    deques_prepare();
    EACH_SORT(s) for (uint64_t i = 0; i < test_size(50); i++) several_thieves(s, 300, i + 1);
}

#ifdef WEFT_FAULTS
TEST(growth_without_memory_pushes_nothing) {
    const char *const growing[] = {"chase-lev queue", "locked queue"};
    for (unsigned i = 0; i < 2; i++) {
        const struct deque_sort *s = deque_sorts;
        while (strcmp(s->name, growing[i])) s++;
        void *q = s->make(2, 0);
        CHECK(s->push(q, item(0)) && s->push(q, item(1)));
        weft__fault_countdown = 1;
        CHECK(!s->push(q, item(2)));
        CHECK(s->push(q, item(2)));
        for (uint64_t n = 3; n > 0; n--) CHECK_EQ(number(s->pop(q)), n - 1);
        s->destroy(q);
    }
}
#endif
