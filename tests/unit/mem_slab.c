/* SPDX-License-Identifier: MIT */
/* Slabs: numbers, generations, type-stable memory, and memory that goes back. */
#include "../forbid.h"
#include "../test.h"

#include "mem/slab.h"

#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>

struct record {
    struct weft__slot slot;
    uint64_t mark[6];
};

static struct record *record_of(struct weft__slot *s) { return container_of(s, struct record, slot); }
static uint64_t generation_of(const struct weft__slot *r) { return load_rlx(&r->life) >> WEFT_LIFE_INDEX_BITS; }

TEST(numbers_are_dense_and_lead_back) {
    enum { BLOCK = 512 }; /* handed out in any order, but before the records of the next block */
    static struct weft__slab s = {.record_size = sizeof(struct record)};
    enum { N = 3 * WEFT_SLAB_CHUNK / 2 };
    static struct weft__slot *got[N];
    CHECK(!weft__slab_at(&s, 0)); /* nothing made yet */
    for (uint32_t i = 0; i < N; i++) {
        got[i] = weft__slab_get(&s, NULL);
        CHECK(got[i]);
        CHECK_EQ(weft__slot_index(got[i]) / BLOCK, i / BLOCK); /* lowest first while fresh: handles stay small */
        CHECK(weft__slab_at(&s, weft__slot_index(got[i])) == got[i]);
        CHECK_EQ(generation_of(got[i]), 1);
        for (unsigned k = 0; k < 6; k++) CHECK_EQ(record_of(got[i])->mark[k], 0);
    }
    CHECK_EQ(s.records, 2 * WEFT_SLAB_CHUNK);
    CHECK(weft__slab_at(&s, 2 * WEFT_SLAB_CHUNK - 1));
    CHECK(!weft__slab_at(&s, 2 * WEFT_SLAB_CHUNK));
    CHECK(!weft__slab_at(&s, UINT32_MAX));
    for (uint32_t i = 0; i < N; i++) weft__slab_put(&s, NULL, got[i]);
}

TEST(the_generation_is_odd_in_use_and_grows) {
    static struct weft__slab s = {.record_size = sizeof(struct record)};
    struct weft__slab_cache cache = {0}, *caches[] = {NULL, &cache};
    for (unsigned c = 0; c < 2; c++) {
        struct weft__slot *r = weft__slab_get(&s, caches[c]);
        uint64_t generation = generation_of(r);
        CHECK_EQ(generation % 2, 1);
        for (unsigned i = 0; i < 10; i++) {
            weft__slab_put(&s, caches[c], r);
            CHECK_EQ(generation_of(r), generation + 1);
            CHECK(weft__slab_get(&s, caches[c]) == r); /* the last one back is the warmest */
            generation += 2;
            CHECK_EQ(generation_of(r), generation);
        }
        weft__slab_put(&s, caches[c], r);
    }
    weft__slab_flush(&s, &cache);
}

/* Otherwise its next life would be the first again, and a handle of that life would be valid. */
TEST(a_record_that_is_worn_out_is_never_handed_out_again) {
    static struct weft__slab s = {.record_size = sizeof(struct record)};
    struct weft__slab_cache cache = {0}, *caches[] = {NULL, &cache};
    for (unsigned c = 0; c < 2; c++) {
        struct weft__slot *r = weft__slab_get(&s, caches[c]);
        uint32_t index = weft__slot_index(r);
        store_rlx(&r->life, (WEFT_LIFE_LAST - 2 * WEFT_LIFE_ONE) | index); /* but one life is left */
        weft__slab_put(&s, caches[c], r);
        CHECK(weft__slab_get(&s, caches[c]) == r);
        CHECK_EQ(load_rlx(&r->life), WEFT_LIFE_LAST | index);
        weft__slab_put(&s, caches[c], r);
        CHECK(!weft__slot_in_use(r));
        CHECK_EQ(weft__slot_index(r), index);
        unsigned others = 0;
        for (struct weft__slot *other; s.records <= WEFT_SLAB_CHUNK * (c + 1); others++) {
            CHECK((other = weft__slab_get(&s, caches[c])) != r);
            CHECK(others <= WEFT_SLAB_CHUNK);
        }
        CHECK(weft__slab_at(&s, index) == r); /* still there to be looked at */
    }
}

