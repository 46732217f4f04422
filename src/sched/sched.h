/*
 * The scheduler's types, and its glossary.
 *
 *   fiber     a user thread. Its record is 128 bytes of a slab; its stack comes when it first runs.
 *   worker    a scheduling slot: ready queue, mailbox, timers, caches, statistics.
 *   carrier   the kernel thread that drives a worker. It has a stack of its own, "home", on which
 *             it searches, sleeps and shuts down, never on that of a fiber.
 *   cluster   the workers that share work, the injector and the sleepers.
 *   injector  where threads that are no carriers hand fibers in.
 *   ready     may run, and stands in a queue. unpark, win: what makes it so.
 *   wait      what a parked fiber is in: one word in its record, see wait.h.
 *   watchman  the one sleeping worker that looks up now and then while others work, see idle.c.
 *
 * The states of a fiber, who owns its stack, where it stands, who changes the state:
 *
 *   fresh     no stack          ready queue, pinned list, mailbox or injector; whoever takes it out
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
#include "driver/wheel.h"
#include "mem/slab.h"
#include "mem/stack.h"
#include "queue/list.h"
#include "queue/ready.h"

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
 * The join word: one of the first four, with the generation of the record, so that an old handle
 * does not fit; or who joins: the number of its record and the epoch of its wait, the low 35 bits
 * of it. Not a pointer to something on the joiner's stack: a joiner that is cancelled goes away, and
 * whoever ends must not find it gone.
 *
 *      tag < BY      34 ..... generation ..... 3 | 2..0 tag
 *      tag >= BY     63 .. epoch .. 29 | 28 .. record .. 3 | 2..0 tag
 */
#define WEFT_JOIN_NOBODY UINT64_C(0)
#define WEFT_JOIN_DETACHED UINT64_C(1)
#define WEFT_JOIN_ENDED UINT64_C(2)     /* and nobody joins yet */
#define WEFT_JOIN_COLLECTED UINT64_C(3) /* the record is on its way back */
#define WEFT_JOIN_BY UINT64_C(4)        /* somebody joins */
#define WEFT_JOIN_ENDED_BY UINT64_C(5)  /* and it has ended: the record is that one's */
#define WEFT_JOIN_TAG UINT64_C(7)
#define WEFT_JOIN_INDEX_BITS 26
_Static_assert((uint64_t)WEFT_SLAB_CHUNK *WEFT_SLAB_CHUNKS_MAX <= UINT64_C(1) << WEFT_JOIN_INDEX_BITS,
               "a record's number fits");

static inline uint64_t weft__join_by(uint32_t index, uint64_t ticket) {
    return ticket >> 8 << (WEFT_JOIN_INDEX_BITS + 3) | (uint64_t)index << 3 | WEFT_JOIN_BY;
}
static inline uint64_t weft__join_of(struct weft_fiber life, uint64_t tag) {
    return (uint64_t)(uint32_t)life.id << 3 | tag;
}
static inline bool weft__join_has_ended(uint64_t join) {
    uint64_t tag = join & WEFT_JOIN_TAG;
    return tag == WEFT_JOIN_ENDED || tag == WEFT_JOIN_COLLECTED || tag == WEFT_JOIN_ENDED_BY;
}

#define WEFT_NAME_SIZE 16

struct weft__fiber {
    /* First line: what switching and waking touch. */
    struct weft__slot slot;       /* link: mailbox, injector, pinned list */
    struct weft__context context; /* pin: 0, or the worker's index + 1. */
    _Atomic uint64_t wait;        /* see wait.h */
    _Atomic uint64_t join;
    /* Second line: what beginning and ending touch. */
    void *(*fn)(void *);
    union {
        void *arg;    /* until it begins */
        void *result; /* from its end on */
    };
    struct weft__stack *stack;
    const char *where; /* of the spawn */
    struct weft_counter *counter;
    struct weft__locals *locals;
    char name[WEFT_NAME_SIZE];
};
_Static_assert(sizeof(struct weft__fiber) == 128, "a record is two cache lines");

/* One number each of struct weft_stats, in its order; written by the worker alone. */
#define WEFT_STATS_NUMBERS (sizeof(struct weft_stats) / sizeof(uint64_t))
union weft__numbers {
    _Atomic uint64_t number[WEFT_STATS_NUMBERS];
    struct {
        _Atomic uint64_t spawned, completed, switches, parks, unparks, steals_tried, steals, helps, moved, sleeps,
            wakeups, timers, busy_ns;
    };
};
_Static_assert(sizeof(union weft__numbers) == sizeof(struct weft_stats), "the same numbers");

/* C++: the exceptions being handled by the running flow; libstdc++ keeps it per thread. */
struct weft__exceptions {
    void *caught;
    unsigned uncaught;
};

struct weft__cluster;

