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
    struct weft__list displaced; /* fibers that have waited in a queue already; they leave first */
    struct weft__list list;
    unsigned turn; /* counts fibers that were taken, to alternate between the two lists */
    struct weft__timed timed;
    _Atomic uint64_t length;  /* of both lists; written under the lock, read without */
    _Atomic uint64_t spawned; /* number of fibers that threads have spawned; written under the lock */
};

struct weft__idle {
    _Atomic uint64_t state WEFT_ALIGNED; /* written under the lock, read without */
    struct weft__lock lock WEFT_ALIGNED;
    struct weft__worker *top;      /* the sleeper that came last, because its caches are the warmest */
    struct weft__worker *watchman; /* the sleeper that looks at the queues now and then, or NULL. Under the lock */
    _Atomic uint64_t wakes;        /* how often a worker stopped being a sleeper */
};

/* The deques of fibers that were suspended while they had forked calls, in order of suspension; see tasks.c. */
struct weft__tasks {
    struct weft__lock lock;
    struct weft__deque *first, *last;
    _Atomic unsigned suspended; /* the number of these deques; written under the lock */
    _Atomic unsigned parked;    /* how many of them belong to fibers that wait for something other than a join */
    _Atomic unsigned patience,
        looks;          /* how many forks in a row wake no worker, and how many have done so: see tasks.c */
    _Atomic bool woken; /* a worker was woken for a fork, and has not stolen anything yet */
    const struct weft__deque_variant *variant;
};

struct weft__cluster {
    /* These are atomic, because a thread that spawns may read them while the runtime is stopped and started again. Its
     * spawn then fails, or happens in the new runtime. */
    _Atomic unsigned count;         /* workers with a carrier; only grows while the cluster runs */
    _Atomic unsigned configured;    /* how many workers the program asked for */
    _Atomic unsigned wanted;        /* how many workers run: more than configured while some are stuck */
    _Atomic unsigned lent;          /* how many spares run in place of workers that block */
    _Atomic unsigned reserve;       /* index + 1 of the spare that runs quick fibers only; 0: none */
    _Atomic unsigned overload_rate; /* how much of a processor a worker may use, in 1024ths; 0: all */
    _Atomic uint8_t stack_class;    /* for fibers that ask for no stack size */
    struct weft__worker *workers[WEFT_WORKERS_MAX]; /* made once, kept for the next start */
    uint32_t placement;                             /* the cluster's number in a placement word */
    _Atomic uint64_t generation; /* grows when the cluster begins and when it ends, which makes old handles stale */
    _Atomic bool automatic;      /* the number of workers follows the number of CPUs that the machine grants */
    _Atomic uint32_t map;     /* version of the workers' CPUs: grows when a worker is added, or moves to another CPU */
    _Atomic int node;         /* its workers stay on this memory node; -1: anywhere */
    pthread_mutex_t resizing; /* held to add workers or to change their number */
    /* Written before the first carrier starts, and read by carriers. */
    bool binds; /* each worker stays on a CPU of its own */
    bool stealing;
    bool helping;
    bool print_stats;
    struct weft__policy policy;
    _Atomic bool rescues;
    _Atomic bool own_tls;          /* its fibers have thread-local storage of their own; see own_tls_spawn.c */
    _Atomic uint32_t fibers;       /* the placement word of an ordinary new fiber; with RETURNS if that is the policy */
    _Atomic uint64_t late_after;   /* a fiber that waits longer is reported; 0: none is reported */
    _Atomic uint64_t next_report;  /* the next report comes at this time at the earliest */
    _Atomic uint64_t crowded;      /* processors are scarce until this time: wake no worker without need. See load.c */
    _Atomic unsigned run_capacity; /* how many workers can run at once; 0: unknown. Written by the monitor */
    /* The state of the cluster, see cluster.c. Written under weft__clusters_change. */
    _Atomic bool making; /* only the creator uses it */
    _Atomic bool running;
    _Atomic bool ending;       /* its carriers are being joined */
    _Atomic bool stopping;     /* carriers end when they find no work */
    _Atomic uint64_t arrivals; /* fibers that were moved here */
    struct weft__idle idle;
    struct weft__tasks tasks WEFT_ALIGNED;
    struct weft__injector injector WEFT_ALIGNED;
};

/* The first cluster; the program makes the others. */
extern struct weft__cluster weft__cluster;
/* All records of clusters, made once and kept; [0] is the first cluster. */
extern _Atomic(struct weft__cluster *) weft__clusters[WEFT_CLUSTERS_MAX];
/* A stop has found that all fibers have ended: no timer's function may spawn another. */
extern _Atomic bool weft__timers_held;
/* The sums of the statistics of clusters that have ended. */
extern struct weft_stats weft__past;
/* Held while a cluster begins or ends, and to see all clusters at one moment. A thread holds it for a few microseconds
 * only, never while it makes or joins threads or writes to a file. */
extern pthread_mutex_t weft__clusters_change;

static inline struct weft__cluster *weft__cluster_of(uint32_t placement) {
    return load_acq(&weft__clusters[(placement & WEFT_PLACEMENT_CLUSTER) >>
                                    WEFT_PLACEMENT_CLUSTER_SHIFT]); /* pairs with the store of a new cluster's record */
}

/* A handle: the number of the cluster + 1 in the low bits, and above it the generation, which never comes round. If it
 * had 32 bits, a loop of creates and destroys would reach the generation of an old handle again after 30 hours. */
#define WEFT_CLUSTER_NUMBER_BITS 7
_Static_assert(WEFT_CLUSTERS_MAX < 1 << WEFT_CLUSTER_NUMBER_BITS, "a cluster's number fits");
static inline uint64_t weft__cluster_generation(struct weft_cluster handle) {
    return handle.id >> WEFT_CLUSTER_NUMBER_BITS;
}
static inline struct weft_cluster weft__cluster_handle(const struct weft__cluster *c) {
    unsigned number = c->placement >> WEFT_PLACEMENT_CLUSTER_SHIFT;
    return (struct weft_cluster){load_rlx(&c->generation) << WEFT_CLUSTER_NUMBER_BITS | (number + 1)};
}

/* The cluster of a handle; {0}: the caller's cluster, or for a thread the first one. NULL: there is none. */
struct weft__cluster *weft__cluster_find(struct weft_cluster handle);
/* A cluster that will not end soon: {0}, the caller's; or the first, if the caller's cluster is about to end. */
struct weft_cluster weft__cluster_lasting(void);
/* Calls fn for each cluster that runs, or is just ending, until fn returns false. Returns whether all calls returned
 * true. Records of clusters and workers are kept for ever: without the lock, fn may see another life of the cluster. */
bool weft__each_cluster(bool (*fn)(struct weft__cluster *, void *), void *arg);

/* Any thread may give work to workers with an index below this number. The other workers are retired, or their threads
 * are just being made, which may fail. `wanted` grows only when the thread is there. */
static inline unsigned weft__cluster_ready(struct weft__cluster *c) {
    unsigned wanted = load_rlx(&c->wanted), count = load_acq(&c->count); /* pairs with the making of a worker */
    return wanted < count ? wanted : count;
}

/* --- what a worker may do ------------------------------------------------------------------------ */

/* Is this worker wanted? If not, it retires. */
static inline bool weft__is_wanted(const struct weft__worker *w) { return w->index < load_rlx(&w->cluster->wanted); }
/* May the worker run calls that fibers of other workers have forked? A spare may do so only in place of a worker that
 * blocks. */
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
