/* SPDX-License-Identifier: MIT */
/*
 * Reads the tapes of a process and writes a trace file. See trace.h, and sched/record/tape.h for the protocol.
 * Allocates nothing, so that a dying process can write its last events.
 */
#include "look/trace.h"

#include "base/sys.h"

#include <errno.h>
#include <time.h>
#include <unistd.h>

#define WEFT_LOOK_AT_MOST 200000 /* with more records, fibers that wait are not looked at */

/* --- chunks ------------------------------------------------------------------------------------------- */

static void put_tape_bytes(struct weft__trace_writer *w, const void *bytes, size_t n) {
    for (size_t done = 0; !w->err && done < n;) {
        ssize_t wrote = write(w->fd, (const char *)bytes + done, n - done);
        if (wrote >= 0)
            done += (size_t)wrote;
        else if (errno != EINTR)
            w->err = -errno;
    }
}

static void put_chunk(struct weft__trace_writer *w, enum weft__chunk_type type, uint32_t number, uint64_t a, uint64_t b,
                      const void *bytes, size_t n) {
    static const char zero[8];
    struct weft__chunk chunk = {type, number, n, a, b};
    if (w->fd < 0) return;
    put_tape_bytes(w, &chunk, sizeof chunk);
    put_tape_bytes(w, bytes, n);
    if (n % 8) put_tape_bytes(w, zero, 8 - n % 8);
}

#define FIELD(w, name) ((w)->recorder + offsetof(struct weft__recorder, name))

/* Writes the values of both clocks at nearly the same moment. The processor's counter is the same in all processes. */
static void put_clock(struct weft__trace_writer *w) {
    uint64_t begin = weft__peek64(w->memory, FIELD(w, begin)), begin_ns = weft__peek64(w->memory, FIELD(w, begin_ns));
    uint64_t before = weft__ticks(), now = weft__clock(), after = weft__ticks();
    put_chunk(w, WEFT_CHUNK_CLOCK, 0, before + (after - before) / 2 - begin, now - begin_ns, NULL, 0);
}

/* --- rules -------------------------------------------------------------------------------------------- */

/* Writes a rule and then its address into the table, each by a system call: see sched/record/stacks.h. */
static void rule_publish(struct weft__trace_writer *w, uint64_t rules, uint64_t pc) {
    struct weft__stack_rule rule = {.pc = 0};
    size_t head = sizeof rule.pc;
    weft__unwind_rule(w->unwinder, pc, &rule);
    for (unsigned i = 0; i < WEFT_RULE_ATTEMPTS; i++) {
        size_t slot = weft__rule_slot(pc, i);
        uint64_t at = rules + slot * sizeof rule;
        if (w->rule_pc[slot] == pc) return;
        if (w->rule_pc[slot]) continue;
        w->rule_pc[slot] = pc;
        if (weft__poke(w->memory, at + head, (const char *)&rule + head, sizeof rule - head))
            weft__poke(w->memory, at, &pc, sizeof pc);
        return;
    }
}

static void rules_serve(struct weft__trace_writer *w) {
    uint64_t wanted[WEFT_RULES_WANTED], rules = weft__peek64(w->memory, FIELD(w, rules)), none = 0;
    uint64_t at = rules + offsetof(struct weft__stack_rules, wanted);
    if (!rules || !w->unwinder || !weft__peek(w->memory, at, wanted, sizeof wanted)) return;
    for (unsigned i = w->rules = 0; i < WEFT_RULES_WANTED; i++) {
        if (!wanted[i]) continue;
        w->rules++;
        weft__poke(w->memory, at + i * sizeof none, &none, sizeof none);
        rule_publish(w, rules, wanted[i]);
    }
}

/* Reads the rules that earlier readers have left. */
static void rules_recall(struct weft__trace_writer *w) {
    uint64_t rules = weft__peek64(w->memory, FIELD(w, rules));
    for (size_t slot = 0; rules && slot < WEFT_RULES_MOST; slot++) {
        size_t piece = sizeof w->buffer / (sizeof(struct weft__stack_rule)), i = slot % piece;
        const struct weft__stack_rule *all = (const struct weft__stack_rule *)(const void *)w->buffer;
        size_t n = WEFT_RULES_MOST - slot < piece ? WEFT_RULES_MOST - slot : piece;
        if (!i && !weft__peek(w->memory, rules + slot * sizeof *all, w->buffer, n * sizeof *all)) return;
        w->rule_pc[slot] = load_rlx(&all[i].pc);
    }
}

/* --- stacks and names ----------------------------------------------------------------------------------- */

/* Has a table grown? Tables only grow, so a table is read again when its count has changed. */
static bool has_grown(struct weft__trace_writer *w, uint64_t count_at, uint64_t *known) {
    uint64_t now = weft__peek64(w->memory, count_at);
    bool grown = now != *known;
    *known = now;
    return grown;
}

