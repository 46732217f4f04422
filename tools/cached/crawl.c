/* SPDX-License-Identifier: MIT */
/* Work on the whole store, on request. It holds one shard at a time, and yields in between. */
#include "store.h"

#include "weft.h"

#define CHAINS 64    /* visited under one lock */
#define AT_ONCE 1000 /* items between two pauses */

/* Returns the classes of which fewer than `most` items were visited. */
static uint64_t not_done(const struct mc_shard *shard, const uint64_t *before, uint64_t classes, uint32_t most) {
    for (unsigned cls = 0; most && cls < mc_classes(); cls++)
        if (shard->classes[cls].crawler_items_checked - before[cls] >= most) classes &= ~(UINT64_C(1) << cls);
    return classes;
}

/* The limit applies to a class in all shards together: each shard has its part of it. */
static void crawl_shard(struct mc_shard *shard, uint64_t classes, uint32_t most, uint64_t pause) {
    uint64_t before[MC_CLASSES_MOST];
    size_t seen = 0, chains = 1;
    for (size_t at = 0; at < chains; at += CHAINS) {
        weft__lock(&shard->lock);
        for (unsigned cls = 0; !at && cls < mc_classes(); cls++)
            before[cls] = shard->classes[cls].crawler_items_checked;
        chains = shard->table.size + shard->table.old_size;
        uint64_t left = not_done(shard, before, classes, most);
        for (size_t i = at; i < at + CHAINS && i < chains; i++) seen += mc_shard_clean(shard, i, left);
        weft__unlock(&shard->lock);
        if (!left) return;
        if (seen < AT_ONCE) continue;
        seen = 0;
        if (pause ? weft_sleep_for(pause) : (weft_yield(), 0)) return;
    }
}

void mc_store_crawl(struct mc_store *store, uint64_t classes, uint32_t most, uint64_t pause) {
    uint32_t each = most ? (most + store->count - 1) / store->count : 0;
    for (unsigned i = 0; i < store->count; i++) crawl_shard(&store->shards[i], classes, each, pause);
}

int mc_store_move_page(struct mc_store *store, unsigned cls) {
    struct mc_shard *most = NULL;
    uint32_t pages = 1;
    for (unsigned i = 0; i < store->count; i++) {
        struct mc_shard *shard = &store->shards[i];
        weft__lock(&shard->lock);
        if (shard->memory.class_pages[cls] > pages) {
            most = shard;
            pages = shard->memory.class_pages[cls];
        }
        weft__unlock(&shard->lock);
    }
    if (!most) return -ENOENT;
    weft__lock(&most->lock);
    bool moved = mc_evict_page_of(most, cls);
    weft__unlock(&most->lock);
    return moved ? 0 : -EBUSY;
}
