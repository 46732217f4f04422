/* SPDX-License-Identifier: MIT */
/*
 * The parts of a worker and of a cluster, a struct each. Each part belongs to the area that its comment names: only the
 * files there change it, unless the comment says otherwise.
 */
#ifndef WEFT_SCHED_CORE_COMPONENTS_H
#define WEFT_SCHED_CORE_COMPONENTS_H

#include "base/sanitizer.h"
#include "driver/driver.h"
#include "driver/uring.h"
#include "driver/wheel.h"
#include "queue/ready_queue.h"
#include "sched/core/fiber.h"
#include "sched/place/victims.h"

/* One number each of struct weft_stats, in its order; written by the worker alone. */
#define WEFT_STATS_NUMBERS (sizeof(struct weft_stats) / sizeof(uint64_t))
union weft__numbers {
    _Atomic uint64_t number[WEFT_STATS_NUMBERS];
    struct {
        _Atomic uint64_t spawned, completed, switches, parks, unparks, steals_tried, steals, helps, moved, sleeps,
            wakeups, timers, tasks_stolen, joins_parked, by_request, by_failure, by_deadline, busy_ns;
    };
};
_Static_assert(sizeof(union weft__numbers) == sizeof(struct weft_stats), "the same numbers");
static inline void weft__numbers_reset(union weft__numbers *n) {
    for (unsigned i = 0; i < WEFT_STATS_NUMBERS; i++) store_rlx(&n->number[i], 0);
}

struct weft__cluster;
struct weft__deque;
struct weft__deque_variant;
struct weft__worker;

/* --- the carrier's own ----------------------------------------------------------------------------- */

/* When the carrier interrupts its fibers to look at something else. Area loop (poll.c); the countdown also by dispatch,
 * the last two by priority.c and by parallel loops (par/enter.c). */
struct weft__pace {
    int until_poll;          /* dispatches until timers, mailbox and injector are looked at */
    int poll_from;           /* the value from which until_poll counts down */
    int until_due;           /* dispatches until the worker looks about, and for calls of suspended fibers */
    unsigned aside_turn;     /* counts dispatches while fibers of other priorities wait */
    uint64_t next_due;       /* the worker looks about at this time at the latest */
    uint64_t slice;          /* how long a slow dispatch takes */
    uint64_t mean_turn;      /* how long a dispatch takes, in sixteenths of ns: moving average */
    uint64_t next_loop_turn; /* a parallel loop that runs here lets other fibers in: not before */
};

/* Which fiber is timed next. Area dispatch (delay.c). */
struct weft__sampling {
    bool is_armed; /* the next fiber that is pushed will be timed */
    uint64_t next; /* armed again: not before */
};

/* A worker without work. Areas wake (idle.c: the first) and loop (search.c, sleep.c). */
struct weft__search {
    bool is_searcher;    /* counted in the cluster's idle.state */
    uint64_t idle_since; /* 0: busy, or its memory has been given back since then */
    uint64_t time;       /* how long it searches before it sleeps */
    uint64_t tick;       /* how long it sleeps as the watchman */
    uint64_t left_at;    /* the look at this time left a fiber in a queue that did not move */
};

/* Looks at the queues of other workers while its own has work. Area balance (help.c). */
struct weft__help {
    uint64_t looks;      /* counts them */
    uint64_t next_look;  /* at another queue: not before; 0: at the next poll */
    uint64_t looked_at;  /* the last time */
    uint64_t pause;      /* between looks: longer while the queues are even */
    bool is_even;        /* the last looks found no queue that waits longer, or may soon */
    uint64_t next_calls; /* at the forked calls of another worker: not before */
};

/* C++: the exceptions being handled by the running flow; libstdc++ keeps it per thread. */
struct weft__exceptions {
    void *caught;
    unsigned uncaught;
};

