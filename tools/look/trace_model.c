/* SPDX-License-Identifier: MIT */
/*
 * Goes through the events of a trace in the order of time, and concludes when each fiber ran, was ready and waited.
 *
 * Events of different workers may be a little out of order: another worker may make a fiber ready before the fiber's
 * own worker has recorded that it parks. A fiber that moves from queue to queue is made ready several times. Then the
 * first time counts.
 */
#include "trace_file.h"

#include <stdlib.h>

#define NEVER UINT64_MAX

/* --- fibers ------------------------------------------------------------------------------------------- */

static size_t slot_of(const struct trace *t, uint64_t id) {
    size_t i = (size_t)(id * UINT64_C(0x9e3779b97f4a7c15) >> 20) & (t->index_size - 1);
    while (t->index[i] && t->fibers.at[t->index[i] - 1].id != id) i = (i + 1) & (t->index_size - 1);
    return i;
}

static void index_grow(struct trace *t) {
    size_t size = t->index_size ? 2 * t->index_size : 4096;
    free(t->index);
    t->index = calloc(size, sizeof *t->index);
    if (!t->index) abort();
    t->index_size = size;
    for (size_t i = 0; i < t->fibers.n; i++) t->index[slot_of(t, t->fibers.at[i].id)] = (uint32_t)i + 1;
}

uint32_t trace_fiber_of(struct trace *t, uint64_t id) {
    if (2 * t->fibers.n >= t->index_size) index_grow(t);
    size_t slot = slot_of(t, id);
    if (!t->index[slot]) {
        struct trace_fiber *f = ADD(t->fibers);
        *f = (struct trace_fiber){.id = id, .spawned = NEVER, .ended = NEVER};
        t->index[slot] = (uint32_t)t->fibers.n;
    }
    return t->index[slot] - 1;
}

static struct trace_fiber *fiber_at(struct trace *t, uint64_t id) {
    uint32_t number = trace_fiber_of(t, id); /* the array may move */
    return &t->fibers.at[number];
}

/* --- changes ------------------------------------------------------------------------------------------- */

static void end_slice(struct trace *t, struct trace_tape *tape, uint64_t ns, uint8_t how) {
    if (!tape->running) return;
    struct trace_slice *s = &t->slices.at[tape->running - 1];
    s->end = ns;
    s->how = how;
    tape->busy += ns - s->begin;
    t->fibers.at[s->fiber].ran += ns - s->begin;
    tape->running = 0;
}

static void end_wait(struct trace *t, struct trace_fiber *f, uint64_t ns, uint32_t by) {
    struct trace_wait *w = &t->waits.at[f->wait];
    w->end = ns;
    w->by = by;
    w->open = false;
    f->waited += ns - w->begin;
}

static void on_ready(struct trace *t, const struct trace_event *e, struct trace_fiber *f) {
    if (f->state == TRACE_READY) return;
    uint32_t by = 0;
    if (e->a && e->a != e->fiber) {
        size_t number = (size_t)(f - t->fibers.at); /* fibers may move */
        by = trace_fiber_of(t, e->a) + 1;
        f = &t->fibers.at[number];
    }
    if (f->state == TRACE_WAITING) end_wait(t, f, e->ns, by);
    f->by = by;
    f->tape = e->tape;
    f->since = e->ns;
    if (f->state == TRACE_RUNNING && e->a != e->fiber) return; /* it parks in a moment */
    f->state = TRACE_READY;
}

static void on_spawn(struct trace *t, const struct trace_event *e, struct trace_fiber *f) {
    if (f->state != TRACE_UNKNOWN) return;
    size_t number = (size_t)(f - t->fibers.at);
    uint32_t by = e->a ? trace_fiber_of(t, e->a) + 1 : 0;
    f = &t->fibers.at[number];
    f->spawned = f->since = e->ns;
    f->spawner = f->by = by;
    f->tape = e->tape;
    if (e->b < WEFT_NAMES_MOST && t->name[e->b][0]) f->where = t->name[e->b];
    f->state = TRACE_READY;
}

