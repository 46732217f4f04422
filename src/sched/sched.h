/*
 * The scheduler's types, and its glossary.
 *
 *   fiber     a user thread. Its record is 128 bytes of a slab; its stack comes when it first runs.
 *   worker    a scheduling slot: ready queue, mailbox, timers, caches, statistics.
 *   carrier   the kernel thread that drives a worker. It has a stack of its own, "home", on which
 *             it searches, sleeps and shuts down, never on that of a fiber.
 *   cluster   the workers that share work, the injector and the sleepers.
 *   wanted    how many workers of a cluster are to run; those above are retired: their carriers sleep.
 *   hog       a fiber that keeps its worker: it computes, or sits in a blocking call; see hog.c.
 *   stuck     a worker with a hog, for which something waits; see rescue.c.
 *   spare     a worker above the configured number, which runs in the stead of a stuck one.
 *   injector  where threads that are no carriers hand fibers in.
 *   ready     may run, and stands in a queue. unpark, win: what makes it so.
 *   wait      what a parked fiber is in: one word in its record, see wait.h.
 *   watchman  the one sleeping worker that looks up now and then while others work, see idle.c.
 *
 * The states of a fiber, who owns its stack, where it stands, who changes the state:
 *
 *   fresh     no stack          ready queue, aside, mailbox or injector; whoever takes it out
 *   running   its carrier       nowhere (worker->current); itself
 *   ready     itself, at rest   as fresh. on_stack may still be 1 for a moment, while the carrier
 *                               that it ran on leaves; nobody enters it before that is 0
 *   waiting   itself, at rest   the chain of what it waits for, a timer wheel; whoever wins the wait
 *   ended     none: the stack   nowhere; the joiner, or the carrier if it is detached, puts the
 *             goes on           record back
 */
#ifndef WEFT_SCHED_SCHED_H
#define WEFT_SCHED_SCHED_H

#include "weft.h"

#include "arch/context.h"
#include "base/lock.h"
#include "base/san.h"
#include "base/sys.h"
#include "driver/driver.h"
#include "driver/ring.h"
#include "driver/wheel.h"
#include "mem/slab.h"
#include "mem/stack.h"
#include "queue/list.h"
#include "queue/ready.h"
#include "sched/victims.h"

/* Test builds move every fiber to another worker whenever it becomes ready. */
#ifdef WEFT_MIGRATE
#define WEFT_MIGRATES 1
#else
#define WEFT_MIGRATES 0
#endif

/* What the record stands for. */
enum {
    WEFT_KIND_FIBER,
    WEFT_KIND_THREAD,    /* a thread that is no carrier, when it waits: it sleeps on the wait word */
    WEFT_KIND_ABANDONED, /* its runtime was stopped although it was blocked: never runs again */
};

/*
 * The join word: one of the first four, with the life of the record, so that an old handle
 * does not fit; or who joins: the number of its record and the epoch of its wait, the low 35 bits
 * of it. Not a pointer to something on the joiner's stack: a joiner that is cancelled goes away, and
 * whoever ends must not find it gone.
 *
 *      tag < BY      63 .. life, without the last three bits of the number .. 3 | 2..0 tag
 *      tag >= BY     63 .. epoch .. 29 | 28 .. record .. 3 | 2..0 tag
 */
#define WEFT_JOIN_NOBODY UINT64_C(0)
#define WEFT_JOIN_DETACHED UINT64_C(1)
#define WEFT_JOIN_ENDED UINT64_C(2)     /* and nobody joins yet */
#define WEFT_JOIN_COLLECTED UINT64_C(3) /* the record is on its way back */
#define WEFT_JOIN_BY UINT64_C(4)        /* somebody joins */
#define WEFT_JOIN_ENDED_BY UINT64_C(5)  /* and it has ended: the record is that one's */
#define WEFT_JOIN_TAG UINT64_C(7)

static inline uint64_t weft__join_by(uint32_t index, uint64_t ticket) {
    return ticket >> 8 << (WEFT_LIFE_INDEX_BITS + 3) | (uint64_t)index << 3 | WEFT_JOIN_BY;
}
static inline uint64_t weft__join_of(struct weft_fiber life, uint64_t tag) { return (life.id & ~WEFT_JOIN_TAG) | tag; }
static inline bool weft__join_has_ended(uint64_t join) {
    uint64_t tag = join & WEFT_JOIN_TAG;
    return tag == WEFT_JOIN_ENDED || tag == WEFT_JOIN_COLLECTED || tag == WEFT_JOIN_ENDED_BY;
}

