/* SPDX-License-Identifier: MIT */
/*
 * Libraries that a program loads while blocks are in use. If a library has initial-exec thread-locals, they are in the
 * spare room that every block has. The loader writes their first values for the threads that glibc lists. Blocks are
 * not listed, so this file writes the values there, after dlopen.
 */
#define _GNU_SOURCE
#include "base/lock.h"
#include "libc/libc.h"

#include <link.h>
#include <stdlib.h>

struct field {
    uint32_t bits, count, offset;
};

/* Libraries with thread-locals that were loaded when we last looked. */
struct known {
    struct known *next;
    const struct link_map *map;
    uintptr_t base;
    bool seen;
};

static pthread_mutex_t changing = PTHREAD_MUTEX_INITIALIZER;
static struct known *known;

struct search {
    uintptr_t base;
    const ElfW(Phdr) * tls;
};

static int find_tls(struct dl_phdr_info *info, size_t size, void *arg) {
    struct search *s = (struct search *)arg;
    (void)size;
    if (info->dlpi_addr != s->base) return 0;
    for (int i = 0; i < info->dlpi_phnum; i++)
        if (info->dlpi_phdr[i].p_type == PT_TLS) s->tls = &info->dlpi_phdr[i];
    return 1;
}

/* The offset of the library's thread-locals from the thread pointer; 0: it is not fixed. */
static ptrdiff_t storage_of(const struct link_map *map) {
    const struct field *f = (const struct field *)weft__libc_function("_thread_db_link_map_l_tls_offset");
    if (!f) return 0;
    ptrdiff_t offset = *(const ptrdiff_t *)(const void *)((const char *)map + f->offset);
    if (offset <= 0) return 0; /* 0, -1 and -2 mean that the offset is not fixed */
#if defined(__x86_64__)
    return -offset;
#else
    return offset;
#endif
}

static bool is_known_library(const struct link_map *map) {
    for (struct known *k = known; k; k = k->next)
        if (k->map == map && k->base == map->l_addr) {
            k->seen = true;
            return true;
        }
    return false;
}

static void forget_unseen(void) {
    for (struct known **at = &known; *at;) {
        struct known *k = *at;
        if (k->seen) {
            k->seen = false;
            at = &k->next;
        } else {
            *at = k->next;
            free(k);
        }
    }
}

void weft__libc_heed_libraries(bool initialise) {
    pthread_mutex_lock(&changing);
    for (const struct link_map *map = _r_debug.r_map; map; map = map->l_next) {
        struct search s = {map->l_addr, NULL};
        if (is_known_library(map)) continue;
        struct known *k = (struct known *)malloc(sizeof *k);
        if (!k) continue; /* no memory: the next change tries again */
        *k = (struct known){known, map, map->l_addr, true};
        known = k;
        dl_iterate_phdr(find_tls, &s);
        ptrdiff_t at = s.tls ? storage_of(map) : 0;
        if (initialise && at)
            weft__blocks_initialise(at, (const void *)(map->l_addr + s.tls->p_vaddr), s.tls->p_filesz, s.tls->p_memsz);
    }
    forget_unseen();
    pthread_mutex_unlock(&changing);
}