static void on_run(struct trace *t, const struct trace_event *e, struct trace_fiber *f) {
    struct trace_tape *tape = &t->tape[e->tape];
    end_slice(t, tape, e->ns, WEFT_HAPPENED_READY);
    if (f->state == TRACE_WAITING) end_wait(t, f, e->ns, 0);
    bool known = f->state == TRACE_READY;
    struct trace_slice *s = ADD(t->slices);
    *s = (struct trace_slice){.begin = e->ns,
                              .end = NEVER,
                              .ready_at = known ? f->since : NEVER,
                              .fiber = (uint32_t)(f - t->fibers.at),
                              .by = known ? f->by : 0,
                              .ready_tape = f->tape,
                              .tape = e->tape};
    if (known && e->ns > f->since) f->delayed += e->ns - f->since;
    f->slices++;
    tape->slices++;
    tape->running = t->slices.n;
    f->state = TRACE_RUNNING;
    f->since = 0;
    f->slice = t->slices.n - 1;
}

static void on_park(struct trace *t, const struct trace_event *e, struct trace_fiber *f) {
    struct trace_tape *tape = &t->tape[e->tape];
    bool woken = f->state == TRACE_READY || (f->state == TRACE_RUNNING && f->since); /* before this was recorded */
    end_slice(t, tape, e->ns, WEFT_HAPPENED_PARK);
    struct trace_wait *w = ADD(t->waits);
    *w = (struct trace_wait){.begin = e->ns,
                             .end = e->ns,
                             .what = e->a ? e->a : f->contended,
                             .owner = f->contended_by,
                             .fiber = (uint32_t)(f - t->fibers.at),
                             .by = f->by,
                             .stack = e->b < WEFT_STACKS_MOST ? (uint32_t)e->b : 0,
                             .open = !woken};
    f->wait = t->waits.n - 1;
    f->contended_by = f->contended = 0;
    f->state = woken ? TRACE_READY : TRACE_WAITING;
    if (!woken) f->since = e->ns;
}

static void on_sleep(struct trace *t, const struct trace_event *e, bool sleeps) {
    struct trace_tape *tape = &t->tape[e->tape];
    end_slice(t, tape, e->ns, 0);
    if (tape->sleeping) {
        struct trace_sleep *s = &t->sleeps.at[tape->sleeping - 1];
        s->end = e->ns;
        tape->asleep += s->end - s->begin;
        tape->sleeping = 0;
    }
    if (!sleeps) return;
    *ADD(t->sleeps) = (struct trace_sleep){e->ns, NEVER, e->tape};
    tape->sleeping = t->sleeps.n;
}

/* --- spans ---------------------------------------------------------------------------------------------- */

/* The youngest open span of the fiber or thread; NULL: none. They are few, so the search from the end is short. */
static struct trace_span *open_span(struct trace *t, uint32_t fiber, uint32_t thread) {
    for (size_t i = t->spans.n; i-- && t->spans.n - i < 100000;) {
        struct trace_span *s = &t->spans.at[i];
        if (s->fiber == fiber && s->thread == thread && s->end == NEVER) return s;
        if (s->fiber == fiber && s->thread == thread && !s->depth) return NULL; /* an outermost one has ended */
    }
    return NULL;
}

static void on_span(struct trace *t, const struct trace_event *e) {
    uint32_t fiber = e->fiber ? trace_fiber_of(t, e->fiber) : UINT32_MAX, thread = (uint32_t)e->b;
    struct trace_span *open = open_span(t, fiber, thread);
    if (e->kind == WEFT_HAPPENED_SPAN_END) {
        if (open) open->end = e->ns;
        return;
    }
    uint32_t depth = open ? open->depth + 1 : 0;
    *ADD(t->spans) =
        (struct trace_span){e->ns, NEVER, fiber, e->a < WEFT_NAMES_MOST ? (uint32_t)e->a : 0, depth, thread};
}

