/* SPDX-License-Identifier: MIT */
#include "update.h"

static void copy_value(struct mc_cursor *to, struct mc_item *from, size_t n) {
    struct mc_cursor cursor;
    for (mc_cursor_begin(&cursor, from); n;) {
        size_t part = n < cursor.here ? n : cursor.here;
        mc_cursor_put(to, cursor.at, part);
        mc_cursor_advance(&cursor, part);
        n -= part;
    }
}

/* Allocates memory for another value of the same key, and keeps the present item: an item with a reference is not
 * evicted. It is not being sent, so the shard does not count it. */
static struct mc_item *make_beside(struct mc_held *held, struct mc_item *old, size_t size) {
    if (!mc_size_allowed(held->store, old->key_size, size, old->flags)) return NULL;
    old->refs++;
    struct mc_item *item = mc_make(held, size, old->flags, old->expires);
    old->refs--;
    if (item) item->bits |= old->bits & MC_BINARY;
    return item;
}

static enum mc_outcome join(struct mc_held *held, struct mc_item *old, struct mc_upload *upload, uint64_t *cas) {
    struct mc_item *more = upload->item, *first = old, *second = more;
    if (upload->mode == MC_PREPEND) first = more, second = old;
    struct mc_item *joint = make_beside(held, old, (size_t)old->size + more->size);
    if (!joint) return MC_NOT_STORED;
    struct mc_cursor to;
    mc_cursor_begin(&to, joint);
    copy_value(&to, first, first->size);
    copy_value(&to, second, (size_t)second->size + 2);
    mc_replace(held, old, joint);
    *cas = joint->cas;
    mc_shard_free(held->shard, more);
    return MC_STORED;
}

static enum mc_outcome store(struct mc_held *held, struct mc_item *old, struct mc_item *item, uint64_t *cas) {
    if (old) {
        mc_replace(held, old, item);
    } else {
        if (held->buried) held->shard->classes[item->cls].reclaimed++; /* it replaces a dead item */
        mc_link(held, item);
    }
    *cas = item->cas;
    return MC_STORED;
}

static enum mc_outcome compare_and_store(struct mc_held *held, struct mc_item *old, struct mc_upload *upload,
                                         uint64_t *cas) {
    if (!old) {
        held->shard->counts.cas_misses++;
        return MC_NOT_FOUND;
    }
    struct mc_class_counts *counts = &held->shard->classes[old->cls];
    uint64_t is = mc_cas(held->store, old);
    if (upload->cas != is || !upload->cas) {
        if (!upload->cas || !upload->stale || upload->cas > is) {
            counts->cas_badval++;
            return MC_EXISTS;
        }
        upload->item->expires = old->expires;
        upload->item->bits |= MC_STALE | (old->bits & MC_TOKEN_SENT);
    }
    counts->cas_hits++;
    return store(held, old, upload->item, cas);
}

static enum mc_outcome by_mode(struct mc_held *held, struct mc_upload *upload, uint64_t *cas) {
    struct mc_item *old = mc_find(held);
    switch (upload->mode) {
    case MC_ADD: return old ? MC_NOT_STORED : store(held, NULL, upload->item, cas);
    case MC_REPLACE: return old ? store(held, old, upload->item, cas) : MC_NOT_STORED;
    case MC_CAS: return compare_and_store(held, old, upload, cas);
    case MC_APPEND:
    case MC_PREPEND:
        if (!old) return MC_NOT_STORED;
        if (upload->cas && upload->cas != mc_cas(held->store, old)) return MC_EXISTS;
        return join(held, old, upload, cas);
    default: return store(held, old, upload->item, cas);
    }
}

enum mc_outcome mc_update(struct mc_held *held, struct mc_upload *upload, uint64_t *cas) {
    *cas = 0;
    enum mc_outcome outcome = by_mode(held, upload, cas);
    if (held->store->no_cas) *cas = 0;
    if (outcome != MC_STORED) mc_shard_free(held->shard, upload->item);
    upload->item = NULL;
    return outcome;
}

/* Writes the number in place, padded with spaces, if it is not longer; otherwise into a new item. */
static enum mc_outcome write_number(struct mc_held *held, struct mc_item *item, struct mc_delta *delta) {
    if (delta->size <= item->size && !item->refs) {
        mc_new_cas(held, item);
        memcpy(mc_item_value(item), delta->text, delta->size);
        memset(mc_item_value(item) + delta->size, ' ', item->size - delta->size);
        delta->item = item;
        return MC_STORED;
    }
    struct mc_item *longer = make_beside(held, item, delta->size);
    if (!longer) return MC_NO_MEMORY;
    memcpy(mc_item_value(longer), delta->text, delta->size);
    memcpy(mc_item_value(longer) + delta->size, "\r\n", 2);
    mc_replace(held, item, longer);
    delta->item = longer;
    return MC_STORED;
}

enum mc_outcome mc_delta(struct mc_held *held, struct mc_delta *delta) {
    struct mc_item *item = mc_find(held);
    uint64_t value;
    if (!item) return MC_NOT_FOUND;
    if (!item->size || item->chained) return MC_NOT_NUMERIC;
    if (delta->cas && delta->cas != mc_cas(held->store, item)) return MC_EXISTS;
    if (!mc_u64(mc_item_value(item), item->size, &value)) return MC_NOT_NUMERIC;
    struct mc_class_counts *counts = &held->shard->classes[item->cls];
    if (delta->increment) {
        counts->incr_hits++;
        value += delta->by;
    } else {
        counts->decr_hits++;
        value = delta->by > value ? 0 : value - delta->by;
    }
    delta->size = (uint8_t)(mc_put_u64(delta->text, value) - delta->text);
    return write_number(held, item, delta);
}
