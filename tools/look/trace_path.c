/* SPDX-License-Identifier: MIT */
/*
 * The critical path of a span, found backward from the end of the span. While the fiber ran, its turn is on the path.
 * While it was ready, the delay is. While it waited, the path continues with the fiber that woke it, from the moment of
 * the wake-up. If a timer or the kernel ended the wait, the wait itself is on the path.
 */
#include "trace_file.h"

#include <stdlib.h>
#include <string.h>

#define STEPS 400

static const struct trace_span *longest_of(const struct trace *t, const char *name) {
    const struct trace_span *found = NULL;
    for (size_t i = 0; i < t->spans.n; i++) {
        const struct trace_span *s = &t->spans.at[i];
        if (s->fiber == UINT32_MAX || strcmp(t->name[s->name], name) != 0) continue;
        if (!found || s->end - s->begin > found->end - found->begin) found = s;
    }
    return found;
}

/* The last turn of the fiber that began before this time; NULL: none. */
static const struct trace_slice *turn_before(const struct trace *t, uint32_t fiber, uint64_t at) {
    const struct trace_slice *found = NULL;
    size_t low = 0, high = t->slices.n; /* they are in the order of their begins */
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (t->slices.at[middle].begin < at)
            low = middle + 1;
        else
            high = middle;
    }
    for (size_t i = low; i-- && !found;)
        if (t->slices.at[i].fiber == fiber) found = &t->slices.at[i];
    return found;
}

/* The wait that ended when the turn became ready; NULL: it had yielded, or was new. */
static const struct trace_wait *wait_before(const struct trace *t, const struct trace_slice *s) {
    for (size_t i = 0; i < t->waits.n; i++) {
        const struct trace_wait *w = &t->waits.at[i];
        if (w->fiber == s->fiber && w->end <= s->begin && w->end + 1 >= s->ready_at && w->begin <= s->ready_at)
            return w;
    }
    return NULL;
}

struct step {
    uint64_t begin, end;
    char text[320];
};

static void add_step(struct step *steps, unsigned *n, uint64_t begin, uint64_t end, const char *name,
                     const char *what) {
    if (*n == STEPS || begin >= end) return;
    steps[*n].begin = begin;
    steps[*n].end = end;
    snprintf(steps[(*n)++].text, sizeof steps[0].text, "%s %s", name, what);
}

static unsigned path_walk(struct trace *t, const struct trace_span *span, struct step *steps) {
    uint32_t fiber = span->fiber;
    uint64_t at = span->end;
    unsigned n = 0;
    char name[64], text[240], what[128];
    while (at > span->begin && n < STEPS) {
        const struct trace_slice *s = turn_before(t, fiber, at);
        trace_fiber_name(t, fiber, name, sizeof name);
        if (!s) break;
        uint64_t end = s->end < at ? s->end : at;
        uint64_t begin = s->begin > span->begin ? s->begin : span->begin;
        snprintf(text, sizeof text, "ran on worker %u", t->tape[s->tape].worker);
        add_step(steps, &n, begin, end, name, text);
        at = begin;
        if (at <= span->begin || s->ready_at == UINT64_MAX) break;
        uint64_t ready = s->ready_at > span->begin ? s->ready_at : span->begin;
        add_step(steps, &n, ready, at, name, "was ready");
        at = ready;
        const struct trace_wait *w = wait_before(t, s);
        if (!w || at <= span->begin) continue;
        if (s->by) {
            fiber = s->by - 1;
            continue;
        }
        trace_what(t, w->what, what, sizeof what);
        snprintf(text, sizeof text, "waited for %s, in %.60s", what, trace_site(t, w->stack));
        uint64_t waited = w->begin > span->begin ? w->begin : span->begin;
        add_step(steps, &n, waited, at, name, text);
        at = waited;
    }
    return n;
}

void trace_path(struct trace *t, const char *name, FILE *to) {
    const struct trace_span *span = longest_of(t, name);
    struct step *steps = malloc(STEPS * sizeof *steps);
    char at[24], took[24];
    if (!span || !steps) {
        fprintf(to, "\nno span \"%s\" of a fiber\n", name);
        free(steps);
        return;
    }
    trace_time((double)span->begin, at, sizeof at);
    trace_time((double)(span->end - span->begin), took, sizeof took);
    fprintf(to, "\ncritical path of the longest span \"%s\": at %s, for %s\n        AT        FOR\n", name, at, took);
    for (unsigned n = path_walk(t, span, steps); n--;) {
        trace_time((double)steps[n].begin, at, sizeof at);
        trace_time((double)(steps[n].end - steps[n].begin), took, sizeof took);
        fprintf(to, "%10s %10s  %s\n", at, took, steps[n].text);
    }
    free(steps);
}
