/* SPDX-License-Identifier: MIT */
/*
 * Perfetto's native format: a protobuf message Trace, which is a sequence of packets. Only a few fields are needed, so
 * they are written by hand. tests/look/perfetto.proto has the part of the schema that is used, with the published
 * numbers.
 *
 * A track for each worker shows the fibers that it ran; a track for each fiber shows when it ran, was ready and waited,
 * and its spans below. A flow leads from the turn that made a fiber ready to the turn that it then had.
 */
#include "trace_file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define FIBERS_MOST 20000 /* with a track each; the workers show the others */

enum { TRACK_PROCESS = 1, TRACK_WORKERS = 1000, TRACK_FIBERS = 100000, TRACK_COUNTERS = 10000, SEQUENCE = 1 };

/* --- protobuf ---------------------------------------------------------------------------------------------- */

struct message {
    unsigned char bytes[1024];
    size_t n;
};

static void put_varint(struct message *m, uint64_t v) {
    do {
        if (m->n < sizeof m->bytes) m->bytes[m->n++] = (unsigned char)((v & 0x7f) | (v > 0x7f ? 0x80 : 0));
        v >>= 7;
    } while (v);
}
static void put_number(struct message *m, unsigned field, uint64_t v) {
    put_varint(m, field << 3);
    put_varint(m, v);
}
static void put_fixed(struct message *m, unsigned field, uint64_t v) {
    put_varint(m, field << 3 | 1);
    if (m->n + 8 > sizeof m->bytes) return;
    memcpy(m->bytes + m->n, &v, 8);
    m->n += 8;
}
static void put_bytes(struct message *m, unsigned field, const void *bytes, size_t n) {
    if (m->n + n + 12 > sizeof m->bytes) n = 0;
    put_varint(m, field << 3 | 2);
    put_varint(m, n);
    memcpy(m->bytes + m->n, bytes, n);
    m->n += n;
}
static void put_text(struct message *m, unsigned field, const char *text) {
    put_bytes(m, field, text, strnlen(text, 400));
}
static void put_message(struct message *m, unsigned field, const struct message *inner) {
    put_bytes(m, field, inner->bytes, inner->n);
}

/* --- packets ------------------------------------------------------------------------------------------------- */

struct output {
    struct trace *trace;
    FILE *to;
    bool began;
};

static void put_packet(struct output *o, struct message *packet) {
    struct message head = {.n = 0};
    put_number(packet, 10, SEQUENCE);         /* trusted_packet_sequence_id */
    if (!o->began) put_number(packet, 13, 1); /* sequence_flags: incremental state is cleared */
    o->began = true;
    put_varint(&head, 1 << 3 | 2); /* Trace.packet */
    put_varint(&head, packet->n);
    fwrite(head.bytes, 1, head.n, o->to);
    fwrite(packet->bytes, 1, packet->n, o->to);
}

static void put_track(struct output *o, uint64_t uuid, uint64_t parent, const char *name, bool counter) {
    struct message track = {.n = 0}, packet = {.n = 0}, none = {.n = 0};
    put_number(&track, 1, uuid);
    if (parent) put_number(&track, 5, parent);
    put_text(&track, 2, name);
    if (counter) put_message(&track, 8, &none);
    put_message(&packet, 60, &track); /* track_descriptor */
    put_packet(o, &packet);
}

static void put_process(struct output *o) {
    struct message track = {.n = 0}, process = {.n = 0}, packet = {.n = 0};
    put_number(&process, 1, o->trace->head.pid);
    put_text(&process, 6, "weft");
    put_number(&track, 1, TRACK_PROCESS);
    put_message(&track, 3, &process);
    put_message(&packet, 60, &track);
    put_packet(o, &packet);
}

enum { SLICE_BEGIN = 1, SLICE_END = 2, INSTANT = 3, COUNTER = 4 };
struct happening {
    uint64_t ns, track;
    int type;
    const char *name, *key, *text; /* an annotation; NULL: none */
    uint64_t flow, flow_end;
    int64_t value;
};

static void put_event(struct output *o, const struct happening *h) {
    struct message event = {.n = 0}, packet = {.n = 0}, note = {.n = 0};
    put_number(&event, 9, (uint64_t)h->type);
    put_number(&event, 11, h->track);
    if (h->name) put_text(&event, 23, h->name);
    if (h->type == COUNTER) put_number(&event, 30, (uint64_t)h->value);
    if (h->flow) put_fixed(&event, 47, h->flow);         /* flow_ids */
    if (h->flow_end) put_fixed(&event, 48, h->flow_end); /* terminating_flow_ids */
    if (h->key) {
        put_text(&note, 10, h->key);
        put_text(&note, 6, h->text);
        put_message(&event, 4, &note);
    }
    put_number(&packet, 8, o->trace->head.begin_ns + o->trace->first_ns + h->ns); /* timestamp */
    put_message(&packet, 11, &event);                                             /* track_event */
    put_packet(o, &packet);
}

static void put_span(struct output *o, uint64_t track, uint64_t begin, uint64_t end, struct happening h) {
    h.ns = begin;
    h.track = track;
    h.type = SLICE_BEGIN;
    put_event(o, &h);
    put_event(o, &(struct happening){.ns = end > begin ? end : begin, .track = track, .type = SLICE_END});
}