/*
 * How long fibers wait in a worker's queue; see age.c. Written by the owner, a few times in a
 * hundred microseconds at most, so that others can look at it for next to nothing.
 */
struct weft__age {
    _Atomic uint64_t since;           /* whoever stands in the queue became ready then or later */
    _Atomic uint64_t average;         /* moving average of the wait, ns */
    _Atomic uint64_t length;          /* of the queue, when this was written */
    _Atomic uint64_t mark, marked_at; /* the fiber that is timed: place in the queue, and since when; 0: none */
};

#define WEFT_DELAY_BUCKETS 512

struct weft__worker {
    /* The carrier's alone. */
    struct weft__fiber *current; /* NULL: at home */
    struct weft__list pinned;    /* ready fibers that run nowhere else */
    int until_poll;              /* dispatches until timers, mailbox and injector are looked at */
    bool pinned_turn;            /* take from the pinned list next */
    bool searching;              /* counted in idle.state */
    bool watching;               /* is the watchman */
    bool marking;                /* the next fiber that is pushed will be timed */
    uint64_t next_mark;          /* not before */
    struct weft__cluster *cluster;
    struct weft__exceptions *exceptions;
    struct weft__fiber *handed; /* what the fiber that went home had picked and could not enter */
    struct weft__context home;
    struct weft__san home_san;
    struct weft__slab_cache records;
    struct weft__stack_cache stacks[WEFT_STACK_CLASSES];
    uint64_t random;
    uint64_t tick; /* the watchman's */
    uint64_t idle_since;
    struct seen { /* of each worker's queue, to tell that nobody serves it */
        uint64_t head, at;
    } * seen;
    unsigned index;
    pthread_t thread;
    union weft__numbers numbers;
    _Atomic uint64_t busy_since; /* 0: idle */
    _Atomic uint64_t delay_max;
    _Atomic uint32_t delays[WEFT_DELAY_BUCKETS]; /* how many waited how long, of those that were timed */

    /* Shared. */
    struct weft__ready ready;
    struct weft__age age WEFT_ALIGNED;
    struct weft__mailbox mailbox WEFT_ALIGNED;
    struct weft__driver driver;
    struct weft__worker *sleeper_below, *sleeper_above; /* idle.c, under its lock */
    bool is_sleeper;
    struct weft__wheel wheel WEFT_ALIGNED;
};

struct weft__injector {
    struct weft__lock lock;
    bool closed;
    struct weft__list list;
    _Atomic uint64_t length;  /* written under the lock, read without */
    _Atomic uint64_t spawned; /* fibers made by threads; they are counted here, under the lock */
};

/* idle.state: how many sleep, how many search, whether there is a watchman. */
#define WEFT_IDLE_SLEEPER UINT64_C(1)
#define WEFT_IDLE_SLEEPERS UINT64_C(0xffff)
#define WEFT_IDLE_SEARCHER UINT64_C(0x10000)
#define WEFT_IDLE_SEARCHERS UINT64_C(0xffff0000)
#define WEFT_IDLE_WATCHED (UINT64_C(1) << 32)

struct weft__idle {
    _Atomic uint64_t state WEFT_ALIGNED; /* written under the lock, read without */
    struct weft__lock lock WEFT_ALIGNED;
    struct weft__worker *top;    /* the sleeper that came last: its caches are the warmest */
    _Atomic uint64_t wakes;      /* how often somebody stopped being a sleeper */
    _Atomic bool stop_waits;     /* somebody wants to know when all are asleep: */
    _Atomic uint32_t all_asleep; /* grows then, and wakes it */
};

struct weft__cluster {
    /* Atomic, because a thread that spawns may still look when the runtime was stopped under it and
     * is started again; what it does then fails, or happens in the new one. */
    _Atomic unsigned count;
    _Atomic uint8_t stack_class;                    /* of fibers that ask for no size */
    struct weft__worker *workers[WEFT_WORKERS_MAX]; /* made once, kept for the next start */
    bool stealing;
    bool helping;
    bool print_stats;
    _Atomic bool running;
    _Atomic bool stopping; /* carriers leave when they find nothing */
    struct weft__idle idle;
    struct weft__injector injector WEFT_ALIGNED;
};

extern struct weft__slab weft__fibers;
extern struct weft__cluster weft__cluster; /* the only one; count 0: no runtime */

/* --- who am I ------------------------------------------------------------------------------- */

/* The worker that the calling thread drives, or NULL. Never keep it across a switch. */
static inline struct weft__worker *weft__self(void);

/* The record that waits for the caller: its fiber, or a record of its thread. NULL: no memory. */
struct weft__fiber *weft__me_slow(void);
static inline struct weft__fiber *weft__me(void);

