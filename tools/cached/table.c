/* SPDX-License-Identifier: MIT */
#include "table.h"

#include <errno.h>
#include <stdlib.h>

#define MOVED_AT_ONCE 4

int mc_table_begin(struct mc_table *table, size_t buckets) {
    *table = (struct mc_table){.size = buckets};
    table->buckets = calloc(buckets, sizeof *table->buckets);
    return table->buckets ? 0 : -ENOMEM;
}

void mc_table_end(struct mc_table *table) {
    free(table->buckets);
    free(table->old);
}

static struct mc_item **bucket(const struct mc_table *table, uint32_t hash) {
    if (table->old && (hash & (table->old_size - 1)) >= table->moved) return &table->old[hash & (table->old_size - 1)];
    return &table->buckets[hash & (table->size - 1)];
}

struct mc_item *mc_table_find(const struct mc_table *table, uint32_t hash, const char *key, size_t key_size) {
    struct mc_item *item = *bucket(table, hash);
    while (item && (item->hash != hash || item->key_size != key_size || memcmp(mc_item_key(item), key, key_size)))
        item = item->next;
    return item;
}

static void move_some(struct mc_table *table) {
    for (int i = 0; i < MOVED_AT_ONCE && table->moved < table->old_size; i++) {
        struct mc_item *item = table->old[table->moved], *next;
        table->old[table->moved++] = NULL;
        for (; item; item = next) {
            next = item->next;
            struct mc_item **to = &table->buckets[item->hash & (table->size - 1)];
            item->next = *to;
            *to = item;
        }
    }
    if (table->moved < table->old_size) return;
    free(table->old);
    table->old = NULL;
    table->old_size = table->moved = 0;
}

static void grow(struct mc_table *table) {
    struct mc_item **more = calloc(table->size * 2, sizeof *more);
    if (!more) return;
    table->old = table->buckets;
    table->old_size = table->size;
    table->moved = 0;
    table->buckets = more;
    table->size *= 2;
}

void mc_table_insert(struct mc_table *table, struct mc_item *item) {
    if (table->old)
        move_some(table);
    else if (table->items > table->size + table->size / 2)
        grow(table);
    struct mc_item **to = bucket(table, item->hash);
    item->next = *to;
    *to = item;
    table->items++;
}

static struct mc_item **place(const struct mc_table *table, struct mc_item *item) {
    struct mc_item **at = bucket(table, item->hash);
    while (*at != item) at = &(*at)->next;
    return at;
}

void mc_table_remove(struct mc_table *table, struct mc_item *item) {
    *place(table, item) = item->next;
    table->items--;
}

void mc_table_swap(struct mc_table *table, struct mc_item *out, struct mc_item *in) {
    in->next = out->next;
    *place(table, out) = in;
}
