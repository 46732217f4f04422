/* SPDX-License-Identifier: MIT */
/*
 * Reading the records of fibers, with their stacks. Many records are read in one call, then the pieces of their stacks
 * that are needed, then the heads of the records again. If a record has not changed, its fiber did not run meanwhile,
 * so record and stack fit together. A fiber that did run is read again alone, a few times; then it is marked as torn.
 */
#include "base/sys.h"
#include "look/look.h"

#include "sched/core/wait_word.h"

#include <errno.h>
#include <stdlib.h>

#define WEFT_WINDOW 1024 /* bytes from the stack pointer on: most stacks of parked fibers have no more */
#define WEFT_TRIES 4

/* --- joins ------------------------------------------------------------------------------------------ */

struct weft__joined {
    uint64_t by;   /* the join word: number of the record that joins, and its wait */
    uint64_t id;   /* of the fiber that is joined, or that runs the call */
    uint64_t call; /* the forked call that is joined; 0: a fiber is joined */
};

static uint32_t joiner_of(uint64_t by) { return weft__life_index(by >> 3); }

static int compare_joins(const void *a, const void *b) {
    uint32_t x = joiner_of(((const struct weft__joined *)a)->by), y = joiner_of(((const struct weft__joined *)b)->by);
    return x < y ? -1 : x > y;
}

void weft__look_join(struct weft__look *look, struct weft__seen *f) {
    uint64_t by = weft__join_by(weft__life_index(f->id), f->wait & WEFT_WAIT_EPOCH);
    size_t low = 0, high = look->joins;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (joiner_of(look->joined[middle].by) < joiner_of(by))
            low = middle + 1;
        else
            high = middle;
    }
    for (; low < look->joins && joiner_of(look->joined[low].by) == joiner_of(by); low++)
        if (look->joined[low].by == by) {
            f->on = look->joined[low].call ? WEFT_WAITS_CALL : WEFT_WAITS_JOIN;
            f->object = look->joined[low].call;
            f->owner = look->joined[low].id;
        }
}

/* --- one record ------------------------------------------------------------------------------------- */

static enum weft__state state_of(const struct weft__seen *f) {
    if (f->kind == WEFT_KIND_THREAD) return WEFT_SEEN_THREAD;
    if (weft__join_has_ended(f->join)) return WEFT_SEEN_ENDED;
    if (f->on_stack == WEFT_STOOD_ON) return WEFT_SEEN_RUNNING;
    if (!(f->wait & WEFT_WAIT_WAITING)) return f->on_stack == WEFT_FRESH ? WEFT_SEEN_FRESH : WEFT_SEEN_READY;
    return f->wait & WEFT_WAIT_OUTSIDE ? WEFT_SEEN_OUTSIDE : WEFT_SEEN_WAITING;
}

/* Decodes a record. False: the record is not in use. */
static bool decode_record(const struct weft__layout *l, const char *r, uint64_t address, struct weft__seen *f,
                          uint64_t *stack) {
    uint64_t life = weft__u64(r, l->fiber_life);
    uint8_t kind = weft__u8(r, l->fiber_kind);
    if (!weft__life_in_use(life) || kind > WEFT_KIND_THREAD) return false;
    memset(f, 0, offsetof(struct weft__seen, frame));
    f->id = life;
    f->record = address;
    f->wait = weft__u64(r, l->fiber_wait);
    f->join = weft__u64(r, l->fiber_join);
    f->at =
        (struct weft__registers){weft__u64(r, l->fiber_pc), weft__u64(r, l->fiber_sp), weft__u64(r, l->fiber_fp), 0};
    f->fn = weft__u64(r, l->fiber_fn);
    f->where = weft__u64(r, l->fiber_where);
    f->frames_word = weft__u64(r, l->fiber_frames);
    f->on_stack = weft__u8(r, l->fiber_on_stack);
    f->kind = kind;
    f->placement = weft__u32(r, l->fiber_placement);
    memcpy(f->name, r + l->fiber_name, sizeof f->name);
    f->name[sizeof f->name - 1] = 0;
    f->fd = -1;
    f->state = state_of(f);
    *stack = weft__u64(r, l->fiber_stack);
    if (kind == WEFT_KIND_THREAD) return (f->wait & WEFT_WAIT_WAITING) != 0;
    return true;
}

