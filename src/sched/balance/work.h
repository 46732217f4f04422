/* SPDX-License-Identifier: MIT */
/*
 * Does work wait? The functions here answer every question of that kind. The sources of work:
 *
 *   ready     the worker's queue, and its lists of pinned fibers and other priorities
 *   mail      fibers that were sent to the worker
 *   injector  fibers that were handed in to the cluster
 *   timers    of the worker's wheel
 *   ring      requests to the kernel that have completed, or are under way
 *   calls     that fibers have forked, running or suspended
 *
 * A new source of work is added here. weft__has_ready (dispatch/priority.h) is the part that the areas below need.
 */
#ifndef WEFT_SCHED_BALANCE_WORK_H
#define WEFT_SCHED_BALANCE_WORK_H

#include "sched/dispatch/priority.h"
#include "sched/tasks/tasks.h"

/* Is any work queued on this worker? */
static inline bool weft__work_is_queued(struct weft__worker *w) {
    return weft__has_ready(w) || !weft__mailbox_is_empty(&w->mailbox);
}
/* Does work wait that no other worker takes, unless this worker is stuck? */
static inline bool weft__work_is_only_here(struct weft__worker *w) {
    return weft__aside_count(w) || !weft__mailbox_is_empty(&w->mailbox);
}
/* Does work wait on this stuck worker, so that other workers run it? */
static inline bool weft__work_is_left_by(struct weft__worker *stuck) {
    return weft__work_is_only_here(stuck) || weft__uring_needs_reap(&stuck->ring);
}
/* Does work wait for a worker that a hog keeps? The calls that the hog has forked count only if it blocks. A hog that
 * computes will run them itself. */
static inline bool weft__work_waits_for(struct weft__worker *w, uint64_t now, bool blocks) {
    return weft__work_is_queued(w) || weft__wheel_next(&w->wheel) <= now || weft__uring_needs_reap(&w->ring) ||
           (blocks && weft__tasks_wait_at(w));
}
/* Will anything happen on this worker by itself? Timers that are armed and requests under way count. */
static inline bool weft__work_is_expected(struct weft__worker *w) {
    return load_rlx(&w->wheel.armed) || load_rlx(&w->ring.in_flight) || weft__work_is_queued(w);
}
/* Is there work in the cluster for which this idle worker must stay awake? Only the worker itself may call this.
 * (work.c) */
bool weft__work_in_sight(struct weft__worker *w);
/* The same, for any caller of the cluster. It reads nothing that belongs to w alone, so it also counts queues that
 * their owners will serve in time. */
bool weft__work_for_sleeper(struct weft__worker *w);

#endif