static inline struct weft_fiber weft__handle(struct weft__fiber *f) {
    return (struct weft_fiber){(uint64_t)f->slot.index << 32 | load_rlx(&f->slot.generation)};
}
/* The record with this number, whatever state it is in; NULL when there is none. */
static inline struct weft__fiber *weft__fiber_at(uint32_t index) {
    struct weft__slot *s = weft__slab_at_sized(&weft__fibers, index, sizeof(struct weft__fiber));
    return likely(s != NULL) ? container_of(s, struct weft__fiber, slot) : NULL;
}
/* The record of a live handle, or NULL. */
static inline struct weft__fiber *weft__fiber_of(struct weft_fiber handle) {
    struct weft__fiber *f = weft__fiber_at((uint32_t)(handle.id >> 32));
    uint32_t generation = (uint32_t)handle.id;
    return likely(f && generation % 2 && load_rlx(&f->slot.generation) == generation) ? f : NULL;
}

/* The fiber that stands in a chain with this link; NULL for NULL. */
static inline struct weft__fiber *weft__fiber_of_link(struct weft__link *l) {
    return l ? container_of(container_of(l, struct weft__slot, link), struct weft__fiber, slot) : NULL;
}

/* --- making ready (ready.c) ------------------------------------------------------------------ */

void weft__inject(struct weft__cluster *c, struct weft__fiber *f);
/* A new fiber, from a thread that is no carrier. -ESRCH: the runtime is stopping. */
int weft__hand_in(struct weft__cluster *c, struct weft__fiber *f);
/* Into the worker's own queue, by its carrier; wakes nobody. */
void weft__push_slow(struct weft__worker *w, struct weft__fiber *f);
static inline void weft__push(struct weft__worker *w, struct weft__fiber *f) {
    if (unlikely(WEFT_MIGRATES || f->context.pin || weft__ready_push(&w->ready, f))) weft__push_slow(w, f);
}
/* Timers, mailbox and injector: whatever is due or there becomes ready here. At home only. */
void weft__poll(struct weft__worker *w, uint64_t now);
void weft__expire(struct weft__worker *w, struct weft__wheel *wheel, uint64_t now);

/* Puts a fiber that was won, or is new, where it will be run. */
void weft__make_ready_elsewhere(struct weft__worker *w, struct weft__fiber *f);
static inline void weft__make_ready(struct weft__fiber *f);
/* The same for several, won under a lock and chained up until it was given back. */
void weft__make_all_ready(struct weft__list *won);

/* --- the carrier (worker.c, idle.c, steal.c) -------------------------------------------------- */

void *weft__carrier_main(void *worker);
struct weft__fiber *weft__search(struct weft__worker *w, bool once);
bool weft__work_in_sight(struct weft__worker *w);
/* For how long has nobody taken from this queue, as far as w has seen? (steal.c) */
uint64_t weft__left_alone(struct weft__worker *w, struct weft__worker *other, uint64_t now);
/* Times fibers, publishes how long they wait, and helps another queue that waits longer. (age.c) */
void weft__age(struct weft__worker *w, uint64_t now);
/* The trap has sprung: the fiber that is pushed next is the one to time. */
void weft__age_mark(struct weft__worker *w);
/* Sleeps until there is work, or a time has come. False: it was the time. */
bool weft__idle_sleep(struct weft__worker *w);
/* Found something: no searcher any more, and perhaps another worker is needed. */
void weft__idle_end(struct weft__worker *w);
bool weft__idle_start_searching(struct weft__worker *w);
/* Wakes one sleeper, if nobody searches already. */
void weft__idle_wake_one(struct weft__cluster *c);
/* Wakes this one, if it sleeps. */
void weft__idle_wake(struct weft__worker *w);
/* A stop that waits looks again. */
void weft__idle_tell_stop(struct weft__cluster *c);
/* The worker has pushed work: is it worth waking somebody? */
void weft__idle_consider(struct weft__worker *w, uint64_t state);

static inline void weft__notify(struct weft__worker *w) {
    if (w->ready.alone) return; /* nobody to wake */
    /* Light: pairs with the heavy fence of a worker that announces its sleep; see idle.c. */
    weft__fence_light();
    uint64_t state = load_rlx(&w->cluster->idle.state);
    if (unlikely(state & WEFT_IDLE_SLEEPERS)) weft__idle_consider(w, state);
}

/* --- ending, messages ------------------------------------------------------------------------- */

void weft__locals_destroy(struct weft__fiber *f);
/* "fiber 0x... (name) spawned at file:line": for messages, in a static buffer per caller. */
struct weft__text {
    char text[160];
};
const char *weft__describe(const struct weft__fiber *f, struct weft__text *to);
int weft__overflow_watch(void);
void weft__overflow_unwatch(void);
int weft__signal_stack(void **memory);
void weft__signal_stack_free(void *memory);
void weft__stats_print(struct weft__cluster *c);

#include "sched/self.h"

#endif
