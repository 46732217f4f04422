/* SPDX-License-Identifier: MIT */
/*
 * Random programs. From a seed the generator builds a program on weft's public interface, runs it, and checks
 * exactly what it must have done.
 *
 *     random [--seed N] [--seconds S] [--programs N] [--workers W] [--io ENGINE] [--only KINDS] [--without KINDS]
 *            [--with KINDS] [--keep OPS] [--patience S] [--trace] [--shrink] [--list]
 *
 * HOW A PROGRAM IS BUILT (build.c). A program is a list of operations in a fixed order: the place in the list is the
 * operation's rank. Each operation is of a kind (a row in a table of an ops_*.c file) and has one or more parties:
 * actors that take part in it, each in a role. An actor is a fiber, a child of a scope, a forked task, or a thread of
 * the program. The steps of an actor are the operations that it takes part in, in the order of their ranks. Some
 * operations make an actor (role 0) and wait for its end (role 1, with a higher rank, perhaps by another actor). Others
 * are brackets: an actor opens them (role 0) and closes them later (role 1), in reverse order.
 *
 * WHY IT CANNOT DEADLOCK. A step waits only for steps of the same operation, or of operations with a lower rank.
 * Consider the unfinished operation with the lowest rank. Its parties have been made, because an actor's first step
 * has a higher rank than the step that makes it; they have done all their earlier steps, because these have lower
 * ranks; so all of them have reached this operation, and each kind guarantees that its own parties finish. Locks that
 * several operations share are taken in one order, and their holders do nothing that waits for a step. A forked task
 * is run by its forker if no worker steals it. Where that can happen (`free_tasks` is false) the forker has no step
 * between the fork and the join, so that its steps and those of the task are one sequence.
 *
 * WHY IT CAN BE CANCELLED AT ANY MOMENT. Whatever waits does so in insist() (wait.c), which tries again when a wait
 * was late or cancelled, in the end without a deadline and in a shield. So each step is done in the end, exactly once,
 * and a cancelled wait that has left something half done is noticed.
 *
 * HOW TO ADD AN OPERATION. One row in the table of an ops_*.c file, and two functions:
 *
 *     {"name", weight, FLAGS, least, most, sizeof(struct data), make, run, check}
 *
 * `make` chooses the data of the operation before the run, with the program's random numbers, and stores them in
 * op->data (zeroed memory of that size). It may be NULL, and may refuse by returning false. Each party calls `run`
 * once, with its role and its own random numbers. `check` is called after the program has ended; it may be NULL. A kind
 * waits only by
 * insist() and its relatives, handles each result of each call, and checks exactly what the interface promises.
 */
#ifndef WEFT_TESTS_RANDOM_H
#define WEFT_TESTS_RANDOM_H

#include "../test.h"
#include "../want.h"

#include <stdatomic.h>

enum {
    PARTIES = 8,      /* of an operation */
    ACTORS = 80,      /* of a program */
    OPERATIONS = 600, /* the same */
    DEPTH = 12,       /* brackets that an actor has open */
    CLUSTERS = 3,
};

struct program;
struct op;
struct party;

/* --- kinds of operations ---------------------------------------------------------------------- */

enum {
    BY_THREADS = 1, /* threads may take part, too; else only fibers */
    BY_LASTING = 2, /* only actors that keep their fiber: no tasks */
    NESTED = 4,     /* a bracket: the same actor closes it, in reverse order */
    LATER = 8,      /* role 1 comes later, by any actor */
    MAY_STAY = 16,  /* role 1 may be left out: the end of the fiber closes the bracket, the stop awaits the actor */
    GREEDY = 32,    /* keeps a worker: rarely, and not under emulation */
    FORKS = 64,     /* forks the process: not where sanitizers or emulators make that impossible */
};