/* The kernel thread. Area loop (worker.c). */
struct weft__carrier {
    pthread_t thread;
    _Atomic int tid;
    bool has_short_slices;                   /* the kernel lets it run for less at a time */
    struct weft__exceptions *exceptions;     /* of the running flow: its own, or a mark; see own_tls.c */
    struct weft__exceptions *own_exceptions; /* of this kernel thread */
    void *thread_pointer;                    /* of this kernel thread */
};

/* The carrier's own stack while a fiber runs. Areas dispatch and loop. */
struct weft__home {
    struct weft__context context;
    struct weft__san san;
    struct weft__fiber *handed; /* the fiber that the last one had picked and could not enter; NULL: none */
};

/* Deques for fibers that fork. Area tasks. */
struct weft__worker_tasks {
    struct weft__deque *deques;
    unsigned count;
    struct weft__deque *children; /* continuation stealing, see continuation.c */
};

/* Memory that the worker keeps for itself. Areas life and tasks take and return; loop/flush.c gives back to the pools.
 */
struct weft__worker_cache {
    struct weft__slab_cache records;
    struct weft__stack_cache stacks[WEFT_STACK_CACHES];
    uint64_t next_flush;
};

/* Where the carrier runs, and which workers are near. Area place. */
struct weft__location {
    struct weft__victims victims; /* the other workers, by distance */
    uint32_t arranged;            /* victims were arranged by this version of the cluster's map */
    unsigned bound_among;         /* the number of regular workers for which the carrier was bound; 0: never */
    uint64_t next_check;          /* on which CPU it is */
};

/* What the worker has seen of the queues of other workers. Area wake (seen.c). */
struct weft__queue_seen {
    uint64_t head, at;
    uint64_t calls_at;          /* since when every look has found forked calls there; 0: the last look found none */
    uint64_t public, public_at; /* what the deque said of its public calls, and since when */
};
struct weft__seen_queues {
    struct weft__queue_seen *queue; /* by the index of the other worker */
    unsigned size;
};

/* --- read by other threads --------------------------------------------------------------------------- */

/* How far the carrier has come: for the monitor, and for thieves. Area loop; expiring: dispatch/timers.c. */
struct weft__progress {
    _Atomic uint32_t expiring;   /* odd: it calls functions of timers, which may spawn; see weft__timers_held */
    _Atomic uint64_t busy_since; /* 0: idle */
    _Atomic uint64_t polled_at;  /* when it last looked at timers, mailbox and injector */
};
static inline void weft__progress_reset(struct weft__progress *p) {
    store_rlx(&p->expiring, 0);
    store_rlx(&p->busy_since, 0);
}

/* How long the fibers that were timed had waited. Area dispatch (delay.c). */
#define WEFT_DELAY_BUCKETS 512
struct weft__delays {
    _Atomic uint64_t max;
    _Atomic uint64_t late;                      /* so many waited longer than the cluster allows */
    _Atomic uint32_t count[WEFT_DELAY_BUCKETS]; /* how many waited how long */
};
static inline void weft__delays_reset(struct weft__delays *d) {
    for (unsigned i = 0; i < WEFT_DELAY_BUCKETS; i++) store_rlx(&d->count[i], 0);
    store_rlx(&d->max, 0);
    store_rlx(&d->late, 0);
}

/* The worker in the list of sleepers. Area wake (idle.c), under the cluster's idle lock. */
struct weft__sleeper {
    struct weft__worker *below, *above;
    bool is_listed;
    bool is_retired;
};

/* Forked calls that thieves may take. Area tasks. */
struct weft__worker_calls {
    _Atomic(struct weft__deque *) parents; /* continuation stealing, see continuation.c */
    _Atomic(struct weft__deque *) deque;   /* of the fiber that runs, if it forks; see tasks.h */
};
static inline void weft__worker_calls_reset(struct weft__worker_calls *c) {
    store_rlx(&c->deque, NULL);
    store_rlx(&c->parents, NULL);
}

