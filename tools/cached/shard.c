/* SPDX-License-Identifier: MIT */
#include "shard.h"

static void give_pieces(struct mc_shard *shard, struct mc_piece *piece) {
    while (piece) {
        struct mc_piece *next = piece->next;
        mc_memory_give(&shard->memory, piece);
        piece = next;
    }
}

void mc_shard_free(struct mc_shard *shard, struct mc_item *item) {
    give_pieces(shard, mc_item_pieces(item));
    mc_memory_give(&shard->memory, item);
}

/*
 * If a client does not read its values, they cannot be evicted. So that other clients can still store, the shard may
 * use this many pages beyond its limit. The values stored there are not being sent, so they can be evicted for the next
 * values.
 */
static size_t pages_beyond(const struct mc_shard *shard) {
    return shard->refs && !shard->keeps ? shard->memory.limit / 8 + shard->reserve : 0;
}

static void *take(struct mc_shard *shard, size_t size) {
    unsigned cls = mc_class_of(size);
    void *chunk;
    /* The evicted page may be of another class, and then provides no chunk of this class. */
    while (!(chunk = mc_memory_take(&shard->memory, cls, 0)) && mc_evict(shard, cls)) {
    }
    if (unlikely(!chunk)) chunk = mc_memory_take(&shard->memory, cls, pages_beyond(shard));
    if (!chunk) shard->classes[cls].outofmemory++;
    return chunk;
}

void mc_shard_unrefer(struct mc_shard *shard, struct mc_item *item) {
    shard->refs--;
    if (!--item->refs && !(item->bits & MC_LINKED)) mc_shard_free(shard, item);
    mc_shard_shrink(shard);
}

void mc_shard_shrink(struct mc_shard *shard) {
    while (unlikely(shard->memory.pages > shard->memory.limit) && mc_evict_page(shard)) {
    }
}

/* Allocates the rest of a value, from the last piece to the first, so that each can point to the next. */
static bool add_pieces(struct mc_shard *shard, struct mc_item *item, size_t rest) {
    struct mc_piece *first = NULL;
    for (size_t size; rest; rest -= size) {
        size = rest % MC_PIECE_MOST ? rest % MC_PIECE_MOST : MC_PIECE_MOST;
        struct mc_piece *piece = take(shard, MC_PIECE_HEAD + size);
        if (!piece) {
            give_pieces(shard, first);
            return false;
        }
        mc_page_mark_piece(piece);
        *piece = (struct mc_piece){first, item};
        first = piece;
    }
    memcpy(item->bytes + item->key_size, &first, sizeof first);
    item->chained = true;
    return true;
}

struct mc_item *mc_shard_make(struct mc_shard *shard, const char *key, size_t key_size, uint32_t hash, size_t size) {
    bool chains = mc_item_chains(key_size, size);
    size_t head = chains ? MC_CHUNK_MOST : MC_ITEM_HEAD + key_size + size + 2;
    struct mc_item *item = take(shard, head);
    if (!item) return NULL;
    memset(item, 0, MC_ITEM_HEAD);
    item->hash = hash;
    item->size = (uint32_t)size;
    item->key_size = (uint8_t)key_size;
    item->cls = (uint8_t)mc_class_of(head);
    memcpy(item->bytes, key, key_size);
    if (!chains) return item;
    if (add_pieces(shard, item, size + 2 - (MC_CHUNK_MOST - MC_ITEM_HEAD - key_size - sizeof(void *)))) return item;
    mc_memory_give(&shard->memory, item);
    return NULL;
}

static void enter(struct mc_shard *shard, struct mc_item *item) {
    item->bits |= MC_LINKED;
    item->last = mc_now();
    mc_queue_add(&shard->queues[item->cls], item);
    shard->queues[item->cls].bytes += mc_item_total(item->key_size, item->size);
    shard->expiring += item->expires != 0;
    shard->counts.total_items++;
}

static void leave(struct mc_shard *shard, struct mc_item *item) {
    item->bits &= (uint8_t)~MC_LINKED;
    mc_queue_remove(&shard->queues[item->cls], item);
    shard->queues[item->cls].bytes -= mc_item_total(item->key_size, item->size);
    shard->expiring -= item->expires != 0;
    if (!item->refs) mc_shard_free(shard, item);
}

void mc_shard_link(struct mc_shard *shard, struct mc_item *item) {
    mc_table_insert(&shard->table, item);
    enter(shard, item);
}

void mc_shard_unlink(struct mc_shard *shard, struct mc_item *item) {
    mc_table_remove(&shard->table, item);
    leave(shard, item);
}

void mc_shard_replace(struct mc_shard *shard, struct mc_item *out, struct mc_item *in) {
    mc_table_swap(&shard->table, out, in);
    leave(shard, out);
    enter(shard, in);
}

void mc_shard_expire(struct mc_shard *shard, struct mc_item *item, uint32_t expires) {
    shard->expiring += (expires != 0) - (item->expires != 0);
    item->expires = expires;
}

size_t mc_shard_clean(struct mc_shard *shard, size_t chain, uint64_t classes) {
    size_t n = 0;
    for (struct mc_item *item = mc_table_chain(&shard->table, chain), *next; item; item = next) {
        struct mc_class_counts *counts = &shard->classes[item->cls];
        next = item->next;
        if (!(classes >> item->cls & 1)) continue;
        n++;
        counts->crawler_items_checked++;
        if (item->refs || !mc_item_dead(shard, item)) continue;
        if (!(item->bits & MC_FETCHED)) counts->expired_unfetched++;
        counts->crawler_reclaimed++;
        mc_shard_unlink(shard, item);
    }
    return n;
}

size_t mc_shard_sweep(struct mc_shard *shard, size_t chains) {
    for (; chains; chains--, shard->swept++) {
        if (shard->swept >= shard->table.size + shard->table.old_size) {
            shard->swept = 0;
            return 0;
        }
        mc_shard_clean(shard, shard->swept, UINT64_MAX);
    }
    return shard->table.size + shard->table.old_size - shard->swept;
}
