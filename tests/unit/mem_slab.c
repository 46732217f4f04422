/* Slabs: numbers, generations, and memory that keeps its type. */
#include "../test.h"

#include "mem/slab.h"

#include <pthread.h>
#include <stdlib.h>

struct record {
    struct weft__slot slot;
    uint64_t mark[6];
};

static struct record *record_of(struct weft__slot *s) { return container_of(s, struct record, slot); }
static uint64_t generation_of(const struct weft__slot *r) { return load_rlx(&r->life) >> WEFT_LIFE_INDEX_BITS; }

TEST(numbers_are_dense_and_lead_back) {
    enum { BLOCK = 512 }; /* handed out in no order, but before those of the next block */
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

/* Else its next life would be the first again, and a handle of that one would fit. */
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
    CHECK(cache.count >= WEFT_SLAB_BATCH); /* it does not give everything away at the first chance */
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
    for (struct weft__link *l = s->pool[node].free; l; l = l->next, n++) {
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

TEST(a_record_goes_back_to_its_node_whoever_returns_it) {
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
            CHECK_EQ(r->mark[0], me); /* nobody else had it meanwhile */
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
    /* All came back, each once: as many free as were made. */
    uint32_t free = 0;
    for (unsigned node = 0; node < WEFT_MEM_NODES; node++) free += free_of(&shared, node);
    CHECK_EQ(free, shared.records);
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