TEST(a_record_keeps_its_bytes_and_its_place) {
    static struct weft__slab s = {.record_size = sizeof(struct record)};
    struct record *r = record_of(weft__slab_get(&s, NULL));
    uint32_t index = weft__slot_index(&r->slot);
    for (unsigned k = 0; k < 6; k++) r->mark[k] = 0xabcdef00 + k;
    weft__slab_put(&s, NULL, &r->slot);
    CHECK(record_of(weft__slab_at(&s, index)) == r); /* still there to be looked at */
    CHECK(record_of(weft__slab_get(&s, NULL)) == r);
    CHECK_EQ(weft__slot_index(&r->slot), index);
    for (unsigned k = 0; k < 6; k++) CHECK_EQ(r->mark[k], 0xabcdef00 + k);
}

TEST(a_cache_takes_and_returns_in_batches) {
    static struct weft__slab s = {.record_size = sizeof(struct record)};
    struct weft__slab_cache cache = {0};
    struct weft__slot *got[5 * WEFT_SLAB_BATCH];
    for (unsigned i = 0; i < 5 * WEFT_SLAB_BATCH; i++) {
        got[i] = weft__slab_get(&s, &cache);
        CHECK(got[i]);
        CHECK(cache.count < WEFT_SLAB_BATCH);
    }
    for (unsigned i = 0; i < 5 * WEFT_SLAB_BATCH; i++) {
        weft__slab_put(&s, &cache, got[i]);
        CHECK(cache.count <= 2 * WEFT_SLAB_BATCH);
    }
    CHECK(cache.count >= WEFT_SLAB_BATCH); /* it does not return everything at the first chance */
    weft__slab_flush(&s, &cache);
    CHECK_EQ(cache.count, 0);
    CHECK(!cache.free);
}

/* --- memory nodes ---------------------------------------------------------------------------------- */

static uint8_t made_for(struct weft__slab *s, const struct weft__slot *r) {
    return s->node[weft__slot_index(r) / WEFT_SLAB_CHUNK];
}

static unsigned free_of(struct weft__slab *s, unsigned node) {
    unsigned n = 0;
    for (unsigned age = 0; age < WEFT_AGES; age++)
        for (struct weft__link *l = s->pool[node].aged.list[age]; l; l = l->next, n++) {
            struct weft__slot *r = container_of(l, struct weft__slot, link);
            CHECK_EQ(made_for(s, r), node);
            CHECK(!weft__slot_in_use(r));
            CHECK(n < s->records); /* no circle */
        }
    return n;
}

TEST(each_node_has_records_of_its_own) {
    static struct weft__slab s = {.record_size = sizeof(struct record)};
    enum { N = 500 };
    for (unsigned node = 0; node < WEFT_MEM_NODES; node++) {
        struct weft__slab_cache c = {.node = (uint8_t)node};
        struct weft__slot *got[N];
        for (unsigned i = 0; i < N; i++) {
            CHECK((got[i] = weft__slab_get(&s, &c)));
            CHECK_EQ(made_for(&s, got[i]), node);
            CHECK(weft__slab_at(&s, weft__slot_index(got[i])) == got[i]);
        }
        for (unsigned i = 0; i < N; i++) weft__slab_put(&s, &c, got[i]);
        weft__slab_flush(&s, &c);
    }
    for (unsigned node = 0; node < WEFT_MEM_NODES; node++) CHECK_EQ(free_of(&s, node), WEFT_SLAB_CHUNK);
}

TEST(a_record_returns_to_its_node_from_any_worker) {
    static struct weft__slab s = {.record_size = sizeof(struct record)};
    enum { N = 1000 };
    struct weft__slab_cache one = {.node = 1}, two = {.node = 2}, *back[] = {&two, NULL, &one};
    static struct weft__slot *got[2 * N];
    for (unsigned i = 0; i < 2 * N; i++) CHECK((got[i] = weft__slab_get(&s, i % 2 ? &one : &two)));
    for (unsigned i = 0; i < 2 * N; i++) weft__slab_put(&s, back[i % 3], got[i]);
    weft__slab_flush(&s, &one);
    weft__slab_flush(&s, &two);
    CHECK_EQ(free_of(&s, 0), 0);
    CHECK_EQ(free_of(&s, 1), WEFT_SLAB_CHUNK);
    CHECK_EQ(free_of(&s, 2), WEFT_SLAB_CHUNK);
    CHECK_EQ(s.records, 2 * WEFT_SLAB_CHUNK);
}

TEST(a_worker_that_moves_takes_from_its_new_node) {
    static struct weft__slab s = {.record_size = sizeof(struct record)};
    struct weft__slab_cache c = {.node = 3};
    struct weft__slot *r = weft__slab_get(&s, &c);
    c.node = 4;
    weft__slab_put(&s, &c, r);
    weft__slab_flush(&s, &c);
    CHECK_EQ(made_for(&s, weft__slab_get(&s, &c)), 4);
    CHECK_EQ(free_of(&s, 3), WEFT_SLAB_CHUNK);
}

