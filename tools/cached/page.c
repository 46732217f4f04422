/* SPDX-License-Identifier: MIT */
#include "page.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define EXTENT_MOST (64 * (size_t)MC_PAGE) /* the most bytes that are mapped at once */
#define EXTENT_BEYOND 16                   /* the most pages that are mapped at once beyond the limit */
#define SMALLEST 80u

struct mc_extent {
    struct mc_extent *next;
    void *base;
    size_t size;
};

static unsigned sizes[MC_CLASSES_MOST], count;
static uint8_t class_by_8[MC_CHUNK_MOST / 8 + 1];

/* Adds a class with this number of chunks in a page. The chunks are as large as possible. */
static void add_class(unsigned chunks) {
    unsigned size = (MC_PAGE - MC_PAGE_HEAD) / chunks & ~7u;
    if (!count || size > sizes[count - 1]) sizes[count++] = size;
}

void mc_classes_begin(void) {
    if (count) return;
    unsigned room = MC_PAGE - MC_PAGE_HEAD;
    for (unsigned size = SMALLEST; size < room / 16; size += size / 4) add_class(room / size);
    for (unsigned chunks = 15; chunks >= 4; chunks -= chunks > 8 ? 2 : 1) add_class(chunks);
    for (unsigned i = 0, cls = 0; i < sizeof class_by_8; i++) {
        while (cls + 1 < count && i * 8 > sizes[cls]) cls++;
        class_by_8[i] = (uint8_t)cls;
    }
}

unsigned mc_classes(void) { return count; }
unsigned mc_class_size(unsigned cls) { return sizes[cls]; }
unsigned mc_class_of(size_t size) { return class_by_8[(size + 7) / 8]; }

void mc_memory_begin(struct mc_memory *memory, size_t pages) { *memory = (struct mc_memory){.limit = pages}; }

void mc_memory_end(struct mc_memory *memory) {
    for (struct mc_extent *e = memory->extents, *next; e; e = next) {
        next = e->next;
        munmap(e->base, e->size);
        free(e);
    }
    memory->extents = NULL;
}

/* Reserves address space for more pages. The kernel provides memory as they are used. */
static bool extend(struct mc_memory *memory) {
    size_t left = memory->limit > memory->pages ? memory->limit - memory->pages : EXTENT_BEYOND;
    size_t wanted = left * MC_PAGE, size = wanted < EXTENT_MOST ? wanted : EXTENT_MOST;
    struct mc_extent *e = malloc(sizeof *e);
    if (!e) return false;
    e->size = size + MC_PAGE;
    e->base = mmap(NULL, e->size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (e->base == MAP_FAILED) {
        free(e);
        return false;
    }
    e->next = memory->extents;
    memory->extents = e;
    memory->fresh = (char *)(((uintptr_t)e->base + MC_PAGE - 1) & ~(uintptr_t)(MC_PAGE - 1));
    memory->fresh_end = memory->fresh + size;
    return true;
}

static struct mc_page *new_page(struct mc_memory *memory, unsigned cls, size_t beyond) {
    if (memory->pages >= memory->limit + beyond) return NULL;
    struct mc_page *page = memory->spare;
    if (page) {
        memory->spare = page->next;
        memory->spares--;
    } else {
        if (memory->fresh == memory->fresh_end && !extend(memory)) return NULL;
        page = (struct mc_page *)memory->fresh;
        memory->fresh += MC_PAGE;
    }
    memory->pages++;
    memory->class_pages[cls]++;
    memset(page, 0, sizeof *page);
    page->cls = (uint8_t)cls;
    page->chunks = (uint16_t)((MC_PAGE - MC_PAGE_HEAD) / sizes[cls]);
    return page;
}

static void room_add(struct mc_memory *memory, struct mc_page *page) {
    struct mc_page **list = &memory->with_room[page->cls];
    page->prev = NULL;
    page->next = *list;
    if (*list) (*list)->prev = page;
    *list = page;
    page->with_room = 1;
}

static void room_remove(struct mc_memory *memory, struct mc_page *page) {
    *(page->prev ? &page->prev->next : &memory->with_room[page->cls]) = page->next;
    if (page->next) page->next->prev = page->prev;
    page->with_room = 0;
}

void *mc_memory_take(struct mc_memory *memory, unsigned cls, size_t beyond) {
    struct mc_page *page = memory->with_room[cls];
    if (!page) {
        page = new_page(memory, cls, beyond);
        if (!page) return NULL;
        room_add(memory, page);
    }
    unsigned word = 0;
    while (!~page->taken[word]) word++;
    unsigned bit = (unsigned)__builtin_ctzll(~page->taken[word]);
    page->taken[word] |= UINT64_C(1) << bit;
    memory->class_used[cls]++;
    if (++page->used == page->chunks) room_remove(memory, page);
    return mc_page_chunk(page, word * 64 + bit);
}

static unsigned index_of(const struct mc_page *page, const void *chunk) {
    return (unsigned)((size_t)((const char *)chunk - (const char *)page - MC_PAGE_HEAD) / sizes[page->cls]);
}

void mc_page_mark_piece(void *chunk) {
    struct mc_page *page = mc_page_of(chunk);
    unsigned i = index_of(page, chunk);
    page->piece[i / 64] |= UINT64_C(1) << i % 64;
}

/* An unused page becomes spare. If the pages exceed a lowered limit, its memory goes back to the kernel. */
static void page_empty(struct mc_memory *memory, struct mc_page *page) {
    room_remove(memory, page);
    memory->class_pages[page->cls]--;
    if (memory->pages-- > memory->limit) madvise(page, MC_PAGE, MADV_DONTNEED);
    page->next = memory->spare;
    memory->spare = page;
    memory->spares++;
}

void mc_memory_give(struct mc_memory *memory, void *chunk) {
    struct mc_page *page = mc_page_of(chunk);
    unsigned i = index_of(page, chunk);
    page->taken[i / 64] &= ~(UINT64_C(1) << i % 64);
    page->piece[i / 64] &= ~(UINT64_C(1) << i % 64);
    memory->class_used[page->cls]--;
    if (!page->with_room) room_add(memory, page);
    if (!--page->used) page_empty(memory, page);
}
