/* SPDX-License-Identifier: MIT */
/* Names of what a trace mentions: call sites, stacks, objects, fibers, times. */
#include "trace_file.h"

#include "look/site.h"
#include "sched/wait/wait_chain.h"

#include <stdlib.h>
#include <string.h>

static const char *base_of(const char *path) {
    const char *cut = strrchr(path, '/');
    return cut ? cut + 1 : path;
}

const char *trace_site(struct trace *t, uint32_t stack) {
    struct weft__seen seen = {.depth = t->stack[stack].depth};
    struct weft__site site;
    char text[320];
    if (t->stack[stack].text) return t->stack[stack].text;
    memcpy(seen.frame, t->stack[stack].frame, sizeof t->stack[stack].frame);
    weft__site_of(&t->target.names, &seen, &site);
    if (site.found && site.file[0])
        snprintf(text, sizeof text, "%s at %s:%d", site.function, base_of(site.file), site.line);
    else if (site.found)
        snprintf(text, sizeof text, "%s", site.function);
    else
        snprintf(text, sizeof text, "%s", t->stack[stack].cut || !seen.depth ? "(place not known yet)" : "(unknown)");
    return t->stack[stack].text = strdup(text);
}

struct frames {
    FILE *to;
};

static void add_frame(const struct weft__symbol *s, void *arg) {
    FILE *to = ((struct frames *)arg)->to;
    if (weft__symbol_is_plumbing(s)) return;
    if (s->function && s->file)
        fprintf(to, "%s at %s:%d\n", s->function, base_of(s->file), s->line);
    else if (s->function)
        fprintf(to, "%s\n", s->function);
    else
        fprintf(to, "%s+0x%llx\n", s->module ? base_of(s->module) : "?", (unsigned long long)s->offset);
}

const char *trace_frames(struct trace *t, uint32_t stack) {
    size_t size;
    if (t->stack[stack].lines) return t->stack[stack].lines;
    struct frames f = {open_memstream(&t->stack[stack].lines, &size)};
    if (!f.to) return "";
    for (uint32_t i = 0; i < t->stack[stack].depth; i++)
        t->target.names.code(&t->target.names, t->stack[stack].frame[i], true, add_frame, &f);
    if (t->stack[stack].cut) fprintf(f.to, "...\n");
    fclose(f.to);
    return t->stack[stack].lines;
}

void trace_what(struct trace *t, uint64_t what, char *to, size_t size) {
    unsigned on = (unsigned)(what >> WEFT_WHAT_SHIFT);
    uint64_t object = what & ((UINT64_C(1) << WEFT_WHAT_SHIFT) - 1);
    const char *kind = on ? weft__waits_name(on) : "something";
    char variable[128];
    if (on == WEFT_WAITS_JOIN && object)
        snprintf(to, size, "%s 0x%llx", kind, (unsigned long long)object);
    else if (on == WEFT_WAITS_IO || (on == WEFT_ON_DESCRIPTOR && object < 1u << 30))
        snprintf(to, size, "%s, descriptor %d", kind, (int)object);
    else if (!object)
        snprintf(to, size, "%s", kind);
    else if (t->target.names.data && t->target.names.data(&t->target.names, object, variable, sizeof variable))
        snprintf(to, size, "%s %s", kind, variable);
    else
        snprintf(to, size, "%s 0x%llx", kind, (unsigned long long)object);
}

void trace_fiber_name(const struct trace *t, uint32_t fiber, char *to, size_t size) {
    const struct trace_fiber *f = &t->fibers.at[fiber];
    if (f->name[0])
        snprintf(to, size, "fiber 0x%llx \"%s\"", (unsigned long long)f->id, f->name);
    else
        snprintf(to, size, "fiber 0x%llx", (unsigned long long)f->id);
}

void trace_time(double ns, char *to, size_t size) {
    if (ns < 1e3)
        snprintf(to, size, "%.0fns", ns);
    else if (ns < 1e6)
        snprintf(to, size, "%.1fus", ns / 1e3);
    else if (ns < 1e9)
        snprintf(to, size, "%.1fms", ns / 1e6);
    else
        snprintf(to, size, "%.2fs", ns / 1e9);
}
