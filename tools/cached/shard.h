/* SPDX-License-Identifier: MIT */
/*
 * A part of the cache: the items with certain hashes, with their own table, memory and queues, under one lock. Shards
 * share only the counter of CAS values, so commands on different shards do not contend. Each shard keeps to its own
 * part of the memory limit.
 *
 * The lock spins: no section under it waits for anything, and most are some hundred instructions; the longest goes
 * through the items of a page.
 */
#ifndef CACHED_SHARD_H
#define CACHED_SHARD_H

#include "base/lock.h"
#include "clock.h"
#include "item.h"
#include "table.h"

/* The items of one class, from the newest to the oldest. */
struct mc_queue {
    struct mc_item *newest, *oldest;
    struct mc_item *hand; /* the position of the search for a victim; NULL: the oldest item */
    uint64_t items;
    uint64_t bytes; /* bytes that the items need */
};

/* Counts for each class, as in `stats items` and `stats slabs`. */
struct mc_class_counts {
    uint64_t get_hits, cmd_set, delete_hits, incr_hits, decr_hits, cas_hits, cas_badval, touch_hits;
    uint64_t evicted, evicted_nonzero, evicted_unfetched, evicted_active, expired_unfetched, reclaimed, outofmemory;
    uint64_t direct_reclaims, reflocked; /* reflocked: the hand passed them, because they were being sent */
    uint64_t crawler_reclaimed, crawler_items_checked;
};

/* Counts for the whole shard. Only words of 64 bits, because they are added up as an array. */
struct mc_shard_counts {
    uint64_t cmd_get, cmd_touch, get_misses, get_expired, get_flushed, touch_misses, delete_misses, incr_misses,
        decr_misses, cas_misses, total_items, store_too_large, store_no_memory, pages_moved, moved_evicted,
        moved_busy; /* items evicted with their pages; pages that stayed because of an item */
};

struct mc_shard {
    struct weft__lock lock;
    bool keeps;                             /* no evictions */
    uint64_t flushed;                       /* items with a lower CAS are dead */
    uint64_t refs;                          /* references to items that are being sent */
    size_t reserve;                         /* the pages that the largest item needs */
    uint64_t expiring;                      /* linked items that will expire */
    size_t swept;                           /* position of the sweep in the table */
    uint32_t evicted_time[MC_CLASSES_MOST]; /* the age of the item that was evicted last */
    struct mc_table table;
    struct mc_memory memory;
    struct mc_queue queues[MC_CLASSES_MOST];
    struct mc_class_counts classes[MC_CLASSES_MOST];
    struct mc_shard_counts counts;
} __attribute__((aligned(64)));

/* Is the item expired, or removed by flush_all? */
static inline bool mc_item_expired(const struct mc_item *item) { return item->expires && item->expires <= mc_now(); }
static inline bool mc_item_dead(const struct mc_shard *shard, const struct mc_item *item) {
    return mc_item_expired(item) || item->cas < shard->flushed;
}

/* Begins and ends a reference to an item, whose value is sent without the lock. */
static inline void mc_shard_refer(struct mc_shard *shard, struct mc_item *item) {
    item->refs++;
    shard->refs++;
}
void mc_shard_unrefer(struct mc_shard *shard, struct mc_item *item);

/* Puts an item into the table and the queue, and takes it out. Unlinking frees the memory, or leaves that to the last
 * reference. */
void mc_shard_link(struct mc_shard *shard, struct mc_item *item);
void mc_shard_unlink(struct mc_shard *shard, struct mc_item *item);
void mc_shard_replace(struct mc_shard *shard, struct mc_item *out, struct mc_item *in);

/* Changes the time at which a linked item expires. */
void mc_shard_expire(struct mc_shard *shard, struct mc_item *item, uint32_t expires);

/* Makes an unlinked item with key and size, but without a value. NULL: no memory, even after evictions. */
struct mc_item *mc_shard_make(struct mc_shard *shard, const char *key, size_t key_size, uint32_t hash, size_t size);
void mc_shard_free(struct mc_shard *shard, struct mc_item *item); /* not linked, without references */

/* Evicts items until the pages are within the limit, as far as possible. */
void mc_shard_shrink(struct mc_shard *shard);

/* Removes dead items from some chains. Returns how many chains of this round are left. */
size_t mc_shard_sweep(struct mc_shard *shard, size_t chains);

/* Removes dead items of a chain, in classes with their bit set (class 0 is bit 0). Returns how many items it
 * visited. */
size_t mc_shard_clean(struct mc_shard *shard, size_t chain, uint64_t classes);

/* --- evict.c ------------------------------------------------------------------------------------------ */

void mc_queue_add(struct mc_queue *queue, struct mc_item *item);
void mc_queue_remove(struct mc_queue *queue, struct mc_item *item);

/* Tries to make room for a chunk of that class: a free chunk, or a page. */
bool mc_evict(struct mc_shard *shard, unsigned cls);

/* Frees a page: mc_evict_page of any class, mc_evict_page_of of the given class. */
bool mc_evict_page(struct mc_shard *shard);
bool mc_evict_page_of(struct mc_shard *shard, unsigned cls);

#endif
