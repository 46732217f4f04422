/* SPDX-License-Identifier: MIT */
/*
 * What a worker has seen of the queues of other workers. See seen.c.
 */
#ifndef WEFT_SCHED_WAKE_SEEN_H
#define WEFT_SCHED_WAKE_SEEN_H

#include "sched/core/cluster.h"

/* Makes sure that w has a record for the worker with this index. False: no memory. */
bool weft__seen_make_room(struct weft__worker *w, unsigned index);
/* For how long has nothing been taken from the other's queue, as far as w has seen? */
uint64_t weft__queue_idle_time(struct weft__worker *w, struct weft__worker *other, uint64_t now);
/* w has taken n fibers from that queue. */
void weft__seen_note_taken(struct weft__worker *w, struct weft__worker *from, uint64_t n);
/* w has seen that the other's queue is empty. */
void weft__queue_seen_empty(struct weft__worker *w, struct weft__worker *other);
/* Will the owner reach the last of `length` fibers before w could run it? */
bool weft__queue_is_served_at_once(struct weft__worker *w, struct weft__worker *other, uint64_t length, uint64_t now);
/* Does the other worker keep up, and does its queue move? Then w takes nothing from it. */
bool weft__serves_itself(struct weft__worker *w, struct weft__worker *other, uint64_t now);

#endif
