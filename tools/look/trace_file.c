/* SPDX-License-Identifier: MIT */
/* Reads a trace file (look/trace.h). The file may be cut off or contain garbage, so every number is checked. */
#include "trace_file.h"

#include "command.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

void *trace_grow(void *at, size_t *room, size_t n, size_t size) {
    size_t more = n ? 2 * n : 1024;
    void *now = realloc(at, more * size);
    if (!now) {
        fprintf(stderr, "weft: trace: out of memory\n");
        exit(EXIT_WRONG);
    }
    *room = more;
    return now;
}

struct clocks {
    uint64_t ticks[2], ns[2];
    unsigned n;
};

bool trace_is_file(const char *path) {
    struct weft__chunk c = {0};
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    bool is = fd >= 0 && read(fd, &c, sizeof c) == sizeof c && c.type == WEFT_CHUNK_HEAD && c.a == WEFT_TRACE_MAGIC;
    if (fd >= 0) close(fd);
    return is;
}

static void take_events(struct trace *t, const struct weft__chunk *c, const char *bytes) {
    for (size_t i = 0; i + sizeof(struct weft__event) <= c->bytes; i += sizeof(struct weft__event)) {
        struct weft__event e;
        memcpy(&e, bytes + i, sizeof e);
        if (e.when >> 56 >= WEFT_HAPPENED_KINDS) continue;
        struct trace_event *to = ADD(t->events);
        *to = (struct trace_event){e.when & ((UINT64_C(1) << 56) - 1),
                                   e.fiber,
                                   e.a,
                                   e.b,
                                   (uint32_t)t->events.n,
                                   (uint16_t)c->number,
                                   (uint8_t)(e.when >> 56)};
    }
    t->tape[c->number].lost += c->a;
    t->lost += c->a;
}

static void take_module(struct trace *t, const char *bytes) {
    struct weft__modules *all = &t->target.look.modules;
    struct weft__trace_module m;
    memcpy(&m, bytes, sizeof m);
    m.path[sizeof m.path - 1] = 0;
    struct weft__module *more = realloc(all->module, (all->count + 1) * sizeof *more);
    if (!more) return;
    all->module = more;
    more[all->count] = (struct weft__module){.begin = m.begin, .end = m.end, .bias = m.bias};
    memcpy(more[all->count++].path, m.path, sizeof m.path);
}

static void take_fiber(struct trace *t, const struct weft__chunk *c, const char *bytes) {
    struct weft__trace_fiber *to = c->a ? ADD(t->seen) : ADD(t->seen_first);
    memcpy(to, bytes, sizeof *to);
    to->name[sizeof to->name - 1] = to->where[sizeof to->where - 1] = 0;
    if (to->depth > WEFT_TRACE_FRAMES) to->depth = WEFT_TRACE_FRAMES;
}

static void take_stack(struct trace *t, const struct weft__chunk *c, const char *bytes) {
    uint32_t depth = (uint32_t)(c->bytes / sizeof(uint64_t));
    if (c->number >= WEFT_STACKS_MOST || depth > WEFT_STACK_FRAMES) return;
    t->stack[c->number].depth = depth;
    t->stack[c->number].cut = c->a & WEFT_STACK_IS_CUT;
    memcpy(t->stack[c->number].frame, bytes, depth * sizeof(uint64_t));
}

static void take_worker(struct trace *t, const struct weft__chunk *c) {
    *ADD(t->began) = (struct trace_began){(uint32_t)c->a, c->number, c->b};
}

static void take_chunk(struct trace *t, const struct weft__chunk *c, const char *bytes, struct clocks *clocks) {
    bool has_tape = c->number < WEFT_TAPES_MOST;
    switch (c->type) {
    case WEFT_CHUNK_HEAD:
        if (c->bytes >= sizeof t->head) memcpy(&t->head, bytes, sizeof t->head);
        break;
    case WEFT_CHUNK_CLOCK: /* the first and the last */
        clocks->ticks[clocks->n ? 1 : 0] = c->a;
        clocks->ns[clocks->n++ ? 1 : 0] = c->b;
        break;
    case WEFT_CHUNK_TAPE:
        if (has_tape)
            t->tape[c->number] =
                (struct trace_tape){.exists = true, .cluster = (uint32_t)c->a, .worker = (uint32_t)c->b};
        break;
    case WEFT_CHUNK_EVENTS:
        if (has_tape && t->tape[c->number].exists) take_events(t, c, bytes);
        break;
    case WEFT_CHUNK_MODULE:
        if (c->bytes >= sizeof(struct weft__trace_module)) take_module(t, bytes);
        break;
    case WEFT_CHUNK_WORKER: take_worker(t, c); break;
    case WEFT_CHUNK_STACK: take_stack(t, c, bytes); break;
    case WEFT_CHUNK_NAME:
        if (c->number < WEFT_NAMES_MOST && c->bytes < sizeof t->name[0]) memcpy(t->name[c->number], bytes, c->bytes);
        break;
    case WEFT_CHUNK_FIBER:
        if (c->bytes >= sizeof(struct weft__trace_fiber)) take_fiber(t, c, bytes);
        break;
    case WEFT_CHUNK_END:
        t->is_cut = false;
        t->lost_stacks = c->a;
        t->lost_names = c->b;
        break;
    default: break;
    }
}