/* --- threads: a record is never in two hands ---------------------------------------------------- */

enum { THREADS = 4, HELD = 300 };
static struct weft__slab shared = {.record_size = sizeof(struct record)};

static void *churn(void *arg) {
    uint64_t me = (uint64_t)(uintptr_t)arg, random = me;
    struct weft__slab_cache cache = {.node = (uint8_t)me}, *c = me % 2 ? &cache : NULL;
    struct record *held[HELD];
    uint64_t life[HELD];
    unsigned n = 0;
    for (size_t i = test_size(300000); i > 0; i--) {
        if (n < HELD && (!n || test_below(&random, 2))) {
            struct record *r = record_of(weft__slab_get(&shared, c));
            CHECK(weft__slot_in_use(&r->slot));
            r->mark[0] = me;
            r->mark[1] = i;
            life[n] = load_rlx(&r->slot.life);
            held[n++] = r;
        } else {
            unsigned k = (unsigned)test_below(&random, n);
            struct record *r = held[k];
            CHECK_EQ(r->mark[0], me); /* no other user had it meanwhile */
            CHECK_EQ(load_rlx(&r->slot.life), life[k]);
            weft__slab_put(&shared, c, &r->slot);
            held[k] = held[--n];
            life[k] = life[n];
        }
    }
    while (n) weft__slab_put(&shared, c, &held[--n]->slot);
    weft__slab_flush(&shared, &cache);
    return NULL;
}

TEST_WITHIN(threads_with_and_without_caches, 60) {
    pthread_t thread[THREADS];
    for (uintptr_t i = 0; i < THREADS; i++) CHECK(!pthread_create(&thread[i], NULL, churn, (void *)(i + 1)));
    for (unsigned i = 0; i < THREADS; i++) CHECK(!pthread_join(thread[i], NULL));
    /* All records came back, each once: as many are free as were made. */
    uint32_t free = 0;
    for (unsigned node = 0; node < WEFT_MEM_NODES; node++) free += free_of(&shared, node);
    CHECK_EQ(free, shared.records);
}

/* --- memory that goes back -------------------------------------------------------------------------- */

struct counted {
    struct weft__slot slot;
    _Atomic uint64_t counter;
    _Atomic uint64_t sealed;
    uint64_t mark[12];
};
static struct counted *counted_of(struct weft__slot *s) { return container_of(s, struct counted, slot); }
static bool may_seal = true;
static unsigned seals, unseals;
static bool seal(struct weft__slot *r) {
    uint64_t open = 0;
    if (!may_seal || !cas_ar(&counted_of(r)->sealed, &open, 1)) return false;
    __atomic_add_fetch(&seals, 1, __ATOMIC_RELAXED);
    return true;
}
static void unseal(struct weft__slot *r) {
    store_rel(&counted_of(r)->sealed, 0);
    unseals++;
}
static const struct weft__slab_trim_rules care = {offsetof(struct counted, counter), seal, unseal};

enum { MANY = 20 * WEFT_SLAB_CHUNK, PAGE_OF = WEFT_PAGE / sizeof(struct counted) };
_Static_assert(sizeof(struct counted) == 128, "as large as the record of a fiber");

/* Takes many, each with a life and a counter of its own, and touches all. */
static void take_many(struct weft__slab *s, struct weft__slot **got) {
    for (unsigned i = 0; i < MANY; i++) {
        CHECK((got[i] = weft__slab_get(s, NULL)));
        struct counted *r = counted_of(got[i]);
        CHECK_EQ(load_rlx(&r->sealed), 0);
        store_rlx(&r->counter, load_rlx(&r->counter) + 1 + i % 7);
        for (unsigned k = 0; k < 12; k++) r->mark[k] = ~UINT64_C(0);
    }
}
static void put_all(struct weft__slab *s, struct weft__slot **got) {
    for (unsigned i = 0; i < MANY; i++) weft__slab_put(s, NULL, got[i]);
}
/* Enough periods to free everything that is unused. */
static void pass_time(struct weft__slab *s) {
    for (unsigned i = 0; i < WEFT_AGES; i++) {
        weft__slab_end_period(s);
        while (weft__slab_trim(s)) continue;
    }
}

static bool measures_memory(void) { return !TEST_ASAN && !TEST_TSAN && !test_valgrind() && !test_emulated(); }

