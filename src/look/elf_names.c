/* SPDX-License-Identifier: MIT */
/* See elf_names.h. The file is read, not mapped. So if another program truncates it meanwhile, that is an error, not a
 * fault. */
#include "look/elf_names.h"

#include "base/sys.h"

#include <elf.h>
#include <fcntl.h>
#include <unistd.h>

#define WEFT_SYMBOLS_MOST (1u << 22)
#define WEFT_STRINGS_MOST (1u << 28)
#define WEFT_SECTIONS_MOST 4096

struct table {
    bool tried;
    Elf64_Sym *symbol;
    size_t symbols;
    char *strings;
    size_t size;
};

struct weft__elf_names {
    const struct weft__modules *modules;
    struct table table[];
};

static void *read_part(int fd, uint64_t at, uint64_t size) {
    char *to = weft__alloc(size + 1);
    for (uint64_t done = 0; to && done < size;) {
        ssize_t got = pread(fd, to + done, size - done, (off_t)(at + done));
        if (got <= 0) {
            weft__free(to);
            return NULL;
        }
        done += (uint64_t)got;
    }
    return to;
}

/* Opens the file. It may have been replaced: it must have the header that is in memory. -1: it cannot be used. */
static int open_elf(const char *path, const Elf64_Ehdr *mapped) {
    Elf64_Ehdr e;
    int fd = path[0] == '/' ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    if (fd < 0) return -1;
    if (pread(fd, &e, sizeof e, 0) == sizeof e && !memcmp(&e, mapped, sizeof e) && e.e_shnum <= WEFT_SECTIONS_MOST &&
        e.e_shentsize == sizeof(Elf64_Shdr))
        return fd;
    close(fd);
    return -1;
}

bool weft__elf_section(const char *path, const Elf64_Ehdr *mapped, const char *name, Elf64_Shdr *to) {
    int fd = open_elf(path, mapped);
    bool found = false;
    if (fd < 0) return false;
    Elf64_Shdr *s = read_part(fd, mapped->e_shoff, (uint64_t)mapped->e_shnum * sizeof *s);
    const Elf64_Shdr *list = s && mapped->e_shstrndx < mapped->e_shnum ? &s[mapped->e_shstrndx] : NULL;
    char *names = list && list->sh_size <= WEFT_STRINGS_MOST ? read_part(fd, list->sh_offset, list->sh_size) : NULL;
    for (unsigned i = 0; names && i < mapped->e_shnum && !found; i++) {
        if (s[i].sh_name >= list->sh_size) continue;
        size_t room = list->sh_size - s[i].sh_name;
        found = strnlen(names + s[i].sh_name, room) < room && !strcmp(names + s[i].sh_name, name);
        if (found) *to = s[i];
    }
    weft__free(names);
    weft__free(s);
    close(fd);
    return found;
}

static void read_table(int fd, const Elf64_Ehdr *e, struct table *t) {
    Elf64_Shdr *s = read_part(fd, e->e_shoff, (uint64_t)e->e_shnum * sizeof *s);
    for (unsigned i = 0; s && i < e->e_shnum; i++) {
        if (s[i].sh_type != SHT_SYMTAB || s[i].sh_link >= e->e_shnum) continue;
        const Elf64_Shdr *strings = &s[s[i].sh_link];
        uint64_t symbols = s[i].sh_size / sizeof *t->symbol;
        if (symbols > WEFT_SYMBOLS_MOST || strings->sh_size > WEFT_STRINGS_MOST) break;
        t->symbol = read_part(fd, s[i].sh_offset, symbols * sizeof *t->symbol);
        t->strings = read_part(fd, strings->sh_offset, strings->sh_size);
        if (t->symbol && t->strings) {
            t->symbols = symbols;
            t->size = strings->sh_size;
        }
        break;
    }
    weft__free(s);
}

static void open_table(const struct weft__module *m, struct table *t) {
    Elf64_Ehdr mapped;
    t->tried = true;
    memcpy(&mapped, (const void *)(uintptr_t)m->begin, sizeof mapped);
    int fd = open_elf(m->path, &mapped);
    if (fd < 0) return;
    read_table(fd, &mapped, t);
    close(fd);
}

struct weft__elf_names *weft__elf_names_make(const struct weft__modules *modules) {
    struct weft__elf_names *names = weft__alloc(sizeof *names + modules->count * sizeof *names->table);
    if (names) names->modules = modules;
    return names;
}

void weft__elf_names_free(struct weft__elf_names *names) {
    for (unsigned i = 0; names && i < names->modules->count; i++) {
        weft__free(names->table[i].symbol);
        weft__free(names->table[i].strings);
    }
    weft__free(names);
}

const char *weft__elf_name(struct weft__elf_names *names, uint64_t at, bool is_code, uint64_t *offset) {
    const struct weft__module *m = weft__module_at(names->modules, at);
    if (!m) return NULL;
    struct table *t = &names->table[m - names->modules->module];
    if (!t->tried) open_table(m, t);
    uint64_t wanted = at - m->bias;
    for (size_t i = 0; i < t->symbols; i++) {
        const Elf64_Sym *s = &t->symbol[i];
        if (ELF64_ST_TYPE(s->st_info) != (is_code ? STT_FUNC : STT_OBJECT) || s->st_name >= t->size) continue;
        if (wanted < s->st_value || wanted - s->st_value >= s->st_size) continue;
        *offset = wanted - s->st_value;
        return t->strings + s->st_name;
    }
    return NULL;
}