static int in_time(const void *a, const void *b) {
    const struct trace_event *x = a, *y = b;
    if (x->ns != y->ns) return x->ns < y->ns ? -1 : 1;
    return x->order < y->order ? -1 : x->order > y->order;
}

/* Ticks become ns since the first event. */
static void set_times(struct trace *t, const struct clocks *c) {
    double rate = c->n > 1 && c->ticks[1] > c->ticks[0]
                      ? (double)(c->ns[1] - c->ns[0]) / (double)(c->ticks[1] - c->ticks[0])
                      : 1.0;
    for (size_t i = 0; i < t->events.n; i++) {
        struct trace_event *e = &t->events.at[i];
        e->ns = (uint64_t)((double)c->ns[0] + ((double)e->ns - (double)c->ticks[0]) * rate);
    }
    qsort(t->events.at, t->events.n, sizeof t->events.at[0], in_time);
    t->first_ns = t->events.n ? t->events.at[0].ns : 0;
    for (size_t i = 0; i < t->events.n; i++) t->events.at[i].ns -= t->first_ns;
    if (t->events.n) t->length = t->events.at[t->events.n - 1].ns;
    if (c->n > 1 && !t->is_cut && c->ns[1] > t->first_ns && c->ns[1] - t->first_ns > t->length)
        t->length = c->ns[1] - t->first_ns;
}

static int trace_wrong(const char *path, const char *why) {
    fprintf(stderr, "weft: trace: %s: %s\n", path, why);
    return EXIT_WRONG;
}

int trace_load(struct trace *t, const char *path) {
    struct stat s;
    struct clocks clocks = {.n = 0};
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &s)) return trace_wrong(path, strerror(errno));
    size_t size = (size_t)s.st_size;
    const char *bytes = size ? mmap(NULL, size, PROT_READ, MAP_PRIVATE, fd, 0) : NULL;
    close(fd);
    struct weft__chunk c;
    if (bytes == MAP_FAILED) return trace_wrong(path, strerror(errno));
    if (size < sizeof c || (memcpy(&c, bytes, sizeof c), c.a != WEFT_TRACE_MAGIC))
        return trace_wrong(path, "not a trace file");
    if (c.b != WEFT_TRACE_VERSION) return trace_wrong(path, "a trace file of another version");
    t->is_cut = true;
    for (size_t at = 0; at + sizeof c <= size;) {
        memcpy(&c, bytes + at, sizeof c);
        at += sizeof c;
        if (c.bytes > size - at) break;
        take_chunk(t, &c, bytes + at, &clocks);
        at += (c.bytes + 7) / 8 * 8;
    }
    munmap((void *)(uintptr_t)bytes, size);
    t->head.release[sizeof t->head.release - 1] = 0;
    set_times(t, &clocks);
    /* A process with other mounts has other files under these names. While it lives, they can be opened through it. */
    const struct weft__modules *m = &t->target.look.modules;
    if (m->count && access(m->module[0].path, R_OK)) t->target.memory.pid = (pid_t)t->head.pid;
    t->target.symbols = symbols_open(&t->target);
    trace_conclude(t);
    return 0;
}

void trace_free(struct trace *t) {
    if (t->target.symbols) symbols_close(t->target.symbols);
    free(t->target.look.modules.module);
    free(t->events.at);
    free(t->fibers.at);
    free(t->slices.at);
    free(t->waits.at);
    free(t->spans.at);
    free(t->marks.at);
    free(t->sleeps.at);
    free(t->seen.at);
    free(t->seen_first.at);
    free(t->began.at);
    free(t->index);
    for (size_t i = 0; i < sizeof t->stack / sizeof t->stack[0]; i++) {
        free(t->stack[i].text);
        free(t->stack[i].lines);
    }
}
