/* SPDX-License-Identifier: MIT */
/*
 * The store alone: what is found when, which items are evicted, and that every byte is accounted for; then with many
 * fibers at once.
 */
#include "store.h"
#include "../test.h"

#include <stdio.h>
#include <stdlib.h>

static void begin(struct mc_store *store, size_t megabytes, unsigned workers) {
    struct mc_limits limits = {.memory = megabytes << 20, .item_most = 1 << 20, .workers = workers};
    mc_clock_begin();
    CHECK_EQ(mc_store_begin(store, &limits), 0);
}

static void advance(struct mc_store *store, unsigned seconds) {
    while (seconds--) {
        store_rlx(&mc_clock, mc_now() + 1);
        mc_store_tick(store);
    }
}

/* A byte of the value, which follows from key and position. */
static char byte_of(const char *key, size_t i) { return (char)(key[0] + key[1] * 3 + (char)(i / 7)); }

static bool put(struct mc_store *store, const char *key, size_t size, uint32_t expires) {
    struct mc_held held;
    struct mc_cursor cursor;
    mc_hold(&held, store, key, strlen(key));
    struct mc_item *item = mc_make(&held, size, 7, expires);
    mc_release(&held);
    if (!item) return false;
    mc_cursor_begin(&cursor, item);
    char part[512];
    for (size_t i = 0, n; i < size; i += n) {
        n = size - i < sizeof part ? size - i : sizeof part;
        for (size_t k = 0; k < n; k++) part[k] = byte_of(key, i + k);
        mc_cursor_put(&cursor, part, n);
    }
    mc_cursor_put(&cursor, "\r\n", 2);
    CHECK_EQ(cursor.left, 0);
    mc_hold(&held, store, mc_item_key(item), item->key_size);
    struct mc_item *old = mc_find(&held);
    if (old)
        mc_replace(&held, old, item);
    else
        mc_link(&held, item);
    mc_release(&held);
    return true;
}

/* Compares only some bytes of each part of a long value, so that the lock is not held for long. */
static void check_value(struct mc_item *item, const char *key) {
    struct mc_cursor cursor;
    size_t done = 0, step = item->size > 1000 ? 211 : 1;
    for (mc_cursor_begin(&cursor, item); cursor.left; mc_cursor_advance(&cursor, cursor.here)) {
        for (size_t i = 0; i < cursor.here && done + i < item->size; i += step)
            CHECK_EQ(cursor.at[i], byte_of(key, done + i));
        done += cursor.here;
    }
    CHECK_EQ(done, item->size + 2);
}

static bool has(struct mc_store *store, const char *key) {
    struct mc_held held;
    mc_hold(&held, store, key, strlen(key));
    struct mc_item *item = mc_find(&held);
    if (item) {
        mc_bump(item);
        check_value(item, key);
    }
    mc_release(&held);
    return item;
}

static bool drop(struct mc_store *store, const char *key) {
    struct mc_held held;
    mc_hold(&held, store, key, strlen(key));
    struct mc_item *item = mc_find(&held);
    if (item) mc_unlink(&held, item);
    mc_release(&held);
    return item;
}

/* Checks that the counts of the shards agree with their tables. */
static struct mc_totals audit(struct mc_store *store) {
    static struct mc_totals totals;
    mc_store_totals(store, &totals);
    uint64_t bytes = 0, items = 0, expiring = 0, expiring_said = 0, chunks = 0, used = 0, pages = 0;
    for (unsigned s = 0; s < store->count; s++) {
        struct mc_shard *shard = &store->shards[s];
        expiring_said += shard->expiring;
        for (size_t i = 0; i < shard->table.size + shard->table.old_size; i++)
            for (struct mc_item *item = mc_table_chain(&shard->table, i); item; item = item->next) {
                items++;
                chunks++;
                bytes += mc_item_total(item->key_size, item->size);
                expiring += item->expires != 0;
                for (struct mc_piece *piece = mc_item_pieces(item); piece; piece = piece->next) chunks++;
                CHECK_EQ(item->refs, 0);
            }
        CHECK(shard->memory.pages <= shard->memory.limit);
    }
    for (unsigned c = 0; c < mc_classes(); c++) used += totals.used[c], pages += totals.pages[c];
    CHECK_EQ(totals.bytes, bytes);
    CHECK_EQ(totals.current, items);
    CHECK_EQ(expiring_said, expiring);
    CHECK_EQ(used, chunks);
    CHECK_EQ(totals.page_count, pages);
    return totals;
}

