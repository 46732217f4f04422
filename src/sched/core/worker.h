/* SPDX-License-Identifier: MIT */
/*
 * A worker: a scheduling slot, with the queues, caches and numbers that its carrier uses.
 */
#ifndef WEFT_SCHED_CORE_WORKER_H
#define WEFT_SCHED_CORE_WORKER_H

#include "base/sanitizer.h"
#include "base/sys.h"
#include "sched/core/components.h"

/* Test builds move every fiber to another worker whenever it becomes ready. */
#ifdef WEFT_MIGRATE
#define WEFT_MIGRATES 1
#else
#define WEFT_MIGRATES 0
#endif

struct weft__tape;

/*
 * One struct for each component (core/components.h), which says which area changes it. A component that only the
 * carrier uses is reset by assignment; a component that other threads read has a reset function, which stores
 * atomically. elastic/worker_record.c makes, resets and releases the whole.
 */
struct weft__worker {
    /* Set when the worker is made, and never changed: while the runtime is stopped and started again, threads may still
     * post mail to the worker, or wake it. */
    struct weft__cluster *cluster;
    unsigned index;

    /* The carrier's own. Other threads read `current`, `carrier.tid` and `worth.vain`. */
    _Atomic(struct weft__fiber *) current; /* NULL: at home, or choosing the next fiber */
    uint32_t placement;                    /* fibers with this placement word may run here without further checks */
    struct weft__pace pace;
    struct weft__sampling sampling;
    struct weft__search search;
    struct weft__help help;
    struct weft__carrier carrier;
    struct weft__home home;
    struct weft__worker_tasks tasks;
    struct weft__worth worth;
    struct weft__split_trial split_trial;
    struct weft__earned earned;
    unsigned io_calls;  /* I/O calls that fibers have made here */
    uint64_t next_keep; /* the earliest time to keep its queue to itself; see dispatch/sharing.c */
    uint64_t owed;      /* number of ended siblings that the next child of the scope will report; see life/fiber.c */
    struct weft__worker_cache cache;
    struct weft__location location;
    struct weft__seen_queues seen;
    uint64_t random;
    unsigned shared; /* in the experiment that shares work (policy.h): the worker that gets the next fiber */

    /* Written by the carrier, read by other threads. */
    union weft__numbers numbers;
    struct weft__progress progress;
    struct weft__burden burden;
    struct weft__delays delays;

    /* Shared. */
    struct weft__ready ready;
    struct weft__age age WEFT_ALIGNED;
    struct weft__aside aside WEFT_ALIGNED;
    struct weft__mailbox mailbox WEFT_ALIGNED;
    struct weft__driver driver;
    struct weft__uring ring; /* see rings/rings.h */
    struct weft__sleeper sleeper;
    _Atomic uint32_t sharing; /* WEFT_SHARED ...: may other workers take from its queue? See dispatch/sharing.c */
    _Atomic uint16_t cpu;     /* the CPU of the carrier when it last looked; written only if that has changed */
    struct weft__worker_calls calls;
    struct weft__worker_rescue rescue;
    struct weft__hog hog;
    struct weft__wheel wheel WEFT_ALIGNED;
    _Atomic(struct weft__tape *) tape; /* what the recorder wrote; NULL: nothing yet. Kept for ever */
};

#endif
