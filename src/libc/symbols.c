/* SPDX-License-Identifier: MIT */
/*
 * Looks up symbols of a loaded library in its own tables. dlsym is no choice: it takes locks and may call malloc. A
 * preloaded allocator may call a function that weft looks up here, and dlsym would then call the allocator again.
 */
#define _GNU_SOURCE
#include "libc/libc.h"

#include <gnu/libc-version.h>
#include <link.h>
#include <string.h>

struct search {
    uintptr_t address;
    struct weft__module *module;
};

/* The loader has relocated these pointers, except where the section is read-only. */
static uintptr_t absolute_address(uintptr_t base, uintptr_t p) { return p < base ? p + base : p; }

static bool read_dynamic(struct weft__module *m, const ElfW(Dyn) * d) {
    for (; d->d_tag != DT_NULL; d++) {
        uintptr_t p = absolute_address(m->base, d->d_un.d_ptr);
        if (d->d_tag == DT_SYMTAB) m->symbols = (const void *)p;
        if (d->d_tag == DT_STRTAB) m->names = (const char *)p;
        if (d->d_tag == DT_GNU_HASH) m->hash = (const uint32_t *)p;
        if (d->d_tag == DT_VERSYM) m->versions = (const void *)p;
    }
    return m->symbols && m->names && m->hash;
}

static int look_at_library(struct dl_phdr_info *info, size_t size, void *arg) {
    struct search *s = (struct search *)arg;
    const ElfW(Dyn) *dynamic = NULL;
    bool contains = false;
    (void)size;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *p = &info->dlpi_phdr[i];
        uintptr_t start = info->dlpi_addr + p->p_vaddr;
        if (p->p_type == PT_LOAD && s->address >= start && s->address - start < p->p_memsz) contains = true;
        if (p->p_type == PT_DYNAMIC) dynamic = (const ElfW(Dyn) *)start;
    }
    if (!contains) return 0;
    *s->module = (struct weft__module){.base = info->dlpi_addr};
    return dynamic && read_dynamic(s->module, dynamic) ? 1 : -1;
}

bool weft__module_containing(struct weft__module *m, uintptr_t address) {
    struct search s = {address, m};
    return dl_iterate_phdr(look_at_library, &s) == 1;
}

static uint32_t symbol_hash_of(const char *name) {
    uint32_t h = 5381;
    for (; *name; name++) h = h * 33 + (unsigned char)*name;
    return h;
}

/* The hash table begins with four words: number of buckets, number of the first hashed symbol, size of the Bloom
 * filter, shift. Then follow the Bloom filter, the buckets, and the chains of hashes. Bit 0 marks the end of a chain.
 */
void *weft__module_find(const struct weft__module *m, const char *name) {
    const ElfW(Sym) *symbols = (const ElfW(Sym) *)m->symbols;
    const ElfW(Half) *versions = (const ElfW(Half) *)m->versions;
    uint32_t h = symbol_hash_of(name), skipped = m->hash[1];
    const uint32_t *buckets = m->hash + 4 + m->hash[2] * (sizeof(ElfW(Addr)) / 4), *chains = buckets + m->hash[0];
    uint32_t i = buckets[h % m->hash[0]];
    if (i < skipped) return NULL;
    for (;; i++) {
        uint32_t c = chains[i - skipped];
        bool is_default = !versions || !(versions[i] & 0x8000);
        if ((c | 1) == (h | 1) && is_default && symbols[i].st_shndx && !strcmp(m->names + symbols[i].st_name, name))
            return (void *)(m->base + symbols[i].st_value);
        if (c & 1) return NULL;
    }
}

void *weft__libc_function(const char *name) {
    static struct weft__module libc; /* every thread writes the same values */
    if (!libc.hash) {
        struct weft__module m;
        if (!weft__module_containing(&m, (uintptr_t)gnu_get_libc_version)) return NULL;
        libc = m;
    }
    return weft__module_find(&libc, name);
}