static bool has_frames(const struct weft__seen *f) {
    return f->on_stack == WEFT_AT_REST &&
           (f->state == WEFT_SEEN_READY || f->state == WEFT_SEEN_WAITING || f->state == WEFT_SEEN_OUTSIDE);
}

/*
 * Threads of unmodified programs (src/threads) may be on a stack that is not weft's: the first thread on that of the
 * process, others on stacks that the program has provided. Their limits are unknown. A read of too much fails, and then
 * the rest of the page is read.
 */
static void set_foreign_stack(struct weft__seen *f) {
    if (!f->top || (f->at.sp >= f->low && f->at.sp < f->top)) return;
    f->low = f->at.sp;
    f->top = f->at.sp + WEFT_LOOK_FOREIGN;
}

/* Reads the limits of the fiber's stack from the stack's record. */
static void set_stack(const struct weft__layout *l, const char *s, struct weft__seen *f) {
    unsigned class = weft__u8(s, l->stack_class);
    uint64_t low = weft__u64(s, l->stack_low);
    if (class > 26) return;
    f->low = low;
    f->top = low + (UINT64_C(1) << (class + l->stack_min_log));
    set_foreign_stack(f);
}

static size_t window_size(const struct weft__seen *f) {
    if (f->at.sp < f->low || f->at.sp >= f->top) return 0;
    uint64_t size = f->top - f->at.sp;
    return size < WEFT_WINDOW ? (size_t)size : WEFT_WINDOW;
}
static size_t read_window_again(struct weft__look *look, const struct weft__seen *f, char *bytes) {
    size_t size = WEFT_PAGE - f->at.sp % WEFT_PAGE;
    return size < window_size(f) && weft__peek(look->memory, f->at.sp, bytes, size) ? size : 0;
}

/* Finds the worker that runs the fiber, and since when. */
static void find_worker(const struct weft__look *look, struct weft__seen *f) {
    for (unsigned i = 0; i < look->workers; i++) {
        const struct weft__worker_seen *w = &look->worker[i];
        if (w->current != f->record) continue;
        f->worker = i + 1;
        if (w->hog == f->record) {
            f->since = w->hog_since;
            f->blocks = w->blocks;
        }
    }
}

static void complete_fiber(struct weft__look *look, struct weft__seen *f, const struct weft__window *window) {
    if (f->state == WEFT_SEEN_RUNNING) find_worker(look, f);
    if (f->state == WEFT_SEEN_WAITING || f->state == WEFT_SEEN_OUTSIDE || f->state == WEFT_SEEN_THREAD)
        weft__look_waits(look, f, window);
    if (f->state == WEFT_SEEN_RUNNING && f->worker && look->stacks && look->running) look->running(look, f);
    if (look->stacks && window->size) f->depth = weft__unwind(look->unwinder, f->at, window, f->low, f->top, f->frame);
}

/* --- a chunk of records ------------------------------------------------------------------------------ */

struct batch {
    char *records, *again; /* the records as first read, and their heads as read after the stacks */
    char *windows, *stacks;
    struct weft__seen *seen;
    struct weft__want *wants;
    uint32_t *which; /* record of each want */
};

static void free_batch(struct batch *b) {
    weft__free(b->records);
    weft__free(b->again);
    weft__free(b->windows);
    weft__free(b->stacks);
    weft__free(b->seen);
    weft__free(b->wants);
    weft__free(b->which);
}

enum { BATCH = 1024, STACK_RECORD = 64 }; /* records at a time */

