/* SPDX-License-Identifier: MIT */
/* weft_trace_begin, _end and _save: the events of small programs in order; wrong calls; a tape that is overwritten. */
#define _GNU_SOURCE
#include "fiber.h"

#include "look/trace.h"
#include "weft/trace.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* The contents of a recorded file: the number of events of each kind, and of lost events. */
struct counted {
    uint64_t kind[WEFT_HAPPENED_KINDS], lost, chunks[WEFT_CHUNK_TYPES];
    bool in_order; /* the events of each tape are in order */
};

static void count_chunk(struct counted *c, const struct weft__chunk *chunk, const char *bytes, uint64_t *last) {
    CHECK(chunk->type >= WEFT_CHUNK_HEAD && chunk->type < WEFT_CHUNK_TYPES);
    c->chunks[chunk->type]++;
    if (chunk->type != WEFT_CHUNK_EVENTS) return;
    c->lost += chunk->a;
    for (size_t i = 0; i < chunk->bytes; i += sizeof(struct weft__event)) {
        struct weft__event e;
        memcpy(&e, bytes + i, sizeof e);
        uint64_t ticks = e.when & ((UINT64_C(1) << 56) - 1);
        CHECK(e.when >> 56 > 0 && e.when >> 56 < WEFT_HAPPENED_KINDS);
        c->kind[e.when >> 56]++;
        if (ticks < last[chunk->number]) c->in_order = false;
        last[chunk->number] = ticks;
    }
}

static struct counted count_file(int fd) {
    static uint64_t last[WEFT_TAPES_MOST];
    struct counted c = {.in_order = true};
    struct stat s;
    memset(last, 0, sizeof last);
    CHECK_EQ(fstat(fd, &s), 0);
    char *bytes = mmap(NULL, (size_t)s.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    CHECK(bytes != MAP_FAILED);
    for (size_t at = 0; at < (size_t)s.st_size;) {
        struct weft__chunk chunk;
        memcpy(&chunk, bytes + at, sizeof chunk);
        at += sizeof chunk;
        CHECK(at + chunk.bytes <= (size_t)s.st_size);
        count_chunk(&c, &chunk, bytes + at, last);
        at += (chunk.bytes + 7) / 8 * 8;
    }
    munmap(bytes, (size_t)s.st_size);
    return c;
}

static struct weft_sem there = WEFT_SEM_INIT(0), back = WEFT_SEM_INIT(0);
enum { ROUNDS = 1000 };

static void *answers(void *arg) {
    for (unsigned i = 0; i < ROUNDS; i++) {
        CHECK_EQ(weft_sem_wait(&there), 0);
        CHECK_EQ(weft_sem_post(&back), 0);
    }
    return arg;
}

static void *asks(void *arg) {
    for (unsigned i = 0; i < ROUNDS; i++) {
        weft_span_begin("round");
        CHECK_EQ(weft_sem_post(&there), 0);
        CHECK_EQ(weft_sem_wait(&back), 0);
        weft_span_end();
    }
    weft_instant("over");
    weft_count("rounds", ROUNDS);
    return arg;
}

static void pings(void *unused) {
    (void)unused;
    int fd = memfd_create("trace", 0);
    CHECK(fd >= 0);
    CHECK_EQ(weft_trace_begin(fd), 0);
    CHECK_EQ(weft_trace_begin(-1), -EBUSY);
    CHECK_EQ(weft_trace_save(fd), -ESRCH); /* this recording writes to its own file */
    struct weft_fiber a = spawn(answers, NULL), b = spawn(asks, NULL);
    join(a);
    join(b);
    CHECK_EQ(weft_trace_end(), 0);
    CHECK_EQ(weft_trace_end(), -ESRCH);
    struct counted c = count_file(fd);
    close(fd);
    CHECK(c.in_order);
    CHECK_EQ(c.lost, 0);
    CHECK_EQ(c.chunks[WEFT_CHUNK_HEAD], 1);
    CHECK_EQ(c.chunks[WEFT_CHUNK_END], 1);
    CHECK_EQ(c.kind[WEFT_HAPPENED_SPAN_BEGIN], ROUNDS);
    CHECK_EQ(c.kind[WEFT_HAPPENED_SPAN_END], ROUNDS);
    CHECK_EQ(c.kind[WEFT_HAPPENED_INSTANT], 1);
    CHECK_EQ(c.kind[WEFT_HAPPENED_COUNT], 1);
    CHECK(c.kind[WEFT_HAPPENED_SPAWN] >= 2);
    CHECK(c.kind[WEFT_HAPPENED_END] <= 2); /* a join may return before the end of its fiber is recorded */
    CHECK(c.kind[WEFT_HAPPENED_PARK] >= 2);
    CHECK(c.kind[WEFT_HAPPENED_RUN] >= c.kind[WEFT_HAPPENED_PARK]);
}

static void *yields(void *arg) {
    for (unsigned i = 0; i < WEFT_TAPE_EVENTS; i++) weft_yield();
    return arg;
}

/* The tapes are overwritten while they are saved. Lost events must be counted, and all written events must be
 * complete. */
static void last_events(void *unused) {
    (void)unused;
    CHECK_EQ(weft_trace_begin(-1), 0);
    struct weft_fiber f[2] = {spawn(yields, NULL), spawn(yields, NULL)};
    for (unsigned i = 0; i < 3; i++) {
        int fd = memfd_create("trace", 0);
        CHECK(fd >= 0);
        CHECK_EQ(weft_trace_save(fd), 0);
        CHECK(count_file(fd).in_order);
        close(fd);
    }
    join(f[0]);
    join(f[1]);
    int fd = memfd_create("trace", 0);
    CHECK_EQ(weft_trace_save(fd), 0);
    struct counted c = count_file(fd);
    CHECK(c.in_order);
    CHECK(c.lost + c.kind[WEFT_HAPPENED_READY] + c.kind[WEFT_HAPPENED_RUN] >= 2 * WEFT_TAPE_EVENTS);
    close(fd);
    CHECK_EQ(weft_trace_end(), 0);
    weft_span_begin("nothing is recorded");
    weft_span_end();
    weft_instant(NULL);
    weft_count(NULL, 0);
}

TEST_WITHIN(every_event_of_a_small_program_is_recorded, 60) { each_size(pings); }
TEST_WITHIN(last_events_are_whole, 120) { each_size(last_events); }
