/* SPDX-License-Identifier: MIT */
/* Names of addresses in this process: by the tables of its files (elf_names.h), or by what the dynamic linker knows.
 * See report.h. */
#define _GNU_SOURCE
#include "look/elf_names.h"
#include "look/report.h"

#include <dlfcn.h>
#include <stdio.h>

static void no_code(struct weft__names *names, uint64_t pc, bool call, void (*one)(const struct weft__symbol *, void *),
                    void *arg) {
    const struct weft__module *m = weft__module_at(names->modules, pc - call);
    struct weft__symbol s = {.offset = m ? pc - call - m->bias : pc, .module = m ? m->path : NULL};
    one(&s, arg);
}

struct weft__names weft__names_none(const struct weft__modules *modules) {
    return (struct weft__names){.code = no_code, .modules = modules};
}

static void own_code(struct weft__names *names, uint64_t pc, bool call,
                     void (*one)(const struct weft__symbol *, void *), void *arg) {
    Dl_info info = {0};
    uint64_t at = pc - call;
    const struct weft__module *m = weft__module_at(names->modules, at);
    struct weft__symbol s = {.offset = m ? at - m->bias : at, .module = m ? m->path : NULL};
    uint64_t offset;
    const char *name = names->files ? weft__elf_name(names->files, at, true, &offset) : NULL;
    if (name) {
        s.function = name;
        s.offset = offset + call;
    } else if (dladdr((void *)(uintptr_t)at, &info) && info.dli_sname) {
        s.function = info.dli_sname;
        s.offset = pc - (uintptr_t)info.dli_saddr;
    }
    one(&s, arg);
}

static bool own_data(struct weft__names *names, uint64_t at, char *to, size_t size) {
    Dl_info info = {0};
    uint64_t offset;
    const char *name = names->files ? weft__elf_name(names->files, at, false, &offset) : NULL;
    if (!name) {
        if (!dladdr((void *)(uintptr_t)at, &info) || !info.dli_sname) return false;
        name = info.dli_sname;
        offset = at - (uintptr_t)info.dli_saddr;
    }
    if (offset > 4096) return false;
    snprintf(to, size, offset ? "%s+%u" : "%s", name, (unsigned)offset);
    return true;
}

struct weft__names weft__names_own(const struct weft__modules *modules) {
    return (struct weft__names){
        .code = own_code, .data = own_data, .modules = modules, .files = weft__elf_names_make(modules)};
}

void weft__names_free(struct weft__names *names) {
    weft__elf_names_free(names->files);
    *names = (struct weft__names){.code = NULL};
}
