/* SPDX-License-Identifier: MIT */
/*
 * A cluster: the workers that share work, with what they share. The table of all clusters, and what a worker may do in
 * its cluster. Making and ending clusters: control/cluster.h.
 */
#ifndef WEFT_SCHED_CORE_CLUSTER_H
#define WEFT_SCHED_CORE_CLUSTER_H

#include "sched/core/policy.h"
#include "sched/core/worker.h"

enum { WEFT_OPEN, WEFT_CLOSED_TO_THREADS, WEFT_CLOSED };
struct weft__injector {
    struct weft__lock lock;
    uint8_t closed;              /* WEFT_OPEN ... */
    struct weft__list displaced; /* they had waited in a queue already, and are taken first */
    struct weft__list list;
    unsigned turn; /* counts fibers that were taken, to alternate between the two */
    struct weft__timed timed;
    _Atomic uint64_t length;  /* of both; written under the lock, read without */
    _Atomic uint64_t spawned; /* fibers made by threads; they are counted here, under the lock */
};

struct weft__idle {
    _Atomic uint64_t state WEFT_ALIGNED; /* written under the lock, read without */
    struct weft__lock lock WEFT_ALIGNED;
    struct weft__worker *top;      /* the sleeper that came last: its caches are the warmest */
    struct weft__worker *watchman; /* the sleeper that looks at the queues now and then, or NULL. Under the lock */
    _Atomic uint64_t wakes;        /* how often a worker stopped being a sleeper */
};

/* Deques of fibers that are suspended with calls outstanding, in order; see tasks.c. */
struct weft__tasks {
    struct weft__lock lock;
    struct weft__deque *first, *last;
    _Atomic unsigned suspended;       /* so many; written under the lock */
    _Atomic unsigned parked;          /* of these, so many of fibers that wait for something else than a join */
    _Atomic unsigned patience, looks; /* forks that wake no worker, because the last wake-ups were in vain */
    _Atomic bool woken;               /* a worker was woken for a fork, and has not stolen anything yet */
    const struct weft__deque_variant *variant;
};

struct weft__cluster {
    /* Atomic, because a thread that spawns may still look when the runtime was stopped under it and
     * is started again; what it does then fails, or happens in the new one. */
    _Atomic unsigned count;                         /* workers that have a carrier; only grows while it runs */
    _Atomic unsigned configured;                    /* how many the program asked for */
    _Atomic unsigned wanted;                        /* and how many run: more, while some are stuck */
    _Atomic unsigned lent;                          /* so many spares run in place of workers that block */
    _Atomic unsigned reserve;                       /* index + 1 of the spare that runs quick fibers only; 0: none */
    _Atomic unsigned overload_rate;                 /* how much of a processor a worker may use, in 1024ths; 0: all */
    _Atomic uint8_t stack_class;                    /* of fibers that ask for no size */
    struct weft__worker *workers[WEFT_WORKERS_MAX]; /* made once, kept for the next start */
    uint32_t placement;                             /* of its fibers */
    _Atomic uint32_t generation;                    /* grows when it begins and when it ends: old handles do not fit */
    _Atomic bool automatic;                         /* as many workers as the machine lends us */
    _Atomic uint32_t map;                           /* grows when a worker has come, or moved to another CPU */
    _Atomic int node;                               /* its workers stay on this memory node; -1: anywhere */
    pthread_mutex_t resizing;                       /* held while workers are added, or their number changed */
    /* Written before it has carriers, and read by these. */
    bool binds; /* each worker stays on a CPU of its own */
    bool stealing;
    bool helping;
    bool print_stats;
    struct weft__policy policy;
    _Atomic bool rescues;
    _Atomic bool own_tls;    /* its fibers have thread-local storage of their own; see own_tls_spawn.c */
    _Atomic uint32_t fibers; /* the placement of a fiber without wishes: its own, and RETURNS if that is the policy */
    _Atomic uint64_t late_after;   /* a fiber that waits longer is reported; 0: none is */
    _Atomic uint64_t next_report;  /* not before */
    _Atomic uint64_t crowded;      /* until then, no more workers than needed: processors are short. See load.c */
    _Atomic unsigned run_capacity; /* so many workers can run at once; 0: not known. Written by the monitor */
    /* Its life, see cluster.c: written while the clusters are locked. */
    _Atomic bool making; /* it is being made, and only its maker knows it */
    _Atomic bool running;
    _Atomic bool ending;       /* its carriers are being joined */
    _Atomic bool stopping;     /* carriers leave when they find nothing */
    _Atomic uint64_t arrivals; /* fibers that were moved here */
    struct weft__idle idle;
    struct weft__tasks tasks WEFT_ALIGNED;
    struct weft__injector injector WEFT_ALIGNED;
};

/* The first cluster; the program makes the others. */
extern struct weft__cluster weft__cluster;
/* All clusters that ever were, made once and kept; [0] is the first. */
extern _Atomic(struct weft__cluster *) weft__clusters[WEFT_CLUSTERS_MAX];
/* A stop has found that all fibers have ended: no timer's function may spawn another. */
extern _Atomic bool weft__timers_held;
/* The sums of the statistics of clusters that have ended. */
extern struct weft_stats weft__past;
/* Held while a cluster begins or ends, and to see all clusters at one moment. Never held while threads are made or
 * joined, nor while anything is written: for a few microseconds. */
extern pthread_mutex_t weft__clusters_change;

static inline struct weft__cluster *weft__cluster_of(uint32_t placement) {
    return load_acq(&weft__clusters[(placement & WEFT_PLACEMENT_CLUSTER) >>
                                    WEFT_PLACEMENT_CLUSTER_SHIFT]); /* pairs with its making */
}

static inline struct weft_cluster weft__cluster_handle(const struct weft__cluster *c) {
    unsigned number = c->placement >> WEFT_PLACEMENT_CLUSTER_SHIFT;
    return (struct weft_cluster){(uint64_t)load_rlx(&c->generation) << 32 | (number + 1)};
}

/* The cluster of a handle; {0}: the caller's cluster, or for a thread the first one. NULL: there is none. */
struct weft__cluster *weft__cluster_find(struct weft_cluster handle);
/* {0}; or, if the caller's cluster is about to end, the first one. */
struct weft_cluster weft__cluster_lasting(void);
/* Calls fn for each cluster that runs, or is just ending, until fn returns false. Returns whether all calls returned
 * true. Records of clusters and workers are kept for ever: without the lock, fn may see another life of the cluster. */
bool weft__each_cluster(bool (*fn)(struct weft__cluster *, void *), void *arg);

/* --- what a worker may do ------------------------------------------------------------------------ */

/* Is the worker one of those that are to run? */
static inline bool weft__is_wanted(const struct weft__worker *w) { return w->index < load_rlx(&w->cluster->wanted); }
/* May the worker run calls that others have forked? Spares may not, except in place of a worker that blocks. */
static inline bool weft__takes_calls(const struct weft__worker *w) {
    return w->index < load_rlx(&w->cluster->configured) + load_rlx(&w->cluster->lent);
}
/* Is it the spare that runs quick fibers only? See elastic/rescue.c. */
static inline bool weft__is_reserve(const struct weft__worker *w) {
    return load_rlx(&w->cluster->reserve) == w->index + 1;
}
/* May w take ready fibers from the other's queue? A spare that takes no calls serves only workers that have a spare;
 * the reserve looks for quick fibers everywhere. */
static inline bool weft__may_take_from(const struct weft__worker *w, struct weft__worker *other) {
    return likely(weft__takes_calls(w)) || weft__is_reserve(w) || load_rlx(&other->rescue.has_spare);
}

#endif