static void on_mark(struct trace *t, const struct trace_event *e) {
    bool named = e->kind == WEFT_HAPPENED_INSTANT || e->kind == WEFT_HAPPENED_COUNT;
    *ADD(t->marks) = (struct trace_mark){e->ns,
                                         e->b,
                                         e->fiber ? trace_fiber_of(t, e->fiber) : UINT32_MAX,
                                         named && e->a < WEFT_NAMES_MOST ? (uint32_t)e->a : 0,
                                         e->kind,
                                         e->tape};
}

/* --- all ------------------------------------------------------------------------------------------------- */

static void take_event(struct trace *t, const struct trace_event *e) {
    struct trace_fiber *f = e->fiber ? fiber_at(t, e->fiber) : NULL;
    t->tape[e->tape].events++;
    switch (e->kind) {
    case WEFT_HAPPENED_SPAWN:
        if (f) on_spawn(t, e, f);
        break;
    case WEFT_HAPPENED_NAME:
        if (f) memcpy(f->name, &e->a, 8), memcpy(f->name + 8, &e->b, 8);
        break;
    case WEFT_HAPPENED_READY:
        if (f) on_ready(t, e, f);
        break;
    case WEFT_HAPPENED_RUN:
        if (f) on_run(t, e, f);
        break;
    case WEFT_HAPPENED_PARK:
        if (f) on_park(t, e, f);
        break;
    case WEFT_HAPPENED_END:
        if (f) f->state = TRACE_ENDED, f->ended = e->ns;
        end_slice(t, &t->tape[e->tape], e->ns, WEFT_HAPPENED_END);
        break;
    case WEFT_HAPPENED_CONTENDED:
        if (f) f->contended_by = e->b, f->contended = e->a;
        break;
    case WEFT_HAPPENED_SLEEP:
    case WEFT_HAPPENED_WAKE: on_sleep(t, e, e->kind == WEFT_HAPPENED_SLEEP); break;
    case WEFT_HAPPENED_STEAL: t->tape[e->tape].steals++; break;
    case WEFT_HAPPENED_HELP: t->tape[e->tape].helps++; break;
    case WEFT_HAPPENED_TASK_TAKEN:
        t->tape[e->tape].taken++;
        if (f && !f->where) f->where = "a forked call";
        on_mark(t, e);
        break;
    case WEFT_HAPPENED_SPAN_BEGIN:
    case WEFT_HAPPENED_SPAN_END: on_span(t, e); break;
    case WEFT_HAPPENED_IO_BEGIN:
    case WEFT_HAPPENED_IO_END:
    case WEFT_HAPPENED_TASK_JOIN: break;
    default: on_mark(t, e); break;
    }
}

/* Takes a fiber that waited when the recording began. Its wait begins at the start of the trace, as far as is known. */
static void begin_with(struct trace *t, const struct weft__trace_fiber *seen) {
    struct trace_fiber *f = fiber_at(t, seen->id);
    memcpy(f->name, seen->name, sizeof seen->name);
    f->where = seen->where;
    if (!seen->what || t->stacks_used >= sizeof t->stack / sizeof t->stack[0]) return;
    uint32_t stack = t->stacks_used++;
    t->stack[stack].depth = seen->depth;
    memcpy(t->stack[stack].frame, seen->frame, sizeof seen->frame);
    *ADD(t->waits) = (struct trace_wait){
        .what = seen->what, .owner = seen->owner, .fiber = (uint32_t)(f - t->fibers.at), .stack = stack, .open = true};
    f->wait = t->waits.n - 1;
    f->state = TRACE_WAITING;
}

/* Ends all that still lasts when the trace ends. Takes the whole stacks of the fibers that wait at the end: they were
 * read when the recording ended. */