/* A record's life identifies each use. Neither the life nor the counter may ever repeat. */
TEST(records_of_a_burst_go_back_and_go_on) {
    static struct weft__slab s = {.record_size = sizeof(struct counted), .care = &care};
    static struct weft__slot *got[MANY];
    static uint64_t last_life[MANY], last_counter[MANY];
    for (unsigned i = 0; i < MANY; i++) *(struct weft__slot *volatile *)&got[i] = NULL; /* their memory counts, too */
    for (unsigned i = 0; i < MANY; i++)
        *(volatile uint64_t *)&last_life[i] = *(volatile uint64_t *)&last_counter[i] = 0;
    size_t before = test_rss_kib();
    for (unsigned round = 0; round < 4; round++) {
        take_many(&s, got);
        CHECK_EQ(s.records, MANY);
        for (unsigned i = 0; i < MANY; i++) {
            uint32_t index = weft__slot_index(got[i]);
            uint64_t life = load_rlx(&got[i]->life), counter = load_rlx(&counted_of(got[i])->counter);
            CHECK(life > last_life[index] && counter > last_counter[index]);
            last_life[index] = life;
            last_counter[index] = counter;
        }
        size_t most = test_rss_kib();
        put_all(&s, got);
        if (round == 3) break;
        pass_time(&s);
        CHECK(!weft__slab_end_period(&s)); /* nothing is left that could grow older */
        if (measures_memory()) CHECK(test_rss_kib() < before + (most - before) / 4);
        for (uint32_t i = 0; i < MANY; i++) { /* stale references find what no life had */
            struct weft__slot *r = weft__slab_at(&s, i);
            CHECK(!weft__slot_in_use(r) && load_rlx(&r->life) != last_life[i]);
            CHECK_EQ(load_rlx(&counted_of(r)->sealed), 0);
        }
    }
    CHECK(seals > 0 && !unseals);
}

/* Memory that is needed in every period is kept, without any call to the kernel. */
TEST(records_that_are_used_are_kept) {
    static struct weft__slab s = {.record_size = sizeof(struct counted), .care = &care};
    static struct weft__slot *got[MANY];
    for (unsigned round = 0; round < 5; round++) {
        take_many(&s, got);
        put_all(&s, got);
        CHECK(weft__slab_end_period(&s));
        while (weft__slab_trim(&s)) continue;
    }
    CHECK_EQ(seals, 0);
}

/* A record in use keeps its page, and no more than that. */
TEST(a_record_in_use_keeps_its_page_only) {
    static struct weft__slab s = {.record_size = sizeof(struct counted), .care = &care};
    static struct weft__slot *got[MANY];
    take_many(&s, got);
    struct weft__slot *one = got[MANY / 2];
    uint64_t life = load_rlx(&one->life), counter = load_rlx(&counted_of(one)->counter);
    got[MANY / 2] = weft__slab_get(&s, NULL);
    put_all(&s, got);
    pass_time(&s);
    CHECK(load_rlx(&one->life) == life && load_rlx(&counted_of(one)->counter) == counter);
    CHECK_EQ(counted_of(one)->mark[11], ~UINT64_C(0));
    CHECK_EQ(seals, s.records - PAGE_OF);
    take_many(&s, got);
    for (unsigned i = 0; i < MANY; i++) CHECK(got[i] != one);
}

/* A page that is being written stays, with its contents. */
TEST(a_record_that_cannot_be_sealed_keeps_its_page) {
    static struct weft__slab s = {.record_size = sizeof(struct counted), .care = &care};
    static struct weft__slot *got[MANY];
    take_many(&s, got);
    struct counted *one = counted_of(got[7]);
    put_all(&s, got);
    store_rlx(&one->sealed, 1);
    pass_time(&s);
    CHECK(unseals < PAGE_OF && seals - unseals == s.records - PAGE_OF);
    CHECK_EQ(one->mark[0], ~UINT64_C(0));
    store_rlx(&one->sealed, 0);
    take_many(&s, got);
    put_all(&s, got);
    may_seal = false;
    pass_time(&s);
    may_seal = true;
    take_many(&s, got);
    put_all(&s, got);
    pass_time(&s);
    CHECK(seals > 2 * (s.records - PAGE_OF));
}

