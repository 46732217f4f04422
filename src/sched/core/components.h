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
    int until_due;           /* dispatches until the worker's rarer duties, see look_about in loop/poll.c */
    unsigned aside_turn;     /* counts dispatches while fibers of other priorities wait */
    uint64_t next_due;       /* these duties are due at this time at the latest */
    uint64_t slice;          /* how long a slow dispatch takes */
    uint64_t mean_turn;      /* how long a dispatch takes, in sixteenths of ns: moving average */
    uint64_t next_loop_turn; /* before this time a parallel loop that runs here does not let other fibers run */
};

/* Which fiber is timed next. Area dispatch (delay.c). */
struct weft__sampling {
    bool is_armed; /* the next fiber that is pushed will be timed */
    uint64_t next; /* is_armed is set again at this time at the earliest */
};

/* A worker without work. Areas wake (idle.c: the first) and loop (search.c, sleep.c). */
struct weft__search {
    bool is_searcher;    /* counted in the cluster's idle.state */
    uint64_t idle_since; /* 0: the worker is busy, or has had no work yet */
    uint64_t time;       /* how long it searches before it sleeps */
    uint64_t tick;       /* how long it sleeps as the watchman */
    uint64_t left_at;    /* the time of the last look that left a fiber in a queue that did not move */
};

/* Looks at the queues of other workers while its own has work. Area balance (help.c). */
struct weft__help {
    uint64_t looks;      /* the number of looks */
    uint64_t next_look;  /* the earliest time of the next look; 0: at the next poll */
    uint64_t looked_at;  /* the time of the last look */
    uint64_t pause;      /* the time between two looks: longer while the queues are even */
    bool is_even;        /* the last looks found no queue where fibers wait longer, or may wait longer soon */
    uint64_t next_calls; /* the earliest time of the next look at another worker's forked calls */
};

/* The C++ exceptions that the running flow handles. libstdc++ keeps this struct for each thread. */
struct weft__exceptions {
    void *caught;
    unsigned uncaught;
};

/* The kernel thread. Area loop (worker.c). */
struct weft__carrier {
    pthread_t thread;
    _Atomic int tid;
    bool has_short_slices;                   /* the kernel was asked to run it for a shorter time at once */
    struct weft__exceptions *exceptions;     /* of the running flow: own_exceptions, or a mark; see own_tls.c */
    struct weft__exceptions *own_exceptions; /* of this kernel thread */
    void *thread_pointer;                    /* of this kernel thread */
};

/* The carrier's own stack while a fiber runs. Areas dispatch and loop. */
struct weft__home {
    struct weft__context context;
    struct weft__san san;
    struct weft__fiber *handed; /* the next fiber, which the last fiber chose but could not enter; NULL: none */
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
    uint64_t next_check;          /* the next time at which the carrier asks on which CPU it runs */
};

/* What the worker has seen of the queues of other workers. Area wake (seen.c). */
struct weft__queue_seen {
    uint64_t head, at;
    uint64_t calls_at;          /* every look since then has found forked calls there; 0: the last look found none */
    uint64_t public, public_at; /* the deque's word `public`, and the time when that value was seen first */
};
struct weft__seen_queues {
    struct weft__queue_seen *queue; /* by the index of the other worker */
    unsigned size;
};

/* --- read by other threads --------------------------------------------------------------------------- */

/* How far the carrier has come: for the monitor, and for thieves. Area loop; expiring: dispatch/timers.c. */
struct weft__progress {
    _Atomic uint32_t expiring; /* odd: the carrier calls functions of timers, which may spawn; see weft__timers_held */
    _Atomic uint64_t busy_since; /* 0: idle */
    _Atomic uint64_t polled_at;  /* when the carrier last looked at timers, mailbox and injector */
};
static inline void weft__progress_reset(struct weft__progress *p) {
    store_rlx(&p->expiring, 0);
    store_rlx(&p->busy_since, 0);
}