TEST(classes_cover_all_sizes_and_waste_little) {
    mc_classes_begin();
    CHECK(mc_classes() > 20 && mc_classes() <= MC_CLASSES_MOST);
    CHECK_EQ(mc_class_size(mc_classes() - 1), MC_CHUNK_MOST);
    for (size_t size = 1; size <= MC_CHUNK_MOST; size++) {
        unsigned cls = mc_class_of(size);
        CHECK(mc_class_size(cls) >= size);
        CHECK(!cls || mc_class_size(cls - 1) < size);
        if (size > 100) CHECK(mc_class_size(cls) < size + size / 3 + 8);
    }
}

TEST(items_expire) {
    struct mc_store store;
    begin(&store, 8, 1);
    CHECK(put(&store, "never", 10, 0) && put(&store, "soon", 10, mc_expires(2)) &&
          put(&store, "now", 10, mc_expires(-1)));
    CHECK(put(&store, "date", 10, mc_expires((int32_t)(mc_clock_zero + mc_now() + 3))));
    CHECK(put(&store, "past", 10, mc_expires(MC_RELATIVE_MOST + 1)));
    CHECK(has(&store, "never") && has(&store, "soon") && has(&store, "date"));
    CHECK(!has(&store, "now") && !has(&store, "past"));
    store_rlx(&mc_clock, mc_now() + 1);
    CHECK(has(&store, "soon"));
    store_rlx(&mc_clock, mc_now() + 1);
    CHECK(!has(&store, "soon") && has(&store, "date"));
    store_rlx(&mc_clock, mc_now() + 1);
    CHECK(!has(&store, "date") && has(&store, "never"));
    CHECK_EQ(audit(&store).current, 1);
    mc_store_end(&store);
}

TEST(expired_items_are_swept_without_being_asked_for) {
    struct mc_store store;
    char key[32];
    begin(&store, 32, 2);
    for (int i = 0; i < 20000; i++) {
        snprintf(key, sizeof key, "key%d", i);
        CHECK(put(&store, key, 50, i % 2 ? mc_expires(5) : 0));
    }
    advance(&store, 5 + 61);
    struct mc_totals totals = audit(&store);
    CHECK_EQ(totals.current, 10000);
    CHECK_EQ(totals.all.crawler_reclaimed, 10000);
    CHECK_EQ(totals.counts.get_expired, 0);
    mc_store_end(&store);
}

TEST(flushing_takes_what_was_there_before) {
    struct mc_store store;
    begin(&store, 8, 1);
    CHECK(put(&store, "a", 1, 0));
    mc_flush(&store, 0);
    CHECK(put(&store, "b", 1, 0) && !has(&store, "a") && has(&store, "b"));
    mc_flush(&store, mc_now() + 2);
    advance(&store, 1);
    CHECK(put(&store, "c", 1, 0) && has(&store, "b"));
    advance(&store, 1);
    CHECK(!has(&store, "b") && !has(&store, "c") && put(&store, "b", 1, 0) && has(&store, "b"));
    advance(&store, 70);
    CHECK_EQ(audit(&store).current, 1);
    mc_store_end(&store);
}

