/* SPDX-License-Identifier: MIT */
/*
 * An item: a key, its value, and its metadata. It is one chunk. If it is larger than the largest chunk, it is such a
 * chunk and further pieces. The value includes the \r\n that ends it on the wire.
 *
 * Ownership: a linked item is in its shard's table, and belongs to the holder of the shard's lock. An unlinked item,
 * which still receives its value, belongs to the session that made it. If `refs` is not 0, fibers send the value
 * without holding the lock: then value and key do not change, and if the item is unlinked meanwhile, the last of these
 * fibers frees it.
 */
#ifndef CACHED_ITEM_H
#define CACHED_ITEM_H

#include "page.h"

#include <string.h>

#define MC_KEY_MOST 250

enum {
    MC_LINKED = 1,
    MC_VISITED = 2,     /* requested since the hand passed last (evict.c) */
    MC_FETCHED = 4,     /* was requested at least once */
    MC_BINARY = 8,      /* the client sent the key in base64 */
    MC_STALE = 16,      /* marked by md with I */
    MC_TOKEN_SENT = 32, /* a client was told to store a new value */
};

struct mc_item {
    struct mc_item *next;          /* the next item of its bucket */
    struct mc_item *newer, *older; /* neighbours in the queue of its class */
    uint64_t cas;
    uint32_t last, expires;
    uint32_t size; /* bytes of the value, without \r\n */
    uint32_t flags;
    uint32_t hash;
    uint32_t refs;
    uint8_t key_size;
    uint8_t cls;
    uint8_t bits;
    uint8_t chained; /* further pieces follow; not one of the bits, because it is read without the lock */
    char bytes[];    /* the key; if chained, a pointer to the first piece; then the value */
};
#define MC_ITEM_HEAD offsetof(struct mc_item, bytes)

struct mc_piece {
    struct mc_piece *next;
    struct mc_item *owner;
    char bytes[];
};
#define MC_PIECE_HEAD offsetof(struct mc_piece, bytes)
#define MC_PIECE_MOST (MC_CHUNK_MOST - MC_PIECE_HEAD)

static inline const char *mc_item_key(const struct mc_item *item) { return item->bytes; }

static inline bool mc_item_chains(size_t key_size, size_t size) {
    return MC_ITEM_HEAD + key_size + size + 2 > MC_CHUNK_MOST;
}

/* Returns the bytes that an item needs, in all its chunks. */
static inline size_t mc_item_total(size_t key_size, size_t size) {
    size_t total = MC_ITEM_HEAD + key_size + size + 2;
    if (!mc_item_chains(key_size, size)) return total;
    size_t rest = size + 2 - (MC_CHUNK_MOST - MC_ITEM_HEAD - key_size - sizeof(void *));
    return total + sizeof(void *) + (rest + MC_PIECE_MOST - 1) / MC_PIECE_MOST * MC_PIECE_HEAD;
}

static inline struct mc_piece *mc_item_pieces(const struct mc_item *item) {
    struct mc_piece *first = NULL;
    if (item->chained) memcpy(&first, item->bytes + item->key_size, sizeof first);
    return first;
}

/* Returns the value of an item that is a single chunk. */
static inline char *mc_item_value(struct mc_item *item) { return item->bytes + item->key_size; }

/* Visits a value, with its \r\n, part by part. */
struct mc_cursor {
    char *at;
    size_t here, left; /* here: contiguous bytes at this position; left: bytes of the rest of the value */
    struct mc_piece *next;
};

static inline void mc_cursor_begin(struct mc_cursor *cursor, struct mc_item *item) {
    size_t skip = item->key_size + (item->chained ? sizeof(void *) : 0), left = (size_t)item->size + 2;
    size_t here = item->chained ? MC_CHUNK_MOST - MC_ITEM_HEAD - skip : left;
    *cursor = (struct mc_cursor){item->bytes + skip, here, left, mc_item_pieces(item)};
}

static inline void mc_cursor_advance(struct mc_cursor *cursor, size_t n) {
    cursor->at += n;
    cursor->here -= n;
    cursor->left -= n;
    if (cursor->here || !cursor->left) return;
    cursor->at = cursor->next->bytes;
    cursor->here = cursor->left < MC_PIECE_MOST ? cursor->left : MC_PIECE_MOST;
    cursor->next = cursor->next->next;
}

/* Copies n bytes into the value. They must fit. */
static inline void mc_cursor_put(struct mc_cursor *cursor, const char *from, size_t n) {
    while (n) {
        size_t part = n < cursor->here ? n : cursor->here;
        memcpy(cursor->at, from, part);
        mc_cursor_advance(cursor, part);
        from += part;
        n -= part;
    }
}

#endif
