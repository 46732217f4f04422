/* SPDX-License-Identifier: MIT */
/* See model.h. */
#include "model.h"

#include "events.h"

#include "base/random.h"
#include "sched/balance/help_rule.h"
#include "sched/place/victims.h"

enum {
    LOOK_EVERY = 61, /* dispatches */
    MOST = 128,      /* fibers that move at once */
    STALE = 20000,   /* a queue of one fiber is taken when its head has not moved for this long */
    PAUSE_LEAST = 200,
    PAUSE_MOST = 20000,
};

const struct cost cost = {15, {20, 40, 120, 250}, {50, 150, 500, 1000}};

struct fiber {
    struct fiber *next;
    struct worker *home; /* sleeps here */
    uint64_t ready_at, queued_at;
    uint64_t delay; /* what it lost by moving, paid when it runs */
    bool stranded;
};

struct worker {
    struct fiber *head, **tail;
    uint64_t length, taken; /* taken: how many ever left the queue */
    uint64_t average;       /* of the waits */
    struct fiber *running;
    unsigned index, until_look;
    uint64_t looks, looked_at, random, pause, next_stuck, epoch;
    bool stuck, idle, will_go;
    struct weft__victims victims;
    struct seen { /* of each worker's queue */
        uint64_t taken, at;
    } * seen;
};

struct sim {
    const struct load *load;
    const struct rule *rule;
    struct outcome *out;
    struct weft__topology *topology;
    struct worker *workers;
    struct fiber *fibers;
    unsigned count;
    uint64_t random, busy, no_more_stuck;
    size_t waits_room;
    struct events events;
};

static void *zeroed(size_t n, size_t bytes) {
    void *p = calloc(n, bytes);
    if (!p) abort();
    return p;
}

/* Evenly spread, this on average. */
static uint64_t about(uint64_t *random, uint64_t mean) {
    return mean / 4 + weft__random_below(random, (uint32_t)(mean + mean / 2) + 1);
}

/* --- queues --------------------------------------------------------------------------------------- */

static void push(struct worker *w, struct fiber *f, uint64_t now) {
    f->next = NULL;
    f->queued_at = now;
    f->stranded |= w->stuck;
    *w->tail = f;
    w->tail = &f->next;
    w->length++;
}

static struct fiber *pop(struct worker *w) {
    struct fiber *f = w->head;
    if (!f) return NULL;
    if (!(w->head = f->next)) w->tail = &w->head;
    w->length--;
    w->taken++;
    return f;
}

static uint64_t since(uint64_t then, uint64_t now) { return then < now ? now - then : 0; }

static struct weft__view view(const struct worker *w, uint64_t now) {
    return (struct weft__view){w->head ? since(w->head->queued_at, now) : 0, w->average, w->length};
}

static unsigned distance(struct sim *s, struct worker *a, struct worker *b) {
    return weft__topology_distance(s->topology, a->index, b->index);
}

/* Moves the oldest fibers from one queue to the other. */
static void take(struct sim *s, struct worker *w, struct worker *from, uint64_t n, uint64_t now) {
    unsigned d = distance(s, w, from);
    for (n = n < MOST ? n : MOST; n && from->head; n--) {
        struct fiber *f = pop(from);
        f->delay += cost.move[d];
        push(w, f, now);
    }
}

/* --- which worker is looked at ---------------------------------------------------------------------- */

static struct worker *any_worker(struct sim *s, struct worker *w) {
    unsigned i = weft__random_below(&w->random, s->count - 1);
    return &s->workers[i < w->index ? i : i + 1];
}

/* Looks at another queue and helps if necessary. Returns how long that took. */
static uint64_t help(struct sim *s, struct worker *w, uint64_t now) {
    struct worker *other =
        s->rule->near ? &s->workers[weft__victims_one(&w->victims, w->looks++, &w->random)] : any_worker(s, w);
    unsigned d = distance(s, w, other);
    struct weft__view mine = view(w, now), theirs = view(other, now);
    uint64_t n = weft__help(&mine, &theirs);
    if (n) {
        take(s, w, other, n, now);
        s->out->helps[d]++;
    }
    return cost.look[d];
}

