/* SPDX-License-Identifier: MIT */
/* Begins to look at a process: finds and checks weft's table, and reads the workers. */
#include "look/look.h"

#include "base/sys.h"
#include "sched/wake/idle.h"

#include <errno.h>

#define WEFT_HINTS 4096

/* --- the table -------------------------------------------------------------------------------------- */

static bool layout_fits(const struct weft__layout *l) {
    uint32_t last = l->record_size - 16;
    return l->record_size >= WEFT_HEAD && l->record_size <= WEFT_RECORD_MOST && l->chunk_records &&
           l->chunk_records <= 65536 && l->chunks_most <= 65536 && l->workers_most <= 65536 &&
           l->clusters_most <= 1024 && l->numbers <= 32 && l->fiber_life <= last && l->fiber_pc <= last &&
           l->fiber_sp <= last && l->fiber_fp <= last && l->fiber_on_stack <= last && l->fiber_kind <= last &&
           l->fiber_placement <= last && l->fiber_wait <= last && l->fiber_join <= last && l->fiber_fn <= last &&
           l->fiber_arg <= last && l->fiber_stack <= last && l->fiber_where <= last && l->fiber_frames <= last &&
           l->fiber_name <= last && l->stack_low <= 56 && l->stack_class <= 63;
}

static int read_process_layout(struct weft__memory *m, uint64_t at, struct weft__layout *to) {
    *to = (struct weft__layout){.size = 0};
    size_t head = offsetof(struct weft__layout, fibers);
    if (!weft__peek(m, at, to, head)) return -EIO;
    to->release[sizeof to->release - 1] = 0;
    if (memcmp(to->magic, WEFT_LAYOUT_MAGIC, sizeof WEFT_LAYOUT_MAGIC)) return -ENOENT;
    if (to->version != WEFT_LAYOUT_VERSION || to->size != sizeof *to) return -EPROTO;
    if (!weft__peek(m, at, to, sizeof *to)) return -EIO;
    return layout_fits(to) ? 0 : -EPROTO;
}

/* A process may have several copies of weft. Chooses the copy that has fibers. */
static int find_process_layout(struct weft__look *look) {
    struct weft__memory *m = look->memory;
    int err = -ENOENT;
    for (unsigned i = 0; i < look->modules.count; i++) {
        if (!look->modules.module[i].layout) continue;
        m->table = look->modules.module[i].layout;
        m->table_begins = weft__peek64(m, m->table);
        err = read_process_layout(m, m->table, &look->layout);
        if (err == -EPROTO) return err;
        uint32_t records = 0;
        if (!err) weft__peek(m, (uintptr_t)look->layout.fibers + look->layout.slab_records, &records, 4);
        if (records) break;
    }
    return err;
}

int weft__look_begin(struct weft__look *look, struct weft__memory *m) {
    look->memory = m;
    if (!look->modules.count) {
        int err = weft__modules_of(m, &look->modules);
        if (err) return err;
    }
    int err = find_process_layout(look);
    if (err) return err;
    look->hints = weft__alloc(WEFT_HINTS * sizeof *look->hints);
    look->unwinder = weft__unwinder_make(m, &look->modules);
    if (!look->hints || !look->unwinder) return -ENOMEM;
    memset(look->hints, 0, WEFT_HINTS * sizeof *look->hints);
    return 0;
}

void weft__look_end(struct weft__look *look) {
    weft__unwinder_free(look->unwinder);
    weft__modules_free(&look->modules);
    weft__free(look->hints);
    weft__free(look->worker);
    weft__free(look->joined);
    *look = (struct weft__look){.memory = NULL};
}

struct weft__hint *weft__hint_of(struct weft__look *look, uint64_t pc) {
    struct weft__hint *p = &look->hints[pc * UINT64_C(0x9e3779b97f4a7c15) >> 20 & (WEFT_HINTS - 1)];
    if (p->pc != pc) *p = (struct weft__hint){.pc = pc};
    return p;
}

void weft__look_forget(struct weft__look *look) {
    for (unsigned i = 0; i < WEFT_HINTS; i++) look->hints[i].object = 0;
}

/* --- workers ---------------------------------------------------------------------------------------- */

