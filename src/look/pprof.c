/* SPDX-License-Identifier: MIT */
/*
 * A profile in pprof's format: a protobuf message in gzip. This file encodes the message itself: a field is its number
 * and kind as a varint, followed by a varint, or by a length and so many bytes. gzip allows stored blocks, so nothing
 * is compressed.
 *
 * A sample has four values: CPU samples and nanoseconds, waits and nanoseconds. A wait has a label that says what the
 * fiber waited for.
 */
#include "base/sys.h"
#include "look/interned.h"
#include "look/profile.h"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

/* --- protobuf ------------------------------------------------------------------------------------------- */

static void put_varint(struct weft__bytes *b, uint64_t v) {
    uint8_t bytes[10];
    size_t n = 0;
    do {
        bytes[n++] = (uint8_t)((v & 0x7f) | (v > 0x7f ? 0x80 : 0));
        v >>= 7;
    } while (v);
    weft__bytes_add(b, bytes, n);
}

static void put_number(struct weft__bytes *b, unsigned field, uint64_t v) {
    if (!v) return; /* the default */
    put_varint(b, field << 3);
    put_varint(b, v);
}

static void put_bytes(struct weft__bytes *b, unsigned field, const void *bytes, size_t n) {
    put_varint(b, field << 3 | 2);
    put_varint(b, n);
    weft__bytes_add(b, bytes, n);
}

/* Writes what was collected as a field, and empties it for the next one. */
static void put_message(struct weft__bytes *b, unsigned field, struct weft__bytes *message) {
    put_bytes(b, field, message->at, message->n);
    b->failed |= message->failed;
    message->n = 0;
}

/* Fields of the messages: profile.proto of github.com/google/pprof. */
enum {
    SAMPLE_TYPE = 1,
    SAMPLE,
    MAPPING,
    LOCATION,
    FUNCTION,
    STRING,
    TIME = 9,
    DURATION,
    PERIOD_TYPE,
    PERIOD,
    DEFAULT_TYPE = 14
};

/* --- the parts of a profile ----------------------------------------------------------------------------- */

struct location_slot {
    uint64_t pc; /* 0: free */
    uint32_t id; /* 0: a location that is left out */
};

struct writer {
    const struct weft__profile *profile;
    struct weft__names *names;
    struct weft__bytes out, message, inner, packed;
    struct weft__interned strings, functions; /* a function is "name\1file" */
    struct location_slot *slot;               /* by address, a hash table */
    size_t slots, used;
    uint32_t locations;
    bool any; /* lines of the location that is written */
    int err;
};

static uint32_t function_of(struct writer *w, const struct weft__symbol *s) {
    char key[512];
    uint32_t before = w->functions.count;
    snprintf(key, sizeof key, "%s\1%s", s->function ? s->function : "", s->file ? s->file : "");
    uint32_t id = weft__intern(&w->functions, key);
    if (w->functions.count == before) return id;
    uint32_t name = weft__intern(&w->strings, s->function), file = weft__intern(&w->strings, s->file ? s->file : "");
    put_number(&w->inner, 1, id);
    put_number(&w->inner, 2, name);
    put_number(&w->inner, 3, name);
    put_number(&w->inner, 4, file);
    put_message(&w->out, FUNCTION, &w->inner);
    return id;
}

/* Adds a line to a location: a function at the address. Inlined functions come first. */
static void add_line(const struct weft__symbol *s, void *arg) {
    struct writer *w = arg;
    if (weft__symbol_is_plumbing(s)) return;
    w->any = true;
    if (!s->function) return;
    uint32_t function = function_of(w, s);
    put_number(&w->inner, 1, function);
    put_number(&w->inner, 2, s->line > 0 ? (uint64_t)s->line : 0);
    put_message(&w->message, 4, &w->inner);
}

static uint32_t mapping_of(const struct writer *w, uint64_t at) {
    const struct weft__module *m = weft__module_at(w->names->modules, at);
    return m ? (uint32_t)(m - w->names->modules->module) + 1 : 0;
}