/* Makes as many looks as weft makes at a time, until a look has found work. */
static uint64_t help_some(struct sim *s, struct worker *w, uint64_t now) {
    uint64_t took = 0, length = w->length;
    unsigned looks = weft__help_looks(since(w->looked_at, now), s->count - 1);
    w->looked_at = now;
    for (; looks && w->length == length; looks--) took += help(s, w, now + took);
    return took;
}

/* Takes half of a queue; a single fiber only if its worker has not run it for a while. */
static bool steal(struct sim *s, struct worker *w, struct worker *from, uint64_t now) {
    struct seen *seen = &w->seen[from->index];
    if (!from->length) {
        seen->at = 0;
        return false;
    }
    if (from->length == 1) {
        bool stood = seen->at && seen->taken == from->taken;
        if (stood && since(seen->at, now) < STALE) return false;
        if (!stood) {
            *seen = (struct seen){from->taken, now};
            return false;
        }
    }
    take(s, w, from, (from->length + 1) / 2, now);
    s->out->steals[distance(s, w, from)]++;
    return true;
}

/* Looks at as many workers as there are others. Returns how long that took. */
static uint64_t search(struct sim *s, struct worker *w, uint64_t now) {
    struct weft__victims_round round;
    uint64_t took = 0;
    unsigned other;
    if (s->rule->near) {
        weft__victims_begin(&w->victims, &w->random, &round);
        while (weft__victims_next(&w->victims, &round, &other)) {
            took += cost.look[distance(s, w, &s->workers[other])];
            if (steal(s, w, &s->workers[other], now + took)) break;
        }
        return took;
    }
    for (unsigned i = 1; i < s->count; i++) {
        struct worker *any = any_worker(s, w);
        took += cost.look[distance(s, w, any)];
        if (steal(s, w, any, now + took)) break;
    }
    return took;
}

/* --- what a worker does ---------------------------------------------------------------------------- */

static void note_stranded(struct sim *s, uint64_t wait) {
    if (s->out->waits == s->waits_room) {
        s->waits_room = s->waits_room ? 2 * s->waits_room : 4096;
        s->out->wait = realloc(s->out->wait, s->waits_room * sizeof *s->out->wait);
        if (!s->out->wait) abort();
    }
    s->out->wait[s->out->waits++] = wait;
}

/* How long this run takes: sometimes very long, and then all fibers behind it are stranded. */
static uint64_t run_time(struct sim *s, struct worker *w, uint64_t now) {
    if (now < w->next_stuck || now > s->no_more_stuck) return about(&w->random, s->load->run);
    w->next_stuck = now + about(&w->random, s->load->stuck_every);
    w->stuck = true;
    for (struct fiber *f = w->head; f; f = f->next) f->stranded = true;
    return w->will_go ? UINT64_MAX / 2 : about(&w->random, s->load->stuck_for);
}

static void run(struct sim *s, struct worker *w, struct fiber *f, uint64_t now) {
    w->average = weft__help_average(w->average, since(f->queued_at, now));
    if (f->stranded) note_stranded(s, since(f->ready_at, now));
    f->stranded = false;
    w->running = f;
    uint64_t took = run_time(s, w, now);
    s->busy += w->stuck ? 0 : took;
    events_add(&s->events, now + f->delay + took, w, ++w->epoch);
    f->delay = 0;
}

static void end_run(struct sim *s, struct worker *w, uint64_t now) {
    struct fiber *f = w->running;
    w->running = NULL;
    w->stuck = false;
    if (s->load->sleep) {
        f->home = w;
        events_add(&s->events, now + about(&w->random, s->load->sleep), f, UINT64_MAX);
        return;
    }
    f->ready_at = now;
    push(w, f, now);
}

static void turn(struct sim *s, struct worker *w, uint64_t now) {
    if (w->running) end_run(s, w, now);
    now += cost.dispatch;
    if (s->rule->helps && !--w->until_look) {
        w->until_look = LOOK_EVERY;
        now += help_some(s, w, now);
    }
    if (!w->head) now += search(s, w, now);
    struct fiber *f = pop(w);
    w->idle = !f;
    if (f) {
        w->pause = PAUSE_LEAST;
        run(s, w, f, now);
        return;
    }
    events_add(&s->events, now + about(&w->random, w->pause), w, ++w->epoch);
    if (w->pause < PAUSE_MOST) w->pause *= 2;
}