/* What the monitor has decided about a worker. Area elastic (rescue.c). */
struct weft__worker_rescue {
    _Atomic bool is_stuck;  /* other workers serve its timers, mail and pinned fibers */
    _Atomic bool has_spare; /* a spare runs in its place, and takes from its queue */
};
static inline void weft__worker_rescue_reset(struct weft__worker_rescue *r) {
    store_rlx(&r->is_stuck, false);
    store_rlx(&r->has_spare, false);
}

/* What the monitor knows of a worker; see hog.c and rescue.c. */
struct weft__hog {
    _Atomic(struct weft__fiber *) fiber; /* what it has been running for a tick or more; NULL: nothing */
    _Atomic uint64_t since;
    _Atomic uint64_t waited; /* the longest wait that it saw in the worker's queues */
    uint64_t head, head_at;  /* the oldest in the queue, and since when that has been so; 0: it was empty */
    struct weft_hog longest; /* that there was, and for how long it kept the worker; under the lock */
    uint64_t kept;
    struct weft__lock lock;
    uint64_t switches;  /* when the monitor last looked, */
    uint64_t polled_at; /* and when it had last polled */
    uint64_t cpu;       /* CPU time of the carrier when these last changed, */
    uint64_t cpu_seen;  /* and when the monitor last looked, */
    uint64_t seen_at;   /* at this time */
    uint64_t next_ask;  /* whether the carrier is asleep: not before */
    bool blocks;        /* it did not compute when last looked at */
    bool unserved;      /* something waited for the worker when last looked at */
    uint64_t stuck_at;  /* when it was last found stuck */
};
static inline void weft__hog_reset(struct weft__hog *h) {
    store_rlx(&h->fiber, NULL);
    store_rlx(&h->waited, 0);
    h->head_at = 0;
    h->blocks = h->unserved = false;
    h->next_ask = 0;
    weft__lock(&h->lock); /* a thread may be printing it */
    h->kept = 0;
    weft__unlock(&h->lock);
}

/*
 * How long fibers wait in a worker's queue; see delay.c. Written by the owner, a few times in a
 * hundred microseconds at most, so that others can look at it for next to nothing.
 */
struct weft__age {
    _Atomic uint64_t since;           /* every fiber in the queue became ready then or later */
    _Atomic uint64_t average;         /* moving average of the wait, ns */
    _Atomic uint64_t length;          /* of the queue, when this was written, */
    _Atomic uint64_t turn;            /* and how long a dispatch took then, ns */
    _Atomic uint64_t mark, marked_at; /* the fiber that is timed: position in the queue, and since when; 0: none */
    _Atomic bool offered;             /* thieves may take from it although it is prompt, see split_trial.c, */
    _Atomic bool taken;               /* and one has, */
    _Atomic bool recalls;             /* but is to return what it took */
    _Atomic uint64_t wanted_at; /* when a thief took from the queue, or wanted to; 0: not since the owner looked */
};
static inline void weft__age_reset(struct weft__age *a, uint64_t now) {
    store_rlx(&a->marked_at, 0);
    store_rlx(&a->average, 0);
    store_rlx(&a->turn, 0);
    store_rlx(&a->offered, false);
    store_rlx(&a->recalls, false);
    store_rlx(&a->wanted_at, 0);
    store_rlx(&a->since, now);
}

/* The trials of a worker whether its fibers run better on two, see split_trial.c. The carrier's alone. */
struct weft__split_trial {
    uint64_t until;             /* the trial ends */
    uint64_t next;              /* not before */
    uint64_t turn, length;      /* mean_turn when it began, and the length of the queue */
    unsigned vain;              /* so many in a row did not pay */
    struct weft__worker *owner; /* the worker takes part in the trial of this owner, from which it took then */
    uint64_t taken_at;
};

