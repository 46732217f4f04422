/* SPDX-License-Identifier: MIT */
/* See view.h. */
#include "view.h"

#include "look/site.h"
#include "mem/slab.h"
#include "weft.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

/* Rates, and where struct weft_stats counts them. */
const char *const view_rate_name[VIEW_RATES] = {"switches", "parks", "spawned", "steals", "helps", "sleeps"};
static const size_t rate_field[VIEW_RATES] = {
    offsetof(struct weft_stats, switches), offsetof(struct weft_stats, parks), offsetof(struct weft_stats, spawned),
    offsetof(struct weft_stats, steals),   offsetof(struct weft_stats, helps), offsetof(struct weft_stats, sleeps)};

struct view_busy {
    uint64_t id, where;
    uint64_t samples;
};

static uint64_t rate_of(const struct weft__worker_seen *w, unsigned i) {
    return w->numbers[rate_field[i] / sizeof(uint64_t)];
}

/* --- workers ------------------------------------------------------------------------------------------------ */

static struct view_worker *find_worker(struct view *v, uint64_t address) {
    for (unsigned i = 0; i < v->workers; i++)
        if (v->worker[i].seen.address == address) return &v->worker[i];
    return NULL;
}

static double cpu_of(struct view *v, int tid, double seconds) {
    for (unsigned i = 0; i < v->threads.count; i++) {
        struct thread_seen *t = &v->threads.thread[i];
        if (t->tid != tid) continue;
        thread_has_run(t);
        double share = (double)t->owed / 1e9 / seconds;
        t->owed = 0;
        return share;
    }
    return 0;
}

static void compare_worker(struct view *v, struct view_worker *to, const struct weft__worker_seen *now,
                           const struct view_worker *before, double seconds) {
    *to = (struct view_worker){.seen = *now};
    to->cpu = cpu_of(v, now->tid, seconds);
    if (before && before->samples) to->busy = (double)before->was_busy / (double)before->samples;
    for (unsigned i = 0; i < VIEW_RATES && before; i++) {
        uint64_t was = rate_of(&before->seen, i), is = rate_of(now, i);
        if (is >= was) to->rates[i] = (double)(is - was) / seconds;
        v->rates[i] += to->rates[i];
    }
    if (now->current) {
        uint64_t id = weft__peek64(&v->target->memory, now->current + v->target->look.layout.fiber_life);
        if (weft__life_in_use(id)) to->runs = id;
    }
    if (now->hog && now->hog == now->current && v->at > now->hog_since) to->hog_ns = v->at - now->hog_since;
}

static int compare_workers(struct view *v) {
    struct weft__look *look = &v->target->look;
    double seconds = v->before ? (double)(v->at - v->before) / 1e9 : 1e9;
    struct view_worker *now = calloc(look->workers + 1, sizeof *now);
    if (!now) return -ENOMEM;
    memset(v->rates, 0, sizeof v->rates);
    for (unsigned i = 0; i < look->workers; i++)
        compare_worker(v, &now[i], &look->worker[i], find_worker(v, look->worker[i].address), seconds);
    free(v->worker);
    v->worker = now;
    v->workers = look->workers;
    return 0;
}

/* --- delays --------------------------------------------------------------------------------------------------- */

/* The upper end of a bucket: eight an octave (sched/dispatch/delay.c). */
static double end_of_bucket(unsigned b) {
    if (b < 8) return (b + 1) / 1e9;
    return (double)(UINT64_C(1) << (b / 8 - 3)) * (9 + b % 8) / 1e9;
}

