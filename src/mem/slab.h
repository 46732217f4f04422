/*
 * Slabs: records of one size whose memory stays what it is. A record that was given back may be
 * handed out again, as the same kind of record, but its memory is never used for anything else nor
 * unmapped while the process lives. So a stale reference can be looked at, and the generation tells
 * that it is stale. Records are numbered, so that a reference can be a number that is checked.
 *
 * Each worker keeps a cache of free records and takes and returns them in batches, so that the
 * shared list behind a lock is seen once in BATCH operations. Threads without a cache pay the lock.
 * There is such a list for each memory node (mem/node.h).
 *
 * Memory of records that nothing has needed for a while (aged.h) can be given back to the kernel, a page at a time,
 * when all records of the page are free. The page then reads as zeros: generation 0, which no reference has. What must
 * not begin anew is kept outside, for the page as a whole: the highest generation of its records, and the highest
 * value of the counter that each has. When the page is needed again, all its records go on from there.
 *
 * Something that holds a stale reference may look at such a record, and may change it by a compare-and-swap that
 * expects a value which only the life it stands for had. What else writes to a record that may be free must be kept
 * away while its page goes: that is what care->seal is for.
 */
#ifndef WEFT_MEM_SLAB_H
#define WEFT_MEM_SLAB_H

#include "base/lock.h"
#include "mem/aged.h"
#include "mem/node.h"

/*
 * The life of a record: its number, which never changes, and its generation, which grows by one at each
 * get and put. An odd generation: the record is in use.
 *
 *      63 .... generation .... 26 | 25 .. index .. 0
 *
 * A life names one use of one record for ever. A loop that gets and puts one record in 40 ns would come to
 * the last generation after an hour and a half; a record that has is worn out: the slab never hands it out again.
 */
#define WEFT_LIFE_INDEX_BITS 26
#define WEFT_LIFE_ONE (UINT64_C(1) << WEFT_LIFE_INDEX_BITS) /* one generation */
#define WEFT_LIFE_LAST (~(WEFT_LIFE_ONE - 1))               /* the last one */

static inline uint32_t weft__life_index(uint64_t life) { return (uint32_t)(life & (WEFT_LIFE_ONE - 1)); }
static inline bool weft__life_in_use(uint64_t life) { return life & WEFT_LIFE_ONE; }

/* The head of every record. */
struct weft__slot {
    struct weft__link link; /* free: in the slab's chains; in use: the owner's */
    _Atomic uint64_t life;
};

static inline uint32_t weft__slot_index(const struct weft__slot *r) { return weft__life_index(load_rlx(&r->life)); }
static inline bool weft__slot_in_use(const struct weft__slot *r) { return weft__life_in_use(load_rlx(&r->life)); }

/* The owner: the use of a record ends. False: it is worn out, and stays free for ever. */
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

/* What a slab must know to give memory back. The size of its records divides that of a page. */
struct weft__slab_care {
    size_t counter;                       /* where each has a word that only grows, also from one life to the next */
    bool (*seal)(struct weft__slot *r);   /* nothing writes to this free record from now on; false: something does */
    void (*unseal)(struct weft__slot *r); /* the end of that, if its memory was not given back */
};

/* A page of records. */
struct weft__slab_page {
    struct weft__spot spot;  /* in the pool's list of pages that have idle records, or of those without memory */
    struct weft__link *idle; /* records that are old, and free */
    uint16_t idle_count;
    uint32_t first;         /* number of its first record */
    uint64_t life, counter; /* without memory: where its records go on */
};

struct weft__slab {
    size_t record_size;
    const struct weft__slab_care *care; /* NULL: no memory is given back */
    struct weft__lock lock;             /* to make a chunk; taken while holding a pool's */
    struct weft__lock trimming;         /* to give memory back; taken before a pool's */
    _Atomic uint32_t records;           /* made so far: [0, records) exist */
    struct weft__slab_pool {
        struct weft__lock lock;
        struct weft__aged aged;            /* free records */
        struct weft__spot *partial, *cold; /* pages that have idle records, or no memory */
    } WEFT_ALIGNED pool[WEFT_MEM_NODES];
    uint8_t node[WEFT_SLAB_CHUNKS_MAX]; /* for which each chunk was made; never changes */
    _Atomic(char *) chunk[WEFT_SLAB_CHUNKS_MAX];
    struct weft__slab_page *page[WEFT_SLAB_CHUNKS_MAX]; /* the pages of each; with care only */
};

struct weft__slab_cache {
    struct weft__link *free;
    unsigned count;
    uint8_t node; /* may change at any time */
};

/* A record in use, its other bytes as they were left (zero the first time). NULL:
 * no memory. The cache may be NULL. */
struct weft__slot *weft__slab_get_slow(struct weft__slab *s, struct weft__slab_cache *c);
void weft__slab_put_slow(struct weft__slab *s, struct weft__slab_cache *c, struct weft__slot *r);
/* Returns all that the cache holds. */
void weft__slab_flush(struct weft__slab *s, struct weft__slab_cache *c);

/* A period has ended. False: nothing is left that could grow older. */
bool weft__slab_turn(struct weft__slab *s);
/* Gives some of what is old back to the kernel, a little at a time; false: nothing was left to do. */
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

/* In a forked child: what was just being changed by a thread that is not there is forgotten. */
void weft__slab_forked(struct weft__slab *s);

/* The record with this number, free or in use; NULL when there is none. Whoever knows the size of
 * the records at compile time saves a multiplication. */
static inline struct weft__slot *weft__slab_at_sized(struct weft__slab *s, uint32_t index, size_t record_size) {
    if (unlikely(index >= load_acq(&s->records))) return NULL; /* pairs with the making of a chunk */
    char *chunk = load_rlx(&s->chunk[index / WEFT_SLAB_CHUNK]);
    return (struct weft__slot *)(void *)(chunk + index % WEFT_SLAB_CHUNK * record_size);
}

static inline struct weft__slot *weft__slab_at(struct weft__slab *s, uint32_t index) {
    return weft__slab_at_sized(s, index, s->record_size);
}

#endif