struct kind {
    const char *name;
    unsigned weight; /* how often, in proportion; 0: never, see `disabled` in main.c */
    unsigned flags;
    unsigned least, most; /* parties; of NESTED and LATER 1: role 1 is added */
    size_t size;          /* of op->data */
    bool (*make)(struct program *, struct op *);
    void (*run)(struct party *);
    void (*check)(struct op *);
};

/* The kinds of a file, and what they share: begin and end are called around each program, and may be NULL. */
struct family {
    const struct kind *kinds; /* up to a row without a name */
    void (*begin)(struct program *);
    void (*end)(struct program *);
};
extern const struct family family_actors, family_scopes, family_fibers, family_locks, family_sync, family_chan,
    family_crowds, family_time, family_tasks, family_loops, family_flow, family_clusters, family_streams,
    family_sockets, family_files, family_process;
extern const struct family *const families[]; /* all of these, and NULL */
const struct kind *kind_named(const char *name, size_t length);

struct op {
    const struct kind *kind;
    unsigned number; /* its rank */
    unsigned parties;
    uint64_t seed;
    void *data;
    struct actor *actor[PARTIES];
    struct actor *child;     /* that it makes, or NULL */
    struct op *needs;        /* without which it makes no sense, or NULL */
    struct weft_latch begun; /* of LATER: opens when role 0 is done */
    bool dropped;            /* left out of this run */
    bool stays;              /* a bracket that the end of the fiber closes */
    bool told;               /* of a scope: it may be cancelled */
};

/* --- actors ----------------------------------------------------------------------------------- */

enum actor_type { ROOT_THREAD, ROOT_FIBER, FIBER, CHILD, TASK, THREAD };

struct step {
    struct op *op;
    unsigned role;
};

struct actor {
    unsigned number;
    enum actor_type type;
    struct op *birth;  /* that makes it; NULL: the root */
    struct op *inside; /* of a CHILD: the scope */
    struct step *steps;
    unsigned n_steps, room;

    /* While the program is built. */
    bool live;
    bool busy; /* its task is one sequence with it, so it has no steps of its own */
    struct op *open[DEPTH];
    unsigned depth;

    /* How it is made, and how it ends. */
    struct weft_attr attr;
    unsigned cluster; /* index + 1, or 0: that of the actor that makes it */
    bool pinned, exits, exits_if_told;
    int failure; /* that a CHILD returns */
    bool told;   /* it may be cancelled */
    bool stray;  /* a CHILD that its scope did not take */
    bool pushed; /* others may move it to another cluster */
    bool owns;   /* it has thread-local storage of its own */

    /* While the program runs. */
    _Atomic unsigned runs, ended;
    _Atomic uint64_t id;        /* of its fiber, when it runs; 0: it has no storage of its own */
    _Atomic unsigned at;        /* number of the step */
    uint64_t where;             /* the id of its cluster */
    unsigned pin;               /* worker + 1 */
    struct op *cleanups[DEPTH]; /* clean-up handlers, in order */
    unsigned n_cleanups;
    _Atomic unsigned destroyed; /* how often its value of a key was destroyed, see storage.c */
};
static inline bool is_thread(const struct actor *a) { return a->type == ROOT_THREAD || a->type == THREAD; }

/* --- programs --------------------------------------------------------------------------------- */

struct program {
    uint64_t seed, random;
    struct weft_config config;
    bool by_run;       /* weft_run, and the root is its first fiber; else weft_start and the root is the main thread */
    bool free_tasks;   /* a task goes on by itself while its forker waits */
    bool awaits_tasks; /* some step waits for a forked call by something else than its join */
    bool resizes;      /* some operation changes the number of workers */
    bool rescues;      /* other workers take over what waits for a stuck worker, even if they have work */
    bool narrow;       /* it knows only half of the kinds */
    bool stops_early;  /* the runtime is stopped while detached fibers run; then there are no threads but the root */
    unsigned n_clusters;
    struct weft_cluster cluster[CLUSTERS]; /* 0: the first */
    struct weft_config cluster_config[CLUSTERS];

