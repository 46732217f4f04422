/* SPDX-License-Identifier: MIT */
/* See track.h. */
#include "look/track.h"

#include "base/sys.h"
#include "sched/core/wait_word.h"

#include <errno.h>

#define WEFT_GROUPS_MOST 65536

struct weft__tracked {
    uint64_t id, wait; /* 0: no fiber of this record is in a group */
    uint64_t since;
    struct weft__group *group;
};

/* --- groups ------------------------------------------------------------------------------------------- */

static uint64_t mix_stack(uint64_t hash, uint64_t v) {
    hash = (hash ^ v) * UINT64_C(0x9e3779b97f4a7c15);
    return hash ^ hash >> 29;
}

static uint64_t stack_hash_of(const struct weft__seen *f) {
    uint64_t hash = mix_stack(mix_stack(f->state, f->on), f->where);
    for (unsigned i = 0; i < f->depth; i++) hash = mix_stack(hash, f->frame[i]);
    return hash;
}

static bool is_of_crowd(const struct weft__group *g, uint64_t hash, const struct weft__seen *f) {
    return g->hash == hash && g->seen.state == f->state && g->seen.on == f->on && g->seen.where == f->where &&
           g->seen.depth == f->depth && !memcmp(g->seen.frame, f->frame, f->depth * sizeof *f->frame);
}

static bool grow_track_table(struct weft__track *t) {
    size_t size = t->size ? 2 * t->size : 256;
    struct weft__group **table = weft__alloc(size * sizeof *table);
    if (!table) return t->size > 0;
    memset(table, 0, size * sizeof *table);
    weft__free(t->table);
    t->table = table;
    t->size = size;
    for (struct weft__group *g = t->groups; g; g = g->other) {
        g->next = table[g->hash & (size - 1)];
        table[g->hash & (size - 1)] = g;
    }
    return true;
}

static struct weft__group *make_crowd(struct weft__track *t, const struct weft__seen *f, uint64_t hash) {
    size_t seen = offsetof(struct weft__seen, frame) + f->depth * sizeof *f->frame;
    if (t->used >= WEFT_GROUPS_MOST || (t->used >= t->size && !grow_track_table(t))) return NULL;
    struct weft__group *g = weft__alloc(offsetof(struct weft__group, seen) + seen), **at;
    if (!g) return NULL;
    at = &t->table[hash & (t->size - 1)];
    memset(g, 0, offsetof(struct weft__group, seen));
    memcpy(&g->seen, f, seen);
    g->hash = hash;
    g->next = *at;
    *at = g;
    g->other = t->groups;
    t->groups = g;
    t->used++;
    return g;
}

struct weft__group *weft__track_group(struct weft__track *t, const struct weft__seen *f) {
    uint64_t hash = stack_hash_of(f);
    struct weft__group *g = t->size ? t->table[hash & (t->size - 1)] : NULL;
    while (g && !is_of_crowd(g, hash, f)) g = g->next;
    return g ? g : make_crowd(t, f, hash);
}

/* --- fibers ------------------------------------------------------------------------------------------- */

static bool make_track_room(struct weft__track *t, size_t index) {
    if (index < t->fibers) return true;
    size_t room = t->fibers ? t->fibers : 1024;
    while (room <= index) room *= 2;
    struct weft__tracked *moved = weft__alloc(room * sizeof *moved);
    if (!moved) return false;
    if (t->fibers) memcpy(moved, t->fiber, t->fibers * sizeof *moved);
    memset(moved + t->fibers, 0, (room - t->fibers) * sizeof *moved);
    weft__free(t->fiber);
    t->fiber = moved;
    t->fibers = room;
    return true;
}

/* The number of the wait. The other bits of the word may change during a wait. */
static uint64_t wait_of(const struct weft__seen *f) { return f->wait & WEFT_WAIT_EPOCH; }

/* The entry of the fiber, if it is still in the wait that an earlier look has seen; otherwise NULL. */
static struct weft__tracked *find_tracked(const struct weft__track *t, const struct weft__seen *f) {
    uint32_t index = weft__life_index(f->id);
    struct weft__tracked *k = index < t->fibers ? &t->fiber[index] : NULL;
    if (!k || k->id != f->id || k->wait != wait_of(f) || !k->group || k->group->seen.state != f->state) return NULL;
    return weft__state_waits(f->state) ? k : NULL;
}

static void count_member(struct weft__track *t, struct weft__group *g, uint64_t id, uint64_t since, bool is_new) {
    t->states[g->seen.state]++;
    if (!g->count++ || since < g->since) {
        g->since = since;
        g->longest = id;
    }
    if (is_new) {
        g->arrivals++;
        g->waits++;
    }
    if (t->before) g->waited += t->now - t->before;
}

static bool is_known(struct weft__look *look, const struct weft__seen *f) {
    struct weft__track *t = look->data;
    const struct weft__tracked *k = find_tracked(t, f);
    if (k) count_member(t, k->group, k->id, k->since, false);
    return k != NULL;
}

static void track_fiber(const struct weft__seen *f, void *arg) {
    struct weft__track *t = arg;
    uint32_t index = weft__life_index(f->id);
    if (f->torn || index >= t->look->records) {
        t->states[f->state]++;
        t->torn++;
        return;
    }
    struct weft__group *g = make_track_room(t, index) ? weft__track_group(t, f) : NULL;
    if (!g) {
        t->no_memory |= t->used < WEFT_GROUPS_MOST;
        t->states[f->state]++;
        t->left_out++;
        return;
    }
    uint64_t since = f->waits_since && f->waits_since < t->now ? f->waits_since : t->now; /* t->now: before the look */
    t->fiber[index] = (struct weft__tracked){f->id, wait_of(f), since, g};
    count_member(t, g, f->id, since, true);
}

int weft__track_look(struct weft__track *t, struct weft__look *look, uint64_t now) {
    void *data = look->data;
    void (*running)(struct weft__look *, struct weft__seen *) = look->running;
    t->look = look;
    t->before = t->now;
    t->now = now;
    if (!t->began) t->began = now;
    memset(t->states, 0, sizeof t->states);
    t->torn = t->left_out = 0;
    for (struct weft__group *g = t->groups; g; g = g->other) g->count = g->arrivals = 0;
    look->data = t;
    look->is_known = is_known;
    look->running = NULL; /* fibers that run are not interrupted */
    int err = weft__look_fibers(look, track_fiber, t);
    look->is_known = NULL;
    look->running = running;
    look->data = data;
    return err ? err : t->no_memory ? -ENOMEM : 0;
}

uint64_t weft__track_since(const struct weft__track *t, const struct weft__seen *f) {
    const struct weft__tracked *k = find_tracked(t, f);
    return k ? k->since : 0;
}

uint64_t weft__waits_since(const struct weft__track *t, const struct weft__seen *f) {
    uint64_t since = t ? weft__track_since(t, f) : 0;
    return since && (!f->waits_since || since < f->waits_since) ? since : f->waits_since;
}

void weft__track_free(struct weft__track *t) {
    for (struct weft__group *g = t->groups, *next; g; g = next) {
        next = g->other;
        weft__free(g);
    }
    weft__free(t->table);
    weft__free(t->fiber);
    *t = (struct weft__track){.look = NULL};
}
