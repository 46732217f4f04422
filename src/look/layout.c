/* SPDX-License-Identifier: MIT */
/* See layout.h. */
#include "look/layout.h"

#include "io/readiness.h"
#include "look/lot_waiter.h"
#include "sched/core/cluster.h"
#include "sched/record/record.h"
#include "sched/tasks/tasks.h"
#include "sched/wait/cancel.h"
#include "sched/wait/wait_chain.h"
#include "sync/chan.h"

struct weft__first_thread weft__first_thread;

#define OFFSET(name, type, member) .name = offsetof(type, member),

__attribute__((visibility("default"), used)) const struct weft__layout weft__layout = {
    .magic = WEFT_LAYOUT_MAGIC,
    .version = WEFT_LAYOUT_VERSION,
    .size = sizeof(struct weft__layout),
    .release = WEFT_STR(WEFT_VERSION_MAJOR) "." WEFT_STR(WEFT_VERSION_MINOR) "." WEFT_STR(WEFT_VERSION_PATCH),
    .fibers = &weft__fibers,
    .recorder = &weft__recorder,
    .clusters = weft__clusters,
    .first_thread = &weft__first_thread,
    .runs_calls = {(const void *)weft__stolen_run, (const void *)weft__continuation_run},
    .clusters_most = WEFT_CLUSTERS_MAX,
    .workers_most = WEFT_WORKERS_MAX,
    .record_size = sizeof(struct weft__fiber),
    .chunk_records = WEFT_SLAB_CHUNK,
    .chunks_most = WEFT_SLAB_CHUNKS_MAX,
    .case_size = sizeof(struct weft_case),
    .timer_size = sizeof(struct weft__timer),
    .waiter_size = sizeof(struct weft_waiter),
    .worker_size = sizeof(struct weft__worker),
    .lot_waiter_size = sizeof(struct weft__lot_waiter),
    .numbers = WEFT_STATS_NUMBERS,
    .delay_buckets = WEFT_DELAY_BUCKETS,
    .tick_log = WEFT_WHEEL_TICK_LOG,
    .stack_min_log = WEFT_STACK_MIN_LOG,
    WEFT_LAYOUT_OFFSETS(OFFSET)};

/*
 * An ELF note says where the table is. The note stays in the file and in memory, even if the program was stripped or is
 * linked statically. It has the distance from itself to the table. The assembler and the linker compute that distance
 * from a hidden symbol, which no other library can replace, so the loader has nothing to fill in.
 */
extern __attribute__((alias("weft__layout"), visibility("hidden"), used)) const struct weft__layout weft__layout_here;
__asm__(".pushsection .note.weft, \"a\", %note\n\t"
        ".balign 4\n\t"
        ".long 5, 8, " WEFT_STR(WEFT_LAYOUT_NOTE) "\n\t"
                                                  ".asciz \"weft\"\n\t"
                                                  ".balign 4\n"
                                                  "7: .quad weft__layout_here - 7b\n\t"
                                                  ".popsection");
