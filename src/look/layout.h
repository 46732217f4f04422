/* SPDX-License-Identifier: MIT */
/*
 * The layout: a table in the library that says where in memory the records are and how they are laid out. A tool that
 * looks at a process or a core file (`weft dump`, gdb) finds the table by an ELF note, checks its version, and reads
 * records with the offsets in the table. The table is constant, and no code of the runtime needs it.
 *
 * If a field moves, the version stays, because the table has the new offset. If a field gets another meaning, the
 * version must change.
 */
#ifndef WEFT_LOOK_LAYOUT_H
#define WEFT_LOOK_LAYOUT_H

#include <stdint.h>

#define WEFT_LAYOUT_MAGIC "weft/look"
#define WEFT_LAYOUT_VERSION 5
#define WEFT_LAYOUT_NOTE 0x77656674 /* type of the note; its owner is "weft" */

/* Name, type and member of each offset. */
#define WEFT_LAYOUT_OFFSETS(F) \
    F(slab_records, struct weft__slab, records) \
    F(slab_chunk, struct weft__slab, chunk) \
    F(fiber_life, struct weft__fiber, slot.life) \
    F(fiber_pc, struct weft__fiber, context.pc) \
    F(fiber_sp, struct weft__fiber, context.sp) \
    F(fiber_fp, struct weft__fiber, context.fp) \
    F(fiber_on_stack, struct weft__fiber, context.on_stack) \
    F(fiber_kind, struct weft__fiber, context.kind) \
    F(fiber_placement, struct weft__fiber, context.placement) \
    F(fiber_wait, struct weft__fiber, wait) \
    F(fiber_join, struct weft__fiber, join) \
    F(fiber_fn, struct weft__fiber, fn) \
    F(fiber_arg, struct weft__fiber, arg) \
    F(fiber_stack, struct weft__fiber, stack) \
    F(fiber_where, struct weft__fiber, where) \
    F(fiber_frames, struct weft__fiber, frames) \
    F(fiber_name, struct weft__fiber, name) \
    F(stack_low, struct weft__stack, low) \
    F(stack_class, struct weft__stack, class) \
    F(cluster_count, struct weft__cluster, count) \
    F(cluster_configured, struct weft__cluster, configured) \
    F(cluster_wanted, struct weft__cluster, wanted) \
    F(cluster_workers, struct weft__cluster, workers) \
    F(cluster_running, struct weft__cluster, running) \
    F(cluster_idle, struct weft__cluster, idle.state) \
    F(cluster_injected, struct weft__cluster, injector.length) \
    F(worker_index, struct weft__worker, index) \
    F(worker_current, struct weft__worker, current) \
    F(worker_tid, struct weft__worker, carrier.tid) \
    F(worker_numbers, struct weft__worker, numbers) \
    F(worker_busy_since, struct weft__worker, progress.busy_since) \
    F(worker_polled_at, struct weft__worker, progress.polled_at) \
    F(worker_idle_since, struct weft__worker, search.idle_since) \
    F(worker_delay_max, struct weft__worker, delays.max) \
    F(worker_delays, struct weft__worker, delays.count) \
    F(worker_ready_head, struct weft__worker, ready.head) \
    F(worker_ready_tail, struct weft__worker, ready.tail) \
    F(worker_aside, struct weft__worker, aside.state) \
    F(worker_ring, struct weft__worker, ring) \
    F(worker_in_flight, struct weft__worker, ring.in_flight) \
    F(worker_expiring, struct weft__worker, progress.expiring) \
    F(worker_stuck, struct weft__worker, rescue.is_stuck) \
    F(worker_hog, struct weft__worker, hog.fiber) \
    F(worker_hog_since, struct weft__worker, hog.since) \
    F(worker_hog_blocks, struct weft__worker, hog.blocks) \
    F(worker_hog_switches, struct weft__worker, hog.switches) \
    F(worker_wheel, struct weft__worker, wheel) \
    F(worker_armed, struct weft__worker, wheel.armed) \
    F(waiter_next, struct weft_waiter, next) \
    F(waiter_before, struct weft_waiter, before) \
    F(waiter_fiber, struct weft_waiter, fiber) \
    F(waiter_ticket, struct weft_waiter, ticket) \
    F(waiter_at_most, struct weft_waiter, at_most) \
    F(waiter_on, struct weft_waiter, chained) \
    F(lot_waiter_fiber, struct weft__lot_waiter, fiber) \
    F(lot_waiter_mark, struct weft__lot_waiter, mark) \
    F(lot_waiter_object, struct weft__lot_waiter, object) \
    F(lot_waiter_owner, struct weft__lot_waiter, owner) \
    F(lot_waiter_readers, struct weft__lot_waiter, readers) \
    F(lot_waiter_on, struct weft__lot_waiter, on) \
    F(call_state, struct weft_call, state) \
    F(deque_stolen, struct weft__deque, stolen) \
    F(timer_wheel, struct weft__timer, wheel) \
    F(timer_tick, struct weft__timer, tick) \
    F(timer_fiber, struct weft__timer, due.arg) \
    F(request_fiber, struct weft__op, fiber) \
    F(request_ring, struct weft__op, ring) \
    F(request_fd, struct weft__op, fd) \
    F(descriptor_fd, struct weft__descriptor, fd) \
    F(descriptor_events, struct weft__descriptor, events) \
    F(queue_first, struct weft_queue, first) \
    F(queue_word, struct weft_queue, word) \
    F(mutex_owner, struct weft_mutex, owner) \
    F(once_runner, struct weft_once, runner) \
    F(barrier_count, struct weft_barrier, count) \
    F(rwlock_word, struct weft_rwlock, word) \
    F(rwlock_readers, struct weft_rwlock, readers) \
    F(rwlock_writers, struct weft_rwlock, writers) \
    F(rwlock_owner, struct weft_rwlock, owner) \
    F(chan_word, struct weft_chan, word) \
    F(chan_capacity, struct weft_chan, capacity) \
    F(chan_receivers, struct weft_chan, receivers) \
    F(chan_senders, struct weft_chan, senders) \
    F(case_party, struct weft_case, opaque) \
    F(region_scope, struct weft__region, scope) \
    F(scope_outstanding, struct weft__scope, outstanding)

struct weft__layout {
    char magic[12];
    uint32_t version;
    uint32_t size;             /* of this table */
    char release[20];          /* of the library: "0.1.0" */
    const void *fibers;        /* the slab of records; an address in the target process */
    const void *recorder;      /* struct weft__recorder (sched/record/record.h) */
    const void *clusters;      /* an array of pointers to clusters, some of them NULL */
    const void *first_thread;  /* struct weft__first_thread (lot_waiter.h) */
    const void *runs_calls[2]; /* functions of fibers that run forked calls; their argument is a struct weft__deque */
    uint32_t clusters_most, workers_most;
    uint32_t record_size, chunk_records, chunks_most;
    uint32_t case_size, timer_size, waiter_size, worker_size, lot_waiter_size;
    uint32_t numbers; /* of struct weft_stats */
    uint32_t delay_buckets;
    uint32_t tick_log; /* a tick of the timer wheels: 2^this ns */
    uint32_t stack_min_log;
#define WEFT_LAYOUT_FIELD(name, type, member) uint32_t name;
    WEFT_LAYOUT_OFFSETS(WEFT_LAYOUT_FIELD)
#undef WEFT_LAYOUT_FIELD
};

extern const struct weft__layout weft__layout;

#endif
