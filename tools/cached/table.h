/* SPDX-License-Identifier: MIT */
/*
 * The hash table of one shard: chains of items. It doubles by moving a few buckets at each insertion, so that no
 * command pays for all of it. Without memory it keeps its size. The shard's lock is held.
 */
#ifndef CACHED_TABLE_H
#define CACHED_TABLE_H

#include "item.h"

struct mc_table {
    struct mc_item **buckets, **old; /* old: the table that is being replaced, or NULL */
    size_t size, old_size, moved;    /* moved: old buckets that are already moved */
    size_t items;
};

int mc_table_begin(struct mc_table *table, size_t buckets); /* a power of two. -ENOMEM */
void mc_table_end(struct mc_table *table);                  /* the items belong to the caller */

struct mc_item *mc_table_find(const struct mc_table *table, uint32_t hash, const char *key, size_t key_size);
void mc_table_insert(struct mc_table *table, struct mc_item *item); /* the item must not be in the table */
void mc_table_remove(struct mc_table *table, struct mc_item *item); /* the item must be in the table */
void mc_table_swap(struct mc_table *table, struct mc_item *out, struct mc_item *in);

/* Chain number `i` of the size + old_size chains, for a fiber that visits them all. */
static inline struct mc_item *mc_table_chain(const struct mc_table *table, size_t i) {
    return i < table->size ? table->buckets[i] : table->old[i - table->size];
}

#endif