static void compare_delays(struct view *v) {
    struct weft__look *look = &v->target->look;
    unsigned n = look->layout.delay_buckets;
    uint64_t *sum = calloc(n, sizeof *sum);
    uint32_t *now = calloc(n * (size_t)(look->workers + 1), sizeof *now), *old = v->delay_before;
    const double parts[3] = {0.5, 0.9, 0.99};
    if (!sum || !now || n > 4096) goto out;
    v->delays = 0;
    for (unsigned w = 0; w < look->workers; w++) {
        uint32_t *of = now + (size_t)w * n;
        if (!weft__peek(look->memory, look->worker[w].address + look->layout.worker_delays, of, n * sizeof *of))
            continue;
        for (unsigned b = 0; b < n; b++) {
            uint32_t more = of[b] - (old && w < v->workers ? old[(size_t)w * n + b] : 0);
            sum[b] += more;
            v->delays += more;
        }
    }
    memset(v->delay, 0, sizeof v->delay);
    uint64_t below = 0;
    for (unsigned b = 0; b < n; b++) {
        if (!sum[b]) continue;
        below += sum[b];
        for (unsigned i = 0; i < 3; i++)
            if (v->delay[i] == 0 && (double)below >= parts[i] * (double)v->delays) v->delay[i] = end_of_bucket(b);
        v->delay[3] = end_of_bucket(b);
    }
    v->delay_before = now;
    now = old;
out:
    free(now);
    free(sum);
}

/* --- samples --------------------------------------------------------------------------------------------------- */

static void count_busy(struct view *v, uint64_t id, uint64_t where) {
    for (unsigned i = 0; i < v->busy_count; i++)
        if (v->busy[i].id == id) {
            v->busy[i].samples++;
            return;
        }
    if (v->busy_count == v->busy_room) {
        unsigned room = v->busy_room ? 2 * v->busy_room : 256;
        struct view_busy *more = realloc(v->busy, room * sizeof *more);
        if (!more) return;
        v->busy = more;
        v->busy_room = room;
    }
    v->busy[v->busy_count++] = (struct view_busy){id, where, 1};
}

void view_sample(struct view *v) {
    struct weft__look *look = &v->target->look;
    const struct weft__layout *l = &look->layout;
    for (unsigned i = 0; i < v->workers; i++) {
        struct view_worker *w = &v->worker[i];
        uint64_t current = 0, id = 0, where = 0;
        w->samples++;
        if (!weft__peek(look->memory, w->seen.address + l->worker_current, &current, 8) || !current) continue;
        struct weft__want wants[2] = {{current + l->fiber_life, &id, 8, false},
                                      {current + l->fiber_where, &where, 8, false}};
        look->memory->read(look->memory, wants, 2);
        if (!weft__life_in_use(id)) continue;
        w->was_busy++;
        count_busy(v, id, where);
    }
}

/* --- rows -------------------------------------------------------------------------------------------------------- */

static struct view_row *add_row(struct view *v, uint64_t key) {
    for (unsigned i = 0; i < v->rows; i++)
        if (v->row[i].key == key) return &v->row[i];
    if (v->rows == v->room) {
        unsigned room = v->room ? 2 * v->room : 64;
        struct view_row *more = realloc(v->row, room * sizeof *more);
        if (!more) return NULL;
        v->row = more;
        v->room = room;
    }
    v->row[v->rows] = (struct view_row){.key = key};
    return &v->row[v->rows++];
}

static const char *base_name(const char *path) {
    const char *cut = strrchr(path, '/');
    return cut ? cut + 1 : path;
}

/* Labels are looked up once for a group: "call\1where". */
static uint32_t label_of(struct view *v, struct weft__group *g) {
    struct weft__site site;
    char text[400], spawned[200] = "";
    if (g->label) return g->label;
    weft__site_of(&v->target->names, &g->seen, &site);
    if (site.found && site.file[0])
        snprintf(text, sizeof text, "%s\1%s at %s:%d", site.call, site.function, base_name(site.file), site.line);
    else if (site.found)
        snprintf(text, sizeof text, "%s\1%s", site.call, site.function);
    else {
        if (g->seen.where) weft__peek_string(&v->target->memory, g->seen.where, spawned, sizeof spawned);
        snprintf(text, sizeof text, "%s\1%s%s", site.call, spawned[0] ? "spawned at " : "an unknown place",
                 base_name(spawned));
    }
    return g->label = weft__intern(&v->labels, text);
}

