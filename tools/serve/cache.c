/* SPDX-License-Identifier: MIT */
/*
 * See cache.h. The table has several parts, each with a lock, chains by hash, and a circular list of all its entries. A
 * hand goes round, and evicts the first entry that was not used since its last visit.
 */
#include "cache.h"

#include "base/base.h"
#include "tick.h"
#include "weft.h"

#include <stdlib.h>

enum { PARTS = 16, PATH_MOST = 1024 };

struct entry {
    struct entry *next; /* the next entry of its chain */
    struct file *file;
    uint32_t hash, looked; /* looked: the second of the last check */
    uint32_t at;           /* its index in the ring */
    uint32_t size;
    bool used; /* used since the last visit of the hand */
    char path[];
};

struct part {
    _Alignas(64) struct weft_mutex lock;
    struct entry **chains; /* `most` chains, a power of two */
    struct entry **ring;   /* `count` entries */
    uint32_t count, hand;
};

static struct part parts[PARTS];
static uint32_t most; /* the most entries of a part */

int cache_begin(unsigned files) {
    most = 1;
    while (most * PARTS < files) most *= 2;
    if (!files) most = 0;
    for (struct part *p = parts; p < parts + PARTS && most; p++) {
        p->chains = calloc(most, sizeof *p->chains);
        p->ring = calloc(most, sizeof *p->ring);
        if (!p->chains || !p->ring) return -ENOMEM;
    }
    return (int)(most * PARTS);
}

static uint32_t hash_of(struct text path) {
    uint32_t hash = 2166136261u;
    for (uint32_t i = 0; i < path.size; i++) hash = (hash ^ (uint8_t)path.at[i]) * 16777619u;
    return hash;
}

static struct part *part_of(uint32_t hash) { return &parts[hash >> 28]; }

/* --- under the part's lock --------------------------------------------------------------------- */

/* Returns the address of the pointer to the entry. That pointer is NULL if there is no entry. */
static struct entry **find(struct part *p, struct text path, uint32_t hash) {
    struct entry **at = &p->chains[hash & (most - 1)];
    while (*at && !((*at)->hash == hash && text_is((struct text){(*at)->path, (*at)->size}, path))) at = &(*at)->next;
    return at;
}

/* Removes an entry. Returns its file, which the caller releases without the lock. */
static struct file *take_out(struct part *p, struct entry *e) {
    struct entry **at = &p->chains[e->hash & (most - 1)];
    struct file *file = e->file;
    struct entry *last = p->ring[--p->count];
    while (*at != e) at = &(*at)->next;
    *at = e->next;
    p->ring[last->at = e->at] = last;
    free(e);
    return file;
}

static struct entry *least_used(struct part *p) {
    for (;; p->hand++) {
        struct entry *e = p->ring[p->hand % p->count];
        if (!e->used) return e;
        e->used = false;
    }
}

/* --- the calls ---------------------------------------------------------------------------------------- */

/* The first user in each second checks whether the file is current; meanwhile others still use it. */
struct file *cache_find(struct text path) {
    if (!most || path.size > PATH_MOST) return NULL;
    uint32_t hash = hash_of(path), now = tick_now();
    struct part *p = part_of(hash);
    struct file *file = NULL;
    bool look = false;
    weft_mutex_lock(&p->lock);
    struct entry *e = *find(p, path, hash);
    if (likely(e)) {
        look = e->looked != now;
        e->looked = now;
        e->used = true;
        file = e->file;
        file_hold(file);
    }
    weft_mutex_unlock(&p->lock);
    if (likely(!look) || file_current(file)) return file;
    cache_drop(path);
    file_release(file);
    return NULL;
}

void cache_put(struct text path, struct file *file) {
    if (!most || path.size > PATH_MOST) return;
    uint32_t hash = hash_of(path);
    struct part *p = part_of(hash);
    struct file *old = NULL;
    struct entry *e = malloc(sizeof *e + path.size);
    if (!e) return; /* the next request opens the file again */
    *e = (struct entry){.file = file, .hash = hash, .looked = tick_now(), .size = path.size, .used = true};
    memcpy(e->path, path.at, path.size);
    file_hold(file);
    weft_mutex_lock(&p->lock);
    struct entry *same = *find(p, path, hash);
    if (same || p->count == most) old = take_out(p, same ? same : least_used(p));
    e->next = p->chains[hash & (most - 1)];
    p->chains[hash & (most - 1)] = e;
    p->ring[e->at = p->count++] = e;
    weft_mutex_unlock(&p->lock);
    if (old) file_release(old);
}

void cache_drop(struct text path) {
    if (!most || path.size > PATH_MOST) return;
    uint32_t hash = hash_of(path);
    struct part *p = part_of(hash);
    struct file *file = NULL;
    weft_mutex_lock(&p->lock);
    struct entry *e = *find(p, path, hash);
    if (e) file = take_out(p, e);
    weft_mutex_unlock(&p->lock);
    if (file) file_release(file);
}

void cache_end(void) {
    for (struct part *p = parts; p < parts + PARTS; p++) {
        while (p->count) file_release(take_out(p, p->ring[0]));
        free(p->chains);
        free(p->ring);
    }
}
