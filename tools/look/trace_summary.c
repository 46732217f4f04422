/* SPDX-License-Identifier: MIT */
/* The summary of a trace: how busy workers were, how long fibers waited, where, for what, and what woke them. */
#include "trace_file.h"

#include "sched/wait/wait_chain.h"

#include <stdlib.h>
#include <string.h>

#define ROWS 12

static const char *time_of(double ns) {
    static char text[8][24];
    static unsigned turn;
    char *to = text[turn++ % 8];
    trace_time(ns, to, sizeof text[0]);
    return to;
}

/* --- workers and delays ------------------------------------------------------------------------------- */

static void say_head(struct trace *t, FILE *to) {
    fprintf(to, "weft trace: process %llu, weft %s, %s, %zu events, %zu fibers\n", (unsigned long long)t->head.pid,
            t->head.release, time_of((double)t->length), t->events.n, t->fibers.n);
    if (t->lost)
        fprintf(to, "%llu events were lost: they came faster than they were read\n", (unsigned long long)t->lost);
    if (t->lost_stacks || t->lost_names)
        fprintf(to, "%llu stacks and %llu names found no room\n", (unsigned long long)t->lost_stacks,
                (unsigned long long)t->lost_names);
    if (t->is_cut) fprintf(to, "the file has no end: the process was killed, or the disk is full\n");
}

static void say_workers(struct trace *t, FILE *to) {
    double all = t->length ? (double)t->length : 1;
    fprintf(to, "\nWORKER     BUSY   ASLEEP      TURNS   STEALS    HELPS    CALLS     LOST\n");
    for (unsigned i = 0; i < WEFT_TAPES_MOST; i++) {
        const struct trace_tape *w = &t->tape[i];
        if (!w->exists || w->worker == WEFT_TAPE_THREADS) continue;
        fprintf(to, "  %u/%-3u %6.1f%%  %6.1f%% %10llu %8llu %8llu %8llu %8llu\n", w->cluster, w->worker,
                100 * (double)w->busy / all, 100 * (double)w->asleep / all, (unsigned long long)w->slices,
                (unsigned long long)w->steals, (unsigned long long)w->helps, (unsigned long long)w->taken,
                (unsigned long long)w->lost);
    }
}