/* How much a worker has to do, and how long its fibers run; see load.c. */
struct weft__burden {
    /* The worker's own, read by others. */
    _Atomic uint64_t turn;         /* ns, how long a dispatch takes */
    _Atomic uint64_t asleep;       /* ns in all, without the sleep that has not ended */
    _Atomic uint64_t asleep_since; /* 0: it is awake */
    uint64_t switches;             /* numbers.switches when it became busy */
    /* The monitor's, read by others. */
    _Atomic unsigned share;                  /* of the last tick, in WEFT_SHARES: it was awake for so much */
    uint64_t seen_at, seen_asleep, seen_cpu; /* when the monitor last looked, and what it saw then */
};

/* The fiber of a list that is timed, and since when; under the list's lock, read without. 0: none. */
struct weft__timed {
    struct weft__fiber *fiber;
    _Atomic uint64_t since;
};
static inline void weft__timed_none(struct weft__timed *t) {
    t->fiber = NULL;
    store_rlx(&t->since, 0);
}

/* What a worker knows of its steals of forked calls; see steal_worth.c and suspended.c. The carrier's alone. */
struct weft__worth {
    uint64_t stole_at;        /* the last steal that is not judged yet; 0: none */
    uint64_t dispatches;      /* of the worker, when it stole that call */
    struct weft__fiber *runs; /* the fiber that runs the stolen call; NULL: the call has returned */
    _Atomic unsigned vain;    /* so many steals in a row did not pay */
    struct weft__deque *seen; /* the deque of a suspended fiber that was left to its home */
    uint64_t seen_public, seen_at;
};

/* How long ago; 0: then is 0, or has not come. */
static inline uint64_t weft__since(uint64_t then, uint64_t now) { return then && then < now ? now - then : 0; }

/*
 * Ready fibers that are not ordinary: pinned, or of another priority. Behind a lock, because others
 * take from here, too: what is urgent, or what belongs to a worker that is stuck. See priority.c.
 */
enum { WEFT_ASIDE_HIGH, WEFT_ASIDE_PINNED, WEFT_ASIDE_LOW, WEFT_ASIDES };
/* Every dispatch reads this word, so the monitor uses it to call the worker home; see weft__worker_summon. */
#define WEFT_ASIDE_SUMMONED (1u << 31)
/* For the same reason the recorder uses it: the worker records its dispatches (sched/record). */
#define WEFT_ASIDE_RECORDED (1u << 30)
#define WEFT_ASIDE_FLAGS (WEFT_ASIDE_SUMMONED | WEFT_ASIDE_RECORDED)
struct weft__aside {
    struct weft__lock lock;
    _Atomic unsigned state; /* how many there are in all, and the flags; written under the lock */
    _Atomic unsigned loose; /* of these, not pinned: any worker may run them */
    struct weft__list list[WEFT_ASIDES];
    struct weft__timed timed[WEFT_ASIDES];
};
static inline void weft__aside_reset(struct weft__aside *a) {
    for (unsigned i = 0; i < WEFT_ASIDES; i++) weft__timed_none(&a->timed[i]);
    store_rlx(&a->state, load_rlx(&a->state) & ~WEFT_ASIDE_RECORDED);
}

/* Which workers take from a queue: all; the owner without a swap, because it is alone in its cluster (ALONE) or because
 * no other worker has wanted to lately (KEPT); or that is about to change, by the owner (CHANGING), or by the monitor
 * or a thief (CLAIMED). The rest of the word counts the thieves that take just now: only a shared queue has any. */
enum { WEFT_SHARED, WEFT_ALONE, WEFT_KEPT, WEFT_CLAIMED, WEFT_CHANGING };
#define WEFT_SHARING_STATE 7u
#define WEFT_SHARING_THIEF 8u

/* A worker's processor time during overload: earned at a rate, spent by running. (overload.c) */
struct weft__earned {
    int64_t balance;   /* in ns, */
    uint64_t at, used; /* at this time, when the carrier had used so much */
};

#endif
