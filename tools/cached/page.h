/* SPDX-License-Identifier: MIT */
/*
 * Memory of one shard: pages of 64 KiB, each cut into chunks of one size, a class.
 *
 * A page belongs to a class while any of its chunks is in use; any class may take an empty page. So no memory stays
 * with a size that is no longer used, and the number of pages is the memory in use. A bit map in the page shows which
 * chunks are in use, so the cache can visit a page that it wants to free (evict.c). A used chunk begins with an item,
 * or is a piece of a longer item.
 *
 * The caller holds the shard's lock.
 */
#ifndef CACHED_PAGE_H
#define CACHED_PAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MC_PAGE 65536u
#define MC_CLASSES_MOST 40
#define MC_MAP_WORDS 16

struct mc_page {
    struct mc_page *next, *prev; /* neighbours in the list of pages of the class with a free chunk; spare pages use only
                                    next */
    uint16_t used, chunks;
    uint8_t cls;
    uint8_t with_room; /* the page is in the list of pages with a free chunk */
    uint64_t taken[MC_MAP_WORDS], piece[MC_MAP_WORDS];
};
#define MC_PAGE_HEAD 320u /* bytes of a page before its chunks */
#define MC_CHUNK_MOST ((MC_PAGE - MC_PAGE_HEAD) / 4 & ~7u)
_Static_assert(sizeof(struct mc_page) <= MC_PAGE_HEAD, "a page's head");

struct mc_memory {
    size_t limit, pages; /* pages that may be used, and pages that are used */
    size_t spares;       /* spare pages, which were used before */
    struct mc_page *spare;
    char *fresh, *fresh_end; /* pages that are mapped but were never used */
    struct mc_extent *extents;
    struct mc_page *with_room[MC_CLASSES_MOST];
    uint32_t class_pages[MC_CLASSES_MOST], class_used[MC_CLASSES_MOST];
};

/* The classes are the same in all shards and numbered from 0. mc_classes returns their number, mc_class_size the size
 * of a chunk, mc_class_of the smallest class for a size. */
void mc_classes_begin(void);
unsigned mc_classes(void);
unsigned mc_class_size(unsigned cls);
unsigned mc_class_of(size_t size); /* size: at most MC_CHUNK_MOST */

void mc_memory_begin(struct mc_memory *memory, size_t pages);
void mc_memory_end(struct mc_memory *memory);

/* Returns a chunk, or NULL: this class has no free chunk, and there is no page within the limit and `beyond` it. */
void *mc_memory_take(struct mc_memory *memory, unsigned cls, size_t beyond);
void mc_memory_give(struct mc_memory *memory, void *chunk);

static inline struct mc_page *mc_page_of(const void *chunk) {
    return (struct mc_page *)((uintptr_t)chunk & ~(uintptr_t)(MC_PAGE - 1));
}
static inline void *mc_page_chunk(struct mc_page *page, unsigned i) {
    return (char *)page + MC_PAGE_HEAD + (size_t)i * mc_class_size(page->cls);
}
/* Marks a new chunk as a piece, not an item. Returning the chunk removes the mark. */
void mc_page_mark_piece(void *chunk);

#endif