static int by_number(const void *a, const void *b) {
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

static void say_delays(struct trace *t, FILE *to) {
    uint64_t *d = malloc((t->slices.n + 1) * sizeof *d);
    size_t n = 0;
    for (size_t i = 0; d && i < t->slices.n; i++) {
        const struct trace_slice *s = &t->slices.at[i];
        if (s->ready_at != UINT64_MAX) d[n++] = s->begin > s->ready_at ? s->begin - s->ready_at : 0;
    }
    if (n) {
        qsort(d, n, sizeof *d, by_number);
        fprintf(to, "\nready to running: half within %s, 90%% %s, 99%% %s, 99.9%% %s, all %s (%zu turns)\n",
                time_of((double)d[n / 2]), time_of((double)d[n * 9 / 10]), time_of((double)d[n * 99 / 100]),
                time_of((double)d[n - 1 - n / 1000]), time_of((double)d[n - 1]), n);
    }
    free(d);
}

/* --- groups ---------------------------------------------------------------------------------------------- */

struct group {
    uint64_t what;
    const char *site, *other;
    uint64_t count, total, longest;
};

struct groups {
    struct group *at;
    size_t n, room;
};

/* Finds a group by what, site and other; makes it if it is missing. Compares texts, because equal texts may have
 * different addresses. */
static struct group *group_of(struct groups *g, uint64_t what, const char *site, const char *other) {
    static uint32_t *index;
    static struct groups *of;
    static size_t size = 1 << 16;
    if (of != g) {
        free(index);
        index = calloc(size, sizeof *index);
        of = g;
    }
    if (!index) abort();
    uint64_t hash = what * UINT64_C(0x9e3779b97f4a7c15);
    for (const char *c = site; *c; c++) hash = (hash ^ (unsigned char)*c) * UINT64_C(0x100000001b3);
    for (const char *c = other; *c; c++) hash = (hash ^ (unsigned char)*c) * UINT64_C(0x100000001b3);
    for (size_t i = hash % size, tries = 0; tries < size / 2; i = (i + 1) % size, tries++) {
        if (!index[i]) {
            if (g->n == g->room) g->at = trace_grow(g->at, &g->room, g->n, sizeof *g->at);
            g->at[g->n++] = (struct group){.what = what, .site = site, .other = other};
            index[i] = (uint32_t)g->n;
        }
        struct group *there = &g->at[index[i] - 1];
        if (there->what == what && !strcmp(there->site, site) && !strcmp(there->other, other)) return there;
    }
    return &g->at[0];
}

static int by_total(const void *a, const void *b) {
    const struct group *x = a, *y = b;
    return x->total > y->total ? -1 : x->total < y->total;
}

static void add_to(struct group *g, uint64_t ns) {
    g->count++;
    g->total += ns;
    if (ns > g->longest) g->longest = ns;
}

static unsigned on_of(const struct trace_wait *w) { return (unsigned)(w->what >> WEFT_WHAT_SHIFT); }

/* Did the wait last for the whole trace? Such a fiber is idle or was forgotten, and caused no delay in this trace. */
static bool is_whole(const struct trace *t, const struct trace_wait *w) {
    return w->open && !w->begin && w->end == t->length;
}

static const char *kind_of_wait(uint64_t what) {
    unsigned on = (unsigned)(what >> WEFT_WHAT_SHIFT);
    return on ? weft__waits_name(on) : "something";
}

static void say_waits(struct trace *t, bool whole, FILE *to) {
    struct groups g = {NULL, 0, 0};
    char what[160];
    for (size_t i = 0; i < t->waits.n; i++) {
        const struct trace_wait *w = &t->waits.at[i];
        bool many = on_of(w) == WEFT_WAITS_JOIN || on_of(w) == WEFT_WAITS_IO || on_of(w) == WEFT_ON_DESCRIPTOR ||
                    (whole && on_of(w) != WEFT_ON_MUTEX);
        uint64_t key = many ? w->what >> WEFT_WHAT_SHIFT << WEFT_WHAT_SHIFT : w->what;
        if (is_whole(t, w) == whole) add_to(group_of(&g, key, trace_site(t, w->stack), ""), w->end - w->begin);
    }
    if (!g.n) return;
    qsort(g.at, g.n, sizeof g.at[0], by_total);
    fprintf(to, whole
                    ? "\nwaited from the beginning to the end\n    FIBERS  FOR                              AT\n"
                    : "\nwhere fibers waited\n     TOTAL      COUNT    LONGEST  FOR                              AT\n");
    for (size_t i = 0; i < g.n && i < ROWS; i++) {
        if (g.at[i].what & ((UINT64_C(1) << WEFT_WHAT_SHIFT) - 1))
            trace_what(t, g.at[i].what, what, sizeof what);
        else /* each waited for another one */
            snprintf(what, sizeof what, "%s", kind_of_wait(g.at[i].what));
        if (!whole) fprintf(to, "%10s ", time_of((double)g.at[i].total));
        fprintf(to, "%10llu", (unsigned long long)g.at[i].count);
        if (!whole) fprintf(to, " %10s", time_of((double)g.at[i].longest));
        fprintf(to, "  %-32s %s\n", what, g.at[i].site);
    }
    free(g.at);
}

/* Fibers that were spawned at the same place do the same. */
static const char *kind_of(struct trace *t, uint32_t fiber) {
    const struct trace_fiber *f = &t->fibers.at[fiber];
    return f->name[0] ? f->name : f->where && f->where[0] ? f->where : "(before the trace)";
}

static void say_wakers(struct trace *t, FILE *to) {
    struct groups g = {NULL, 0, 0};
    for (size_t i = 0; i < t->waits.n; i++) {
        const struct trace_wait *w = &t->waits.at[i];
        if (w->open && (is_whole(t, w) || w->end == t->length)) continue;
        const char *by = w->by ? kind_of(t, w->by - 1) : "(timer, kernel or thread)";
        add_to(group_of(&g, w->what >> WEFT_WHAT_SHIFT << WEFT_WHAT_SHIFT, by, kind_of(t, w->fiber)),
               w->end - w->begin);
    }
    if (!g.n) return;
    qsort(g.at, g.n, sizeof g.at[0], by_total);
    fprintf(to, "\nwhat woke what\n     COUNT      AFTER  BY -> FIBER THAT WAITED FOR\n");
    for (size_t i = 0; i < g.n && i < ROWS; i++)
        fprintf(to, "%10llu %10s  %s -> %s: %s\n", (unsigned long long)g.at[i].count,
                time_of((double)g.at[i].total / (double)g.at[i].count), g.at[i].site, g.at[i].other,
                kind_of_wait(g.at[i].what));
    free(g.at);
}

/* --- stalls ------------------------------------------------------------------------------------------------ */

struct stall {
    uint64_t ns, at;
    size_t number;
    char kind; /* w: wait, r: ready, t: turn */
};

static int by_length(const void *a, const void *b) {
    const struct stall *x = a, *y = b;
    return x->ns > y->ns ? -1 : x->ns < y->ns;
}

/* The longest few. */
struct stalls {
    struct stall at[ROWS];
    size_t n, most;
};

static void stall_add(struct stalls *all, struct stall s) {
    if (all->n < all->most)
        all->at[all->n++] = s;
    else if (s.ns > all->at[all->most - 1].ns)
        all->at[all->most - 1] = s;
    else
        return;
    qsort(all->at, all->n, sizeof *all->at, by_length);
}

static void say_wait(struct trace *t, const struct trace_wait *w, FILE *to) {
    char what[160], name[64];
    trace_what(t, w->what, what, sizeof what);
    fprintf(to, "waited for %s, in %s", what, trace_site(t, w->stack));
    if (w->owner) {
        trace_fiber_name(t, trace_fiber_of(t, w->owner), name, sizeof name);
        fprintf(to, "; held by %s", name);
    }
    if (w->open)
        fprintf(to, "; nothing woke it");
    else if (w->by) {
        trace_fiber_name(t, w->by - 1, name, sizeof name);
        fprintf(to, "; woken by %s", name);
    } else
        fprintf(to, "; woken by a timer, the kernel or a thread");
}

static uint64_t overlap(uint64_t begin, uint64_t end, uint64_t from, uint64_t to) {
    if (begin < from) begin = from;
    if (end > to) end = to;
    return end > begin ? end - begin : 0;
}

static uint64_t slept(const struct trace *t, const struct trace_slice *s) {
    uint64_t sum = 0;
    for (size_t i = 0; i < t->sleeps.n; i++)
        if (t->sleeps.at[i].tape == s->tape)
            sum += overlap(t->sleeps.at[i].begin, t->sleeps.at[i].end, s->ready_at, s->begin);
    return sum;
}

/* What the worker that ran the fiber at last did while the fiber was ready. */
static void say_ready(struct trace *t, const struct trace_slice *s, FILE *to) {
    uint64_t longest = 0, busy = 0, delay = s->begin - s->ready_at, turns = 0, asleep = slept(t, s);
    size_t which = 0;
    char name[64];
    for (size_t i = (size_t)(s - t->slices.at);
         i-- && t->slices.at[i].begin + 100 * UINT64_C(1000000000) > s->ready_at;) {
        const struct trace_slice *o = &t->slices.at[i];
        bool counts =
            o->tape == s->tape && o->fiber != s->fiber; /* a fiber that yields is ready before its turn ends */
        uint64_t ns = counts ? overlap(o->begin, o->end, s->ready_at, s->begin) : 0;
        busy += ns;
        turns += ns > 0;
        if (ns > longest) longest = ns, which = i;
    }
    fprintf(to, "was ready");
    if (longest) trace_fiber_name(t, t->slices.at[which].fiber, name, sizeof name);
    unsigned worker = t->tape[s->tape].worker;
    if (longest > delay / 2)
        fprintf(to, " while worker %u ran %s for %s", worker, name, time_of((double)longest));
    else if (busy > delay / 2)
        fprintf(to, " while worker %u ran %llu other turns, the longest %s for %s", worker, (unsigned long long)turns,
                name, time_of((double)longest));
    else if (asleep > delay / 2)
        fprintf(to, " while worker %u slept", worker);
    else
        fprintf(to, " while worker %u looked for work, was in the kernel, or had no processor", worker);
}

static void say_stall(struct trace *t, const struct stall *s, FILE *to) {
    uint32_t fiber = s->kind == 'w' ? t->waits.at[s->number].fiber : t->slices.at[s->number].fiber;
    char name[64];
    trace_fiber_name(t, fiber, name, sizeof name);
    fprintf(to, "%10s %10s  %s ", time_of((double)s->at), time_of((double)s->ns), name);
    if (s->kind == 'w')
        say_wait(t, &t->waits.at[s->number], to);
    else if (s->kind == 'r')
        say_ready(t, &t->slices.at[s->number], to);
    else {
        const struct trace_fiber *f = &t->fibers.at[fiber];
        fprintf(to, "ran on worker %u", t->tape[t->slices.at[s->number].tape].worker);
        if (f->where && f->where[0]) fprintf(to, "; spawned at %s", f->where);
    }
    fputc('\n', to);
}

/* Does the fiber wait for what another fiber does? Idle connections and tickers are no stalls. */
static bool waits_for_fiber(const struct trace_wait *w) {
    unsigned on = on_of(w);
    return on && on != WEFT_WAITS_SLEEP && on != WEFT_WAITS_IO && on != WEFT_ON_DESCRIPTOR && on != WEFT_ON_SIGNAL;
}

/* Writes three lists: long turns, which keep a worker; long delays of ready fibers; long waits. In a single list, waits
 * of seconds would hide turns of milliseconds. */
static void say_stalls(struct trace *t, FILE *to) {
    static const char *const title[] = {"the longest turns, by the clock",
                                        "the longest times that a fiber was ready, and did not run",
                                        "the longest waits for other fibers"};
    struct stalls list[] = {{.most = 4}, {.most = 6}, {.most = 8}};
    for (size_t i = 0; i < t->slices.n; i++) {
        const struct trace_slice *s = &t->slices.at[i];
        stall_add(&list[0], (struct stall){s->end - s->begin, s->begin, i, 't'});
        if (s->ready_at != UINT64_MAX && s->begin > s->ready_at)
            stall_add(&list[1], (struct stall){s->begin - s->ready_at, s->ready_at, i, 'r'});
    }
    for (size_t i = 0; i < t->waits.n; i++) {
        const struct trace_wait *w = &t->waits.at[i];
        if (waits_for_fiber(w) && !is_whole(t, w))
            stall_add(&list[2], (struct stall){w->end - w->begin, w->begin, i, 'w'});
    }
    for (unsigned k = 0; k < 3; k++) {
        if (list[k].n) fprintf(to, "\n%s\n        AT        FOR  WHAT\n", title[k]);
        for (size_t i = 0; i < list[k].n; i++) say_stall(t, &list[k].at[i], to);
    }
}

/* --- spans ----------------------------------------------------------------------------------------------------- */

static void say_spans(struct trace *t, FILE *to) {
    struct groups g = {NULL, 0, 0};
    for (size_t i = 0; i < t->spans.n; i++)
        add_to(group_of(&g, 0, t->name[t->spans.at[i].name], ""), t->spans.at[i].end - t->spans.at[i].begin);
    if (!g.n) return;
    qsort(g.at, g.n, sizeof g.at[0], by_total);
    fprintf(to, "\nspans (--span NAME: the critical path of the longest)\n     TOTAL      COUNT    LONGEST  NAME\n");
    for (size_t i = 0; i < g.n && i < ROWS; i++)
        fprintf(to, "%10s %10llu %10s  %s\n", time_of((double)g.at[i].total), (unsigned long long)g.at[i].count,
                time_of((double)g.at[i].longest), g.at[i].site);
    free(g.at);
}

int trace_summary(struct trace *t, const char *span, FILE *to) {
    say_head(t, to);
    say_workers(t, to);
    say_delays(t, to);
    say_waits(t, false, to);
    say_waits(t, true, to);
    say_wakers(t, to);
    say_stalls(t, to);
    say_spans(t, to);
    if (span) trace_path(t, span, to);
    return ferror(to) ? -EIO : 0;
}
