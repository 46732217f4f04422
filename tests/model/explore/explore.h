/* SPDX-License-Identifier: MIT */
/*
 * The explorer: explores all interleavings of a few threads that run real source, and all values that their loads may
 * return under a weak memory model. A program includes it once, and defines what the threads do (run_thread) and what
 * must hold at the end (check).
 *
 * How it works. The atomic operations are steps (base/atomic.h in this directory). To continue a thread that has made k
 * steps, the explorer runs its function from the beginning and answers the first k operations from a log. The next
 * operation is the next step. So the explorer stores no stacks: a state is the memory and the logs. It does not
 * continue from a state that it has seen before. It follows that memory that is not atomic must be private to a thread
 * or constant.
 *
 * The memory model, of acquire and release with relaxed accesses:
 *   - Each place keeps all values ever stored, in order. A thread has a view: for each place the
 *     oldest value that it may still read. A load returns any value from there on.
 *   - A release carries the storing thread's view along, an acquire that reads it takes it over; a
 *     swap reads the newest value, and goes on with what the value it replaces carried.
 *   - Full fences have an order: each takes over what the threads of those before had seen and stored, and
 *     carries the thread's own view along.
 *   - Loads that the program says so of (may_be_late) need not be done when the thread goes on: they
 *     may be done at any moment until the thread's next release. That is what machines do with loads.
 *
 * If all runs are right, the explorer weakens each memory order in the source, one after the other, and checks whether
 * a run then goes wrong.
 */
#ifndef WEFT_EXPLORE_H
#define WEFT_EXPLORE_H

#include "base/atomic.h"

#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define THREADS 3
#define PLACES 26
#ifndef VALUES
#define VALUES 12 /* the most values stored in a place */
#define LOG 120   /* the most operations of a thread */
#endif
#define LATE 4 /* the most pending loads of a thread */

/* --- the state --------------------------------------------------------------------------------- */

struct view {
    uint8_t at[PLACES];
};

struct message {
    uint64_t value;
    struct view view; /* the view that a release carried */
};

struct late {
    uint8_t place, from; /* from: the oldest value that it may read */
    uint16_t token;      /* 0: none */
};

struct thread {
    struct view view;
    struct late late[LATE];
    uint64_t log[LOG];
    uint16_t length;
    uint64_t done_late[LATE * 8]; /* what the pending loads with tokens 1, 2, ... have returned */
    uint16_t tokens;
};

struct state {
    struct message value[PLACES][VALUES];
    uint8_t values[PLACES];
    struct thread thread[THREADS];
    struct view fenced; /* what the full fences so far have carried */
    uint8_t allocated;  /* words of the arena */
};

/* --- what the program says ---------------------------------------------------------------------- */

struct op {
    enum step_kind kind;
    unsigned place, order;
    uint64_t value, expected;
    const volatile void *at;
};

/* Runs thread t from its beginning, with its private data reset. */
static void run_thread(unsigned t);
/* Called when all threads have ended: sets `wrong` if something is wrong. bring_back runs a thread again. */
static void check(const struct state *s);
/* Initialises the memory; atomics by store_rlx. */
static void set_up(void);
/* May the load be done later? */
static bool may_be_late(unsigned t, const struct op *op);
/* No other thread ever writes there, so the explorer need not interleave other threads before this step. */
static bool is_private(unsigned t, const struct op *op);

static bool wrong;
static uint64_t states, runs;

/* --- places ------------------------------------------------------------------------------------- */

static const volatile void *places[PLACES];
static unsigned n_places;

static unsigned place_of(const volatile void *p) {
    unsigned i = 0;
    while (i < n_places && places[i] != p) i++;
    if (i == PLACES) abort();
    if (i == n_places) places[n_places++] = p;
    return i;
}

static uint64_t newest(const struct state *s, const volatile void *p) {
    unsigned i = place_of(p);
    return s->value[i][s->values[i] - 1].value;
}

/* --- one thread, brought back from its log ------------------------------------------------------ */

static struct op next_op;

static struct {
    const uint64_t *log;
    unsigned length, at;
    jmp_buf stop;
    bool setting_up;
    struct state *state; /* set during the initialisation */
} replay;

static struct site {
    struct explore_site where;
    unsigned order;
} sites[32], weak; /* weak: the operation to weaken, and its new order */
static unsigned n_sites;

static bool is_site(const struct site *s, struct explore_site where) {
    return s->where.text && !strcmp(s->where.text, where.text) && !strcmp(s->where.function, where.function);
}

static unsigned order_at(unsigned order, struct explore_site where) {
    if (!order) return order;
    unsigned i = 0;
    while (i < n_sites && !is_site(&sites[i], where)) i++;
    if (i == n_sites) sites[n_sites++] = (struct site){where, order};
    return is_site(&weak, where) ? weak.order : order;
}

