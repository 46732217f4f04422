/* SPDX-License-Identifier: MIT */
/*
 * Finds which ELF files are mapped, where their unwind tables are, and where weft's table is. All of this is read from
 * the memory of the process, because the files may have been replaced since.
 */
#define _GNU_SOURCE
#include "base/sys.h"
#include "look/elf_names.h"
#include "look/look.h"

#include <elf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#define WEFT_HEADERS_MOST 64
#define WEFT_NOTES_MOST 65536
#define WEFT_MAPPINGS_MOST (1u << 20)

/* --- notes ---------------------------------------------------------------------------------------- */

/* The address of weft's table, if there is a note that says it; otherwise 0. */
static uint64_t find_layout(const char *notes, size_t size, uint64_t at) {
    for (size_t i = 0; i + sizeof(Elf64_Nhdr) <= size;) {
        Elf64_Nhdr n;
        memcpy(&n, notes + i, sizeof n);
        size_t name = i + sizeof n, text = name + ((size_t)n.n_namesz + 3) / 4 * 4;
        size_t next = text + ((size_t)n.n_descsz + 3) / 4 * 4;
        if (next > size) break;
        if (n.n_type == WEFT_LAYOUT_NOTE && n.n_namesz == 5 && n.n_descsz == 8 && !memcmp(notes + name, "weft", 5))
            return at + text + weft__u64(notes, text);
        i = next;
    }
    return 0;
}

static uint64_t layout_in(struct weft__memory *m, uint64_t at, uint64_t size) {
    if (!size || size > WEFT_NOTES_MOST) return 0;
    char *notes = weft__alloc(size);
    uint64_t found = notes && weft__peek(m, at, notes, size) ? find_layout(notes, size, at) : 0;
    weft__free(notes);
    return found;
}

/* --- headers -------------------------------------------------------------------------------------- */

static bool read_headers(struct weft__memory *m, uint64_t at, Elf64_Ehdr *e, Elf64_Phdr *p) {
    if (!weft__peek(m, at, e, sizeof *e) || memcmp(e->e_ident, ELFMAG, SELFMAG)) return false;
    if (e->e_ident[EI_CLASS] != ELFCLASS64 || e->e_phentsize != sizeof *p || e->e_phnum > WEFT_HEADERS_MOST)
        return false;
    return weft__peek(m, at + e->e_phoff, p, e->e_phnum * sizeof *p);
}

/* Only the section headers say where .eh_frame is, and these are in the file, not in memory. The path goes through the
 * root directory of the process, which may have another file under this name than the caller. */
static void find_frames(struct weft__memory *m, const Elf64_Ehdr *e, struct weft__module *to) {
    char path[sizeof to->path + 32];
    Elf64_Shdr section;
    snprintf(path, sizeof path, "/proc/%d/root%s", (int)m->pid, to->path);
    if (!weft__elf_section(m->pid ? path : to->path, e, ".eh_frame", &section)) return;
    to->frames = to->bias + section.sh_addr;
    to->frames_size = section.sh_size;
}

/* Looks at an ELF header that is mapped at `at`; false: it is none. */
static bool module_look_at(struct weft__memory *m, uint64_t at, struct weft__module *to) {
    Elf64_Ehdr e;
    Elf64_Phdr *p = weft__alloc(WEFT_HEADERS_MOST * sizeof *p);
    uint64_t lowest = UINT64_MAX;
    bool is_elf = p && read_headers(m, at, &e, p);
    for (unsigned i = 0; is_elf && i < e.e_phnum; i++)
        if (p[i].p_type == PT_LOAD && p[i].p_vaddr < lowest) lowest = p[i].p_vaddr & ~UINT64_C(0xfff);
    if (lowest == UINT64_MAX) is_elf = false;
    if (is_elf) to->bias = at - lowest;
    for (unsigned i = 0; is_elf && i < e.e_phnum; i++) {
        if (p[i].p_type == PT_GNU_EH_FRAME) to->unwind = to->bias + p[i].p_vaddr;
        if (p[i].p_type == PT_NOTE && !to->layout) to->layout = layout_in(m, to->bias + p[i].p_vaddr, p[i].p_memsz);
    }
    if (is_elf && !to->unwind) find_frames(m, &e, to);
    weft__free(p);
    return is_elf;
}