/*
 * Where a fiber may run: context.place. The fibers of a cluster that have no wishes have the same
 * word as its workers, so that one comparison tells on the hot path that nothing is to be heeded.
 *
 *      31     | 30      | 29..28   | 27..22  | 21..11 | 10..0
 *      MOVING | RETURNS | priority | cluster | last   | pin: 0, or the worker's index + 1
 *
 * RETURNS: it is to go on where it ran last, `last`; only kept up to date with this bit.
 * MOVING: a weft_cluster_move has not yet decided whether this is the fiber that it was given; the rest of the word is
 * in force.
 */
#define WEFT_PLACE_PIN 0x7ffu
#define WEFT_PLACE_LAST_SHIFT 11
#define WEFT_PLACE_LAST (0x7ffu << WEFT_PLACE_LAST_SHIFT)
#define WEFT_PLACE_CLUSTER_SHIFT 22
#define WEFT_PLACE_CLUSTER (0x3fu << WEFT_PLACE_CLUSTER_SHIFT)
#define WEFT_PLACE_PRIORITY_SHIFT 28
#define WEFT_PLACE_PRIORITY (3u << WEFT_PLACE_PRIORITY_SHIFT)
#define WEFT_PLACE_RETURNS (1u << 30)
#define WEFT_PLACE_MOVING (1u << 31)
#define WEFT_PLACE_NOWHERE UINT32_MAX /* no fiber's */
#define WEFT_CLUSTERS_MAX 64
_Static_assert(WEFT_WORKERS_MAX <= WEFT_PLACE_PIN, "a worker's number fits");

#define WEFT_NAME_SIZE 16

struct weft__fiber {
    /* First line: what switching and waking touch. */
    struct weft__slot slot;       /* link: mailbox, injector, aside */
    struct weft__context context; /* place: see above */
    _Atomic uint64_t wait;        /* see wait.h */
    _Atomic uint64_t join;
    /* Second line: what beginning and ending touch. */
    void *(*fn)(void *);
    union {
        void *arg;     /* until it begins */
        void *result;  /* from its end on */
        uint64_t owes; /* between, of a scope's child: so many siblings whose end it is to tell with its own */
    };
    struct weft__stack *stack;
    const char *where; /* of the spawn */
    uintptr_t frames;  /* what it has open, see region.h; or the counter to complete at its end, or 0 */
    union {
        struct weft__locals *locals;
        int (*child)(void *); /* until a scope's child begins: what it runs */
    };
    char name[WEFT_NAME_SIZE];
};
_Static_assert(sizeof(struct weft__fiber) == 128, "a record is two cache lines");

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

/* C++: the exceptions being handled by the running flow; libstdc++ keeps it per thread. */
struct weft__exceptions {
    void *caught;
    unsigned uncaught;
};

struct weft__cluster;
struct weft__deque;
struct weft__deque_kind;

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

/*
 * How long fibers wait in a worker's queue; see age.c. Written by the owner, a few times in a
 * hundred microseconds at most, so that others can look at it for next to nothing.
 */
struct weft__age {
    _Atomic uint64_t since;           /* whoever stands in the queue became ready then or later */
    _Atomic uint64_t average;         /* moving average of the wait, ns */
    _Atomic uint64_t length;          /* of the queue, when this was written, */
    _Atomic uint64_t turn;            /* and how long a dispatch took then, ns */
    _Atomic uint64_t mark, marked_at; /* the fiber that is timed: place in the queue, and since when; 0: none */
};

/* How much a worker has to do, and how long its fibers run; see burden.c. */
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

#define WEFT_DELAY_BUCKETS 512

/* The one in a list that is timed, and since when; under the list's lock, read without. 0: none. */
struct weft__timed {
    struct weft__fiber *fiber;
    _Atomic uint64_t since;
};
static inline void weft__timed_none(struct weft__timed *t) {
    t->fiber = NULL;
    store_rlx(&t->since, 0);
}

/* What a worker knows of its steals of forked calls; see worth.c and suspended.c. The carrier's alone. */
struct weft__worth {
    uint64_t stole_at;        /* the last steal that is not judged yet; 0: none */
    uint64_t dispatches;      /* of the worker, when it stole that one */
    struct weft__deque *runs; /* of the fiber that runs the stolen call; NULL: the call has returned */
    _Atomic unsigned vain;    /* so many steals in a row did not pay */
    struct weft__deque *seen; /* of a suspended fiber, whose calls were left to their home */
    uint64_t seen_public, seen_at;
};

/* How long ago; 0: then is 0, or has not come. */
static inline uint64_t weft__since(uint64_t then, uint64_t now) { return then && then < now ? now - then : 0; }

/*
 * Ready fibers that are not ordinary: pinned, or of another priority. Behind a lock, because others
 * take from here, too: what is urgent, or what belongs to a worker that is stuck. See aside.c.
 */