TEST(all_memory_comes_back) {
    struct mc_store store;
    char key[32];
    uint64_t random = 1;
    begin(&store, 64, 4);
    for (int i = 0; i < 5000; i++) {
        snprintf(key, sizeof key, "key%d", i);
        CHECK(put(&store, key, test_below(&random, i % 50 ? 3000 : 200000), 0));
        if (i % 500 == 0) audit(&store);
    }
    for (int i = 0; i < 5000; i++) {
        snprintf(key, sizeof key, "key%d", i);
        CHECK(has(&store, key));
        CHECK(drop(&store, key));
        if (i % 500 == 0) audit(&store);
    }
    struct mc_totals totals = audit(&store);
    CHECK_EQ(totals.bytes, 0);
    CHECK_EQ(totals.page_count, 0);
    mc_store_end(&store);
}

/* Stores sizes of all kinds, one kind after the other. The limit holds, and new items are found. */
TEST(the_limit_holds_whatever_the_sizes) {
    static const size_t sizes[] = {20, 400000, 700, 5000, 16300, 100, 1000000, 60000, 2000, 1};
    struct mc_store store;
    char key[32];
    begin(&store, 16, 1);
    for (unsigned s = 0; s < sizeof sizes / sizeof *sizes; s++) {
        size_t n = ((size_t)40 << 20) / (sizes[s] + 100);
        if (n > 60000) n = 60000;
        for (size_t i = 0; i < n; i++) {
            snprintf(key, sizeof key, "%u:%zu", s, i);
            if (!put(&store, key, sizes[s], 0))
                test_fail(__FILE__, __LINE__, "no memory for %s, size %zu", key, sizes[s]);
            CHECK(i % 100 || has(&store, key));
        }
        advance(&store, 1);
        audit(&store);
    }
    struct mc_totals totals = audit(&store);
    CHECK(totals.all.evicted > 10000);
    CHECK(totals.counts.pages_moved > 100);
    mc_store_end(&store);
}

/* A class gets its share of memory that other classes have filled before, and not only one page. */
TEST(pages_follow_what_is_asked_for) {
    struct mc_store store;
    char key[32];
    begin(&store, 16, 1);
    for (int i = 0; i < 200000; i++) {
        snprintf(key, sizeof key, "small%d", i);
        CHECK(put(&store, key, 40, 0));
    }
    for (int second = 0; second < 100; second++) {
        advance(&store, 1);
        for (int i = 0; i < 500; i++) {
            snprintf(key, sizeof key, "large%d", i + second % 4 * 500);
            if (!has(&store, key)) CHECK(put(&store, key, 4000, 0));
        }
    }
    unsigned there = 0;
    for (int i = 0; i < 2000; i++) {
        snprintf(key, sizeof key, "large%d", i);
        there += has(&store, key);
    }
    CHECK(there > 1800);
    mc_store_end(&store);
}

TEST(without_evictions_there_is_an_error) {
    struct mc_store store;
    struct mc_limits limits = {.memory = 4 << 20, .item_most = 1 << 20, .workers = 1, .keeps = true};
    char key[32];
    mc_clock_begin();
    CHECK_EQ(mc_store_begin(&store, &limits), 0);
    int n = 0;
    for (;; n++) {
        snprintf(key, sizeof key, "%d", n);
        if (!put(&store, key, 1000, n < 100 ? mc_expires(5) : 0)) break;
    }
    CHECK(n > 3000);
    for (int i = 0; i < n; i++) {
        snprintf(key, sizeof key, "%d", i);
        CHECK(has(&store, key));
    }
    store_rlx(&mc_clock, mc_now() + 6);
    CHECK(put(&store, "in the place of an expired one", 990, 0));
    CHECK_EQ(audit(&store).all.evicted, 0);
    mc_store_end(&store);
}

TEST(a_lower_limit_gives_memory_back) {
    struct mc_store store;
    char key[32];
    begin(&store, 32, 2);
    for (int i = 0; i < 30000; i++) {
        snprintf(key, sizeof key, "%d", i);
        CHECK(put(&store, key, 800, 0));
    }
    CHECK(audit(&store).page_count > 300);
    mc_store_limit(&store, 8 << 20);
    CHECK(audit(&store).page_count <= 128);
    mc_store_limit(&store, 64 << 20);
    for (int i = 0; i < 60000; i++) {
        snprintf(key, sizeof key, "again%d", i);
        CHECK(put(&store, key, 800, 0));
    }
    CHECK(audit(&store).page_count > 512);
    mc_store_end(&store);
}