    struct op ops[OPERATIONS];
    unsigned n_ops;
    struct actor actors[ACTORS];
    unsigned n_actors;
    struct {
        const bool *from;
        bool *to;
    } tells[8 * ACTORS + 2 * OPERATIONS]; /* a cancellation of either may concern the other, see told and pushed */
    unsigned n_tells;

    struct weft_counter strays; /* fibers that a cancelled scope did not take: the root waits for them */
};
extern struct program *the_program;

struct settings {
    uint64_t seed, programs;
    double seconds;
    unsigned workers;
    const char *io, *only, *without, *with, *keep;
    bool trace, shrink, quiet;
    unsigned patience; /* this many seconds without a step count as a hang; 0: the default */
};
extern struct settings settings;

/* build.c */
void program_build(struct program *p, uint64_t seed);
void program_free(struct program *p);
struct actor *actor_new(struct program *p, enum actor_type type, struct op *birth);
void tells(struct program *p, const bool *from, bool *to);
void program_drop(struct program *p, const char *keep); /* all but these and their dependents */

/* run.c */
void program_run(struct program *p);
void *actor_main(void *actor);
int actor_result(const struct actor *a);

/* storage.c */
bool storage_is_possible(void);
void storage_begin(struct actor *a);
void storage_must_be_mine(const struct actor *a);
void storage_check(const struct actor *a); /* when the program has ended */

/* watch.c */
void watch_begin(void);
void moved(void);                       /* a step was done */
void program_print(struct program *p);  /* the operations */
void program_status(struct program *p); /* what each actor is doing */

/* shrink.c */
int shrink(const char *name); /* of this program, for the command that it prints */

/* main.c */
int programs_in_child(uint64_t first, uint64_t count, uint64_t end_at);
bool kind_enabled(const struct kind *k);
void print_command(const char *name, uint64_t first, uint64_t count);

#define SO(condition) \
    do { \
        if (!(condition)) broken(__FILE__, __LINE__, #condition, 0, 1); \
    } while (0)

/* --- what kinds use: wait.c ------------------------------------------------------------------- */

/* An actor in one of its steps. */
struct party {
    struct program *program;
    struct op *op;
    struct actor *actor;
    unsigned role;
    uint64_t random;
    bool told; /* the party may be cancelled here, by a scope of its own */
};

static inline uint64_t below(struct party *p, uint64_t n) { return test_below(&p->random, n); }
static inline bool one_in(struct party *p, uint64_t n) { return below(p, n) == 0; }
static inline uint64_t choose(struct program *p, uint64_t n) { return test_below(&p->random, n); } /* in make */

/* A party with its own random numbers, for a function that several fibers may run at once for this party. */
struct party party_for(struct party *p, uint64_t number);

/* An attempt with this deadline returns -EAGAIN or -EBUSY, or -ETIMEDOUT, if it would have to wait. */
#define AT_ONCE UINT64_C(0)

/*
 * Calls attempt(context, deadline) until it returns something other than a timeout or a cancellation, and returns that.
 * The first deadlines are random, the last is WEFT_FOREVER. Checks that no timeout comes early, and that no attempt is
 * cancelled without a reason or in a shield.
 */
int insist(struct party *p, int (*attempt)(void *context, uint64_t deadline), void *context);

/* Attempts of which the context is the object. */
int wait_for_latch(void *latch, uint64_t deadline);
int wait_for_counter(void *counter, uint64_t deadline); /* until nothing is outstanding */
int wait_for_sem(void *sem, uint64_t deadline);
int wait_for_mutex(void *mutex, uint64_t deadline);

/* Pauses: often not at all, sometimes by a yield, a short sleep, or some work. Never waits for a step. */
void pause_a_bit(struct party *p);
/* May it be cancelled where it is? */
bool may_be_told(const struct party *p);
/* Checks the result of a call that was made once: 0, or the party was cancelled. True: 0. */
bool done_or_told(struct party *p, int err);
uint64_t soon(struct party *p);

#endif