enum { WEFT_ASIDE_HIGH, WEFT_ASIDE_PINNED, WEFT_ASIDE_LOW, WEFT_ASIDES };
/* Every dispatch reads this word, so the monitor uses it to call the worker home; see weft__summon. */
#define WEFT_ASIDE_SUMMONED (1u << 31)
struct weft__aside {
    struct weft__lock lock;
    _Atomic unsigned state; /* how many there are in all, and SUMMONED; written under the lock */
    _Atomic unsigned loose; /* of these, not pinned: any worker may run them */
    struct weft__list list[WEFT_ASIDES];
    struct weft__timed timed[WEFT_ASIDES];
};

/* Who takes from a worker's queue: the owner alone, without a swap; everybody; or that is about to
 * change, by the monitor (CLAIMED) or the owner (CHANGING). */
enum { WEFT_ALONE, WEFT_CLAIMED, WEFT_SHARED, WEFT_CHANGING };

struct weft__worker {
    /* Set when the worker is made, and kept for ever: threads may post mail to it, or wake it, when the runtime was
     * stopped under them and starts again. */
    struct weft__cluster *cluster;
    unsigned index;
    /* The carrier's alone. */
    _Atomic(struct weft__fiber *) current; /* NULL: at home, or choosing the next one */
    int until_poll;                        /* dispatches until timers, mailbox and injector are looked at */
    int poll_from;                         /* and so many they were; see pace() */
    int until_due;                         /* dispatches until it looks about, and for calls of suspended fibers */
    uint64_t next_due;                     /* when it does so at the latest */
    uint32_t place;                        /* of fibers that may run here without further question */
    unsigned turn;                         /* counts dispatches while something stands aside */
    unsigned calls;                        /* for I/O, since it began */
    bool searching;                        /* counted in idle.state */
    bool watching;                         /* is the watchman */
    bool short_slices;                     /* the kernel lets its carrier run for less at a time */
    bool marking;                          /* the next fiber that is pushed will be timed */
    uint64_t next_look;                    /* at another queue: not before */
    uint64_t next_mark;                    /* not before */
    uint64_t slice;                        /* how long a slow dispatch takes; see pace() */
    uint64_t mean_turn;                    /* how long a dispatch takes, in sixteenths of ns: moving average */
    uint64_t next_calls;                   /* a look at the forked calls of another worker: not before */
    uint64_t next_turn;                    /* a loop that runs here lets others in: not before (par/par.h) */
    struct weft__exceptions *exceptions;
    struct weft__fiber *handed; /* what the fiber that went home had picked and could not enter */
    struct weft__context home;
    struct weft__san home_san;
    struct weft__deque *deques; /* for fibers that fork; see tasks.c */
    unsigned deques_count;
    struct weft__worth worth;
    struct weft__deque *children; /* continuation stealing, see continue.c */
    uint64_t owed;                /* by the scope's child that begins now, see end() */
    struct weft__slab_cache records;
    struct weft__stack_cache stacks[WEFT_STACK_CACHES];
    uint64_t next_flush; /* of what it keeps for itself; see trim.c */
    uint64_t random;
    uint64_t tick; /* the watchman's */
    uint64_t idle_since;
    uint64_t search_time;         /* before it goes to sleep */
    struct weft__victims victims; /* whom to look at, see near.c */
    uint32_t arranged;            /* by this state of the cluster's map */
    uint64_t looks;               /* to help */
    unsigned bound_among;         /* so many regular workers; another number, and it is bound anew */
    uint64_t next_where;          /* when to look again on which CPU we are */
    struct seen {                 /* of each worker's queue, to tell that nobody serves it */
        uint64_t head, at;
        uint64_t calls_at; /* since when every look has found forked calls there; 0: the last one found none */
    } * seen;
    unsigned seen_size;
    pthread_t thread;
    _Atomic int tid;
    union weft__numbers numbers;
    _Atomic bool expiring;       /* it calls functions of timers, which may spawn; see weft__timers_held */
    _Atomic uint64_t busy_since; /* 0: idle */
    _Atomic uint64_t polled_at;  /* when it last looked at timers, mailbox and injector */
    struct weft__burden burden;
    _Atomic uint64_t delay_max;
    _Atomic uint64_t late;                       /* so many of those that were timed waited longer than is allowed */
    _Atomic uint32_t delays[WEFT_DELAY_BUCKETS]; /* how many waited how long, of those that were timed */

    /* Shared. */
    struct weft__ready ready;
    struct weft__age age WEFT_ALIGNED;
    struct weft__aside aside WEFT_ALIGNED;
    struct weft__mailbox mailbox WEFT_ALIGNED;
    struct weft__driver driver;
    struct weft__uring ring;                            /* see rings.h */
    struct weft__worker *sleeper_below, *sleeper_above; /* idle.c, under its lock */
    bool is_sleeper;
    bool is_retired;                       /* under the same lock */
    _Atomic uint8_t sharing;               /* WEFT_ALONE ...: may others take from its queue? See elastic.c */
    _Atomic uint16_t cpu;                  /* where it runs, or ran a while ago: written only when it has changed */
    _Atomic(struct weft__deque *) parents; /* continuation stealing, see continue.c */
    _Atomic(struct weft__deque *) deque;   /* of the fiber that runs, if it forks; see tasks.h */
    _Atomic bool stuck;                    /* others serve its timers, mail and pinned fibers */
    _Atomic bool spared;                   /* a spare runs in its stead, and takes from its queue */
    struct weft__hog hog;                  /* the monitor's */
    struct weft__wheel wheel WEFT_ALIGNED;
};

