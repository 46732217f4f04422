/* SPDX-License-Identifier: MIT */
/*
 * Decides which items are evicted when memory is short.
 *
 * Each class has a queue in the order of storing, and a hand that moves from the oldest item to the newest and begins
 * again. A hit marks an item. The hand removes the mark of a marked item and passes it; it evicts the first item
 * without a mark. So a hit writes one byte instead of moving the item in a list, unused items are evicted before used
 * items, and new items are visited after older items (this is the algorithm SIEVE). It keeps more of the items that are
 * requested again than a list in order of use: tests/cached/store.c compares the two.
 *
 * If a class has nothing to evict, or if all its items are far younger than the oldest item of another class, it gets a
 * page from that class. All items of that page are evicted.
 */
#include "log.h"
#include "shard.h"

#define PASSED_MOST 64  /* marked items that the hand passes before it evicts a marked item */
#define COMPARE_EACH 32 /* a class compares itself with the others after this many evictions */

void mc_queue_add(struct mc_queue *queue, struct mc_item *item) {
    item->newer = NULL;
    item->older = queue->newest;
    *(queue->newest ? &queue->newest->newer : &queue->oldest) = item;
    queue->newest = item;
    queue->items++;
}

void mc_queue_remove(struct mc_queue *queue, struct mc_item *item) {
    if (queue->hand == item) queue->hand = item->newer;
    *(item->newer ? &item->newer->older : &queue->newest) = item->older;
    *(item->older ? &item->older->newer : &queue->oldest) = item->newer;
    queue->items--;
}

/* Returns the item to evict. NULL: there is none, or all visited items are being sent. */
static struct mc_item *victim(struct mc_shard *shard, struct mc_queue *queue) {
    struct mc_item *item = queue->hand ? queue->hand : queue->oldest, *passed = NULL;
    for (int i = 0; item && i < PASSED_MOST; i++) {
        if (!item->refs) {
            if (!(item->bits & MC_VISITED) || mc_item_dead(shard, item)) {
                queue->hand = item;
                return item;
            }
            item->bits &= (uint8_t)~MC_VISITED;
            passed = item;
        } else {
            shard->classes[item->cls].reflocked++;
        }
        item = item->newer ? item->newer : queue->oldest;
    }
    queue->hand = item;
    return passed;
}

/* Returns a dead item among the oldest. If evictions are off, only dead items may be removed. */
static struct mc_item *dead_one(struct mc_shard *shard, struct mc_queue *queue) {
    struct mc_item *item = queue->oldest;
    for (int i = 0; item && i < PASSED_MOST; i++, item = item->newer)
        if (!item->refs && mc_item_dead(shard, item)) return item;
    return NULL;
}

static void remove_victim(struct mc_shard *shard, struct mc_item *item) {
    struct mc_class_counts *counts = &shard->classes[item->cls];
    bool fetched = item->bits & MC_FETCHED;
    if (mc_item_dead(shard, item)) {
        counts->reclaimed++;
        if (!fetched) counts->expired_unfetched++;
    } else {
        counts->evicted++;
        if (item->expires) counts->evicted_nonzero++;
        if (!fetched) counts->evicted_unfetched++;
        if (item->bits & MC_VISITED) counts->evicted_active++;
        shard->evicted_time[item->cls] = mc_now() - item->last;
        if (mc_wanted(MC_LOG_EVICTIONS)) mc_log_eviction(item);
    }
    mc_shard_unlink(shard, item);
}

static bool is_piece(const struct mc_page *page, unsigned i) { return page->piece[i / 64] >> i % 64 & 1; }
static bool is_taken(const struct mc_page *page, unsigned i) { return page->taken[i / 64] >> i % 64 & 1; }

static struct mc_item *item_in(struct mc_page *page, unsigned i) {
    void *chunk = mc_page_chunk(page, i);
    return is_piece(page, i) ? ((struct mc_piece *)chunk)->owner : chunk;
}

/* Evicts all items of a page, unless one of them is being sent or still receives its value. */
static bool empty_page(struct mc_shard *shard, struct mc_page *page) {
    for (unsigned i = 0; i < page->chunks; i++) {
        if (!is_taken(page, i)) continue;
        struct mc_item *item = item_in(page, i);
        if (!item->refs && item->bits & MC_LINKED) continue;
        shard->counts.moved_busy++;
        return false;
    }
    for (unsigned i = 0, chunks = page->chunks; i < chunks; i++)
        if (is_taken(page, i)) {
            shard->counts.moved_evicted++;
            remove_victim(shard, item_in(page, i));
        }
    shard->counts.pages_moved++;
    return true;
}

/* Returns an item of the page to take: in all other classes, the item that was not requested for the longest time. */
static struct mc_item *elsewhere(struct mc_shard *shard, unsigned cls) {
    struct mc_item *found = NULL;
    uint64_t found_items = 0;
    for (unsigned c = 0; c < mc_classes(); c++) {
        struct mc_queue *queue = &shard->queues[c];
        struct mc_item *item = queue->oldest;
        if (c == cls || !item) continue;
        if (found && (item->last > found->last || (item->last == found->last && queue->items < found_items))) continue;
        found = item;
        found_items = queue->items;
    }
    return found;
}

/* Tries the pages of a few items, from the oldest on. */
static bool take_page(struct mc_shard *shard, struct mc_item *from) {
    for (int i = 0; from && i < PASSED_MOST; i++, from = from->newer)
        if (empty_page(shard, mc_page_of(from))) return true;
    return false;
}

bool mc_evict(struct mc_shard *shard, unsigned cls) {
    struct mc_queue *queue = &shard->queues[cls];
    struct mc_item *item = shard->keeps ? dead_one(shard, queue) : victim(shard, queue);
    shard->classes[cls].direct_reclaims++;
    if (shard->keeps) {
        if (item) remove_victim(shard, item);
        return item;
    }
    if (!item || shard->classes[cls].evicted % COMPARE_EACH == 0) {
        struct mc_item *other = elsewhere(shard, cls);
        uint32_t now = mc_now();
        if (other && (!item || now - other->last > 2 * (now - item->last) + 1) && take_page(shard, other)) return true;
    }
    if (!item) return false;
    remove_victim(shard, item);
    return true;
}

bool mc_evict_page_of(struct mc_shard *shard, unsigned cls) { return take_page(shard, shard->queues[cls].oldest); }

bool mc_evict_page(struct mc_shard *shard) {
    struct mc_item *from = elsewhere(shard, MC_CLASSES_MOST);
    return from && take_page(shard, from);
}
