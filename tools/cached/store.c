/* SPDX-License-Identifier: MIT */
#include "store.h"

#include "log.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/random.h>
#include <time.h>

#define SHARD_LEAST ((size_t)8 << 20) /* bytes: with less, the classes of a shard would compete for pages */
#define SHARDS_A_WORKER 8
#define FIRST_POWER 16 /* a table begins with 2^16 chains */
#define SWEEP_SECONDS 60
#define SWEEP_HELD 256 /* chains that a sweep visits under one lock */

static unsigned shards_for(const struct mc_limits *limits) {
    size_t least = 4 * limits->item_most > SHARD_LEAST ? 4 * limits->item_most : SHARD_LEAST;
    unsigned n = 1;
    while (limits->workers > 1 && n < SHARDS_A_WORKER * limits->workers && limits->memory / (2 * n) >= least) n *= 2;
    return n;
}

static size_t pages_of(size_t memory, unsigned shards) {
    size_t pages = memory / shards / MC_PAGE;
    return pages ? pages : 1;
}

int mc_store_begin(struct mc_store *store, const struct mc_limits *limits) {
    mc_classes_begin();
    *store = (struct mc_store){.memory = limits->memory, .item_most = limits->item_most, .no_cas = limits->no_cas};
    store->count = shards_for(limits);
    if (getrandom(&store->seed, sizeof store->seed, GRND_NONBLOCK) != sizeof store->seed)
        store->seed = (uint64_t)time(NULL) * UINT64_C(0x9e3779b97f4a7c15);
    store->shards = aligned_alloc(_Alignof(struct mc_shard), store->count * sizeof *store->shards);
    if (!store->shards) return -ENOMEM;
    memset(store->shards, 0, store->count * sizeof *store->shards);
    size_t buckets = (size_t)1 << (limits->hash_power ? limits->hash_power : FIRST_POWER);
    for (unsigned i = 0; i < store->count; i++) {
        struct mc_shard *shard = &store->shards[i];
        shard->keeps = limits->keeps;
        shard->reserve = limits->item_most / (4 * MC_PIECE_MOST) + 2;
        mc_memory_begin(&shard->memory, pages_of(store->memory, store->count));
        if (mc_table_begin(&shard->table, buckets > store->count ? buckets / store->count : 1)) {
            store->count = i;
            mc_store_end(store);
            return -ENOMEM;
        }
    }
    return 0;
}

void mc_store_end(struct mc_store *store) {
    for (unsigned i = 0; i < store->count; i++) {
        mc_table_end(&store->shards[i].table);
        mc_memory_end(&store->shards[i].memory);
    }
    free(store->shards);
    store->shards = NULL;
}

void mc_hold(struct mc_held *held, struct mc_store *store, const char *key, size_t key_size) {
    uint64_t hash = mc_hash(store->seed, key, key_size);
    struct mc_shard *shard = &store->shards[(hash >> 32) & (store->count - 1)];
    *held = (struct mc_held){store, shard, key, (uint32_t)hash, (uint8_t)key_size, 0};
    weft__lock(&shard->lock);
}

void mc_release(struct mc_held *held) { weft__unlock(&held->shard->lock); }

static __attribute__((noinline, cold)) void bury(struct mc_held *held, struct mc_item *item) {
    bool expired = mc_item_expired(item);
    held->buried = expired ? MC_FOUND_EXPIRED : MC_FOUND_FLUSHED;
    if (expired)
        held->shard->counts.get_expired++;
    else
        held->shard->counts.get_flushed++;
    mc_shard_unlink(held->shard, item);
}

struct mc_item *mc_find(struct mc_held *held) {
    struct mc_item *item = mc_table_find(&held->shard->table, held->hash, held->key, held->key_size);
    if (likely(!item || !mc_item_dead(held->shard, item))) return item;
    bury(held, item);
    return NULL;
}

struct mc_item *mc_make(struct mc_held *held, size_t size, uint32_t flags, uint32_t expires) {
    struct mc_item *item = mc_shard_make(held->shard, held->key, held->key_size, held->hash, size);
    if (!item) return NULL;
    item->flags = flags;
    item->expires = expires;
    return item;
}

void mc_new_cas(struct mc_held *held, struct mc_item *item) { item->cas = add_rlx(&held->store->cas, 1) + 1; }

void mc_link(struct mc_held *held, struct mc_item *item) {
    mc_new_cas(held, item);
    mc_shard_link(held->shard, item);
}

void mc_replace(struct mc_held *held, struct mc_item *out, struct mc_item *in) {
    mc_new_cas(held, in);
    mc_shard_replace(held->shard, out, in);
}

void mc_unlink(struct mc_held *held, struct mc_item *item) { mc_shard_unlink(held->shard, item); }

void mc_drop(struct mc_store *store, struct mc_item *item) {
    struct mc_held held;
    mc_hold(&held, store, mc_item_key(item), item->key_size);
    mc_shard_free(held.shard, item);
    mc_release(&held);
}

void mc_unrefer(struct mc_store *store, struct mc_item *item) {
    struct mc_held held;
    mc_hold(&held, store, mc_item_key(item), item->key_size);
    mc_shard_unrefer(held.shard, item);
    mc_release(&held);
}

/* Every item with a CAS below this value was stored earlier. */
static void flush_now(struct mc_store *store) {
    uint64_t from = add_rlx(&store->cas, 1) + 1;
    for (unsigned i = 0; i < store->count; i++) {
        weft__lock(&store->shards[i].lock);
        store->shards[i].flushed = from;
        weft__unlock(&store->shards[i].lock);
    }
}

void mc_flush(struct mc_store *store, uint32_t at) {
    store_rlx(&store->flush_at, at);
    if (!at) flush_now(store);
}

/* Visits all chains of a shard once in this many seconds, unless no item can have expired. */
static void sweep(struct mc_shard *shard) {
    weft__lock(&shard->lock);
    size_t chains = (shard->table.size + shard->table.old_size) / SWEEP_SECONDS + 1;
    bool any = shard->expiring || shard->flushed;
    weft__unlock(&shard->lock);
    for (size_t left = 1; any && left && chains;) {
        size_t now = chains < SWEEP_HELD ? chains : SWEEP_HELD;
        weft__lock(&shard->lock);
        left = mc_shard_sweep(shard, now);
        weft__unlock(&shard->lock);
        chains -= now;
    }
}

void mc_store_tick(struct mc_store *store) {
    uint32_t at = load_rlx(&store->flush_at);
    if (at && at <= mc_now() && cas_ar(&store->flush_at, &at, 0)) flush_now(store);
    for (unsigned i = 0; i < store->count && !load_rlx(&store->at_rest); i++) sweep(&store->shards[i]);
}

void mc_store_limit(struct mc_store *store, size_t memory) {
    store->memory = memory;
    for (unsigned i = 0; i < store->count; i++) {
        struct mc_shard *shard = &store->shards[i];
        weft__lock(&shard->lock);
        shard->memory.limit = pages_of(memory, store->count);
        mc_shard_shrink(shard);
        weft__unlock(&shard->lock);
    }
}