enum { WEFT_OPEN, WEFT_CLOSED_TO_THREADS, WEFT_CLOSED };
struct weft__injector {
    struct weft__lock lock;
    uint8_t closed;              /* WEFT_OPEN ... */
    struct weft__list displaced; /* they had waited in a queue already, and are taken first */
    struct weft__list list;
    struct weft__timed timed;
    _Atomic uint64_t length;  /* of both; written under the lock, read without */
    _Atomic uint64_t spawned; /* fibers made by threads; they are counted here, under the lock */
};

/* idle.state: how many sleep, how many search, whether there is a watchman. */
#define WEFT_IDLE_SLEEPER UINT64_C(1)
#define WEFT_IDLE_SLEEPERS UINT64_C(0xffff)
#define WEFT_IDLE_SEARCHER UINT64_C(0x10000)
#define WEFT_IDLE_SEARCHERS UINT64_C(0xffff0000)
#define WEFT_IDLE_WATCHED (UINT64_C(1) << 32)
#define WEFT_IDLE_RETIREE (UINT64_C(1) << 33)
#define WEFT_IDLE_RETIREES (UINT64_C(0xffff) << 33)

static inline unsigned weft__idle_sleepers(uint64_t state) { return (unsigned)(state & WEFT_IDLE_SLEEPERS); }
static inline unsigned weft__idle_retirees(uint64_t state) {
    return (unsigned)((state & WEFT_IDLE_RETIREES) / WEFT_IDLE_RETIREE);
}
/* Workers whose carrier sleeps, for one reason or the other. */
static inline unsigned weft__idle_resting(uint64_t state) {
    return weft__idle_sleepers(state) + weft__idle_retirees(state);
}

struct weft__idle {
    _Atomic uint64_t state WEFT_ALIGNED; /* written under the lock, read without */
    struct weft__lock lock WEFT_ALIGNED;
    struct weft__worker *top; /* the sleeper that came last: its caches are the warmest */
    _Atomic uint64_t wakes;   /* how often somebody stopped being a sleeper */
};

/* Deques of fibers that are suspended with calls outstanding, in order; see tasks.c. */
struct weft__tasks {
    struct weft__lock lock;
    struct weft__deque *first, *last;
    _Atomic unsigned suspended;       /* so many; written under the lock */
    _Atomic unsigned parked;          /* of these, so many whose fibers wait for something else than a join */
    _Atomic unsigned patience, looks; /* forks that wake nobody, because nothing came of the last times */
    _Atomic bool woken;               /* somebody was woken for a fork, and has not stolen anything yet */
    const struct weft__deque_kind *kind;
};

