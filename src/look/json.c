/* SPDX-License-Identifier: MIT */
/*
 * The report as JSON: workers, fibers one after the other, and at the end the stacks, each once; a fiber names its
 * stack by its number.
 */
#include "look/report.h"
#include "look/track.h"

#include "base/sys.h"
#include "sched/core/wait_word.h"

#include <errno.h>

/* A stack that was seen: its frames, behind one another in one array. */
struct stack {
    uint64_t hash;
    uint32_t first, depth; /* depth 0: a free slot */
    uint32_t number;
};

struct stacks {
    struct weft__report *report;
    struct stack *table;
    size_t size, used;
    uint64_t *frames;
    size_t frames_used, frames_room;
    uint64_t fibers;
    bool no_memory;
};

static bool grow_json_table(struct stacks *s) {
    size_t size = s->size ? 2 * s->size : 256;
    struct stack *table = weft__alloc(size * sizeof *table);
    if (!table) return false;
    memset(table, 0, size * sizeof *table);
    for (size_t i = 0; i < s->size; i++) {
        if (!s->table[i].depth) continue;
        size_t at = s->table[i].hash & (size - 1);
        while (table[at].depth) at = (at + 1) & (size - 1);
        table[at] = s->table[i];
    }
    weft__free(s->table);
    s->table = table;
    s->size = size;
    return true;
}

static bool grow_frames(struct stacks *s) {
    size_t room = s->frames_room ? 2 * s->frames_room : 4096;
    uint64_t *frames = weft__alloc(room * sizeof *frames);
    if (!frames) return false;
    if (s->frames_used) memcpy(frames, s->frames, s->frames_used * sizeof *frames);
    weft__free(s->frames);
    s->frames = frames;
    s->frames_room = room;
    return true;
}

/* The number of the fiber's stack; -1: it has none. */
static int64_t stack_of(struct stacks *s, const struct weft__seen *f) {
    uint64_t hash = f->depth;
    if (!f->depth) return -1;
    for (unsigned i = 0; i < f->depth; i++) {
        hash = (hash ^ f->frame[i]) * UINT64_C(0x9e3779b97f4a7c15);
        hash ^= hash >> 29;
    }
    if (2 * s->used >= s->size && !grow_json_table(s)) goto no_memory;
    size_t at = hash & (s->size - 1);
    for (; s->table[at].depth; at = (at + 1) & (s->size - 1)) {
        const struct stack *t = &s->table[at];
        if (t->hash == hash && t->depth == f->depth &&
            !memcmp(s->frames + t->first, f->frame, f->depth * sizeof *f->frame))
            return t->number;
    }
    if (s->frames_used + f->depth > s->frames_room && !grow_frames(s)) goto no_memory;
    memcpy(s->frames + s->frames_used, f->frame, f->depth * sizeof *f->frame);
    s->table[at] = (struct stack){hash, (uint32_t)s->frames_used, f->depth, (uint32_t)s->used++};
    s->frames_used += f->depth;
    return s->table[at].number;
no_memory:
    s->no_memory = true;
    return -1;
}

static void put_hex(struct weft__out *o, const char *name, uint64_t v) {
    if (v) weft__out(o, ",\"%s\":\"0x%llx\"", name, (unsigned long long)v);
}

static void put_wait(struct weft__out *o, const struct weft__seen *f, struct weft__report *r) {
    char name[128];
    weft__out(o, ",\"waits_for\":\"%s\"", weft__waits_name(f->on));
    put_hex(o, "object", f->object);
    if (f->object && r->names && r->names->data && r->names->data(r->names, f->object, name, sizeof name)) {
        weft__out(o, ",\"object_name\":");
        weft__out_quoted(o, name);
    }
    put_hex(o, "owner", f->owner);
    if (f->held_outside) weft__out(o, ",\"held_outside\":true");
    if (f->fd >= 0) weft__out(o, ",\"fd\":%d", f->fd);
    if (f->fd >= 0 && f->on != WEFT_WAITS_IO) weft__out(o, ",\"events\":%d", f->events);
    if (f->deadline && r->now) weft__out(o, ",\"deadline_in_ns\":%lld", (long long)(f->deadline - r->now));
    if (!f->cases) return;
    weft__out(o, ",\"cases\":[");
    for (unsigned i = 0; i < f->cases && i < WEFT_LOOK_CASES; i++)
        weft__out(o, "%s{\"waits_for\":\"%s\",\"object\":\"0x%llx\"}", i ? "," : "", weft__waits_name(f->select[i].on),
                  (unsigned long long)f->select[i].object);
    weft__out(o, "]");
}