TEST(what_is_being_sent_stays) {
    struct mc_store store;
    struct mc_held held;
    begin(&store, 4, 1);
    CHECK(put(&store, "sent", 50000, 0));
    mc_hold(&held, &store, "sent", 4);
    struct mc_item *item = mc_find(&held);
    mc_refer(&held, item);
    mc_release(&held);
    for (int i = 0; i < 1000; i++) {
        char key[32];
        snprintf(key, sizeof key, "%d", i);
        CHECK(put(&store, key, 50000, 0));
    }
    CHECK(has(&store, "sent"));
    CHECK(drop(&store, "sent") && !has(&store, "sent"));
    check_value(item, "sent");
    mc_unrefer(&store, item);
    audit(&store);
    mc_store_end(&store);
}

static struct mc_item *refer(struct mc_store *store, const char *key) {
    struct mc_held held;
    mc_hold(&held, store, key, strlen(key));
    struct mc_item *item = mc_find(&held);
    if (item) mc_refer(&held, item);
    mc_release(&held);
    return item;
}

/* All items are being sent to clients that do not read. Other clients can still store, a little beyond the limit. */
TEST(storing_beside_clients_that_do_not_read) {
    enum { SENT = 100, STORED = 2000 };
    static struct mc_item *sent[SENT];
    struct mc_store store;
    char key[32];
    size_t pages = 0, limit = 0;
    begin(&store, 64, 4);
    for (int i = 0; i < SENT; i++) {
        snprintf(key, sizeof key, "sent%d", i);
        CHECK(put(&store, key, 900000, 0));
    }
    for (int i = 0; i < SENT; i++) {
        snprintf(key, sizeof key, "sent%d", i);
        sent[i] = refer(&store, key);
    }
    for (int i = 0; i < STORED; i++) {
        snprintf(key, sizeof key, "stored%d", i);
        CHECK(put(&store, key, i % 3 == 0 ? 900000 : i % 3 == 1 ? 500 : 20000, 0));
        CHECK(has(&store, key));
    }
    for (unsigned s = 0; s < store.count; s++) {
        CHECK(store.count > 1);
        pages += store.shards[s].memory.pages;
        limit += store.shards[s].memory.limit + store.shards[s].memory.limit / 8 + store.shards[s].reserve;
    }
    CHECK(pages <= limit);
    for (int i = 0; i < SENT; i++) {
        snprintf(key, sizeof key, "sent%d", i);
        if (!sent[i]) continue;
        check_value(sent[i], key);
        mc_unrefer(&store, sent[i]);
    }
    audit(&store);
    mc_store_end(&store);
}

/* --- which items are worth keeping --------------------------------------------------------------------- */

/* Ranks whose frequency falls about as 1/rank: as many up to ten as from ten to a hundred. */
static unsigned ranked(uint64_t *random) { return (unsigned)test_below(random, UINT64_C(2) << test_below(random, 16)); }

/* A list in order of use with the same number of items, for comparison. */
#define KEYS 200000
static unsigned lru_next[KEYS + 1], lru_prev[KEYS + 1];
static bool lru_has[KEYS + 1];

static void lru_unlink(unsigned k) { lru_next[lru_prev[k]] = lru_next[k], lru_prev[lru_next[k]] = lru_prev[k]; }
static void lru_first(unsigned k) {
    lru_next[k] = lru_next[KEYS], lru_prev[k] = KEYS;
    lru_prev[lru_next[KEYS]] = k, lru_next[KEYS] = k;
}

static uint64_t evictions(const struct mc_shard *shard) {
    uint64_t n = 0;
    for (unsigned c = 0; c < mc_classes(); c++) n += shard->classes[c].evicted;
    return n;
}

