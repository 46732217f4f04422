/* SPDX-License-Identifier: MIT */
/*
 * The cache: shards, and which code may work on an item.
 *
 *     struct mc_held held;
 *     mc_hold(&held, store, key, key_size);        the shard of the key, locked
 *     struct mc_item *item = mc_find(&held);       what is stored there, unless expired or flushed
 *     ...                                          item and shard are the caller's
 *     mc_release(&held);
 *
 * The caller must not wait in between. For a value that is sent later it takes a reference (mc_refer), and returns it
 * after the send (mc_unrefer).
 */
#ifndef CACHED_STORE_H
#define CACHED_STORE_H

#include "hash.h"
#include "shard.h"

struct mc_limits {
    size_t memory;    /* bytes */
    size_t item_most; /* the largest item, in memcached's count of bytes */
    unsigned workers; /* threads that may use the store at the same time */
    bool keeps;       /* no eviction */
    bool no_cas;      /* clients see 0 for every CAS */
    unsigned hash_power;
};

struct mc_store {
    struct mc_shard *shards;
    unsigned count; /* a power of two */
    uint64_t seed;
    size_t memory, item_most;
    bool no_cas;
    _Atomic uint64_t cas;      /* the last CAS that was assigned */
    _Atomic bool at_rest;      /* the sweep is off */
    _Atomic uint32_t flush_at; /* when all items of that moment are removed; 0: never */
};

int mc_store_begin(struct mc_store *store, const struct mc_limits *limits); /* -ENOMEM */
void mc_store_end(struct mc_store *store);

struct mc_held {
    struct mc_store *store;
    struct mc_shard *shard;
    const char *key;
    uint32_t hash;
    uint8_t key_size;
    uint8_t buried; /* the reason why the stored item was dead: an mc_found (log.h) */
};

void mc_hold(struct mc_held *held, struct mc_store *store, const char *key, size_t key_size);
void mc_release(struct mc_held *held);

struct mc_item *mc_find(struct mc_held *held);

/* Marks an item as requested. */
static inline void mc_bump(struct mc_item *item) {
    item->last = mc_now();
    item->bits |= MC_VISITED | MC_FETCHED;
}

/* May an item of this size be stored? */
static inline bool mc_size_allowed(const struct mc_store *store, size_t key_size, size_t size, uint32_t flags) {
    return 56 + key_size + 1 + (flags ? 4 : 0) + size + 2 <= store->item_most;
}

/* NULL: no memory. The item belongs to the caller until it is linked or dropped. */
struct mc_item *mc_make(struct mc_held *held, size_t size, uint32_t flags, uint32_t expires);

/* gives the item a new CAS, and inserts it into table and queue */
void mc_link(struct mc_held *held, struct mc_item *item);
void mc_replace(struct mc_held *held, struct mc_item *out, struct mc_item *in);
void mc_unlink(struct mc_held *held, struct mc_item *item);
void mc_new_cas(struct mc_held *held, struct mc_item *item);
static inline uint64_t mc_cas(const struct mc_store *store, const struct mc_item *item) {
    return store->no_cas ? 0 : item->cas;
}

/* Drops an unlinked item. Called without holding the shard. */
void mc_drop(struct mc_store *store, struct mc_item *item);

/* mc_refer begins a reference while the shard is held; mc_unrefer ends it while the shard is not held. The item is not
 * freed meanwhile. */
static inline void mc_refer(struct mc_held *held, struct mc_item *item) { mc_shard_refer(held->shard, item); }
void mc_unrefer(struct mc_store *store, struct mc_item *item);

/* --- the whole of it ----------------------------------------------------------------------------------- */

void mc_flush(struct mc_store *store, uint32_t at); /* 0: now */
void mc_store_tick(struct mc_store *store);         /* once a second: due flushes, and a part of a sweep */
void mc_store_limit(struct mc_store *store, size_t memory);
void mc_store_reset_counts(struct mc_store *store);

/* Removes all dead items of the classes with their bit set (class 0 is bit 0). Visits at most `most` items of each
 * class, unless that is 0. Waits `pause` nanoseconds after each thousand items. */
void mc_store_crawl(struct mc_store *store, uint64_t classes, uint32_t most, uint64_t pause);

/* Evicts a page of that class, in the shard that has most of these pages. -ENOENT: no shard has two; -EBUSY: their
 * items are being sent. */
int mc_store_move_page(struct mc_store *store, unsigned cls);

/* The sums of all counts. Each shard is a snapshot of its own. */
struct mc_totals {
    struct mc_shard_counts counts;
    struct mc_class_counts all, classes[MC_CLASSES_MOST];
    uint64_t items[MC_CLASSES_MOST], pages[MC_CLASSES_MOST], used[MC_CLASSES_MOST], requested[MC_CLASSES_MOST];
    uint32_t age[MC_CLASSES_MOST], evicted_time[MC_CLASSES_MOST];
    uint64_t bytes, current, page_count, spares, buckets;
    bool growing;
};
void mc_store_totals(struct mc_store *store, struct mc_totals *totals);

#endif