static void put_json_fiber(const struct weft__seen *f, void *arg) {
    struct stacks *s = arg;
    struct weft__report *r = s->report;
    struct weft__out *o = &r->out;
    char where[256] = "";
    int64_t stack = stack_of(s, f);
    weft__out(o, "%s{\"id\":\"0x%llx\",\"kind\":\"%s\",\"state\":\"%s\"", s->fibers++ ? ",\n" : "",
              (unsigned long long)f->id, f->kind == WEFT_KIND_FIBER ? "fiber" : "thread", weft__state_name(f->state));
    if (f->name[0]) {
        weft__out(o, ",\"name\":");
        weft__out_quoted(o, f->name);
    }
    if (f->where) {
        weft__peek_string(r->look->memory, f->where, where, sizeof where);
        weft__out(o, ",\"spawned_at\":");
        weft__out_quoted(o, where);
    }
    if (f->on) put_wait(o, f, r);
    if (f->worker) weft__out(o, ",\"worker\":%u", r->look->worker[f->worker - 1].index);
    if (f->since && r->now > f->since) weft__out(o, ",\"for_ns\":%llu", (unsigned long long)(r->now - f->since));
    uint64_t waits_since = weft__waits_since(r->track, f);
    if (waits_since && r->now > waits_since)
        weft__out(o, ",\"waits_at_least_ns\":%llu", (unsigned long long)(r->now - waits_since));
    if (f->blocks) weft__out(o, ",\"blocked_in_c\":true");
    if (f->wait & WEFT_WAIT_CANCEL) weft__out(o, ",\"cancelled\":true");
    if (f->torn) weft__out(o, ",\"torn\":true");
    if (stack >= 0) weft__out(o, ",\"stack\":%lld", (long long)stack);
    weft__out(o, "}");
}

struct frame {
    struct weft__out *out;
    uint64_t pc;
    bool any;
};

static void put_frame(const struct weft__symbol *s, void *arg) {
    struct frame *f = arg;
    weft__out(f->out, "%s{\"pc\":\"0x%llx\"", f->any ? "," : "", (unsigned long long)f->pc);
    f->any = true;
    if (s->function) {
        weft__out(f->out, ",\"function\":");
        weft__out_quoted(f->out, s->function);
    }
    if (s->file) {
        weft__out(f->out, ",\"file\":");
        weft__out_quoted(f->out, s->file);
        weft__out(f->out, ",\"line\":%d", s->line);
    } else if (s->module) {
        weft__out(f->out, ",\"module\":");
        weft__out_quoted(f->out, s->module);
        weft__out(f->out, ",\"offset\":\"0x%llx\"", (unsigned long long)s->offset);
    }
    weft__out(f->out, "%s}", s->inlined ? ",\"inlined\":true" : "");
}

/* Writes the stacks in the order of their numbers, in which their frames were appended. */
static void put_json_stacks(struct stacks *s) {
    struct weft__report *r = s->report;
    uint32_t *depth = weft__alloc((s->used + 1) * sizeof *depth);
    if (!depth) {
        s->no_memory = true;
        return;
    }
    for (size_t i = 0; i < s->size; i++)
        if (s->table[i].depth) depth[s->table[i].number] = s->table[i].depth;
    const uint64_t *frame = s->frames;
    for (size_t k = 0; k < s->used; k++) {
        struct frame f = {&r->out, 0, false};
        weft__out(&r->out, "%s[", k ? ",\n" : "");
        for (uint32_t i = 0; i < depth[k]; i++) {
            f.pc = *frame++;
            r->names->code(r->names, f.pc, i > 0, put_frame, &f);
        }
        weft__out(&r->out, "]");
    }
    weft__free(depth);
}

static void put_json_workers(struct weft__report *r) {
    for (unsigned i = 0; i < r->look->workers; i++) {
        const struct weft__worker_seen *w = &r->look->worker[i];
        weft__out(&r->out,
                  "%s{\"cluster\":%u,\"worker\":%u,\"thread\":%d,\"busy\":%s,\"stuck\":%s,\"ready\":%llu,"
                  "\"timers\":%llu,\"requests\":%llu}",
                  i ? ",\n" : "", w->cluster, w->index, w->tid, w->busy_since ? "true" : "false",
                  w->stuck ? "true" : "false", (unsigned long long)w->queued + w->aside, (unsigned long long)w->armed,
                  (unsigned long long)w->in_flight);
    }
}

int weft__report_json(struct weft__report *r) {
    struct stacks s = {.report = r};
    weft__out(&r->out, "{\"weft\":\"%s\",\"pid\":%d,\"workers\":[", r->look->layout.release, (int)r->look->memory->pid);
    put_json_workers(r);
    weft__out(&r->out, "],\n\"fibers\":[");
    int err = weft__look_fibers(r->look, put_json_fiber, &s);
    weft__out(&r->out, "],\n\"stacks\":[");
    if (s.used) put_json_stacks(&s);
    weft__out(&r->out, "]}\n");
    if (!err && s.no_memory) err = -ENOMEM;
    weft__free(s.table);
    weft__free(s.frames);
    int written = weft__out_end(&r->out);
    return err ? err : written;
}