static bool make_batch(struct batch *b) {
    *b = (struct batch){.records = weft__alloc(BATCH * WEFT_RECORD_MOST),
                        .again = weft__alloc(BATCH * WEFT_HEAD),
                        .windows = weft__alloc(BATCH * WEFT_WINDOW),
                        .stacks = weft__alloc(BATCH * STACK_RECORD),
                        .seen = weft__alloc(BATCH * sizeof *b->seen),
                        .wants = weft__alloc(BATCH * sizeof *b->wants),
                        .which = weft__alloc(BATCH * sizeof *b->which)};
    if (b->records && b->again && b->windows && b->stacks && b->seen && b->wants && b->which) return true;
    free_batch(b);
    return false;
}

/* Reads a single record and its stack, for a fiber that ran while the batch was read. False: it has ended. */
static bool read_alone(struct weft__look *look, uint64_t address, struct weft__seen *f) {
    const struct weft__layout *l = &look->layout;
    char record[WEFT_RECORD_MOST], head[WEFT_HEAD], stack[STACK_RECORD], bytes[WEFT_WINDOW];
    for (unsigned i = 0; i < WEFT_TRIES; i++) {
        uint64_t at;
        if (!weft__peek(look->memory, address, record, l->record_size)) return false;
        if (!decode_record(l, record, address, f, &at)) return false;
        struct weft__window window = {f->at.sp, 0, bytes};
        if (has_frames(f) && at && weft__peek(look->memory, at, stack, sizeof(struct weft__stack))) {
            set_stack(l, stack, f);
            window.size = window_size(f);
            if (window.size && !weft__peek(look->memory, f->at.sp, bytes, window.size))
                window.size = read_window_again(look, f, bytes);
        }
        complete_fiber(look, f, &window);
        if (!weft__peek(look->memory, address, head, WEFT_HEAD)) return false;
        if (!memcmp(head + 8, record + 8, WEFT_HEAD - 8)) return true; /* all but the link of a queue */
    }
    f->torn |= f->state != WEFT_SEEN_RUNNING;
    return true;
}

static unsigned add_want(struct batch *b, unsigned n, uint32_t i, uint64_t at, void *to, size_t size) {
    b->which[n] = i;
    b->wants[n] = (struct weft__want){at, to, size, false};
    return n + 1;
}

/* Reads the stack records of the batch, pieces of the stacks, and then the heads of the fibers' records again. */
static void read_stacks(struct weft__look *look, struct batch *b, unsigned n) {
    unsigned wants = 0;
    for (uint32_t i = 0; i < n; i++)
        if (b->seen[i].id && has_frames(&b->seen[i]) && b->seen[i].low)
            wants = add_want(b, wants, i, b->seen[i].low, b->stacks + i * STACK_RECORD, sizeof(struct weft__stack));
    look->memory->read(look->memory, b->wants, wants);
    for (unsigned k = 0; k < wants; k++) {
        struct weft__seen *f = &b->seen[b->which[k]];
        f->low = 0; /* until now the address of the stack's record */
        if (b->wants[k].ok) set_stack(&look->layout, b->stacks + b->which[k] * STACK_RECORD, f);
    }
    unsigned pieces = 0;
    for (uint32_t i = 0; i < n; i++) {
        size_t size = b->seen[i].id && has_frames(&b->seen[i]) ? window_size(&b->seen[i]) : 0;
        if (size) pieces = add_want(b, pieces, i, b->seen[i].at.sp, b->windows + i * WEFT_WINDOW, size);
    }
    look->memory->read(look->memory, b->wants, pieces);
    for (unsigned k = 0; k < pieces; k++) {
        struct weft__seen *f = &b->seen[b->which[k]];
        size_t size = b->wants[k].ok ? b->wants[k].size : read_window_again(look, f, b->wants[k].to);
        f->depth = (unsigned)size; /* hand_out takes it from here */
    }
}

