/* SPDX-License-Identifier: MIT */
/*
 * The trace of a job: what passes between ranks, all ranks in one timeline. Each rank notes events in memory. At the
 * end rank 0 fetches them, corrects them by the difference of the clocks, and writes a file for Perfetto or
 * chrome://tracing.
 */
#include "dist/dist.h"

#include <errno.h>

#define WEFT_TRACE_EVENTS (1u << 17)

struct event {
    uint64_t at, took; /* ns */
    uint32_t kind, peer, n, unused;
};
static struct event *events;
static _Atomic unsigned noted;

int weft__dist_trace_begin(void) {
    atomic_store(&noted, 0);
    return (events = calloc(WEFT_TRACE_EVENTS, sizeof *events)) ? 0 : -ENOMEM;
}

void weft__dist_trace_free(void) {
    free(events);
    events = NULL;
}

void weft__dist_trace(enum weft__dist_trace_kind kind, uint64_t begun, unsigned peer, unsigned n) {
    if (!events) return;
    unsigned i = atomic_fetch_add_explicit(&noted, 1, memory_order_relaxed);
    if (i < WEFT_TRACE_EVENTS) events[i] = (struct event){begun, weft_now() - begun, kind, peer, n, 0};
}

/* --- to rank 0 ------------------------------------------------------------------------------------------- */

static size_t own_size(void) {
    unsigned n = atomic_load(&noted);
    return (n < WEFT_TRACE_EVENTS ? n : WEFT_TRACE_EVENTS) * sizeof *events;
}

/* Answers rank 0 with the time of this rank, and its events. */
void weft__dist_trace_send(unsigned to, uint64_t cookie) {
    weft__dist_send(to, WEFT_MSG_TRACE, 0, cookie, weft_now(), events, events ? own_size() : 0);
}

/* --- the file -------------------------------------------------------------------------------------------- */

static void write_event(FILE *f, unsigned rank, unsigned id, const struct event *e, int64_t offset) {
    static const struct {
        const char *name, *peer;
    } kinds[] = {{"asks", "rank"},
                 {"waits on lifelines", "lifelines"},
                 {"gives", "to"},
                 {"runs calls", "of"},
                 {"loses", "rank"}};
    double at = (double)((int64_t)e->at + offset) / 1000;
    fprintf(f, ",\n{\"name\":\"%s\",\"cat\":\"rank\",\"pid\":%u,\"tid\":%u,\"ts\":%.3f,", kinds[e->kind].name, rank,
            e->kind, at);
    if (e->kind == WEFT_TRACE_RAN)
        fprintf(
            f,
            "\"ph\":\"b\",\"id\":%u,\"args\":{\"%s\":%u,\"calls\":%u}},\n{\"name\":\"%s\",\"cat\":\"rank\",\"pid\":%u,"
            "\"tid\":%u,\"ts\":%.3f,\"ph\":\"e\",\"id\":%u}",
            id, kinds[e->kind].peer, e->peer, e->n, kinds[e->kind].name, rank, e->kind, at + (double)e->took / 1000,
            id);
    else
        fprintf(f, "\"ph\":\"X\",\"dur\":%.3f,\"args\":{\"%s\":%u,\"calls\":%u}}", (double)e->took / 1000,
                kinds[e->kind].peer, e->peer, e->n);
}

static unsigned write_rank(FILE *f, unsigned rank, const struct event *list, size_t size, int64_t offset, unsigned id) {
    fprintf(f, "%s{\"name\":\"process_name\",\"ph\":\"M\",\"pid\":%u,\"args\":{\"name\":\"rank %u\"}}",
            rank ? ",\n" : "", rank, rank);
    for (size_t i = 0; i < size / sizeof *list; i++)
        if (list[i].kind < WEFT_TRACE_KINDS) write_event(f, rank, id++, &list[i], offset);
    return id;
}

static unsigned fetch_trace(FILE *f, unsigned rank, unsigned id) {
    struct weft__dist_wait wait;
    weft__dist_wait_begin(&wait, rank);
    wait.keep = true;
    uint64_t asked = weft_now();
    weft__dist_send(rank, WEFT_MSG_TRACE_GET, 0, wait.cookie, 0, NULL, 0);
    if (weft__dist_wait_end(&wait)) return id; /* the rank is lost, and so are its events */
    int64_t offset = (int64_t)(asked + (weft_now() - asked) / 2) - (int64_t)wait.value;
    if (weft__dist.peers[rank].local != UINT32_MAX) offset = 0; /* the same clock */
    id = write_rank(f, rank, wait.result, wait.result_size, offset, id);
    free(wait.result);
    return id;
}

/* Writes the trace. Called by rank 0 at the end of the job. */
void weft__dist_trace_write(const char *path) {
    FILE *f = fopen(path, "w");
    if (!f) {
        weft__dist_say("the trace cannot be written to %s: %s", path, strerror(errno));
        return;
    }
    fputs("[\n", f);
    unsigned id = write_rank(f, 0, events, own_size(), 0, 0);
    for (unsigned r = 1; r < weft__dist.ranks; r++) id = fetch_trace(f, r, id);
    fputs("\n]\n", f);
    if (fclose(f)) weft__dist_say("the trace cannot be written to %s: %s", path, strerror(errno));
}
