/* SPDX-License-Identifier: MIT */
/*
 * A profile as folded stacks, which flame graph programs read. A line has the functions from the outermost inward, and
 * then microseconds. Its first word says whether it is CPU time or waiting time. For waiting time, the last word says
 * what the fiber waited for.
 */
#include "base/sys.h"
#include "look/interned.h"
#include "look/profile.h"

#include <errno.h>
#include <stdio.h>

void weft__profile_sample(struct weft__profile *p, const struct weft__seen *f, uint64_t ns) {
    struct weft__group *g = weft__track_group(&p->cpu, f);
    if (!g) {
        p->lost++;
        return;
    }
    g->waited += ns;
    g->waits++;
}

void weft__profile_free(struct weft__profile *p) {
    weft__track_free(&p->cpu);
    weft__track_free(&p->wait);
}

void weft__profile_each(const struct weft__profile *p, void (*fn)(const struct weft__group *g, bool waits, void *arg),
                        void *arg) {
    for (const struct weft__group *g = p->cpu.groups; g; g = g->other)
        if (g->waited) fn(g, false, arg);
    for (const struct weft__group *g = p->wait.groups; g; g = g->other)
        if (g->waited && weft__state_waits(g->seen.state)) fn(g, true, arg);
}

#define FUNCTIONS_MOST 512

struct folding {
    struct weft__names *names;
    struct weft__out *out;
    struct weft__interned *text;
    uint64_t pc;
    unsigned n;
    uint32_t function[FUNCTIONS_MOST]; /* the innermost first */
};

/* Replaces semicolons and ends of lines in a name, because they would divide it in two. */
static void add_function(const struct weft__symbol *s, void *arg) {
    struct folding *f = arg;
    char name[256];
    if (weft__symbol_is_plumbing(s) || f->n == FUNCTIONS_MOST) return;
    if (s->function)
        snprintf(name, sizeof name, "%s", s->function);
    else if (s->module)
        snprintf(name, sizeof name, "%s+0x%llx", strrchr(s->module, '/') ? strrchr(s->module, '/') + 1 : s->module,
                 (unsigned long long)s->offset);
    else
        snprintf(name, sizeof name, "0x%llx", (unsigned long long)f->pc);
    for (char *c = name; *c; c++)
        if (*c == ';' || *c == '\n') *c = ':';
    f->function[f->n++] = weft__intern(f->text, name);
}

static void fold_stack(const struct weft__group *g, bool waits, void *arg) {
    struct folding *f = arg;
    f->n = 0;
    for (unsigned i = 0; i < g->seen.depth; i++) {
        f->pc = g->seen.frame[i];
        f->names->code(f->names, f->pc, i > 0, add_function, f);
    }
    weft__out(f->out, waits ? "waiting" : "cpu");
    for (unsigned i = f->n; i > 0; i--) weft__out(f->out, ";%s", weft__interned_text(f->text, f->function[i - 1]));
    if (waits)
        weft__out(f->out, ";[%s]", weft__waits_name(g->seen.on));
    else if (!g->seen.depth)
        weft__out(f->out, ";[unknown]");
    weft__out(f->out, " %llu\n", (unsigned long long)(g->waited + 500) / 1000);
}

int weft__profile_folded(const struct weft__profile *p, struct weft__names *names, int fd) {
    struct weft__out *out = weft__alloc(sizeof *out);
    struct folding *f = weft__alloc(sizeof *f);
    struct weft__interned text = {.count = 0};
    int err = -ENOMEM;
    if (out && f) {
        out->fd = fd;
        *f = (struct folding){.names = names, .out = out, .text = &text};
        weft__profile_each(p, fold_stack, f);
        err = weft__out_end(out);
        if (!err && text.failed) err = -ENOMEM;
    }
    weft__interned_free(&text);
    weft__free(out);
    weft__free(f);
    return err;
}
