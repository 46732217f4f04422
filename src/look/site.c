/* SPDX-License-Identifier: MIT */
/*
 * See site.h. The innermost frame of a waiting fiber is inside of weft. If files are known, the directory of that
 * frame's file tells weft's functions from others. If they are unknown, the call site is the first function whose name
 * does not begin with "weft", after a public function of weft, or in another library or program than the innermost
 * frame.
 */
#include "look/site.h"

#include <stdio.h>

struct search {
    struct weft__site *site;
    char library[256]; /* the directory that the sources of weft are in; "": not known yet */
    bool in_weft;      /* a public function of weft was passed */
    bool is_elsewhere; /* the frame is in another library or program than the innermost one, which is weft's */
};

static void take_site(struct search *s, const struct weft__symbol *symbol) {
    struct weft__site *to = s->site;
    const char *module = symbol->module ? symbol->module : "", *base = strrchr(module, '/');
    if (symbol->function)
        snprintf(to->function, sizeof to->function, "%s", symbol->function);
    else if (*module)
        snprintf(to->function, sizeof to->function, "%s+0x%llx", base ? base + 1 : module,
                 (unsigned long long)symbol->offset);
    snprintf(to->file, sizeof to->file, "%s", symbol->file ? symbol->file : "");
    to->line = symbol->line;
    to->found = true;
}

/* Remembers the directory above that of the file; false: there is none. */
static bool learn_directory(struct search *s, const char *file) {
    const char *cut = strrchr(file, '/');
    while (cut && cut > file && *--cut != '/') {
    }
    size_t n = cut ? (size_t)(cut - file) + 1 : 0;
    if (!n || n >= sizeof s->library) return false;
    if (n > 6 && !memcmp(file + n - 7, "/sched/", 7)) n -= 6; /* an area of the scheduler */
    memcpy(s->library, file, n);
    s->library[n] = 0;
    return true;
}

static void look_at_site(const struct weft__symbol *symbol, void *arg) {
    struct search *s = arg;
    const char *name = symbol->function ? symbol->function : "";
    bool named = !strncmp(name, "weft_", 5);
    if (s->site->found) return;
    if (symbol->file) {
        bool first = !s->library[0] && learn_directory(s, symbol->file);
        if (!first && strncmp(symbol->file, s->library, strlen(s->library)) != 0) take_site(s, symbol);
    } else if (!named && (s->in_weft || s->library[0] || s->is_elsewhere))
        take_site(s, symbol);
    if (s->site->found || !named || name[5] == '_') return;
    s->in_weft = true;
    snprintf(s->site->call, sizeof s->site->call, "%s", name);
}

void weft__site_of(struct weft__names *names, const struct weft__seen *f, struct weft__site *to) {
    struct search s = {.site = to};
    memset(to, 0, sizeof *to);
    for (unsigned i = 0; i < f->depth && !to->found; i++) {
        to->frame = i;
        s.is_elsewhere = weft__module_at(names->modules, f->frame[i]) != weft__module_at(names->modules, f->frame[0]);
        names->code(names, f->frame[i], i > 0, look_at_site, &s);
    }
}