static void wake(struct sim *s, struct fiber *f, uint64_t now) {
    f->ready_at = now;
    push(f->home, f, now);
    if (f->home->idle) turn(s, f->home, now);
}

/* --- all of it ------------------------------------------------------------------------------------ */

static struct weft__topology *make_topology(const struct machine *m) {
    unsigned count = m->sockets * m->caches * m->cores;
    struct weft__topology *t = zeroed(1, sizeof *t + count * sizeof t->location[0]);
    *t = (struct weft__topology){.cpus = count, .cores = count, .caches = m->sockets * m->caches, .nodes = m->sockets};
    for (unsigned i = 0; i < count; i++)
        t->location[i] =
            (struct weft__cpu_location){(uint16_t)i, (uint16_t)(i / m->cores), (uint16_t)(i / m->cores / m->caches)};
    return t;
}

static void begin(struct sim *s) {
    uint16_t *cpu_of = zeroed(s->count, sizeof *cpu_of);
    for (unsigned i = 0; i < s->count; i++) cpu_of[i] = (uint16_t)i;
    for (unsigned i = 0; i < s->count; i++) {
        struct worker *w = &s->workers[i];
        w->index = i;
        w->tail = &w->head;
        w->random = weft__random(&s->random) | 1;
        w->until_look = 1 + weft__random_below(&w->random, LOOK_EVERY);
        w->looks = weft__random_below(&w->random, 1000);
        w->pause = PAUSE_LEAST;
        w->will_go = s->load->gone && i % (s->count / s->load->gone) == 0;
        w->next_stuck = s->load->stuck_every && (!s->load->gone || w->will_go)
                            ? weft__random_below(&w->random, (uint32_t)(2 * s->load->stuck_every))
                            : UINT64_MAX;
        w->seen = zeroed(s->count, sizeof *w->seen);
        if (weft__victims_arrange(&w->victims, s->topology, cpu_of, s->count, i)) abort();
        for (unsigned k = 0; k < s->load->fibers; k++) push(w, &s->fibers[i * s->load->fibers + k], 0);
        events_add(&s->events, weft__random_below(&w->random, 1000), w, ++w->epoch);
    }
    free(cpu_of);
}

static bool is_fiber(struct sim *s, void *what) {
    return (struct fiber *)what >= s->fibers && (struct fiber *)what < s->fibers + s->count * s->load->fibers;
}

static int compare(const void *a, const void *b) {
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

static void end(struct sim *s, uint64_t duration) {
    for (unsigned i = 0; i < s->count; i++) {
        struct worker *w = &s->workers[i];
        if (w->stuck && w->will_go) s->out->never += w->length;
        weft__victims_free(&w->victims);
        free(w->seen);
    }
    if (s->out->waits) qsort(s->out->wait, s->out->waits, sizeof *s->out->wait, compare);
    s->out->work = (double)s->busy / (double)duration / s->count;
    free(s->workers);
    free(s->fibers);
    free(s->topology);
    free(s->events.heap);
}

void simulate(const struct machine *m, const struct load *l, const struct rule *r, uint64_t duration, uint64_t seed,
              struct outcome *out) {
    struct sim s = {.load = l, .rule = r, .out = out, .random = seed, .count = m->sockets * m->caches * m->cores};
    *out = (struct outcome){0};
    s.no_more_stuck = duration - 3 * l->stuck_for;
    s.topology = make_topology(m);
    s.workers = zeroed(s.count, sizeof *s.workers);
    s.fibers = zeroed(s.count * l->fibers, sizeof *s.fibers);
    begin(&s);
    for (;;) {
        struct event e = events_take(&s.events);
        if (e.at >= duration) break;
        if (is_fiber(&s, e.what))
            wake(&s, e.what, e.at);
        else if (((struct worker *)e.what)->epoch == e.epoch)
            turn(&s, e.what, e.at);
    }
    end(&s, duration);
}