/* --- the whole ------------------------------------------------------------------------------------------------- */

static uint64_t fiber_track(const struct trace *t, uint32_t fiber) {
    return t->fibers.n <= FIBERS_MOST || fiber < FIBERS_MOST ? TRACK_FIBERS + fiber * UINT64_C(2) : 0;
}

static void put_tracks(struct output *o) {
    struct trace *t = o->trace;
    char name[96];
    put_process(o);
    for (unsigned i = 0; i < WEFT_TAPES_MOST; i++) {
        if (!t->tape[i].exists || t->tape[i].worker == WEFT_TAPE_THREADS) continue;
        snprintf(name, sizeof name, "worker %u/%u", t->tape[i].cluster, t->tape[i].worker);
        put_track(o, TRACK_WORKERS + i, TRACK_PROCESS, name, false);
    }
    for (uint32_t i = 0; i < t->fibers.n; i++) {
        if (!fiber_track(t, i)) continue;
        trace_fiber_name(t, i, name, sizeof name);
        put_track(o, fiber_track(t, i), TRACK_PROCESS, name, false);
    }
}

/* Writes the turns of fibers. A flow from the waker to the woken fiber has a number, which both events contain. */
static void put_turns(struct output *o) {
    struct trace *t = o->trace;
    char name[96];
    for (size_t i = 0; i < t->slices.n; i++) {
        const struct trace_slice *s = &t->slices.at[i];
        uint64_t track = fiber_track(t, s->fiber);
        const struct trace_fiber *f = &t->fibers.at[s->fiber];
        bool flows = s->by && s->ready_at != UINT64_MAX;
        trace_fiber_name(t, s->fiber, name, sizeof name);
        if (flows)
            put_event(o, &(struct happening){.ns = s->ready_at,
                                             .track = TRACK_WORKERS + s->ready_tape,
                                             .type = INSTANT,
                                             .name = "wakes",
                                             .key = "fiber",
                                             .text = name,
                                             .flow = i + 1});
        put_span(
            o, TRACK_WORKERS + s->tape, s->begin, s->end,
            (struct happening){
                .name = name, .key = "spawned at", .text = f->where ? f->where : "", .flow_end = flows ? i + 1 : 0});
        if (!track) continue;
        if (s->ready_at != UINT64_MAX && s->ready_at < s->begin)
            put_span(o, track, s->ready_at, s->begin, (struct happening){.name = "ready"});
        put_span(o, track, s->begin, s->end, (struct happening){.name = "runs"});
    }
}

static void put_waits(struct output *o) {
    struct trace *t = o->trace;
    char what[160];
    for (size_t i = 0; i < t->waits.n; i++) {
        const struct trace_wait *w = &t->waits.at[i];
        uint64_t track = fiber_track(t, w->fiber);
        trace_what(t, w->what, what, sizeof what);
        if (track && w->end > w->begin)
            put_span(o, track, w->begin, w->end,
                     (struct happening){.name = what, .key = "at", .text = trace_frames(t, w->stack)});
    }
    for (size_t i = 0; i < t->sleeps.n; i++)
        put_span(o, TRACK_WORKERS + t->sleeps.at[i].tape, t->sleeps.at[i].begin, t->sleeps.at[i].end,
                 (struct happening){.name = "asleep"});
}

static void put_own_events(struct output *o) {
    struct trace *t = o->trace;
    static bool has_track[WEFT_NAMES_MOST];
    char name[96];
    memset(has_track, 0, sizeof has_track);
    for (size_t i = 0; i < t->spans.n; i++) {
        const struct trace_span *s = &t->spans.at[i];
        uint64_t track = s->fiber == UINT32_MAX ? 0 : fiber_track(t, s->fiber);
        if (!track) continue;
        trace_fiber_name(t, s->fiber, name, sizeof name);
        put_track(o, track + 1, track, "spans", false);
        put_span(o, track + 1, s->begin, s->end, (struct happening){.name = t->name[s->name]});
    }
    for (size_t i = 0; i < t->marks.n; i++) {
        const struct trace_mark *m = &t->marks.at[i];
        struct happening h = {.ns = m->ns, .track = TRACK_WORKERS + m->tape, .type = INSTANT, .name = t->name[m->name]};
        if (m->kind == WEFT_HAPPENED_COUNT) {
            h.track = TRACK_COUNTERS + m->name;
            h.type = COUNTER;
            h.value = (int64_t)m->value;
            if (!has_track[m->name]) put_track(o, h.track, TRACK_PROCESS, t->name[m->name], true);
            has_track[m->name] = true;
            h.name = NULL;
        } else if (m->kind != WEFT_HAPPENED_INSTANT)
            continue;
        put_event(o, &h);
    }
}

int trace_perfetto(struct trace *t, const char *path) {
    struct output o = {t, fopen(path, "we"), false};
    if (!o.to) return -errno;
    put_tracks(&o);
    put_turns(&o);
    put_waits(&o);
    put_own_events(&o);
    int err = ferror(o.to) ? -EIO : 0;
    if (fclose(o.to) && !err) err = -errno;
    return err;
}