int weft__modules_from(struct weft__memory *m, const struct weft__mapping *mappings, unsigned n,
                       struct weft__modules *to) {
    *to = (struct weft__modules){0};
    if (!n || !(to->module = weft__alloc(n * sizeof *to->module))) return n ? -ENOMEM : 0;
    struct weft__module *last = NULL;
    for (unsigned i = 0; i < n; i++) {
        const struct weft__mapping *map = &mappings[i];
        if (last && map->offset && !strcmp(last->path, map->path)) {
            last->end = map->end;
            continue;
        }
        struct weft__module one = {.begin = map->begin, .end = map->end};
        memcpy(one.path, map->path, sizeof one.path);
        if (map->offset || !module_look_at(m, map->begin, &one)) continue;
        last = &to->module[to->count++];
        *last = one;
    }
    return 0;
}

void weft__modules_free(struct weft__modules *modules) {
    weft__free(modules->module);
    *modules = (struct weft__modules){0};
}

const struct weft__module *weft__module_at(const struct weft__modules *modules, uint64_t pc) {
    unsigned low = 0, high = modules->count;
    while (low < high) {
        unsigned middle = (low + high) / 2;
        if (modules->module[middle].end <= pc)
            low = middle + 1;
        else
            high = middle;
    }
    return low < modules->count && modules->module[low].begin <= pc ? &modules->module[low] : NULL;
}

/* --- /proc/PID/maps ------------------------------------------------------------------------------- */

/* One line: 7f00-7f01 r-xp 0000 08:01 1234   /path. False: no file is mapped there, so no module. */
static bool parse_mapping(char *line, struct weft__mapping *to) {
    unsigned long begin, end, offset;
    int path = 0;
    if (sscanf(line, "%lx-%lx %*4s %lx %*s %*s %n", &begin, &end, &offset, &path) != 3 || !path) return false;
    line[strcspn(line, "\n")] = 0;
    if (line[path] != '/' && strcmp(line + path, "[vdso]")) return false;
    *to = (struct weft__mapping){begin, end, offset, ""};
    snprintf(to->path, sizeof to->path, "%s", line + path);
    return true;
}

static bool module_add(struct weft__mapping **all, unsigned *n, unsigned *room, const struct weft__mapping *one) {
    if (*n == *room) {
        unsigned more = *room ? 2 * *room : 128;
        struct weft__mapping *moved = weft__alloc(more * sizeof *moved);
        if (!moved) return false;
        if (*n) memcpy(moved, *all, *n * sizeof *moved);
        weft__free(*all);
        *all = moved;
        *room = more;
    }
    (*all)[(*n)++] = *one;
    return true;
}

int weft__modules_of(struct weft__memory *m, struct weft__modules *to) {
    char path[32], *line = NULL;
    size_t size = 0;
    struct weft__mapping *all = NULL, one;
    unsigned n = 0, room = 0;
    *to = (struct weft__modules){0};
    snprintf(path, sizeof path, "/proc/%d/maps", (int)m->pid);
    FILE *maps = fopen(path, "re");
    if (!maps) return errno == ENOENT ? -ESRCH : -errno;
    bool room_left = true;
    while (room_left && n < WEFT_MAPPINGS_MOST && getline(&line, &size, maps) > 0)
        if (parse_mapping(line, &one)) room_left = module_add(&all, &n, &room, &one);
    bool failed = ferror(maps);
    fclose(maps);
    free(line);
    int err = failed ? -ESRCH : room_left ? weft__modules_from(m, all, n, to) : -ENOMEM;
    weft__free(all);
    return err;
}