static void read_again(struct weft__look *look, struct batch *b, unsigned n) {
    unsigned wants = 0;
    for (uint32_t i = 0; i < n; i++)
        if (b->seen[i].id) wants = add_want(b, wants, i, b->seen[i].record, b->again + i * WEFT_HEAD, WEFT_HEAD);
    look->memory->read(look->memory, b->wants, wants);
    weft__look_is_quiet(look);
    for (unsigned k = 0; k < wants; k++) {
        uint32_t i = b->which[k];
        const char *was = b->records + (size_t)i * look->layout.record_size;
        /* All but the link of a queue. */
        b->seen[i].torn = !b->wants[k].ok || memcmp(b->again + i * WEFT_HEAD + 8, was + 8, WEFT_HEAD - 8) != 0;
    }
}

static void hand_out(struct weft__look *look, struct batch *b, unsigned n,
                     void (*fn)(const struct weft__seen *, void *), void *arg) {
    for (uint32_t i = 0; i < n; i++) {
        struct weft__seen *f = &b->seen[i];
        if (!f->id) continue;
        struct weft__window window = {f->at.sp, f->depth, b->windows + i * WEFT_WINDOW};
        bool is_there = true;
        f->depth = 0;
        if (f->torn)
            is_there = read_alone(look, f->record, f);
        else {
            complete_fiber(look, f, &window);
            if (f->state == WEFT_SEEN_WAITING || f->state == WEFT_SEEN_OUTSIDE) f->waits_since = look->quiet_since;
        }
        if (is_there) fn(f, arg);
    }
}

static void read_batch(struct weft__look *look, struct batch *b, uint64_t at, unsigned n,
                       void (*fn)(const struct weft__seen *, void *), void *arg) {
    const struct weft__layout *l = &look->layout;
    bool any = false;
    if (!weft__peek(look->memory, at, b->records, (size_t)n * l->record_size)) {
        look->unread += n;
        return;
    }
    for (unsigned i = 0; i < n; i++) {
        struct weft__seen *f = &b->seen[i];
        uint64_t stack;
        if (decode_record(l, b->records + (size_t)i * l->record_size, at + (uint64_t)i * l->record_size, f, &stack) &&
            !(look->is_known && look->is_known(look, f))) {
            f->low = stack;
            any = true;
        } else
            f->id = 0;
    }
    if (!any) return;
    read_stacks(look, b, n);
    read_again(look, b, n);
    hand_out(look, b, n, fn, arg);
}

/* --- all of them ------------------------------------------------------------------------------------- */

struct chunks {
    uint64_t *at;
    uint32_t records, count;
};

static int read_chunks(struct weft__look *look, struct chunks *c) {
    const struct weft__layout *l = &look->layout;
    uint64_t slab = (uintptr_t)l->fibers;
    *c = (struct chunks){0};
    if (!weft__peek(look->memory, slab + l->slab_records, &c->records, 4)) return -EIO;
    c->count = (uint32_t)(((uint64_t)c->records + l->chunk_records - 1) / l->chunk_records);
    if (c->count > l->chunks_most) return -EIO;
    look->records = c->records;
    look->unread = 0;
    if (!c->count) return 0;
    if (!(c->at = weft__alloc(c->count * sizeof *c->at))) return -ENOMEM;
    return weft__peek(look->memory, slab + l->slab_chunk, c->at, c->count * sizeof *c->at) ? 0 : -EIO;
}

/* Calls with each piece of at most BATCH records. */
static void each_piece(struct weft__look *look, const struct chunks *c, struct batch *b,
                       void (*fn)(const struct weft__seen *, void *), void *arg,
                       void (*piece)(struct weft__look *, struct batch *, uint64_t, unsigned,
                                     void (*)(const struct weft__seen *, void *), void *)) {
    const struct weft__layout *l = &look->layout;
    for (uint32_t first = 0; first < c->records;) {
        uint32_t in_chunk = first % l->chunk_records, n = l->chunk_records - in_chunk;
        if (n > BATCH) n = BATCH;
        if (n > c->records - first) n = c->records - first;
        piece(look, b, c->at[first / l->chunk_records] + (uint64_t)in_chunk * l->record_size, n, fn, arg);
        first += n;
    }
}