static uint32_t make_location(struct writer *w, uint64_t pc, bool call) {
    w->any = false;
    put_number(&w->message, 1, w->locations + 1);
    put_number(&w->message, 2, mapping_of(w, pc - call));
    put_number(&w->message, 3, pc - call);
    w->names->code(w->names, pc, call, add_line, w);
    if (!w->any) {
        w->message.n = 0;
        return 0;
    }
    put_message(&w->out, LOCATION, &w->message);
    return ++w->locations;
}

static struct location_slot *find_location(struct writer *w, uint64_t key) {
    size_t i = (size_t)(key * UINT64_C(0x9e3779b97f4a7c15) >> 20) & (w->slots - 1);
    while (w->slot[i].pc && w->slot[i].pc != key) i = (i + 1) & (w->slots - 1);
    return &w->slot[i];
}

static bool grow_locations(struct writer *w) {
    struct location_slot *old = w->slot;
    size_t n = w->slots;
    w->slots = n ? 2 * n : 1024;
    if (!(w->slot = weft__alloc(w->slots * sizeof *w->slot))) {
        w->slot = old;
        w->slots = n;
        return false;
    }
    for (size_t i = 0; i < n; i++)
        if (old[i].pc) *find_location(w, old[i].pc) = old[i];
    weft__free(old);
    return true;
}

/* The number of a location. The innermost frame is where the thread is, the others are return addresses: the lowest bit
 * of the key tells them apart. */
static uint32_t location_of(struct writer *w, uint64_t pc, bool call) {
    uint64_t key = pc << 1 | call;
    if (2 * (w->used + 1) > w->slots && !grow_locations(w)) {
        w->err = -ENOMEM;
        return 0;
    }
    struct location_slot *p = find_location(w, key);
    if (!p->pc) {
        *p = (struct location_slot){key, make_location(w, pc, call)};
        w->used++;
    }
    return p->id;
}

static void put_label(struct writer *w, const char *key, const char *value) {
    uint32_t k = weft__intern(&w->strings, key), v = weft__intern(&w->strings, value);
    if (!*value) return;
    put_number(&w->inner, 1, k);
    put_number(&w->inner, 2, v);
    put_message(&w->message, 3, &w->inner);
}

static void put_sample(const struct weft__group *g, bool waits, void *arg) {
    struct writer *w = arg;
    struct weft__bytes *ids = &w->packed;
    char where[256] = "";
    ids->n = 0;
    for (unsigned i = 0; i < g->seen.depth; i++) {
        uint32_t id = location_of(w, g->seen.frame[i], i > 0);
        if (id) put_varint(ids, id);
    }
    if (!ids->n) return;
    put_bytes(&w->message, 1, ids->at, ids->n);
    const uint64_t values[4] = {waits ? 0 : g->waits, waits ? 0 : g->waited, waits ? g->waits : 0,
                                waits ? g->waited : 0};
    for (unsigned i = 0; i < 4; i++) put_varint(&w->inner, values[i]);
    put_message(&w->message, 2, &w->inner);
    if (waits) put_label(w, "waits_for", weft__waits_name(g->seen.on));
    if (g->seen.where && w->profile->wait.look)
        weft__peek_string(w->profile->wait.look->memory, g->seen.where, where, sizeof where);
    put_label(w, "spawned_at", where);
    put_message(&w->out, SAMPLE, &w->message);
}

static void put_type(struct writer *w, unsigned field, const char *type, const char *unit) {
    uint32_t t = weft__intern(&w->strings, type), u = weft__intern(&w->strings, unit);
    put_number(&w->inner, 1, t);
    put_number(&w->inner, 2, u);
    put_message(&w->out, field, &w->inner);
}

static void put_mappings(struct writer *w) {
    for (unsigned i = 0; i < w->names->modules->count; i++) {
        const struct weft__module *m = &w->names->modules->module[i];
        uint32_t path = weft__intern(&w->strings, m->path);
        put_number(&w->inner, 1, i + 1);
        put_number(&w->inner, 2, m->begin);
        put_number(&w->inner, 3, m->end);
        put_number(&w->inner, 5, path);
        /* The mapping has functions, and perhaps files, lines and inlined functions. Otherwise pprof would look for
         * names itself, in a file whose parts are not mapped as it expects. */
        for (unsigned field = 7; field <= (w->names->has_lines ? 10 : 7); field++) put_number(&w->inner, field, 1);
        put_message(&w->out, MAPPING, &w->inner);
    }
}

