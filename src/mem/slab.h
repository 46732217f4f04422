/* SPDX-License-Identifier: MIT */
/*
 * Slabs: records of one size in type-stable memory. A record that was freed may be handed out again as the same kind of
 * record, but its memory is never used for anything else, nor unmapped while the process lives. So a stale reference
 * can be read, and the generation tells that it is stale. Records are numbered, so that a reference can be a number
 * that is checked.
 *
 * Each worker has a cache of free records and exchanges batches with the shared list, so that it takes the lock once in
 * BATCH operations. Threads without a cache take the lock each time. There is a shared list for each memory node
 * (mem/node.h).
 *
 * Memory of records that were not needed for a while (aged.h) can be given back to the kernel by the page, when all
 * records of the page are free. The page then reads as zeros: generation 0, which no reference has. Values that must
 * never restart are kept outside the page: the highest generation of its records, and the highest value of the counter
 * in each record. When the page is needed again, all its records continue from there.
 *
 * A thread with a stale reference may read such a record. It may also change the record by a compare-and-swap that
 * expects a value of its own generation. All other writes to records that may be free must be prevented while the page
 * is given back: care->seal does that.
 */
#ifndef WEFT_MEM_SLAB_H
#define WEFT_MEM_SLAB_H

#include "base/lock.h"
#include "mem/aged.h"
#include "mem/node.h"

/*
 * The life of a record: its number, which never changes, and its generation, which grows by one at each get and put.
 * With an odd generation the record is in use.
 *
 *      63 .... generation .... 26 | 25 .. index .. 0
 *
 * A life names one use of one record, for ever. A loop that gets and puts one record in 40 ns would reach the last
 * generation after an hour and a half. Such a record is worn out, and the slab never hands it out again.
 */
#define WEFT_LIFE_INDEX_BITS 26
#define WEFT_LIFE_ONE (UINT64_C(1) << WEFT_LIFE_INDEX_BITS) /* one generation */
#define WEFT_LIFE_LAST (~(WEFT_LIFE_ONE - 1))               /* the last generation */

static inline uint32_t weft__life_index(uint64_t life) { return (uint32_t)(life & (WEFT_LIFE_ONE - 1)); }
static inline bool weft__life_in_use(uint64_t life) { return life & WEFT_LIFE_ONE; }

/* The head of every record. */
struct weft__slot {
    struct weft__link link; /* free: in the slab's lists; in use: for the owner */
    _Atomic uint64_t life;
};

static inline uint32_t weft__slot_index(const struct weft__slot *r) { return weft__life_index(load_rlx(&r->life)); }
static inline bool weft__slot_in_use(const struct weft__slot *r) { return weft__life_in_use(load_rlx(&r->life)); }

/* The owner: ends the use of a record. False: the record is worn out and stays free for ever. */
static inline bool weft__slot_end(struct weft__slot *r) {
    uint64_t next;
    bool worn = __builtin_add_overflow(load_rlx(&r->life), WEFT_LIFE_ONE, &next);
    store_rlx(&r->life, next);
    return likely(!worn);
}

#define WEFT_SLAB_CHUNK 4096 /* records */
#define WEFT_SLAB_CHUNKS_MAX 16384
#define WEFT_SLAB_BATCH 64
_Static_assert(WEFT_SLAB_CHUNK *WEFT_SLAB_CHUNKS_MAX <= WEFT_LIFE_ONE, "a record's number fits");

/* What a slab needs to give memory back. The record size divides the page size. */
struct weft__slab_trim_rules {
    size_t counter;                       /* offset of a word in each record that only grows, also across generations */
    bool (*seal)(struct weft__slot *r);   /* prevents all writes to this free record; false: a write is under way */
    void (*unseal)(struct weft__slot *r); /* ends that, if the memory was not given back */
};

/* A page of records. */
struct weft__slab_page {
    struct weft__dlink spot; /* in the pool's list of pages with idle records, or of pages without memory */
    struct weft__link *idle; /* old free records */
    uint16_t idle_count;
    uint32_t first;         /* number of its first record */
    uint64_t life, counter; /* while it has no memory: where its records continue */
};

struct weft__slab {
    size_t record_size;
    const struct weft__slab_trim_rules *care; /* NULL: never gives memory back */
    struct weft__lock lock;                   /* to make a chunk; taken with a pool's lock held */
    struct weft__lock trimming;               /* to give memory back; taken before a pool's lock */
    _Atomic uint32_t records;                 /* number of records made: [0, records) exist */
    struct weft__slab_pool {
        struct weft__lock lock;
        struct weft__aged aged;             /* free records */
        struct weft__dlink *partial, *cold; /* pages with idle records, and pages without memory */
    } WEFT_ALIGNED pool[WEFT_MEM_NODES];
    uint8_t node[WEFT_SLAB_CHUNKS_MAX]; /* the memory node of each chunk; constant */
    _Atomic(char *) chunk[WEFT_SLAB_CHUNKS_MAX];
    struct weft__slab_page *page[WEFT_SLAB_CHUNKS_MAX]; /* the pages of each chunk; only with care */
};

struct weft__slab_cache {
    struct weft__link *free;
    unsigned count;
    uint8_t node; /* may change at any time */
};

/* A record in use. Its other bytes are as they were left (zero the first time). NULL: no memory. The cache may be
 * NULL. */
struct weft__slot *weft__slab_get_slow(struct weft__slab *s, struct weft__slab_cache *c);
void weft__slab_put_slow(struct weft__slab *s, struct weft__slab_cache *c, struct weft__slot *r);
/* Returns all records of the cache. */
void weft__slab_flush(struct weft__slab *s, struct weft__slab_cache *c);

/* Ends a period. False: no record is left that could age. */
bool weft__slab_end_period(struct weft__slab *s);
/* Gives some old memory back to the kernel, a little at a time. False: there is nothing left to do. */
bool weft__slab_trim(struct weft__slab *s);

static inline struct weft__slot *weft__slab_get(struct weft__slab *s, struct weft__slab_cache *c) {
    if (unlikely(!c || !c->free)) return weft__slab_get_slow(s, c);
    struct weft__slot *r = container_of(c->free, struct weft__slot, link);
    c->free = r->link.next;
    c->count--;
    count_add(&r->life, WEFT_LIFE_ONE);
    return r;
}

static inline void weft__slab_put(struct weft__slab *s, struct weft__slab_cache *c, struct weft__slot *r) {
    if (unlikely(!c || c->count >= 2 * WEFT_SLAB_BATCH)) {
        weft__slab_put_slow(s, c, r);
        return;
    }
    if (unlikely(!weft__slot_end(r))) return;
    r->link.next = c->free;
    c->free = &r->link;
    c->count++;
}

/* In a forked child: drops the lists that a thread of the parent was just changing. */
void weft__slab_after_fork(struct weft__slab *s);

/* The record with this number, free or in use; NULL: none. A caller with a constant record size saves a
 * multiplication. */
static inline struct weft__slot *weft__slab_at_sized(struct weft__slab *s, uint32_t index, size_t record_size) {
    if (unlikely(index >= load_acq(&s->records))) return NULL; /* pairs with make_chunk_locked */
    char *chunk = load_rlx(&s->chunk[index / WEFT_SLAB_CHUNK]);
    return (struct weft__slot *)(void *)(chunk + index % WEFT_SLAB_CHUNK * record_size);
}

static inline struct weft__slot *weft__slab_at(struct weft__slab *s, uint32_t index) {
    return weft__slab_at_sized(s, index, s->record_size);
}

#endif
