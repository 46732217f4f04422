/* SPDX-License-Identifier: MIT */
/*
 * A core file: memory from its segments, or, where the kernel left them out, from the files that were mapped; the
 * mappings and the registers of threads from its notes.
 */
#include "target.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/procfs.h>
#include <sys/stat.h>
#include <unistd.h>

struct thread {
    int tid;
    struct weft__registers at;
};

struct core {
    const char *bytes;
    size_t size;
    const Elf64_Phdr *segment;
    unsigned segments;
    struct weft__mapping *mapping;
    int *file; /* of each mapping: a descriptor, -1: not opened yet, -2: it cannot be */
    unsigned mappings;
    struct thread *thread;
    unsigned threads;
};

/* --- memory ------------------------------------------------------------------------------------------- */

static bool in_core(const struct core *c, uint64_t at, char *to, size_t n) {
    for (unsigned i = 0; i < c->segments; i++) {
        const Elf64_Phdr *p = &c->segment[i];
        if (p->p_type != PT_LOAD || at < p->p_vaddr || at - p->p_vaddr >= p->p_filesz) continue;
        uint64_t skip = at - p->p_vaddr;
        if (p->p_filesz - skip < n || p->p_offset > c->size || c->size - p->p_offset < skip + n) return false;
        memcpy(to, c->bytes + p->p_offset + skip, n);
        return true;
    }
    return false;
}

static bool in_file(struct core *c, uint64_t at, char *to, size_t n) {
    for (unsigned i = 0; i < c->mappings; i++) {
        const struct weft__mapping *m = &c->mapping[i];
        if (at < m->begin || at >= m->end || m->end - at < n) continue;
        if (c->file[i] == -1 && (c->file[i] = open(m->path, O_RDONLY | O_CLOEXEC)) < 0) c->file[i] = -2;
        if (c->file[i] < 0) return false;
        return pread(c->file[i], to, n, (off_t)(m->offset + (at - m->begin))) == (ssize_t)n;
    }
    return false;
}

/* Reads page by page if the range does not lie in a single segment or file. */
static bool read_one(struct core *c, uint64_t at, char *to, size_t n) {
    if (in_core(c, at, to, n) || in_file(c, at, to, n)) return true;
    for (size_t some; n; at += some, to += some, n -= some) {
        some = 4096 - at % 4096;
        if (some > n) some = n;
        if (!in_core(c, at, to, some) && !in_file(c, at, to, some)) return false;
    }
    return true;
}

static void read_core(struct weft__memory *m, struct weft__want *wants, unsigned n) {
    struct target *t = (struct target *)(void *)m; /* its first member */
    for (unsigned i = 0; i < n; i++) wants[i].ok = read_one(t->core, wants[i].at, wants[i].to, wants[i].size);
}

/* --- notes -------------------------------------------------------------------------------------------- */

/* The note NT_FILE: the number of files and the size of a page; then begin, end and page of each; then the names. */
static int take_files(struct core *c, const char *note, size_t size) {
    if (size < 16) return -ENOEXEC;
    uint64_t count = weft__u64(note, 0), page = weft__u64(note, 8);
    if (count > (size - 16) / 24 || c->mapping) return -ENOEXEC;
    c->mapping = calloc(count + 1, sizeof *c->mapping);
    c->file = calloc(count + 1, sizeof *c->file);
    if (!c->mapping || !c->file) return -ENOMEM;
    const char *name = note + 16 + count * 24, *end = note + size;
    for (uint64_t i = 0; i < count; i++) {
        struct weft__mapping *m = &c->mapping[i];
        size_t length = strnlen(name, (size_t)(end - name));
        m->begin = weft__u64(note, 16 + i * 24);
        m->end = weft__u64(note, 24 + i * 24);
        m->offset = weft__u64(note, 32 + i * 24) * page;
        snprintf(m->path, sizeof m->path, "%.*s", (int)length, name);
        c->file[i] = -1;
        name += length < (size_t)(end - name) ? length + 1 : length;
    }
    c->mappings = (unsigned)count;
    return 0;
}

static struct weft__registers registers_of(const elf_gregset_t *set) {
    const unsigned long long *r = (const unsigned long long *)(const void *)set;
#if defined(__x86_64__)
    enum { RBP = 4, RCX = 11, RIP = 16, RSP = 19 };
    return (struct weft__registers){r[RIP], r[RSP], r[RBP], r[RCX]};
#else
    enum { X29 = 29, X30 = 30, SP = 31, PC = 32 };
    return (struct weft__registers){r[PC], r[SP], r[X29], r[X30]};
#endif
}