uint64_t explore_step(enum step_kind kind, const volatile void *at, unsigned order, uint64_t value, uint64_t *expected,
                      struct explore_site site) {
    if (replay.setting_up) { /* all threads see this at the beginning */
        unsigned place = place_of(at);
        if (kind == STEP_STORE) replay.state->value[place][0].value = value;
        return replay.state->value[place][0].value;
    }
    if (replay.at < replay.length) {
        uint64_t answer = replay.log[replay.at++];
        if (kind == STEP_SWAP) *expected = replay.log[replay.at++];
        return answer;
    }
    next_op = (struct op){
        kind, kind >= STEP_FENCE ? 0 : place_of(at), order_at(order, site), value, expected ? *expected : 0, at};
    longjmp(replay.stop, 1);
}

/* Returns true if next_op is the next step of the thread; false if the thread has ended, with its result in
 * `results`. */
static bool bring_back(const struct state *s, unsigned t) {
    replay.log = s->thread[t].log;
    replay.length = s->thread[t].length;
    replay.at = 0;
    if (setjmp(replay.stop)) return true;
    run_thread(t);
    return false;
}

/* --- steps ------------------------------------------------------------------------------------- */

static void view_join(struct view *v, const struct view *with) {
    for (unsigned i = 0; i < PLACES; i++)
        if (with->at[i] > v->at[i]) v->at[i] = with->at[i];
}

static void answer(struct thread *t, uint64_t value) {
    if (t->length + 1 >= LOG) abort();
    t->log[t->length++] = value;
}

static void read_it(struct state *s, struct thread *t, const struct op *op, unsigned which) {
    t->view.at[op->place] = (uint8_t)which;
    if (op->order & ORDER_ACQUIRE) view_join(&t->view, &s->value[op->place][which].view);
}

static void write_it(struct state *s, struct thread *t, const struct op *op, const struct view *before) {
    unsigned which = s->values[op->place]++;
    if (which >= VALUES) abort();
    struct message *m = &s->value[op->place][which];
    m->value = op->value;
    t->view.at[op->place] = (uint8_t)which;
    memset(&m->view, 0, sizeof m->view);
    if (before) m->view = *before;
    if (op->order & ORDER_RELEASE) view_join(&m->view, &t->view);
}

#define TOKEN UINT64_C(0x4000000000000000)

static bool has_late(const struct thread *t) {
    for (unsigned i = 0; i < LATE; i++)
        if (t->late[i].token) return true;
    return false;
}

static bool postpone(struct thread *t, const struct op *op) {
    for (unsigned i = 0; i < LATE; i++)
        if (!t->late[i].token) {
            t->late[i] = (struct late){(uint8_t)op->place, t->view.at[op->place], ++t->tokens};
            answer(t, TOKEN | t->tokens);
            return true;
        }
    abort();
}

/* Makes the step with choice c. Returns false if there is no such choice. */
static bool step(struct state *s, unsigned which, const struct op *op, unsigned c) {
    struct thread *t = &s->thread[which];
    unsigned oldest = t->view.at[op->place], last = s->values[op->place] - 1u;
    if (op->kind == STEP_FENCE) {
        if (c) return false;
        if (op->order == ORDER_FULL) {
            view_join(&t->view, &s->fenced);
            s->fenced = t->view;
        }
        answer(t, 0);
    } else if (op->kind == STEP_ALLOC) {
        if (c) return false;
        answer(t, s->allocated);
        s->allocated = (uint8_t)(s->allocated + op->value / 8);
    } else if (op->kind == STEP_STORE) {
        if (c) return false;
        write_it(s, t, op, NULL);
        answer(t, 0);
    } else if (op->kind == STEP_LOAD) {
        if (may_be_late(which, op)) return c ? false : postpone(t, op);
        if (oldest + c > last) return false;
        read_it(s, t, op, oldest + c);
        answer(t, s->value[op->place][oldest + c].value);
    } else {
        if (oldest + c > last) return false;
        unsigned read = oldest + c;
        struct message seen = s->value[op->place][read];
        bool same = seen.value == op->expected;
        if (same && read != last) return step(s, which, op, c + 1); /* a swap reads the newest value, or fails */
        read_it(s, t, op, read);
        if (same) write_it(s, t, op, &seen.view);
        answer(t, same);
        answer(t, same ? op->expected : seen.value);
        if (!same) memset(t->late, 0, sizeof t->late); /* values read for the failed attempt are forgotten */
    }
    return true;
}

/* Does a pending load, with choice c. */
static bool do_late(struct state *s, unsigned which, unsigned l, unsigned c) {
    struct thread *t = &s->thread[which];
    struct late *late = &t->late[l];
    if (!late->token || late->from + c >= s->values[late->place]) return false;
    t->done_late[late->token - 1] = s->value[late->place][late->from + c].value;
    *late = (struct late){0, 0, 0};
    return true;
}