/* How long the timed fibers had waited: a histogram. Area dispatch (delay.c). */
#define WEFT_DELAY_BUCKETS 512
struct weft__delays {
    _Atomic uint64_t max;
    _Atomic uint64_t late;                      /* number of fibers that waited longer than the cluster's limit */
    _Atomic uint32_t count[WEFT_DELAY_BUCKETS]; /* number of fibers in each bucket of delays */
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
    _Atomic(struct weft__deque *) deque;   /* of the running fiber, if that fiber forks; see tasks.h */
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

/* What the monitor knows about a worker; see hog.c and rescue.c. "Seen": at the monitor's last look. */
struct weft__hog {
    _Atomic(struct weft__fiber *) fiber; /* the fiber that has run for a tick or more; NULL: none */
    _Atomic uint64_t since;              /* when the monitor first saw this fiber run */
    _Atomic uint64_t waited;             /* the longest wait that the monitor has seen in the worker's queues */
    uint64_t head,
        head_at; /* index of the queue's oldest fiber, and when it was first seen there; 0: the queue was empty */
    struct weft_hog longest; /* the fiber that has kept the worker longest; under the lock */
    uint64_t kept;           /* how long `longest` kept the worker; under the lock */
    struct weft__lock lock;
    uint64_t switches;  /* the worker's number of switches, as seen */
    uint64_t polled_at; /* the time of the worker's last poll, as seen */
    uint64_t cpu;       /* CPU time of the carrier when the two values above last changed */
    uint64_t cpu_seen;  /* CPU time of the carrier, as seen */
    uint64_t seen_at;   /* the time of the monitor's last look */
    uint64_t next_ask;  /* the earliest time to ask the kernel again whether the carrier sleeps */
    bool blocks;        /* the hog did not compute, as seen: it sleeps in a system call */
    bool unserved;      /* work waited for the worker, as seen */
    uint64_t stuck_at;  /* when the worker was last found stuck */
};
static inline void weft__hog_reset(struct weft__hog *h) {
    store_rlx(&h->fiber, NULL);
    store_rlx(&h->waited, 0);
    h->head_at = 0;
    h->blocks = h->unserved = false;
    h->next_ask = 0;
    weft__lock(&h->lock); /* a thread may be printing the longest hog */
    h->kept = 0;
    weft__unlock(&h->lock);
}

/*
 * How long fibers wait in a worker's queue; see delay.c. The owner writes this at most a few times in a hundred
 * microseconds, so other workers can read it at almost no cost.
 */
struct weft__age {
    _Atomic uint64_t since;           /* every fiber in the queue became ready at this time or later */
    _Atomic uint64_t average;         /* moving average of the wait, ns */
    _Atomic uint64_t length;          /* length of the queue when the owner wrote this */
    _Atomic uint64_t turn;            /* time of a dispatch when the owner wrote this, ns */
    _Atomic uint64_t mark, marked_at; /* the timed fiber: its index in the queue, and when it was pushed; 0: none */
    _Atomic bool offered;             /* thieves may take from the queue although it is prompt; see split_trial.c */
    _Atomic bool taken;               /* a thief has taken fibers because of the offer */
    _Atomic bool recalls;             /* the thief must return these fibers */
    _Atomic uint64_t wanted_at; /* when a thief took from the queue, or wanted to; 0: not since the owner last looked */
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

/* Trials: do the worker's fibers run better on two workers? See split_trial.c. Only the carrier uses it. */
struct weft__split_trial {
    uint64_t until;             /* when the current trial ends */
    uint64_t next;              /* the earliest time of the next trial */
    uint64_t turn, length;      /* mean_turn and length of the queue when the trial began */
    unsigned vain;              /* how many trials in a row did not pay */
    struct weft__worker *owner; /* this worker is the thief in a trial of that owner; NULL: in none */
    uint64_t taken_at;          /* when this worker took that owner's fibers */
};

/* How much a worker has to do, and how long its fibers run; see load.c. */
struct weft__burden {
    /* Written by the carrier, read by other threads. */
    _Atomic uint64_t turn;         /* how long a dispatch takes, ns */
    _Atomic uint64_t asleep;       /* how long the worker has slept in all, ns, without the current sleep */
    _Atomic uint64_t asleep_since; /* when the current sleep began; 0: the worker is awake */
    uint64_t switches;             /* numbers.switches when the worker became busy */
    /* Written by the monitor, read by other threads. */
    _Atomic unsigned share; /* the part of the last tick for which the worker was awake, in WEFT_SHARES */
    uint64_t seen_at, seen_asleep, seen_cpu; /* time, sleep and CPU time at the monitor's last look */
};

/* The timed fiber of a list, and when it was put there; NULL and 0: none. Written under the list's lock, `since` is
 * read without. */
struct weft__timed {
    struct weft__fiber *fiber;
    _Atomic uint64_t since;
};
static inline void weft__timed_none(struct weft__timed *t) {
    t->fiber = NULL;
    store_rlx(&t->since, 0);
}

/* What a worker knows about its steals of forked calls; see steal_worth.c and suspended.c. Only the carrier writes it.
 */
struct weft__worth {
    uint64_t stole_at;             /* the time of the last steal that is not judged yet; 0: none */
    uint64_t dispatches;           /* the worker's number of dispatches at that steal */
    struct weft__fiber *runs;      /* the fiber that runs the stolen call; NULL: the call has returned */
    _Atomic unsigned vain;         /* how many steals in a row did not pay */
    struct weft__deque *seen;      /* a suspended deque that this worker has left to the deque's home */
    uint64_t seen_public, seen_at; /* the word `public` of `seen`, and when that was */
};

/* The time from `then` to `now`; 0 if `then` is 0 or later than `now`. */
static inline uint64_t weft__since(uint64_t then, uint64_t now) { return then && then < now ? now - then : 0; }

/*
 * Ready fibers that are not ordinary: pinned, or of another priority. They are beside the queue, in lists behind a
 * lock, because other workers take from these lists: urgent fibers, and the fibers of a stuck worker. See priority.c.
 */
enum { WEFT_ASIDE_HIGH, WEFT_ASIDE_PINNED, WEFT_ASIDE_LOW, WEFT_ASIDES };
/* Every dispatch reads this word, so the monitor uses it to call the worker home; see weft__worker_summon. */
#define WEFT_ASIDE_SUMMONED (1u << 31)
/* For the same reason the recorder uses it: the worker records its dispatches (sched/record). */
#define WEFT_ASIDE_RECORDED (1u << 30)
#define WEFT_ASIDE_FLAGS (WEFT_ASIDE_SUMMONED | WEFT_ASIDE_RECORDED)
struct weft__aside {
    struct weft__lock lock;
    _Atomic unsigned state; /* the number of fibers in all lists, and the flags; written under the lock */
    _Atomic unsigned loose; /* how many of these fibers are not pinned: any worker may run them */
    struct weft__list list[WEFT_ASIDES];
    struct weft__timed timed[WEFT_ASIDES];
};
static inline void weft__aside_reset(struct weft__aside *a) {
    for (unsigned i = 0; i < WEFT_ASIDES; i++) weft__timed_none(&a->timed[i]);
    store_rlx(&a->state, load_rlx(&a->state) & ~WEFT_ASIDE_RECORDED);
}

/* Which workers take from a queue, see dispatch/sharing.c. The rest of the word counts the thieves that are taking from
 * the queue now; only a shared queue has any. */
enum {
    WEFT_SHARED,   /* all workers of the cluster */
    WEFT_ALONE,    /* only the owner, without a swap: it is the only running worker of its cluster */
    WEFT_KEPT,     /* only the owner, without a swap: no other worker has wanted to lately */
    WEFT_CLAIMED,  /* the monitor or a thief is changing the state */
    WEFT_CHANGING, /* the owner is changing the state */
};
#define WEFT_SHARING_STATE 7u
#define WEFT_SHARING_THIEF 8u

/* A worker's account of processor time during overload: passing time adds to it at a rate, running subtracts from it.
 * (overload.c) */
struct weft__earned {
    int64_t balance; /* ns */
    uint64_t at;     /* when the balance was computed */
    uint64_t used;   /* the carrier's CPU time then */
};

#endif
