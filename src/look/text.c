/* SPDX-License-Identifier: MIT */
/*
 * The report as text: a line about the whole, then the fibers in groups. A group has the same state, waits for the same
 * kind of thing, was spawned at the same place and has the same stack; the largest groups come first.
 */
#include "look/report.h"

#include "base/sys.h"

#include <errno.h>
#include <stdlib.h>

struct group {
    struct group *next; /* in its slot of the hash table */
    uint64_t hash, count;
    struct weft__seen *member; /* some of them */
    unsigned members, room;
};

struct groups {
    struct weft__report *report;
    struct group **table;
    size_t size, used;
    uint64_t states[WEFT_SEEN_STATES], torn;
    bool no_memory;
};

/* --- grouping ----------------------------------------------------------------------------------------- */

static uint64_t mix_frame(uint64_t hash, uint64_t v) {
    hash = (hash ^ v) * UINT64_C(0x9e3779b97f4a7c15);
    return hash ^ hash >> 29;
}

static uint64_t group_hash_of(const struct weft__seen *f) {
    uint64_t hash = mix_frame(mix_frame(f->state, f->on), f->where) ^ f->torn;
    for (unsigned i = 0; i < f->depth; i++) hash = mix_frame(hash, f->frame[i]);
    return hash;
}

static bool is_of_group(const struct group *g, uint64_t hash, const struct weft__seen *f) {
    const struct weft__seen *first = g->member;
    return g->hash == hash && first->state == f->state && first->on == f->on && first->where == f->where &&
           first->torn == f->torn && first->depth == f->depth &&
           !memcmp(first->frame, f->frame, f->depth * sizeof *f->frame);
}

/* The fibers of a group have the same frames: only the first keeps them. */
static const size_t without_frames = offsetof(struct weft__seen, frame);

static bool add_member(struct group *g, const struct weft__seen *f, unsigned most) {
    if (g->members && g->members >= most) return true;
    if (g->members == g->room) {
        unsigned room = g->room ? 2 * g->room : 1;
        struct weft__seen *moved = weft__alloc(sizeof *moved + room * without_frames);
        if (!moved) return false;
        if (g->members) memcpy(moved, g->member, sizeof *moved + g->room * without_frames);
        weft__free(g->member);
        g->member = moved;
        g->room = room;
    }
    if (!g->members)
        g->member[0] = *f;
    else
        memcpy((char *)(g->member + 1) + (g->members - 1) * without_frames, f, without_frames);
    g->members++;
    return true;
}

/* Copies member i to *to, with the frames of the first member. */
static void member_of(const struct group *g, unsigned i, struct weft__seen *to) {
    if (!i)
        *to = g->member[0];
    else
        memcpy(to, (const char *)(g->member + 1) + (i - 1) * without_frames, without_frames);
}

static void text_grow(struct groups *all) {
    size_t size = all->size ? 2 * all->size : 256;
    struct group **table = weft__alloc(size * sizeof *table);
    if (!table) return;
    memset(table, 0, size * sizeof *table);
    for (size_t i = 0; i < all->size; i++)
        for (struct group *g = all->table[i], *next; g; g = next) {
            next = g->next;
            g->next = table[g->hash & (size - 1)];
            table[g->hash & (size - 1)] = g;
        }
    weft__free(all->table);
    all->table = table;
    all->size = size;
}

static void text_add(const struct weft__seen *f, void *arg) {
    struct groups *all = arg;
    uint64_t hash = group_hash_of(f);
    all->states[f->state]++;
    all->torn += f->torn;
    if (all->used >= all->size) text_grow(all);
    if (!all->size) {
        all->no_memory = true;
        return;
    }
    struct group **at = &all->table[hash & (all->size - 1)], *g = *at;
    while (g && !is_of_group(g, hash, f)) g = g->next;
    if (!g) {
        if (!(g = weft__alloc(sizeof *g))) {
            all->no_memory = true;
            return;
        }
        *g = (struct group){.next = *at, .hash = hash};
        if (!add_member(g, f, 1)) {
            weft__free(g);
            all->no_memory = true;
            return;
        }
        *at = g;
        all->used++;
    } else if (!add_member(g, f, all->report->most))
        all->no_memory = true;
    g->count++;
}