/* Hits of a store and of such a list, when every tenth request belongs to a long sequence of keys that are requested
 * only once. */
TEST(eviction_keeps_more_than_a_list_in_order_of_use) {
    struct mc_store store;
    char key[32];
    uint64_t random = 5;
    begin(&store, 8, 1);
    lru_next[KEYS] = lru_prev[KEYS] = KEYS;
    unsigned ours = 0, lists = 0, requests = 400000, listed = 0, row = 0;
    size_t room = 0;
    for (unsigned i = 0; i < requests; i++) {
        bool once = i % 10 == 0;
        unsigned k = once ? KEYS / 2 + row++ % (KEYS / 2) : ranked(&random) % (KEYS / 2);
        snprintf(key, sizeof key, "%u", k);
        bool hit = has(&store, key);
        ours += hit;
        if (!hit) CHECK(put(&store, key, 300, 0));
        if (!room && evictions(&store.shards[0])) room = store.shards[0].table.items;
        lists += lru_has[k];
        if (lru_has[k])
            lru_unlink(k);
        else if (room && listed >= room) {
            unsigned last = lru_prev[KEYS];
            lru_unlink(last);
            lru_has[last] = false;
        } else {
            listed++;
        }
        lru_has[k] = true;
        lru_first(k);
    }
    fprintf(stderr, "  hits of %u: %u, list in order of use %u\n", requests, ours, lists);
    CHECK(room && ours > lists);
    mc_store_end(&store);
}

/* --- many at once -------------------------------------------------------------------------------------- */

#define FIBERS 64
#define SHARED_KEYS 300

struct worker {
    struct mc_store *store;
    unsigned id;
    size_t rounds;
};

static void *hammer(void *arg) {
    struct worker *w = arg;
    uint64_t random = w->id + 1;
    char key[32];
    for (size_t i = 0; i < w->rounds; i++) {
        snprintf(key, sizeof key, "key%u", (unsigned)test_below(&random, SHARED_KEYS));
        switch (test_below(&random, 8)) {
        case 0:
        case 1: put(w->store, key, test_below(&random, 8) ? test_below(&random, 500) : 30000, 0); break;
        case 2: drop(w->store, key); break;
        case 3: {
            struct mc_held held;
            mc_hold(&held, w->store, key, strlen(key));
            struct mc_item *item = mc_find(&held);
            if (item) mc_refer(&held, item);
            mc_release(&held);
            weft_yield();
            if (!item) break;
            check_value(item, key);
            mc_unrefer(w->store, item);
            break;
        }
        default: has(w->store, key);
        }
        if (i % 64 == 0) weft_yield();
    }
    return NULL;
}

static void many_at_once(unsigned workers) {
    struct mc_store store;
    begin(&store, 8, workers);
    test_start(workers);
    struct weft_fiber fibers[FIBERS];
    struct worker work[FIBERS];
    for (unsigned i = 0; i < FIBERS; i++) {
        work[i] = (struct worker){&store, i, test_size(1500)};
        CHECK_EQ(weft_spawn(&fibers[i], NULL, hammer, &work[i]), 0);
    }
    for (unsigned i = 0; i < FIBERS; i++) CHECK_EQ(weft_join(fibers[i], NULL), 0);
    test_stop();
    audit(&store);
    char key[32];
    for (unsigned i = 0; i < SHARED_KEYS; i++) {
        snprintf(key, sizeof key, "key%u", i);
        drop(&store, key);
    }
    struct mc_totals totals = audit(&store);
    CHECK_EQ(totals.current, 0);
    CHECK_EQ(totals.bytes, 0);
    CHECK_EQ(totals.page_count, 0);
    mc_store_end(&store);
}

TEST_WITHIN(two_workers_at_once, 60) { many_at_once(2); }
TEST_WITHIN(eight_workers_at_once, 60) { many_at_once(8); }