/* If the kernel refuses, or memory is locked, everything still works. */
static void keep_all(void *unused) {
    static struct weft__slab s = {.record_size = sizeof(struct counted), .care = &care};
    static struct weft__slot *got[MANY];
    static uint64_t last_life[MANY];
    (void)unused;
    CHECK_EQ(forbid_advice(MADV_DONTNEED, EPERM), 0);
    for (unsigned round = 0; round < 3; round++) {
        take_many(&s, got);
        CHECK_EQ(s.records, MANY);
        for (unsigned i = 0; i < MANY; i++) {
            uint32_t index = weft__slot_index(got[i]);
            CHECK(load_rlx(&got[i]->life) > last_life[index]);
            last_life[index] = load_rlx(&got[i]->life);
        }
        put_all(&s, got);
        pass_time(&s);
    }
    CHECK(seals > 0 && seals == unseals);
}
TEST(memory_that_cannot_be_given_back_is_kept) {
    static struct test_child child;
    if (test_valgrind() || test_emulated()) test_skip("no filter for system calls");
    test_child(&child, keep_all, NULL);
    if (!test_child_exited(&child, 0)) test_fail(__FILE__, __LINE__, "%s", child.said);
}

/* Threads take and put records while memory goes back, until some has. */
static struct weft__slab churned = {.record_size = sizeof(struct counted), .care = &care};
static _Atomic bool churning;
static void *churn_counted(void *number) {
    enum { HELD = 3000 };
    static struct weft__slot *held_by[3][HELD];
    struct weft__slot **held = held_by[(uintptr_t)number];
    struct weft__slab_cache cache = {0};
    uint64_t random = (uintptr_t)number + 1;
    for (size_t round = 1; round <= test_size(400) || !__atomic_load_n(&seals, __ATOMIC_RELAXED); round++) {
        size_t n = test_below(&random, 4) ? 50 : HELD;
        for (size_t i = 0; i < n; i++) {
            CHECK((held[i] = weft__slab_get(&churned, &cache)));
            struct counted *r = counted_of(held[i]);
            store_rlx(&r->counter, load_rlx(&r->counter) + 1);
            r->mark[0] = (uintptr_t)number << 32 | i;
            r->mark[1] = load_rlx(&held[i]->life);
            r->mark[2] = load_rlx(&r->counter);
        }
        for (size_t i = 0; i < n; i++) {
            struct counted *r = counted_of(held[i]);
            CHECK(r->mark[0] == ((uintptr_t)number << 32 | i) && r->mark[1] == load_rlx(&held[i]->life));
            CHECK(r->mark[2] == load_rlx(&r->counter));
            weft__slab_put(&churned, &cache, held[i]);
        }
        if (round % 8 == 0) weft__slab_flush(&churned, &cache);
    }
    weft__slab_flush(&churned, &cache);
    return NULL;
}
static void *trim_always(void *unused) {
    while (load_rlx(&churning)) {
        weft__slab_end_period(&churned);
        weft__slab_trim(&churned);
    }
    return unused;
}
TEST_WITHIN(memory_goes_back_while_records_are_used, 60) {
    pthread_t thread[3], trimmer;
    store_rlx(&churning, true);
    CHECK(!pthread_create(&trimmer, NULL, trim_always, NULL));
    for (uintptr_t i = 0; i < 3; i++) CHECK(!pthread_create(&thread[i], NULL, churn_counted, (void *)i));
    for (unsigned i = 0; i < 3; i++) CHECK(!pthread_join(thread[i], NULL));
    store_rlx(&churning, false);
    CHECK(!pthread_join(trimmer, NULL));
}

#ifdef WEFT_FAULTS
TEST(no_memory_is_said) {
    static struct weft__slab s = {.record_size = sizeof(struct record)};
    weft__fault_countdown = 1;
    CHECK(!weft__slab_get(&s, NULL));
    CHECK(weft__slab_get(&s, NULL));
}

TEST(without_memory_a_node_takes_from_another) {
    static struct weft__slab s = {.record_size = sizeof(struct record)};
    struct weft__slab_cache one = {.node = 1}, two = {.node = 2};
    struct weft__slot *r = weft__slab_get(&s, &two);
    weft__fault_countdown = 1;
    struct weft__slot *other = weft__slab_get(&s, &one);
    CHECK(other && other != r);
    CHECK_EQ(made_for(&s, other), 2);
    weft__slab_put(&s, &one, other);
    weft__slab_flush(&s, &one);
    CHECK_EQ(made_for(&s, weft__slab_get(&s, &one)), 1); /* there is memory again */
    weft__slab_put(&s, &two, r);
    weft__slab_flush(&s, &two);
    CHECK_EQ(free_of(&s, 2), WEFT_SLAB_CHUNK);
}
#endif