static int take_thread(struct core *c, const char *note, size_t size) {
    struct elf_prstatus status;
    if (size < sizeof status) return 0;
    memcpy(&status, note, sizeof status);
    struct thread *more = realloc(c->thread, (c->threads + 1) * sizeof *more);
    if (!more) return -ENOMEM;
    c->thread = more;
    c->thread[c->threads++] = (struct thread){status.pr_pid, registers_of(&status.pr_reg)};
    return 0;
}

static int take_notes(struct core *c, const char *notes, size_t size) {
    int err = 0;
    for (size_t i = 0; !err && i + sizeof(Elf64_Nhdr) <= size;) {
        Elf64_Nhdr n;
        memcpy(&n, notes + i, sizeof n);
        size_t text = i + sizeof n + ((size_t)n.n_namesz + 3) / 4 * 4;
        size_t next = text + ((size_t)n.n_descsz + 3) / 4 * 4;
        if (next > size) break;
        if (n.n_type == NT_FILE) err = take_files(c, notes + text, n.n_descsz);
        if (n.n_type == NT_PRSTATUS) err = take_thread(c, notes + text, n.n_descsz);
        i = next;
    }
    return err;
}

/* --- opening ------------------------------------------------------------------------------------------ */

static int parse(struct core *c) {
    const Elf64_Ehdr *e = (const Elf64_Ehdr *)(const void *)c->bytes;
    if (c->size < sizeof *e || memcmp(e->e_ident, ELFMAG, SELFMAG) || e->e_type != ET_CORE) return -ENOEXEC;
    if (e->e_ident[EI_CLASS] != ELFCLASS64 || e->e_phentsize != sizeof(Elf64_Phdr)) return -ENOEXEC;
    uint64_t n = e->e_phnum;
    if (n == PN_XNUM) { /* more than fit: the first section header says how many */
        if (e->e_shoff > c->size || c->size - e->e_shoff < sizeof(Elf64_Shdr)) return -ENOEXEC;
        n = ((const Elf64_Shdr *)(const void *)(c->bytes + e->e_shoff))->sh_info;
    }
    if (e->e_phoff % 8 || e->e_phoff > c->size || n > (c->size - e->e_phoff) / sizeof(Elf64_Phdr)) return -ENOEXEC;
    c->segment = (const Elf64_Phdr *)(const void *)(c->bytes + e->e_phoff);
    c->segments = (unsigned)n;
    int err = 0;
    for (unsigned i = 0; !err && i < c->segments; i++) {
        const Elf64_Phdr *p = &c->segment[i];
        if (p->p_type != PT_NOTE || p->p_offset > c->size || p->p_filesz > c->size - p->p_offset) continue;
        err = take_notes(c, c->bytes + p->p_offset, p->p_filesz);
    }
    return err;
}

int core_open(struct target *t, const char *path) {
    struct stat s;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return -errno;
    struct core *c = calloc(1, sizeof *c);
    int err = !c ? -ENOMEM : fstat(fd, &s) ? -errno : !S_ISREG(s.st_mode) || !s.st_size ? -ENOEXEC : 0;
    if (!err) {
        void *bytes = mmap(NULL, (size_t)s.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
        if (bytes == MAP_FAILED)
            err = -errno;
        else {
            c->bytes = bytes;
            c->size = (size_t)s.st_size;
            err = parse(c);
        }
    }
    close(fd);
    if (err) {
        if (c) core_close(c);
        return err;
    }
    t->core = c;
    t->memory.read = read_core;
    t->memory.pid = c->threads ? c->thread[0].tid : 0;
    return weft__modules_from(&t->memory, c->mapping, c->mappings, &t->look.modules);
}

void core_close(struct core *c) {
    for (unsigned i = 0; i < c->mappings; i++)
        if (c->file[i] >= 0) close(c->file[i]);
    if (c->bytes) munmap((void *)(uintptr_t)c->bytes, c->size);
    free(c->mapping);
    free(c->file);
    free(c->thread);
    free(c);
}

bool core_registers(const struct core *c, int tid, struct weft__registers *to) {
    for (unsigned i = 0; i < c->threads; i++)
        if (c->thread[i].tid == tid) {
            *to = c->thread[i].at;
            return true;
        }
    return false;
}
