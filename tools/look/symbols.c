/* SPDX-License-Identifier: MIT */
/* Names of addresses by libdw: function, file, line, and the functions that were inlined there. See target.h. */
#include "target.h"

#include <stdio.h>
#include <stdlib.h>

#ifdef HAVE_LIBDW
#include <dwarf.h>
#include <elfutils/libdwfl.h>
#include <unistd.h>

struct symbols {
    struct units *units; /* of modules that have no table of them */
    Dwfl *dwfl;
    struct target *target;
};

static char *debug_path;
static const Dwfl_Callbacks callbacks = {
    .find_elf = dwfl_build_id_find_elf, .find_debuginfo = dwfl_standard_find_debuginfo, .debuginfo_path = &debug_path};

/* Gives a module to libdw. The process may see another file under its name, or use a file that was removed since. */
static void report(struct symbols *s, const struct weft__module *m) {
    char path[512];
    int pid = s->target->memory.pid;
    if (m->path[0] != '/') return;
    snprintf(path, sizeof path, "/proc/%d/root%s", pid, m->path);
    if (s->target->core || access(path, R_OK)) snprintf(path, sizeof path, "%s", m->path);
    if (!s->target->core && access(path, R_OK) && m == s->target->look.modules.module)
        snprintf(path, sizeof path, "/proc/%d/exe", pid);
    dwfl_report_elf(s->dwfl, m->path, path, -1, m->bias, true);
}

struct here {
    void (*one)(const struct weft__symbol *, void *);
    void *arg;
    struct weft__symbol symbol;
};

static int attribute(Dwarf_Die *die, unsigned name) {
    Dwarf_Attribute a;
    Dwarf_Word v;
    return dwarf_attr(die, name, &a) && !dwarf_formudata(&a, &v) ? (int)v : 0;
}

/* From the innermost function outward, each with the line in it. False: the debugging information knows none. */
static bool say_scopes(Dwarf_Die *cu, Dwarf_Die *inner, struct here *h) {
    Dwarf_Die *scope = NULL;
    Dwarf_Files *files = NULL;
    size_t n_files = 0;
    int n = dwarf_getscopes_die(inner, &scope);
    bool any = false;
    dwarf_getsrcfiles(cu, &files, &n_files);
    for (int i = 0; i < n; i++) {
        int tag = dwarf_tag(&scope[i]);
        if (tag != DW_TAG_inlined_subroutine && tag != DW_TAG_subprogram) continue;
        h->symbol.function = dwarf_diename(&scope[i]);
        h->symbol.inlined = tag == DW_TAG_inlined_subroutine;
        if (h->symbol.function) h->one(&h->symbol, h->arg);
        any = true;
        if (tag == DW_TAG_subprogram) break;
        size_t file = (size_t)attribute(&scope[i], DW_AT_call_file);
        h->symbol.file = files && file < n_files ? dwarf_filesrc(files, file, NULL, NULL) : NULL;
        h->symbol.line = attribute(&scope[i], DW_AT_call_line);
    }
    free(scope);
    return any;
}

/* --- units that are not in .debug_aranges ------------------------------------------------------------ */

/* clang writes no such table. If gcc has written one for a part of the program, libdw searches only that table. For
 * other addresses it then finds no unit, or a wrong one. */
struct unit {
    Dwarf_Addr low, high; /* in memory */
    Dwarf_Addr bias;
    Dwarf_Die *die;
};

struct units {
    struct units *next; /* in symbols */
    struct unit *unit;
    size_t count, room;
};

static int compare_units(const void *a, const void *b) {
    const struct unit *x = a, *y = b;
    return x->low < y->low ? -1 : x->low > y->low;
}

static void add_ranges(struct units *all, Dwarf_Die *die, Dwarf_Addr bias) {
    Dwarf_Addr base, low, high;
    for (ptrdiff_t next = 0; (next = dwarf_ranges(die, next, &base, &low, &high)) > 0;) {
        if (all->count == all->room) {
            size_t room = all->room ? 2 * all->room : 256;
            struct unit *moved = realloc(all->unit, room * sizeof *moved);
            if (!moved) return;
            all->unit = moved;
            all->room = room;
        }
        all->unit[all->count++] = (struct unit){low + bias, high + bias, bias, die};
    }
}

/* The units of a module, sorted by address; made when they are first needed. NULL: no memory. */
static struct units *units_of(struct symbols *s, Dwfl_Module *module) {
    void **known;
    Dwarf_Addr bias;
    dwfl_module_info(module, &known, NULL, NULL, NULL, NULL, NULL, NULL);
    if (*known) return *known;
    struct units *all = calloc(1, sizeof *all);
    if (!all) return NULL;
    for (Dwarf_Die *die = NULL; (die = dwfl_module_nextcu(module, die, &bias));) add_ranges(all, die, bias);
    if (all->count) qsort(all->unit, all->count, sizeof *all->unit, compare_units);
    all->next = s->units;
    s->units = all;
    *known = all;
    return all;
}