/* --- printing ----------------------------------------------------------------------------------------- */

static void print_head(struct groups *all) {
    struct weft__report *r = all->report;
    uint64_t total = 0, threads = all->states[WEFT_SEEN_THREAD];
    const char *between = ": ";
    for (unsigned i = 0; i < WEFT_SEEN_STATES; i++) total += all->states[i];
    weft__out(&r->out, "weft %s, process %d: %u workers, %u of them asleep; %llu fibers", r->look->layout.release,
              (int)r->look->memory->pid, r->look->workers, r->look->sleeping, (unsigned long long)(total - threads));
    for (unsigned i = 0; i < WEFT_SEEN_STATES; i++) {
        if (!all->states[i] || i == WEFT_SEEN_THREAD) continue;
        weft__out(&r->out, "%s%llu %s", between, (unsigned long long)all->states[i], weft__state_name(i));
        between = "; ";
    }
    if (threads) weft__out(&r->out, "; %llu other threads that wait", (unsigned long long)threads);
    if (all->torn) weft__out(&r->out, "; %llu torn", (unsigned long long)all->torn);
    weft__out(&r->out, "\n");
    if (r->look->unread)
        weft__out(&r->out, "%llu of %llu records could not be read%s\n", (unsigned long long)r->look->unread,
                  (unsigned long long)r->look->records, r->has_stopped ? ": they are not in the file" : "");
}

static void print_group(struct weft__report *r, const struct group *g) {
    struct weft__seen *one = weft__alloc(sizeof *one);
    if (!one) return;
    const struct weft__seen *first = g->member;
    char where[256] = "an unknown place";
    if (first->where) weft__peek_string(r->look->memory, first->where, where, sizeof where);
    weft__out(&r->out, "\n%llu %s%s %s", (unsigned long long)g->count,
              first->state == WEFT_SEEN_THREAD ? "thread" : "fiber", g->count == 1 ? "" : "s",
              weft__state_name(first->state));
    if (first->on) weft__out(&r->out, ": %s", weft__waits_name(first->on));
    if (first->state != WEFT_SEEN_THREAD) weft__out(&r->out, "; spawned at %s", where);
    weft__out(&r->out, "\n");
    for (unsigned i = 0; i < first->depth; i++) weft__report_frame(r, first->frame[i], i);
    for (unsigned i = 0; i < g->members; i++) {
        member_of(g, i, one);
        weft__out(&r->out, "  ");
        weft__report_line(r, one);
        weft__out(&r->out, "\n");
    }
    if (g->count > g->members) weft__out(&r->out, "  and %llu more\n", (unsigned long long)(g->count - g->members));
    weft__free(one);
}

static int compare_groups(const void *a, const void *b) {
    const struct group *x = *(struct group *const *)a, *y = *(struct group *const *)b;
    if (x->count != y->count) return x->count > y->count ? -1 : 1;
    return x->member->id < y->member->id ? -1 : x->member->id > y->member->id;
}

static void print_groups(struct groups *all) {
    struct group **sorted = weft__alloc(all->used * sizeof *sorted);
    size_t n = 0;
    if (!sorted) {
        all->no_memory = true;
        return;
    }
    for (size_t i = 0; i < all->size; i++)
        for (struct group *g = all->table[i]; g; g = g->next) sorted[n++] = g;
    qsort(sorted, n, sizeof *sorted, compare_groups);
    for (size_t i = 0; i < n; i++) print_group(all->report, sorted[i]);
    weft__free(sorted);
}

static void free_groups(struct groups *all) {
    for (size_t i = 0; i < all->size; i++)
        for (struct group *g = all->table[i], *next; g; g = next) {
            next = g->next;
            weft__free(g->member);
            weft__free(g);
        }
    weft__free(all->table);
}

int weft__report_text(struct weft__report *report) {
    struct groups all = {.report = report};
    int err = weft__look_fibers(report->look, text_add, &all);
    if (!err) {
        print_head(&all);
        if (all.used) print_groups(&all);
        if (all.no_memory) err = -ENOMEM;
    }
    free_groups(&all);
    int written = weft__out_end(&report->out);
    return err ? err : written;
}