static void end_all(struct trace *t) {
    for (unsigned i = 0; i < WEFT_TAPES_MOST; i++) end_slice(t, &t->tape[i], t->length, 0);
    for (size_t i = 0; i < t->sleeps.n; i++)
        if (t->sleeps.at[i].end == NEVER) {
            t->sleeps.at[i].end = t->length;
            t->tape[t->sleeps.at[i].tape].asleep += t->length - t->sleeps.at[i].begin;
        }
    for (size_t i = 0; i < t->spans.n; i++)
        if (t->spans.at[i].end == NEVER) t->spans.at[i].end = t->length;
    for (size_t i = 0; i < t->fibers.n; i++) {
        struct trace_fiber *f = &t->fibers.at[i];
        if (f->state != TRACE_WAITING) continue;
        end_wait(t, f, t->length, 0);
        t->waits.at[f->wait].open = true;
    }
    for (size_t i = 0; i < t->seen.n; i++) {
        const struct weft__trace_fiber *seen = &t->seen.at[i];
        struct trace_fiber *f = fiber_at(t, seen->id);
        if (!f->name[0]) memcpy(f->name, seen->name, sizeof seen->name);
        if (!f->where) f->where = seen->where;
        if (f->state != TRACE_WAITING || !seen->what || t->stacks_used >= sizeof t->stack / sizeof t->stack[0])
            continue;
        struct trace_wait *w = &t->waits.at[f->wait];
        w->owner = seen->owner ? seen->owner : w->owner;
        if (w->stack && !t->stack[w->stack].cut) continue;
        w->stack = t->stacks_used++;
        t->stack[w->stack].depth = seen->depth;
        memcpy(t->stack[w->stack].frame, seen->frame, sizeof seen->frame);
    }
}

/*
 * Completes stacks that were cut off because a rule for unwinding was not known yet (sched/record/stacks.h). If all
 * whole stacks of fibers that waited for the same object are equal, a cut stack of such a wait was the same.
 */
static void complete_stacks(struct trace *t) {
    enum { SIZE = 1 << 16, SEVERAL = UINT32_MAX };
    struct {
        uint64_t what;
        uint32_t stack;
    } *of = calloc(SIZE, sizeof *of);
    for (int pass = 0; of && pass < 2; pass++)
        for (size_t i = 0; i < t->waits.n; i++) {
            struct trace_wait *w = &t->waits.at[i];
            bool whole = t->stack[w->stack].depth && !t->stack[w->stack].cut;
            size_t slot = w->what * UINT64_C(0x9e3779b97f4a7c15) >> 48;
            if (!pass && whole && (!of[slot].what || of[slot].what == w->what)) {
                of[slot].stack = !of[slot].what || of[slot].stack == w->stack ? w->stack : SEVERAL;
                of[slot].what = w->what;
            }
            if (pass && !whole && of[slot].what == w->what && of[slot].what && of[slot].stack != SEVERAL)
                w->stack = of[slot].stack;
        }
    free(of);
}

/* Takes a worker that already ran a fiber when the recording began. Its own events say when it left that fiber. */
static void begin_running(struct trace *t, const struct trace_began *b) {
    for (uint16_t i = 0; i < WEFT_TAPES_MOST; i++) {
        const struct trace_tape *tape = &t->tape[i];
        if (!tape->exists || tape->cluster != b->cluster || tape->worker != b->worker) continue;
        struct trace_event e = {.ns = 0, .fiber = b->fiber, .kind = WEFT_HAPPENED_RUN, .tape = i};
        on_run(t, &e, fiber_at(t, b->fiber));
        return;
    }
}

void trace_conclude(struct trace *t) {
    t->stacks_used = WEFT_STACKS_MOST;
    for (size_t i = 0; i < t->seen_first.n; i++) begin_with(t, &t->seen_first.at[i]);
    for (size_t i = 0; i < t->began.n; i++) begin_running(t, &t->began.at[i]);
    for (size_t i = 0; i < t->events.n; i++) {
        struct trace_event e = t->events.at[i];
        take_event(t, &e);
    }
    end_all(t);
    complete_stacks(t);
}