static void put_tape_stacks(struct weft__trace_writer *w) {
    uint64_t all = weft__peek64(w->memory, FIELD(w, stacks));
    enum { PIECE = sizeof w->buffer / (sizeof(struct weft__known_stack)) };
    struct weft__known_stack *some = (struct weft__known_stack *)(void *)w->buffer;
    if (!all || w->fd < 0 || !has_grown(w, FIELD(w, known_stacks), &w->known_stacks)) return;
    for (unsigned first = 0; first < WEFT_STACKS_MOST; first += PIECE) {
        unsigned n = WEFT_STACKS_MOST - first < PIECE ? WEFT_STACKS_MOST - first : PIECE;
        if (!weft__peek(w->memory, all + first * sizeof *some, some, n * sizeof *some)) return;
        for (unsigned i = 0; i < n; i++) {
            uint32_t depth = load_rlx(&some[i].depth), frames = depth & (WEFT_STACK_IS_CUT - 1);
            if (!depth || frames > WEFT_STACK_FRAMES || w->has_stack[first + i]) continue;
            w->has_stack[first + i] = 1;
            put_chunk(w, WEFT_CHUNK_STACK, first + i, depth, 0, some[i].frame, frames * sizeof(uint64_t));
        }
    }
}

static void put_names(struct weft__trace_writer *w) {
    uint64_t all = weft__peek64(w->memory, FIELD(w, names));
    struct weft__known_name *names = (struct weft__known_name *)(void *)w->buffer;
    _Static_assert(WEFT_NAMES_MOST * sizeof *names <= sizeof w->buffer, "all names at once");
    if (!all || w->fd < 0 || !has_grown(w, FIELD(w, known_names), &w->known_names)) return;
    if (!weft__peek(w->memory, all, names, WEFT_NAMES_MOST * sizeof *names)) return;
    for (unsigned i = 0; i < WEFT_NAMES_MOST; i++) {
        if (!load_rlx(&names[i].is_set) || w->has_name[i]) continue;
        w->has_name[i] = 1;
        put_chunk(w, WEFT_CHUNK_NAME, i, 0, 0, names[i].text, strnlen(names[i].text, sizeof names[i].text));
    }
}

/* --- events --------------------------------------------------------------------------------------------- */

static bool find_tapes(struct weft__trace_writer *w, bool from_now) {
    uint32_t tapes;
    if (!weft__peek(w->memory, FIELD(w, tapes), &tapes, sizeof tapes)) return false;
    for (; w->tapes < tapes && w->tapes < WEFT_TAPES_MOST; w->tapes++) {
        struct weft__tape *t = &w->tape[w->tapes];
        uint64_t at = weft__peek64(w->memory, FIELD(w, tape) + w->tapes * sizeof(void *));
        if (!at || !weft__peek(w->memory, at, t, sizeof *t) || t->mask + 1 != WEFT_TAPE_EVENTS) return false;
        w->next[w->tapes] = from_now ? load_rlx(&t->head) : 0;
        put_chunk(w, WEFT_CHUNK_TAPE, w->tapes, t->cluster, t->worker, NULL, 0);
    }
    return true;
}

/* Reads a piece of a tape by the protocol in tape.h, and writes it to the file. False: it cannot be read. */
static bool drain_piece(struct weft__trace_writer *w, unsigned number, uint64_t head_at, uint64_t h) {
    const struct weft__tape *t = &w->tape[number];
    uint64_t size = t->mask + 1, from = w->next[number], lost = 0;
    if (h - from > size) lost = h - from - size, from = h - size;
    uint64_t n = h - from, most = sizeof w->buffer / sizeof w->buffer[0], slot = from & t->mask;
    if (n > most) n = most;
    if (n > size - slot) n = size - slot;
    if (!weft__peek(w->memory, (uintptr_t)&t->event[slot], w->buffer, n * sizeof w->buffer[0])) return false;
    uint64_t h2 = weft__peek64(w->memory, head_at), good = h2 + 1 > size ? h2 + 1 - size : 0;
    uint64_t torn = good > from ? good - from : 0;
    if (torn > n) torn = n;
    lost += torn;
    put_chunk(w, WEFT_CHUNK_EVENTS, number, lost, 0, w->buffer + torn, (n - torn) * sizeof w->buffer[0]);
    w->events += n - torn;
    w->lost += lost;
    w->next[number] = from + n;
    return true;
}

static bool drain_tape(struct weft__trace_writer *w, unsigned number) {
    uint64_t tape = weft__peek64(w->memory, FIELD(w, tape) + number * sizeof(void *));
    uint64_t head_at = tape + offsetof(struct weft__tape, head), h;
    if (!weft__peek(w->memory, head_at, &h, sizeof h)) return false;
    if (h - w->next[number] > w->most) w->most = h - w->next[number];
    while (w->next[number] < h && !w->err)
        if (!drain_piece(w, number, head_at, h)) return false;
    return true;
}