/* Writes the strings. Called last, when all strings are known. The first string is empty. */
static void put_strings(struct writer *w) {
    put_bytes(&w->out, STRING, "", 0);
    for (uint32_t i = 1; i <= w->strings.count; i++) {
        const char *text = weft__interned_text(&w->strings, i);
        put_bytes(&w->out, STRING, text, strlen(text));
    }
}

/* --- gzip ------------------------------------------------------------------------------------------------- */

static uint32_t crc_of(const char *bytes, size_t n) {
    uint32_t crc = ~UINT32_C(0);
    for (size_t i = 0; i < n; i++) {
        crc ^= (uint8_t)bytes[i];
        for (unsigned k = 0; k < 8; k++) crc = crc >> 1 ^ (crc & 1 ? UINT32_C(0xedb88320) : 0);
    }
    return ~crc;
}

static void put_little(struct weft__bytes *b, uint32_t v, unsigned bytes) {
    for (; bytes--; v >>= 8) weft__bytes_add(b, &(uint8_t){(uint8_t)v}, 1);
}

static void put_gzip(struct weft__bytes *to, const struct weft__bytes *from) {
    static const uint8_t head[10] = {0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3};
    enum { BLOCK = 65535 };
    size_t done = 0;
    weft__bytes_add(to, head, sizeof head);
    do {
        size_t some = from->n - done < BLOCK ? from->n - done : BLOCK;
        put_little(to, done + some == from->n, 1);
        put_little(to, (uint32_t)some, 2);
        put_little(to, ~(uint32_t)some, 2);
        weft__bytes_add(to, from->at + done, some);
        done += some;
    } while (done < from->n);
    put_little(to, crc_of(from->at, from->n), 4);
    put_little(to, (uint32_t)from->n, 4);
    to->failed |= from->failed;
}

static int write_whole_profile(int fd, const char *bytes, size_t n) {
    while (n) {
        ssize_t wrote = write(fd, bytes, n);
        if (wrote < 0 && errno == EINTR) continue;
        if (wrote < 0) return -errno;
        bytes += wrote;
        n -= (size_t)wrote;
    }
    return 0;
}

/* --- all of it -------------------------------------------------------------------------------------------- */

static void put_profile(struct writer *w) {
    const struct weft__profile *p = w->profile;
    put_type(w, SAMPLE_TYPE, "samples", "count");
    put_type(w, SAMPLE_TYPE, "cpu", "nanoseconds");
    put_type(w, SAMPLE_TYPE, "waits", "count");
    put_type(w, SAMPLE_TYPE, "waiting", "nanoseconds");
    put_mappings(w);
    weft__profile_each(p, put_sample, w);
    put_number(&w->out, TIME, p->began_at);
    put_number(&w->out, DURATION, p->ended - p->began);
    put_type(w, PERIOD_TYPE, "cpu", "nanoseconds");
    put_number(&w->out, PERIOD, p->period);
    put_number(&w->out, DEFAULT_TYPE, weft__intern(&w->strings, "cpu"));
    put_strings(w);
}

int weft__profile_pprof(const struct weft__profile *p, struct weft__names *names, int fd) {
    struct writer w = {.profile = p, .names = names};
    struct weft__bytes zipped = {0};
    put_profile(&w);
    put_gzip(&zipped, &w.out);
    if (zipped.failed || w.strings.failed || w.functions.failed) w.err = -ENOMEM;
    int err = w.err ? w.err : write_whole_profile(fd, zipped.at, zipped.n);
    weft__bytes_free(&zipped);
    weft__bytes_free(&w.out);
    weft__bytes_free(&w.message);
    weft__bytes_free(&w.inner);
    weft__bytes_free(&w.packed);
    weft__interned_free(&w.strings);
    weft__interned_free(&w.functions);
    weft__free(w.slot);
    return err;
}