struct weft__cluster {
    /* Atomic, because a thread that spawns may still look when the runtime was stopped under it and
     * is started again; what it does then fails, or happens in the new one. */
    _Atomic unsigned count;                         /* workers that have a carrier; only grows while it runs */
    _Atomic unsigned configured;                    /* how many the program asked for */
    _Atomic unsigned wanted;                        /* and how many run: more, while some are stuck */
    _Atomic unsigned lent;                          /* so many spares run in the stead of workers that block */
    _Atomic unsigned reserve;                       /* index + 1 of the spare that runs quick fibers only; 0: none */
    _Atomic uint8_t stack_class;                    /* of fibers that ask for no size */
    struct weft__worker *workers[WEFT_WORKERS_MAX]; /* made once, kept for the next start */
    uint32_t place;                                 /* of its fibers */
    _Atomic uint32_t generation;                    /* grows when it begins and when it ends: old handles do not fit */
    _Atomic bool automatic;                         /* as many workers as the machine lends us */
    _Atomic uint32_t map;                           /* grows when a worker has come, or moved to another CPU */
    _Atomic int node;                               /* its workers stay on this memory node; -1: anywhere */
    pthread_mutex_t resizing;                       /* held while workers are added, or their number changed */
    /* Written before it has carriers, and read by these. */
    bool bound; /* each worker stays on a CPU of its own */
    bool stealing;
    bool helping;
    bool print_stats;
    _Atomic bool rescues;
    _Atomic uint32_t fibers;      /* the place of a fiber without wishes: its own, and RETURNS if that is the policy */
    _Atomic uint64_t late_after;  /* a fiber that waits longer is reported; 0: none is */
    _Atomic uint64_t next_report; /* not before */
    _Atomic uint64_t crowded;     /* until then, no more workers than needed: processors are short. See burden.c */
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

extern _Atomic(const char *) weft__io_name; /* the engine of I/O and why, for the statistics; NULL: none yet */
extern struct weft__slab weft__fibers;
extern struct weft__cluster weft__cluster; /* the first one; others are made by the program */
/* All that ever were, made once and kept; [0] is the first. */
extern _Atomic(struct weft__cluster *) weft__clusters[WEFT_CLUSTERS_MAX];

static inline struct weft__cluster *weft__cluster_of(uint32_t place) {
    return load_acq(
        &weft__clusters[(place & WEFT_PLACE_CLUSTER) >> WEFT_PLACE_CLUSTER_SHIFT]); /* pairs with its making */
}

/* --- who am I ------------------------------------------------------------------------------- */

/* The worker that the calling thread drives, or NULL. Never keep it across a switch. */
static inline struct weft__worker *weft__self(void);

/* The record that waits for the caller: its fiber, or a record of its thread. NULL: no memory. */
struct weft__fiber *weft__me_slow(void);
/* The same without making one; NULL: it has none, or is a timer's function. */
struct weft__fiber *weft__me_if_any(void);
static inline struct weft__fiber *weft__me(void);

/* Of threads that are no carriers (thread.c): the caller begins to wait for ever; its wait is ended, by any fiber or
 * thread; it goes on, if it was ended so; waited: it had begun to wait for ever. */
void weft__thread_waits(void);
void weft__thread_released(void);
void weft__thread_resumes(bool waited);
/* How many threads of the program, besides the caller, could wake a fiber. UINT_MAX: unknown, ask again later. */
unsigned weft__threads_awake(void);

static inline struct weft_fiber weft__handle(struct weft__fiber *f) {
    return (struct weft_fiber){load_rlx(&f->slot.life)};
}
/* The record with this number, whatever state it is in; NULL when there is none. */
static inline struct weft__fiber *weft__fiber_at(uint32_t index) {
    struct weft__slot *s = weft__slab_at_sized(&weft__fibers, index, sizeof(struct weft__fiber));
    return likely(s != NULL) ? container_of(s, struct weft__fiber, slot) : NULL;
}
/* The record of a live handle, or NULL. */
static inline struct weft__fiber *weft__fiber_of(struct weft_fiber handle) {
    struct weft__fiber *f = weft__fiber_at(weft__life_index(handle.id));
    return likely(f && weft__life_in_use(handle.id) && load_rlx(&f->slot.life) == handle.id) ? f : NULL;
}

/* The fiber that stands in a chain with this link; NULL for NULL. */
static inline struct weft__fiber *weft__fiber_of_link(struct weft__link *l) {
    return l ? container_of(container_of(l, struct weft__slot, link), struct weft__fiber, slot) : NULL;
}

/* --- making ready (ready.c) ------------------------------------------------------------------ */

void weft__inject(struct weft__cluster *c, struct weft__fiber *f);
/* A new fiber, from a thread that is no carrier, or of another cluster; handle: by which that was found, or {0}; to:
 * the worker that is to have it, or NULL. -ESRCH: the runtime is stopping, or the cluster has ended. */
int weft__hand_in(struct weft__cluster *c, struct weft_cluster handle, struct weft__fiber *f, struct weft__worker *to);
/* Into the mailbox of a worker. */
void weft__mail(struct weft__worker *to, struct weft__fiber *f);
/* What was sent to a worker, or into a cluster, that is no more goes where it belongs. */
void weft__mail_on(struct weft__worker *from);
void weft__inject_on(struct weft__cluster *from);
/* Into the worker's own queue, by its carrier; wakes nobody. */
void weft__remember_last(struct weft__worker *w, struct weft__fiber *f); /* it runs here, if it minds */
void weft__push_slow(struct weft__worker *w, struct weft__fiber *f);
/* Does the fiber want what this worker cannot give without further question? */
static inline bool weft__has_wishes(const struct weft__worker *w, const struct weft__fiber *f) {
    return load_rlx(&f->context.place) != w->place;
}
static inline void weft__push(struct weft__worker *w, struct weft__fiber *f) {
    if (unlikely(WEFT_MIGRATES || weft__has_wishes(w, f) || weft__ready_push(&w->ready, f))) weft__push_slow(w, f);
}
/* Timers, mailbox and injector: whatever is due or there becomes ready here. At home only. */
void weft__poll(struct weft__worker *w, uint64_t now);
/* What was sent to a worker that is stuck becomes ready here. */
void weft__serve_stuck(struct weft__worker *w, struct weft__worker *stuck);
/* Ends the waits, and calls the functions, of the timers of a wheel that had expired when it began. */
void weft__expire(struct weft__worker *w, struct weft__wheel *wheel, uint64_t now);
/* A stop has found that all fibers have ended: no timer's function is to spawn another. */
extern _Atomic bool weft__timers_held;

/* Puts a fiber that was won, or is new, where it will be run. */
void weft__make_ready_elsewhere(struct weft__worker *w, struct weft__fiber *f);
static inline void weft__make_ready(struct weft__fiber *f);
/* The same for several, won under a lock and chained up until it was given back. */
void weft__make_all_ready(struct weft__list *won);
/* The same for what a ring has brought. */
void weft__make_arrived_ready(struct weft__list *won);
/* All that stands in the worker's own queue goes to the injector. */
void weft__give_away(struct weft__worker *w);

/* --- aside (aside.c) -------------------------------------------------------------------------- */

/* How many fibers stand aside. */
static inline unsigned weft__aside_count(struct weft__worker *w) {
    return load_rlx(&w->aside.state) & ~WEFT_ASIDE_SUMMONED;
}
/* Is any fiber ready in the worker's own queue and lists? */
static inline bool weft__has_ready(struct weft__worker *w) {
    return weft__ready_length(&w->ready) || weft__aside_count(w);
}
/* The worker's next dispatch, or yield, takes it home, where it looks at timers, mailbox and injector. Any thread. */
void weft__summon(struct weft__worker *w);
/* The owner is at home. */
void weft__summons_met(struct weft__worker *w);

void weft__aside_put(struct weft__worker *w, unsigned which, struct weft__fiber *f);
/* The next to run, of those that stand aside and of the queue, each in its turn. */
struct weft__fiber *weft__aside_next(struct weft__worker *w);
/* One that another worker may run, and that worker's whole share of it if it is stuck; or NULL. */
struct weft__fiber *weft__aside_steal(struct weft__worker *w, struct weft__worker *from);

/* --- the carrier (worker.c, idle.c, steal.c) -------------------------------------------------- */

void *weft__carrier_main(void *worker);
struct weft__fiber *weft__search(struct weft__worker *w, bool once);
bool weft__work_in_sight(struct weft__worker *w);
/* Does the other worker keep up, and move? Then w takes nothing from its queue. (steal.c) */
bool weft__serves_itself(struct weft__worker *w, struct weft__worker *other, uint64_t now);
/* For how long has nobody taken from this queue, as far as w has seen? (steal.c) */
uint64_t weft__left_alone(struct weft__worker *w, struct weft__worker *other, uint64_t now);
/* For how long have forked calls waited at the other worker, as far as w has seen? */
uint64_t weft__calls_left_alone(struct weft__worker *w, struct weft__worker *other, uint64_t now);
void weft__took(struct weft__worker *w, struct weft__worker *from, uint64_t n);
/* Times fibers, publishes how long they wait, and helps another queue that waits longer. (age.c) */
void weft__age(struct weft__worker *w, uint64_t now);
/* A fiber has waited longer than the cluster's bound, perhaps behind one that hogs the worker. */
void weft__report_late(struct weft__worker *w, struct weft__fiber *late, struct weft__fiber *hog, uint64_t waited,
                       uint64_t now);
/* Lists other than the queue, whose locks are held: one that is put is timed, unless another is. Since when the one was
 * that is taken; 0: it was not. Then, with no lock, that is noted, and reported if it is too long. */
void weft__timed_put(struct weft__timed *t, struct weft__fiber *f);
uint64_t weft__timed_take(struct weft__timed *t, struct weft__fiber *f);
void weft__timed_note(struct weft__worker *w, struct weft__fiber *f, uint64_t since);
/* How long the oldest in the worker's queue has waited, at least. */
uint64_t weft__age_of(struct weft__worker *w, uint64_t now);
/* The trap has sprung: the fiber that is pushed next is the one to time. */
void weft__age_mark(struct weft__worker *w);
/* The first fiber that is pushed will be timed. Its carrier, before it runs any. */
void weft__age_begin(struct weft__worker *w);
/* Sleeps until there is work, or a time has come. False: it was the time. */
bool weft__idle_sleep(struct weft__worker *w);
/* Sleeps until the worker is wanted again, or something has come that only it can do. */
void weft__idle_retire(struct weft__worker *w);
/* Found something: no searcher any more, and perhaps another worker is needed. */
void weft__idle_end(struct weft__worker *w);
bool weft__idle_start_searching(struct weft__worker *w);
/* Wakes one sleeper, if nobody searches already. */
void weft__idle_wake_one(struct weft__cluster *c);
/* Worker w takes no calls and stops searching: wakes a sleeper that does, if calls wait. */
void weft__idle_wake_for_calls(struct weft__worker *w);
/* Wakes this one, if it sleeps. */
void weft__idle_wake(struct weft__worker *w);
/* Does a thread hold back, that brings work in from outside? And ends that. (dry.h) */
extern _Atomic uint32_t weft__dry_awaited;
void weft__dry_tell(void);
/* A stop or a drain that waits looks again. (quiet.c) */
void weft__tell_quiet(void);
/* Nothing will happen in the cluster any more, unless somebody outside does something. */
bool weft__is_quiet(struct weft__cluster *c);
/* --- burdens (burden.c) --- */

/* Does the worker serve its ring alone, without help? */
bool weft__keeps_up(const struct weft__worker *w, uint64_t now);
/* The worker that is to run what the ring of w has brought; NULL: w itself. */
struct weft__worker *weft__host_of(struct weft__worker *w);
/* The worker has run dry after so many ns of work; it begins again. */
void weft__burden_dry(struct weft__worker *w, uint64_t busy);
static inline void weft__burden_busy(struct weft__worker *w) { w->burden.switches = load_rlx(&w->numbers.switches); }
/* Around a sleep. */
void weft__burden_sleeps(struct weft__worker *w, uint64_t now);
void weft__burden_wakes(struct weft__worker *w);
/* The monitor, at each tick: the carrier has used so much CPU time in all. */
void weft__burden_look(struct weft__worker *w, uint64_t cpu, uint64_t now);

/* The worker has pushed work: is it worth waking somebody? */
void weft__idle_consider(struct weft__worker *w, uint64_t state);

static inline void weft__notify(struct weft__worker *w) {
    if (load_rlx(&w->ready.alone)) return; /* nobody to wake */
    /* Light: pairs with the heavy fence of a worker that announces its sleep; see idle.c. */
    weft__fence_light();
    uint64_t state = load_rlx(&w->cluster->idle.state);
    if (unlikely(state & WEFT_IDLE_SLEEPERS)) weft__idle_consider(w, state);
}

/* --- where they are (near.c) ---------------------------------------------------------------------- */

/* Before its carrier runs: where it will be, if it is bound. Who names a node need not wait for a look. */
void weft__expect(struct weft__worker *w);
/* Binds the calling carrier to the CPUs that the configuration names. */
void weft__bind(struct weft__worker *w);
/* Now and then: have we been moved to another CPU? */
void weft__where(struct weft__worker *w, uint64_t now);
/* Whom to look at, by distance, as the workers are placed now. */
const struct weft__victims *weft__victims_of(struct weft__worker *w);
/* A worker of the cluster that runs on this node; NULL: there is none. */
struct weft__worker *weft__worker_on(struct weft__cluster *c, unsigned node, uint64_t *random);
/* How many CPUs of this node we may use. */
unsigned weft__node_cpus(int node);

/* --- how many workers (elastic.c, rescue.c, monitor.c) ------------------------------------------- */

/* So many workers are to run, and as many more as are stuck, in this life of the cluster; automatic: until the machine
 * lends us more or fewer. -ENOMEM, -EAGAIN: fewer do. -ESRCH: that life is over. */
int weft__resize(struct weft__cluster *c, uint32_t generation, unsigned configured, bool automatic);
/* So many, if the cluster is automatic. By the monitor, which does not wait: not while another thread changes the
 * number. */
void weft__resize_automatic(struct weft__cluster *c, unsigned configured);
#define WEFT_SPARES_MAX 256
/* So many spares are to run. By the monitor, which does not wait. -EBUSY: another thread changes the number just now.
 * Errors as above. */
int weft__spares(struct weft__cluster *c, unsigned spares);
/* The worker's owner, at home: does it still have its queue to itself, or again? */
void weft__share(struct weft__worker *w);
/* Somebody else, for a worker that is stuck. False: not now. */
bool weft__share_by_force(struct weft__worker *w);
void weft__worker_release(struct weft__worker *w);

static inline bool weft__is_wanted(const struct weft__worker *w) { return w->index < load_rlx(&w->cluster->wanted); }
/* May the worker run calls that others have forked? Spares may not, except in the stead of a worker that blocks. */
static inline bool weft__takes_calls(const struct weft__worker *w) {
    return w->index < load_rlx(&w->cluster->configured) + load_rlx(&w->cluster->lent);
}

/* Is it the spare that runs quick fibers only? See rescue.c. */
static inline bool weft__is_reserve(const struct weft__worker *w) {
    return load_rlx(&w->cluster->reserve) == w->index + 1;
}
/* May w take ready fibers from the other's queue? A spare that takes no calls serves only workers that have a spare;
 * the reserve looks for quick fibers everywhere. */
static inline bool weft__may_take_from(const struct weft__worker *w, struct weft__worker *other) {
    return likely(weft__takes_calls(w)) || weft__is_reserve(w) || load_rlx(&other->spared);
}
/* Has the fiber run before, and never been seen to keep a worker? (hog.c) */
bool weft__is_quick(struct weft__fiber *f);
/* The reserve leaves the fiber to the other workers. False: it is not the reserve, or the fiber is quick. (ready.c) */
bool weft__leave_to_others(struct weft__worker *w, struct weft__fiber *f);
/* How many of the n oldest fibers in the other's queue worker w may take. The reserve empties the queue of a stuck
 * worker. From any other queue it takes the oldest fiber, and only a quick one. If it took the others, too, a fiber
 * could go from queue to injector and back, each time behind younger ones, and never run. (ready.c) */
uint64_t weft__reserve_share(struct weft__worker *w, struct weft__worker *from, uint64_t n);

/* The quota of CPU time may have changed: as many workers as it allows, if the program left it to us. */
unsigned weft__follow_quota(void);
int weft__monitor_start(void);
void weft__monitor_stop(void);
/* The cluster no longer runs: returns when the monitor does not look at it any more, nor ever will. */
void weft__monitor_leaves(struct weft__cluster *c);
extern _Atomic uint32_t weft__monitor_rests;
void weft__monitor_wake(void);

/* Calls fn with every fiber that has not ended; stops and returns false when fn does. (quiet.c) */
bool weft__each_live(bool (*fn)(struct weft__fiber *, void *), void *arg);

/* --- tasks (tasks.c) -------------------------------------------------------------------------- */

/* The running fiber, which has a deque, ends. */
void weft__tasks_end(struct weft__worker *w, struct weft__fiber *f);
/* One call of the deque that another worker's fiber uses, in a fiber of its own; NULL: none. */
struct weft__fiber *weft__tasks_steal(struct weft__worker *w, struct weft__worker *from, uint64_t now);
/* The same of a suspended fiber; of one that is suspended on this worker. */
struct weft__fiber *weft__tasks_steal_suspended(struct weft__worker *w, uint64_t now);
struct weft__fiber *weft__tasks_steal_here(struct weft__worker *w);
/* The worker searches: has its last steal of a call paid? Only if one is to be judged. */
void weft__worth_judge(struct weft__worker *w, uint64_t now);
/* Somebody goes to sleep, and wants to hear of forks. */
void weft__tasks_ask(struct weft__cluster *c);
/* Is there any forked call that waits? Of the fiber that the worker runs; anywhere, that worker w may take. */
bool weft__tasks_wait_at(struct weft__worker *w);
bool weft__tasks_in_sight(struct weft__worker *w);
/* The caller has begun, or ended, a scope or a shield. */
void weft__tasks_region(bool begun);
void weft__tasks_flush(struct weft__worker *w, bool all);
void weft__tasks_reset(struct weft__cluster *c);

/* --- records (fiber.c) -------------------------------------------------------------------------- */

/* A record, to be made a fiber by init, or to go back. NULL: no memory. */
struct weft__fiber *weft__fiber_get(struct weft__worker *w);
/* It is live, and fresh. tag: WEFT_JOIN_NOBODY or WEFT_JOIN_DETACHED. */
void weft__fiber_init(struct weft__fiber *f, void *(*fn)(void *), void *arg, const char *where, uint8_t class,
                      uint32_t place, uint64_t tag);

/* --- the layers above (fork.c) ------------------------------------------------------------------ */

/* What a layer that the scheduler knows nothing of must see to; NULL: nothing. Added once, before main. */
struct weft__layer {
    void (*stopped)(void); /* the runtime has stopped */
    void (*forked)(void);  /* this is a forked child: all threads but the caller are gone */
    struct weft__layer *next;
};
void weft__layer_add(struct weft__layer *layer);
void weft__layers_stopped(void);

/* A fiber, or a timer's function, came to its end in a forked child: nothing is there to go on with. */
_Noreturn void weft__forked_end(const struct weft__fiber *f);

/* --- ending, messages ------------------------------------------------------------------------- */

void weft__locals_destroy(struct weft__fiber *f);
/* "fiber 0x... (name) spawned at file:line": for messages, in a static buffer per caller. */
struct weft__text {
    char text[160];
};
const char *weft__describe(const struct weft__fiber *f, struct weft__text *to);
/* The same of one that may be gone, and of whoever calls. */
const char *weft__describe_as(struct weft_fiber fiber, const char *name, const char *where, struct weft__text *to);
const char *weft__describe_caller(struct weft__text *to);
int weft__overflow_watch(void);
void weft__overflow_unwatch(void);
void weft__backtrace_unwatch(void);
int weft__signal_stack(void **memory);
void weft__signal_stack_free(void *memory);
void weft__stats_print(void);
void weft__hog_describe(struct weft__worker *w, struct weft__fiber *f, struct weft_hog *to);
/* Who was cancelled: how many by threads, and the latest, to standard error. (cancelled.c) */
void weft__told_by_threads(struct weft_stats *stats);
void weft__told_print(void);

#include "sched/self.h"

#endif