/* Reads names and stacks after the events that refer to them, because they are in the tables by then. */
int weft__trace_drain(struct weft__trace_writer *w) {
    rules_serve(w);
    if (w->fd < 0) return 0;
    w->most = 0;
    if (!find_tapes(w, false)) return -ESRCH;
    for (unsigned i = 0; i < w->tapes; i++)
        if (!drain_tape(w, i)) return -ESRCH;
    put_tape_stacks(w);
    put_names(w);
    return w->err;
}

/* --- fibers --------------------------------------------------------------------------------------------- */

struct each {
    struct weft__trace_writer *writer;
    bool after;
};

static void put_tape_fiber(const struct weft__seen *f, void *arg) {
    struct each *each = arg;
    struct weft__trace_writer *w = each->writer;
    if (f->kind == WEFT_KIND_THREAD) return; /* it is on no tape */
    struct weft__trace_fiber to = {.id = f->id, .owner = f->owner, .state = f->state, .depth = f->depth};
    if (weft__state_waits(f->state)) to.what = weft__what(weft__for(f->on, (void *)(uintptr_t)f->object));
    if (f->fd >= 0 && (f->on == WEFT_WAITS_IO))
        to.what = weft__what(weft__for(f->on, (void *)(uintptr_t)(unsigned)f->fd));
    memcpy(to.name, f->name, sizeof to.name);
    if (f->where) weft__peek_string(w->memory, f->where, to.where, sizeof to.where);
    if (to.depth > WEFT_TRACE_FRAMES) to.depth = WEFT_TRACE_FRAMES;
    memcpy(to.frame, f->frame, to.depth * sizeof to.frame[0]);
    put_chunk(w, WEFT_CHUNK_FIBER, 0, each->after, 0, &to, sizeof to);
}

/* Writes the fibers that ran when the recording began: they are on no tape until they leave their workers. */
static void put_running(struct weft__trace_writer *w, const struct weft__look *look) {
    for (unsigned i = 0; i < look->workers; i++) {
        const struct weft__worker_seen *s = &look->worker[i];
        uint64_t life = s->current ? weft__peek64(w->memory, s->current + look->layout.fiber_life) : 0;
        if (life) put_chunk(w, WEFT_CHUNK_WORKER, s->index, s->cluster, life, NULL, 0);
    }
}

int weft__trace_fibers(struct weft__trace_writer *w, struct weft__look *look, bool after) {
    struct each each = {w, after};
    uint32_t records = 0;
    int err = weft__look_workers(look);
    weft__peek(look->memory, (uintptr_t)look->layout.fibers + look->layout.slab_records, &records, sizeof records);
    if (!err && !after) put_running(w, look);
    if (err || records > WEFT_LOOK_AT_MOST) return err;
    err = weft__look_fibers(look, put_tape_fiber, &each);
    return err ? err : w->err;
}

/* --- begin and end ---------------------------------------------------------------------------------------- */

static void put_modules(struct weft__trace_writer *w, const struct weft__modules *modules) {
    for (unsigned i = 0; i < modules->count; i++) {
        const struct weft__module *m = &modules->module[i];
        struct weft__trace_module to = {.begin = m->begin, .end = m->end, .bias = m->bias};
        memcpy(to.path, m->path, sizeof to.path);
        put_chunk(w, WEFT_CHUNK_MODULE, i, 0, 0, &to, sizeof to);
    }
}

static void put_head(struct weft__trace_writer *w) {
    struct timespec real;
    struct weft__trace_head head = {.pid = (uint64_t)w->memory->pid};
    clock_gettime(CLOCK_REALTIME, &real);
    head.begin_ns = weft__peek64(w->memory, FIELD(w, begin_ns));
    head.wall_ns = (uint64_t)real.tv_sec * WEFT_SECOND + (uint64_t)real.tv_nsec;
    head.wall_at = weft__clock() - head.begin_ns;
    memcpy(head.release, weft__layout.release, sizeof weft__layout.release);
    put_chunk(w, WEFT_CHUNK_HEAD, 0, WEFT_TRACE_MAGIC, WEFT_TRACE_VERSION, &head, sizeof head);
    put_clock(w);
}

int weft__trace_writer_begin(struct weft__trace_writer *w, struct weft__memory *m, uint64_t recorder,
                             const struct weft__modules *modules, int fd, bool whole) {
    struct weft__unwinder *unwinder = w->unwinder;
    memset(w, 0, offsetof(struct weft__trace_writer, buffer));
    w->unwinder = unwinder;
    w->memory = m;
    w->recorder = recorder;
    w->fd = fd;
    uint32_t version = 0;
    weft__peek(m, FIELD(w, version), &version, sizeof version);
    if (version != WEFT_RECORDER_VERSION) return -EPROTO;
    rules_recall(w);
    put_head(w);
    put_modules(w, modules);
    return find_tapes(w, !whole) ? w->err : -EIO;
}

int weft__trace_writer_end(struct weft__trace_writer *w) {
    put_clock(w);
    put_chunk(w, WEFT_CHUNK_END, 0, weft__peek64(w->memory, FIELD(w, lost_stacks)),
              weft__peek64(w->memory, FIELD(w, lost_names)), NULL, 0);
    return w->err;
}