static bool add_join(struct weft__look *look, size_t *room, struct weft__joined joined) {
    if (look->joins == *room) {
        size_t more = *room ? 2 * *room : 256;
        struct weft__joined *moved = weft__alloc(more * sizeof *moved);
        if (!moved) return false;
        if (look->joins) memcpy(moved, look->joined, look->joins * sizeof *moved);
        weft__free(look->joined);
        look->joined = moved;
        *room = more;
    }
    look->joined[look->joins++] = joined;
    return true;
}

/* The forked call that a fiber runs, and the state of the call. False: it runs none. */
static bool runs_call(struct weft__look *look, const char *record, uint64_t *call, uint64_t *state) {
    const struct weft__layout *l = &look->layout;
    uint64_t fn = weft__u64(record, l->fiber_fn);
    if (fn != (uintptr_t)l->runs_calls[0] && fn != (uintptr_t)l->runs_calls[1]) return false;
    *call = weft__peek64(look->memory, weft__u64(record, l->fiber_arg) + l->deque_stolen);
    return *call && weft__peek(look->memory, *call + l->call_state, state, sizeof *state);
}

static void collect_joins(struct weft__look *look, struct batch *b, uint64_t at, unsigned n,
                          void (*fn)(const struct weft__seen *, void *), void *room) {
    const struct weft__layout *l = &look->layout;
    (void)fn;
    if (!weft__peek(look->memory, at, b->records, (size_t)n * l->record_size)) return;
    for (unsigned i = 0; i < n; i++) {
        const char *r = b->records + (size_t)i * l->record_size;
        uint64_t join = weft__u64(r, l->fiber_join), life = weft__u64(r, l->fiber_life), call, state;
        if (!weft__life_in_use(life) || weft__u8(r, l->fiber_kind) != WEFT_KIND_FIBER) continue;
        if ((join & WEFT_JOIN_TAG) == WEFT_JOIN_BY && !add_join(look, room, (struct weft__joined){join, life, 0}))
            return;
        if (!runs_call(look, r, &call, &state) || (state & WEFT_JOIN_TAG) != WEFT_JOIN_BY) continue;
        if (!add_join(look, room, (struct weft__joined){state, life, call})) return;
    }
}

int weft__look_fibers(struct weft__look *look, void (*fn)(const struct weft__seen *, void *), void *arg) {
    struct chunks c;
    struct batch b;
    size_t room = 0;
    int err = read_chunks(look, &c);
    if (!err && !make_batch(&b)) err = -ENOMEM;
    if (!err) {
        weft__free(look->joined);
        look->joined = NULL;
        look->joins = 0;
        each_piece(look, &c, &b, NULL, &room, collect_joins);
        if (look->joins) qsort(look->joined, look->joins, sizeof *look->joined, compare_joins);
        each_piece(look, &c, &b, fn, arg, read_batch);
        free_batch(&b);
    }
    weft__free(c.at);
    return err;
}

bool weft__look_fiber(struct weft__look *look, uint64_t id, struct weft__seen *f) {
    const struct weft__layout *l = &look->layout;
    uint32_t index = weft__life_index(id);
    uint64_t slab = (uintptr_t)l->fibers;
    if (index / l->chunk_records >= l->chunks_most) return false;
    uint64_t chunk = weft__peek64(look->memory, slab + l->slab_chunk + index / l->chunk_records * 8);
    if (!chunk || !read_alone(look, chunk + (uint64_t)(index % l->chunk_records) * l->record_size, f)) return false;
    return f->id == id;
}