static Dwarf_Die *find_unit(struct symbols *s, Dwfl_Module *module, uint64_t at, Dwarf_Addr *bias) {
    Dwarf_Die *die = dwfl_module_addrdie(module, at, bias);
    if (die && dwarf_haspc(die, at - *bias) > 0) return die;
    struct units *all = units_of(s, module);
    size_t low = 0, high = all ? all->count : 0;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (all->unit[middle].low <= at)
            low = middle + 1;
        else
            high = middle;
    }
    if (!low || at >= all->unit[low - 1].high) return die;
    *bias = all->unit[low - 1].bias;
    return all->unit[low - 1].die;
}

/* --- names ---------------------------------------------------------------------------------------------- */

static bool say_inlined(Dwarf_Die *cu, Dwarf_Addr at, struct here *h) {
    Dwarf_Die *scope = NULL;
    int n = dwarf_getscopes(cu, at, &scope);
    bool said = false;
    for (int i = 0; i < n && !said; i++) {
        int tag = dwarf_tag(&scope[i]);
        if (tag != DW_TAG_inlined_subroutine && tag != DW_TAG_subprogram) continue;
        said = say_scopes(cu, &scope[i], h);
        break;
    }
    if (n > 0) free(scope);
    return said;
}

static void code(struct weft__names *names, uint64_t pc, bool call, void (*one)(const struct weft__symbol *, void *),
                 void *arg) {
    struct target *t = (struct target *)((char *)names - offsetof(struct target, names));
    uint64_t at = pc - call;
    Dwfl_Module *module = dwfl_addrmodule(t->symbols->dwfl, at);
    const struct weft__module *m = weft__module_at(names->modules, at);
    struct here h = {one, arg, {.offset = m ? at - m->bias : at, .module = m ? m->path : NULL}};
    if (module) {
        Dwarf_Addr bias = 0;
        Dwarf_Die *cu = find_unit(t->symbols, module, at, &bias);
        Dwarf_Line *line = cu ? dwarf_getsrc_die(cu, at - bias) : NULL;
        if (line) h.symbol.file = dwarf_linesrc(line, NULL, NULL);
        if (line) dwarf_lineno(line, &h.symbol.line);
        if (cu && say_inlined(cu, at - bias, &h)) return;
        GElf_Sym symbol;
        GElf_Off offset = 0;
        h.symbol.function = dwfl_module_addrinfo(module, at, &offset, &symbol, NULL, NULL, NULL);
        if (h.symbol.function) h.symbol.offset = offset + call;
    }
    one(&h.symbol, arg);
}

static bool data(struct weft__names *names, uint64_t at, char *to, size_t size) {
    struct target *t = (struct target *)((char *)names - offsetof(struct target, names));
    Dwfl_Module *module = dwfl_addrmodule(t->symbols->dwfl, at);
    GElf_Sym symbol;
    GElf_Off offset = 0;
    const char *name = module ? dwfl_module_addrinfo(module, at, &offset, &symbol, NULL, NULL, NULL) : NULL;
    if (!name || GELF_ST_TYPE(symbol.st_info) != STT_OBJECT || offset >= symbol.st_size) return false;
    snprintf(to, size, offset ? "%s+%u" : "%s", name, (unsigned)offset);
    return true;
}

struct symbols *symbols_open(struct target *t) {
    struct symbols *s = calloc(1, sizeof *s);
    t->names = weft__names_none(&t->look.modules);
    if (!s || !(s->dwfl = dwfl_begin(&callbacks))) {
        free(s);
        return NULL;
    }
    s->target = t;
    dwfl_report_begin(s->dwfl);
    for (unsigned i = 0; i < t->look.modules.count; i++) report(s, &t->look.modules.module[i]);
    dwfl_report_end(s->dwfl, NULL, NULL);
    t->names.code = code;
    t->names.data = data;
    t->names.has_lines = true;
    return s;
}

void symbols_close(struct symbols *s) {
    for (struct units *all = s->units, *next; all; all = next) {
        next = all->next;
        free(all->unit);
        free(all);
    }
    dwfl_end(s->dwfl);
    free(s);
}

#else

struct symbols *symbols_open(struct target *t) {
    t->names = weft__names_none(&t->look.modules);
    return NULL;
}

void symbols_close(struct symbols *s) { (void)s; }

#endif
