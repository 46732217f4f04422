/* SPDX-License-Identifier: MIT */
/* Adds up the counts of all shards. */
#include "store.h"

static void add_words(void *to, const void *from, size_t bytes) {
    uint64_t *sum = to;
    const uint64_t *more = from;
    for (size_t i = 0; i < bytes / sizeof *sum; i++) sum[i] += more[i];
}

static void add_class(struct mc_totals *totals, const struct mc_shard *shard, unsigned cls) {
    add_words(&totals->classes[cls], &shard->classes[cls], sizeof totals->classes[cls]);
    add_words(&totals->all, &shard->classes[cls], sizeof totals->all);
    totals->items[cls] += shard->queues[cls].items;
    totals->pages[cls] += shard->memory.class_pages[cls];
    totals->used[cls] += shard->memory.class_used[cls];
    totals->requested[cls] += shard->queues[cls].bytes;
    totals->bytes += shard->queues[cls].bytes;
    const struct mc_item *oldest = shard->queues[cls].oldest;
    if (oldest && mc_now() - oldest->last > totals->age[cls]) totals->age[cls] = mc_now() - oldest->last;
    if (shard->evicted_time[cls] > totals->evicted_time[cls]) totals->evicted_time[cls] = shard->evicted_time[cls];
}

void mc_store_totals(struct mc_store *store, struct mc_totals *totals) {
    *totals = (struct mc_totals){.bytes = 0};
    for (unsigned i = 0; i < store->count; i++) {
        struct mc_shard *shard = &store->shards[i];
        weft__lock(&shard->lock);
        add_words(&totals->counts, &shard->counts, sizeof totals->counts);
        for (unsigned cls = 0; cls < mc_classes(); cls++) add_class(totals, shard, cls);
        totals->current += shard->table.items;
        totals->page_count += shard->memory.pages;
        totals->spares += shard->memory.spares;
        totals->buckets += shard->table.size + shard->table.old_size;
        totals->growing |= shard->table.old != NULL;
        weft__unlock(&shard->lock);
    }
}

void mc_store_reset_counts(struct mc_store *store) {
    for (unsigned i = 0; i < store->count; i++) {
        struct mc_shard *shard = &store->shards[i];
        weft__lock(&shard->lock);
        memset(&shard->counts, 0, sizeof shard->counts);
        memset(shard->classes, 0, sizeof shard->classes);
        weft__unlock(&shard->lock);
    }
}