static void read_worker(struct weft__look *look, uint64_t at, unsigned cluster) {
    const struct weft__layout *l = &look->layout;
    struct weft__worker_seen w = {.address = at, .cluster = cluster};
    uint64_t head = 0, tail = 0;
    uint8_t stuck = 0, blocks = 0, expiring = 0;
    struct weft__want wants[] = {
        {at + l->worker_index, &w.index, 4, 0},
        {at + l->worker_current, &w.current, 8, 0},
        {at + l->worker_tid, &w.tid, 4, 0},
        {at + l->worker_busy_since, &w.busy_since, 8, 0},
        {at + l->worker_idle_since, &w.idle_since, 8, 0},
        {at + l->worker_polled_at, &w.polled_at, 8, 0},
        {at + l->worker_hog, &w.hog, 8, 0},
        {at + l->worker_hog_since, &w.hog_since, 8, 0},
        {at + l->worker_hog_blocks, &blocks, 1, 0},
        {at + l->worker_hog_switches, &w.hog_switches, 8, 0},
        {at + l->worker_stuck, &stuck, 1, 0},
        {at + l->worker_expiring, &expiring, 1, 0},
        {at + l->worker_in_flight, &w.in_flight, 4, 0},
        {at + l->worker_armed, &w.armed, 8, 0},
        {at + l->worker_aside, &w.aside, 4, 0},
        {at + l->worker_ready_head, &head, 8, 0},
        {at + l->worker_ready_tail, &tail, 8, 0},
        {at + l->worker_numbers, w.numbers, l->numbers * sizeof(uint64_t), 0},
    };
    look->memory->read(look->memory, wants, sizeof wants / sizeof *wants);
    w.stuck = stuck;
    w.expiring = expiring & 1; /* a number that is odd while it expires timers */
    w.blocks = blocks;
    w.aside &= ~WEFT_ASIDE_FLAGS;
    w.queued = (int64_t)(tail - head) > 0 && tail - head < UINT32_MAX ? tail - head : 0;
    look->worker[look->workers++] = w;
}

static int read_cluster(struct weft__look *look, uint64_t at, unsigned number) {
    const struct weft__layout *l = &look->layout;
    uint8_t running = 0;
    uint32_t count = 0, configured = 0;
    uint64_t idle = 0, injected = 0;
    struct weft__want wants[] = {{at + l->cluster_running, &running, 1, 0},
                                 {at + l->cluster_count, &count, 4, 0},
                                 {at + l->cluster_configured, &configured, 4, 0},
                                 {at + l->cluster_idle, &idle, 8, 0},
                                 {at + l->cluster_injected, &injected, 8, 0}};
    look->memory->read(look->memory, wants, sizeof wants / sizeof *wants);
    if (!running || !count || count > l->workers_most) return 0;
    uint64_t *address = weft__alloc(count * sizeof *address);
    struct weft__worker_seen *more = weft__alloc((look->workers + count) * sizeof *more);
    if (!address || !more) {
        weft__free(address);
        weft__free(more);
        return -ENOMEM;
    }
    if (look->workers) memcpy(more, look->worker, look->workers * sizeof *more);
    weft__free(look->worker);
    look->worker = more;
    look->configured += configured;
    look->sleeping += weft__idle_resting(idle);
    look->injected += injected;
    if (weft__peek(look->memory, at + l->cluster_workers, address, count * sizeof *address))
        for (unsigned i = 0; i < count; i++)
            if (address[i]) read_worker(look, address[i], number);
    weft__free(address);
    return 0;
}

static uint64_t switches_in(const struct weft__worker_seen *w) {
    return w->numbers[offsetof(struct weft_stats, switches) / sizeof(uint64_t)];
}

/* Since when has this worker switched to no fiber? 1: it never had work. 0: unknown. */
static uint64_t worker_quiet_since(const struct weft__worker_seen *w) {
    if (!w->busy_since && !w->current) return w->idle_since ? w->idle_since : !switches_in(w);
    return w->current && w->current == w->hog && w->hog_switches == switches_in(w) ? w->hog_since : 0;
}

/*
 * No park stores a time. But if no worker has switched for some time, all fibers that wait have waited for so long.
 * That is so in a program that hangs.
 */
static uint64_t all_quiet_since(const struct weft__look *look) {
    uint64_t latest = 0;
    for (unsigned i = 0; i < look->workers; i++) {
        uint64_t since = worker_quiet_since(&look->worker[i]);
        if (!since) return 0;
        if (since > latest) latest = since;
    }
    return latest > 1 ? latest : 0;
}

void weft__look_is_quiet(struct weft__look *look) {
    const struct weft__layout *l = &look->layout;
    for (unsigned i = 0; i < look->workers && look->quiet_since; i++) {
        const struct weft__worker_seen *w = &look->worker[i];
        uint64_t busy_since = ~UINT64_C(0), idle_since = 0, switches = 0;
        struct weft__want wants[] = {
            {w->address + l->worker_busy_since, &busy_since, 8, 0},
            {w->address + l->worker_idle_since, &idle_since, 8, 0},
            {w->address + l->worker_numbers + offsetof(struct weft_stats, switches), &switches, 8, 0}};
        look->memory->read(look->memory, wants, sizeof wants / sizeof *wants);
        if (busy_since != w->busy_since || idle_since != w->idle_since || switches != switches_in(w))
            look->quiet_since = 0;
    }
}

int weft__look_workers(struct weft__look *look) {
    const struct weft__layout *l = &look->layout;
    look->workers = look->configured = look->sleeping = 0;
    look->injected = look->quiet_since = 0;
    for (unsigned i = 0; i < l->clusters_most; i++) {
        uint64_t at = weft__peek64(look->memory, (uintptr_t)l->clusters + i * sizeof at);
        int err = at ? read_cluster(look, at, i) : 0;
        if (err) return err;
    }
    look->quiet_since = all_quiet_since(look);
    return 0;
}
