/*
 * Bad input for every public call: a table of calls by cases. A cell says in which surroundings an
 * expression is evaluated, and what it must come to. The cells are lists (cells_*.h) of
 *
 *     CELL(call, case, surroundings, wanted, expression)
 *     NONE(call, case)      there is no such input: the call takes no such argument
 *
 * read twice, once for the functions and once for the table. A call and a case may have several
 * cells; every pair must have one. The cases:
 *
 *     null      a NULL where a pointer is expected        range       numbers at and past their bounds
 *     zero      {0}, zeroed objects                       state       an object or caller in the wrong state
 *     stale     what was valid once                       no_runtime  before a start, after a stop
 *     garbage   what never was                            thread, fiber, timer: called from there, input good
 */
#ifndef WEFT_TESTS_MISUSE_H
#define WEFT_TESTS_MISUSE_H

#include "../test.h"

#include <string.h>

enum surroundings {
    NOTHING, /* no runtime; there was one */
    THREAD,
    FIBER,
    EITHER, /* a fiber, and again a thread: the same comes out */
    TIMER,
};

/* Outcomes that are no number. */
enum { ABORTS = 100000, ENDS };

struct cell {
    const char *call, *of;
    enum surroundings in;
    long long wanted;
    long long (*run)(void); /* NULL: there is no such input */
};
extern const struct cell cells_of_runtime[], cells_of_fibers[], cells_of_clusters[], cells_of_values[], cells_of_sync[],
    cells_of_locks[], cells_of_scope[], cells_of_tasks[], cells_of_chan[], cells_of_par[], cells_of_process[],
    cells_of_io[], cells_of_io_async[];

/* Things in all kinds of states, prepared before the cell runs. */
extern struct fixture {
    struct weft_fiber parked, ended, stale, detached, joined;
    struct weft_sem none, one, full;
    struct weft_mutex free, others;
    struct weft_counter nothing, outstanding, most;
    struct weft_cond cond;
    struct weft_rwlock free_rw, others_rw; /* the other is written by somebody */
    struct weft_barrier barrier;           /* of two */
    struct weft_once once, others_once;    /* the other is being done */
    struct weft_latch latch;               /* one is missing */
    struct weft_timer idle, armed, fired, garbage;
    struct weft_key key, deleted;
    struct weft_cluster second, gone; /* one that lasts, and one that was destroyed */
    struct weft_config bad_config;
    struct weft_stats stats;
    struct weft_scope open; /* begun by a fiber that is parked in it */
    struct weft_shield shield;
    struct weft_chan signals, holds_one, closed, *waited_for;
    struct weft_future pending, done, failed;
} fx;

#define LATER (weft_now() + 3600 * WEFT_SECOND)
#define GARBAGE ((struct weft_fiber){UINT64_C(0xdeadbeefcafe1235)})
#define BEYOND ((struct weft_fiber){UINT64_C(0xffffffff00000001)}) /* a number that no record has */
#define NO_CLUSTER ((struct weft_cluster){0})
#define GARBAGE_CLUSTER ((struct weft_cluster){UINT64_C(0xdeadbeefcafe1235)})
#define BEYOND_CLUSTERS ((struct weft_cluster){65}) /* a number that none has */
/* The record of the calling thread is no fiber's, whatever its handle would look like. */
struct weft_fiber of_this_thread(void);
void *nothing_to_do(void *arg);
int returns_seven(void *arg);
void does_nothing(void *arg);
/* Asks the calling fiber to stop, and says 0. */
int cancel_self(void);

#endif