/* --- all of them -------------------------------------------------------------------------------- */

static struct {
    uint64_t *slot;
    size_t size, used;
} seen;

static uint64_t mix(uint64_t h, const void *bytes, size_t n) {
    const uint64_t *p = bytes;
    for (size_t i = 0; i < n / 8; i++) {
        h = (h ^ p[i]) * UINT64_C(0x9fb21c651e98df25);
        h ^= h >> 29;
    }
    return h;
}

/* Two different states could have the same number of 64 bits: with millions of states, this happens once in a million
 * runs. */
static bool is_new(const struct state *s) {
    uint64_t h = 1;
    for (unsigned p = 0; p < PLACES; p++)
        for (unsigned i = 0; i < s->values[p]; i++) {
            h = mix(h + p, &s->value[p][i].value, 8);
            uint64_t v[4] = {0};
            memcpy(v, &s->value[p][i].view, sizeof(struct view));
            h = mix(h, v, sizeof v);
        }
    uint64_t fenced[4] = {0};
    memcpy(fenced, &s->fenced, sizeof s->fenced);
    h = mix(h, fenced, sizeof fenced);
    for (unsigned t = 0; t < THREADS; t++) {
        const struct thread *th = &s->thread[t];
        uint64_t v[4] = {0};
        memcpy(v, &th->view, sizeof(struct view));
        h = mix(h, v, sizeof v);
        memset(v, 0, sizeof v);
        memcpy(v, th->late, sizeof th->late);
        h = mix(h, v, sizeof v);
        h = mix(h + th->length, th->log, th->length * sizeof th->log[0]);
        h = mix(h, th->done_late, th->tokens * sizeof th->done_late[0]);
    }
    h += h == 0;
    if (seen.used * 2 >= seen.size) {
        size_t size = seen.size ? seen.size * 2 : 1 << 16;
        uint64_t *slot = calloc(size, sizeof *slot);
        if (!slot) abort();
        for (size_t i = 0; i < seen.size; i++) {
            size_t k = seen.slot[i] & (size - 1);
            if (!seen.slot[i]) continue;
            while (slot[k]) k = (k + 1) & (size - 1);
            slot[k] = seen.slot[i];
        }
        free(seen.slot);
        seen.slot = slot;
        seen.size = size;
    }
    size_t k = h & (seen.size - 1);
    while (seen.slot[k] && seen.slot[k] != h) k = (k + 1) & (seen.size - 1);
    if (seen.slot[k]) return false;
    seen.slot[k] = h;
    seen.used++;
    return true;
}

static void explore(const struct state *s) {
    if (wrong || !is_new(s)) return;
    states++;
    bool ended = true;
    struct state *next = malloc(sizeof *next);
    if (!next) abort();
    for (unsigned t = 0; t < THREADS && !wrong; t++) {
        for (unsigned l = 0; l < LATE; l++)
            for (unsigned c = 0;; c++) {
                *next = *s;
                if (!do_late(next, t, l, c)) break;
                ended = false;
                explore(next);
            }
        if (!bring_back(s, t)) continue;
        ended = false;
        struct op op = next_op;
        if ((op.order & ORDER_RELEASE) && has_late(&s->thread[t])) continue; /* first do the pending loads */
        for (unsigned c = 0; !wrong; c++) {
            *next = *s;
            if (!step(next, t, &op, c)) break;
            explore(next);
        }
        if (is_private(t, &op)) break; /* other threads need not be interleaved here */
    }
    free(next);
    if (ended) {
        runs++;
        check(s);
    }
}

/* Explores from the beginning to every end. Returns false if something is wrong. */
static bool explore_all(void) {
    struct state *s = calloc(1, sizeof *s);
    if (!s) abort();
    wrong = false;
    states = runs = 0;
    memset(s->values, 1, sizeof s->values);
    replay.setting_up = true;
    replay.state = s;
    set_up();
    replay.setting_up = false;
    explore(s);
    free(s);
    free(seen.slot);
    memset(&seen, 0, sizeof seen);
    return !wrong;
}

static const char *const order_names[] = {"relaxed", "acquire", "release", "both"};

/* Weakens each order at each place in the source. */
static void weaken_all(bool (*all_well)(void)) {
    unsigned n = n_sites;
    for (unsigned i = 0; i < n; i++)
        for (unsigned order = 0; order < sites[i].order; order++) {
            if (order & ~sites[i].order) continue;
            weak = (struct site){sites[i].where, order};
            printf("mutant %s: %s -> %s: %s\n", weak.where.function, weak.where.text, order_names[order],
                   all_well() ? "NOT found" : "found");
        }
    weak.where.text = NULL;
}

#endif
