/* SPDX-License-Identifier: MIT */
/*
 * The timeline of a trace as one page. The page (trace.html) draws on a canvas; the data are columns of 32-bit
 * numbers, in base64, because a browser decodes a million of them in a fraction of a second, and JSON takes much
 * longer. Times are in units of 2^scale ns.
 */
#include "trace_file.h"

#include "trace_page.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct page {
    struct trace *trace;
    FILE *to;
    unsigned scale;
    unsigned char rest[3];
    unsigned left;
};

/* --- base64 ------------------------------------------------------------------------------------------------ */

static void put_three(struct page *p, const unsigned char *b, unsigned n) {
    static const char letter[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    uint32_t v = (uint32_t)b[0] << 16 | (uint32_t)(n > 1 ? b[1] : 0) << 8 | (n > 2 ? b[2] : 0);
    char out[4] = {letter[v >> 18], letter[v >> 12 & 63], n > 1 ? letter[v >> 6 & 63] : '=',
                   n > 2 ? letter[v & 63] : '='};
    fwrite(out, 1, 4, p->to);
}

static void put_u32(struct page *p, uint32_t v) {
    unsigned char bytes[4];
    memcpy(bytes, &v, 4);
    for (unsigned i = 0; i < 4; i++) {
        p->rest[p->left++] = bytes[i];
        if (p->left == 3) put_three(p, p->rest, 3), p->left = 0;
    }
}

static void column_begin(struct page *p, const char *name) {
    fprintf(p->to, "<script type=\"text/plain\" id=\"%s\">", name);
    p->left = 0;
}
static void column_end(struct page *p) {
    if (p->left) put_three(p, p->rest, p->left);
    fputs("</script>\n", p->to);
}

static uint32_t scaled(const struct page *p, uint64_t ns) { return (uint32_t)(ns >> p->scale); }

/* --- text ---------------------------------------------------------------------------------------------------- */

/* A string of JSON that may stand in a script element. */
static void put_string(struct page *p, const char *text) {
    fputc('"', p->to);
    for (const unsigned char *c = (const unsigned char *)text; *c; c++)
        if (*c < 32 || *c == '"' || *c == '\\' || *c == '<' || *c == '>' || *c == '&' || *c == 127)
            fprintf(p->to, "\\u%04x", *c);
        else
            fputc(*c, p->to);
    fputc('"', p->to);
}

static void put_fibers(struct page *p) {
    struct trace *t = p->trace;
    fputs("\"fibers\":[", p->to);
    for (size_t i = 0; i < t->fibers.n; i++) {
        const struct trace_fiber *f = &t->fibers.at[i];
        fprintf(p->to, "%s[\"%llx\",", i ? "," : "", (unsigned long long)f->id);
        put_string(p, f->name);
        fputc(',', p->to);
        put_string(p, f->where ? f->where : "");
        fputc(']', p->to);
    }
    fputs("],\n", p->to);
}

/* Which stacks and objects occur, numbered from 0. */
struct numbers {
    uint32_t *stack; /* by its number in the trace: + 1 */
    uint64_t *what;
    uint32_t *index;
    size_t whats, size;
};

/* Joins have one number, because each fiber is joined once; the fiber that woke the joiner is known anyway. If there
 * are too many objects, the rest of them have the number of their kind: there are few kinds. */
static uint32_t what_number(struct numbers *n, uint64_t what) {
    uint64_t kind = what >> WEFT_WHAT_SHIFT << WEFT_WHAT_SHIFT;
    if (what >> WEFT_WHAT_SHIFT == WEFT_WAITS_JOIN) what = kind;
    size_t i = (size_t)(what * UINT64_C(0x9e3779b97f4a7c15) >> 20) & (n->size - 1);
    for (; n->index[i]; i = (i + 1) & (n->size - 1))
        if (n->what[n->index[i] - 1] == what) return n->index[i] - 1;
    if (2 * n->whats >= n->size && what != kind) return what_number(n, kind);
    n->what[n->whats] = what;
    n->index[i] = (uint32_t)++n->whats;
    return (uint32_t)n->whats - 1;
}

static void put_stacks(struct page *p, struct numbers *n) {
    struct trace *t = p->trace;
    uint32_t used = 0;
    fputs("\"stacks\":[", p->to);
    for (size_t i = 0; i < t->waits.n; i++) {
        uint32_t stack = t->waits.at[i].stack;
        if (n->stack[stack]) continue;
        n->stack[stack] = ++used;
        fputs(used > 1 ? ",[" : "[", p->to);
        put_string(p, trace_site(t, stack));
        fputc(',', p->to);
        put_string(p, trace_frames(t, stack));
        fputc(']', p->to);
    }
    fputs("],\n\"whats\":[", p->to);
    for (size_t i = 0; i < t->waits.n; i++) {
        char text[160];
        size_t before = n->whats;
        what_number(n, t->waits.at[i].what);
        if (n->whats == before) continue;
        trace_what(t, n->what[before], text, sizeof text);
        if (before) fputc(',', p->to);
        put_string(p, text);
    }
    fputs("],\n", p->to);
}

static void put_meta(struct page *p, struct numbers *n) {
    struct trace *t = p->trace;
    fprintf(p->to,
            "<script type=\"application/json\" "
            "id=\"meta\">{\"pid\":%llu,\"length\":%llu,\"unit\":%llu,\"lost\":%llu,\"events\":%zu,\n",
            (unsigned long long)t->head.pid, (unsigned long long)t->length, 1ull << p->scale,
            (unsigned long long)t->lost, t->events.n);
    fputs("\"workers\":[", p->to);
    bool first = true;
    for (unsigned i = 0; i < WEFT_TAPES_MOST; i++)
        if (t->tape[i].exists && t->tape[i].worker != WEFT_TAPE_THREADS) {
            fprintf(p->to, "%s[%u,%u,%u]", first ? "" : ",", i, t->tape[i].cluster, t->tape[i].worker);
            first = false;
        }
    fputs("],\n\"names\":[", p->to);
    for (unsigned i = 0; i < WEFT_NAMES_MOST; i++) {
        if (i) fputc(',', p->to);
        put_string(p, t->name[i]);
    }
    fputs("],\n", p->to);
    put_fibers(p);
    put_stacks(p, n);
    fputs("\"version\":1}</script>\n", p->to);
}

/* --- columns ---------------------------------------------------------------------------------------------------- */

static void put_slices(struct page *p) {
    struct trace *t = p->trace;
    column_begin(p, "slices"); /* tape, fiber, begin, end, ready or -1, by + 1 */
    for (size_t i = 0; i < t->slices.n; i++) {
        const struct trace_slice *s = &t->slices.at[i];
        put_u32(p, s->tape | (uint32_t)s->ready_tape << 16);
        put_u32(p, s->fiber);
        put_u32(p, scaled(p, s->begin));
        put_u32(p, scaled(p, s->end));
        put_u32(p, s->ready_at == UINT64_MAX ? UINT32_MAX : scaled(p, s->ready_at));
        put_u32(p, s->by);
    }
    column_end(p);
}

static void put_waits(struct page *p, struct numbers *n) {
    struct trace *t = p->trace;
    column_begin(p, "waits"); /* fiber, begin, end, what, stack, by + 1 */
    for (size_t i = 0; i < t->waits.n; i++) {
        const struct trace_wait *w = &t->waits.at[i];
        put_u32(p, w->fiber);
        put_u32(p, scaled(p, w->begin));
        put_u32(p, scaled(p, w->end));
        put_u32(p, what_number(n, w->what));
        put_u32(p, n->stack[w->stack] - 1);
        put_u32(p, w->open ? UINT32_MAX : w->by);
    }
    column_end(p);
}

static void put_rest(struct page *p) {
    struct trace *t = p->trace;
    column_begin(p, "sleeps"); /* tape, begin, end */
    for (size_t i = 0; i < t->sleeps.n; i++) {
        put_u32(p, t->sleeps.at[i].tape);
        put_u32(p, scaled(p, t->sleeps.at[i].begin));
        put_u32(p, scaled(p, t->sleeps.at[i].end));
    }
    column_end(p);
    column_begin(p, "spans"); /* fiber, begin, end, name, depth */
    for (size_t i = 0; i < t->spans.n; i++) {
        const struct trace_span *s = &t->spans.at[i];
        put_u32(p, s->fiber);
        put_u32(p, scaled(p, s->begin));
        put_u32(p, scaled(p, s->end));
        put_u32(p, s->name);
        put_u32(p, s->depth);
    }
    column_end(p);
}

static int write_page(struct page *p) {
    struct trace *t = p->trace;
    const char *at = strstr(trace_page_text, "@DATA@");
    struct numbers n = {.size = 1 << 20};
    if (!at) return -EINVAL; /* the page is part of this program */
    while (t->length >> p->scale >= UINT32_MAX) p->scale++;
    n.stack = calloc(sizeof t->stack / sizeof t->stack[0], sizeof *n.stack);
    n.index = calloc(n.size, sizeof *n.index);
    n.what = calloc(n.size, sizeof *n.what);
    if (n.stack && n.index && n.what) {
        fwrite(trace_page_text, 1, (size_t)(at - trace_page_text), p->to);
        put_meta(p, &n);
        put_slices(p);
        put_waits(p, &n);
        put_rest(p);
        fputs(at + strlen("@DATA@"), p->to);
    }
    int err = !n.stack || !n.index || !n.what ? -ENOMEM : ferror(p->to) ? -EIO : 0;
    free(n.stack);
    free(n.index);
    free(n.what);
    return err;
}

int trace_page(struct trace *t, const char *path) {
    struct page p = {.trace = t, .to = fopen(path, "we")};
    if (!p.to) return -errno;
    int err = write_page(&p);
    if (fclose(p.to) && !err) err = -errno;
    return err;
}