static void count_io(struct view *v, const char *name, uint64_t count) {
    unsigned i = 0;
    while (i < v->io_kinds && strcmp(v->io[i].name, name) != 0) i++;
    if (i == v->io_kinds) {
        if (i == VIEW_IO_MOST)
            i--; /* the last one takes what is left */
        else
            v->io_kinds++;
        if (v->io_kinds == i + 1 && !v->io[i].count)
            snprintf(v->io[i].name, sizeof v->io[i].name, "%s", i + 1 == VIEW_IO_MOST ? "other" : name);
    }
    v->io[i].count += count;
}

static void add_group(struct view *v, struct weft__group *g) {
    uint32_t label = label_of(v, g);
    const char *call = weft__interned_text(&v->labels, label), *where = strchr(call, '\1');
    size_t n = where ? (size_t)(where - call) : 0;
    struct view_row *r = add_row(v, (uint64_t)g->seen.state << 48 | (uint64_t)g->seen.on << 32 | label);
    if (!r) return;
    char name[48];
    snprintf(name, sizeof name, "%.*s", (int)n, call);
    if (g->seen.state == WEFT_SEEN_OUTSIDE) count_io(v, n > 5 ? name + 5 : weft__waits_name(g->seen.on), g->count);
    bool request = g->seen.on == WEFT_WAITS_IO && n > 5;
    snprintf(r->what, sizeof r->what, "%s",
             request                            ? name + 5
             : weft__state_waits(g->seen.state) ? weft__waits_name(g->seen.on)
                                                : weft__state_name(g->seen.state));
    snprintf(r->where, sizeof r->where, "%s", where ? where + 1 : "");
    r->count += g->count;
    r->arrivals += v->before ? (double)g->arrivals / ((double)(v->at - v->before) / 1e9) : 0;
    uint64_t longest = v->at - g->since;
    if (longest >= r->longest || !r->fiber) {
        r->longest = longest;
        r->fiber = g->longest;
        r->at_least = g->since <= v->track.began;
    }
}

static void add_busy(struct view *v, const struct view_busy *b) {
    uint64_t samples = v->workers ? v->worker[0].samples : 0;
    struct view_row *r = add_row(v, UINT64_C(1) << 63 | b->where);
    char where[200] = "";
    if (!r || !samples) return;
    if (!r->count) {
        if (b->where) weft__peek_string(&v->target->memory, b->where, where, sizeof where);
        snprintf(r->where, sizeof r->where, "%s", where[0] ? base_name(where) : "an unknown place");
        snprintf(r->what, sizeof r->what, "runs");
        r->is_busy = true;
    }
    r->count++;
    r->share += (double)b->samples / (double)samples;
    if (b->samples > r->longest) {
        r->longest = b->samples; /* of samples, here */
        r->fiber = b->id;
    }
}

int view_frame(struct view *v) {
    struct target *t = v->target;
    uint64_t begin = target_now(t);
    if (!threads_refresh(&v->threads)) return -ESRCH;
    int err = weft__look_workers(&t->look);
    if (!err && !t->look.workers) err = -ESRCH;
    if (err) return err;
    v->before = v->at;
    v->at = begin;
    v->rows = 0;
    v->io_kinds = 0;
    memset(v->io, 0, sizeof v->io);
    for (unsigned i = 0; i < v->busy_count; i++) add_busy(v, &v->busy[i]);
    v->busy_count = 0;
    compare_delays(v); /* before the workers: it asks how many there were */
    if ((err = compare_workers(v))) return err;
    if ((err = weft__track_look(&v->track, &t->look, begin))) return err;
    for (struct weft__group *g = v->track.groups; g; g = g->other)
        if (g->count && g->seen.state != WEFT_SEEN_RUNNING) add_group(v, g);
    v->cost = (double)(target_now(t) - begin) / 1e9;
    return 0;
}

int view_begin(struct view *v, struct target *t) {
    *v = (struct view){.target = t, .threads.pid = t->memory.pid};
    v->began = target_now(t);
    return view_frame(v);
}

void view_end(struct view *v) {
    weft__track_free(&v->track);
    weft__interned_free(&v->labels);
    threads_free(&v->threads);
    free(v->worker);
    free(v->row);
    free(v->busy);
    free(v->delay_before);
}
