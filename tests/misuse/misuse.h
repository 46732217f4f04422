/* SPDX-License-Identifier: MIT */
/*
 * Bad input for every public call: a table of calls by cases. A cell names the surroundings in which an expression is
 * evaluated, and the value that it must have. The cells are lists (cells_*.h) of
 *
 *     CELL(call, case, surroundings, wanted, expression) NONE(call, case...)   there is no such input: the call takes
 *     no such argument * read twice, once for the functions and once for the table. A call and a case may have several
 *     cells; every pair must have at least one. Cells that are the same for many calls are one line:
 *
 *     ANYWHERE(call, wanted, expression)         no_runtime, thread, fiber and timer
 *     NO_TIMER(call, wanted, expression)         no_runtime, thread and fiber
 *     WITH_RUNTIME(call, wanted, expression)     thread, fiber and timer
 *     THREAD_OR_FIBER(call, wanted, expression)  both
 *     OBJECT(call, rest...)                      the first argument points to an object: null is -EINVAL; the call
 *                                                cannot recognize stale or garbage pointers
 *     BAD_DESCRIPTORS(call, rest...)             EBADF for descriptors that are stale, garbage and out of range
 *     BY_POOL(call, wanted, expression)          by a thread of the pool: NO_TIMER, and a timer aborts
 *     OPERATION(call, wanted, fd, rest...)       an operation under way on a descriptor: all but zero and state
 *
 * The cases:
 *
 *     null      a NULL where a pointer is expected   range       numbers at and beyond their limits
 *     zero      {0}, zeroed objects                  state       an object or caller in the wrong state
 *     stale     a handle that was valid once         no_runtime  before a start, after a stop
 *     garbage   a handle that was never valid        thread, fiber, timer: valid input, called there
 */
#ifndef WEFT_TESTS_MISUSE_H
#define WEFT_TESTS_MISUSE_H

#include "../test.h"

#include <string.h>

enum surroundings {
    NOTHING, /* no runtime; there was one */
    THREAD,
    FIBER,
    EITHER, /* in a fiber, and then in a thread, with the same outcome */
    TIMER,
};

#define ANYWHERE(call, wanted, expression) \
    CELL(call, no_runtime, NOTHING, wanted, expression) \
    WITH_RUNTIME(call, wanted, expression)
#define NO_TIMER(call, wanted, expression) \
    CELL(call, no_runtime, NOTHING, wanted, expression) \
    THREAD_OR_FIBER(call, wanted, expression)
#define WITH_RUNTIME(call, wanted, expression) \
    THREAD_OR_FIBER(call, wanted, expression) \
    CELL(call, timer, TIMER, wanted, expression)
#define THREAD_OR_FIBER(call, wanted, expression) \
    CELL(call, thread, THREAD, wanted, expression) \
    CELL(call, fiber, FIBER, wanted, expression)
#define OBJECT(call, ...) \
    CELL(call, null, EITHER, -EINVAL, weft_##call(NULL, ##__VA_ARGS__)) \
    NONE(call, stale, garbage)
#define BAD_DESCRIPTORS(call, ...) \
    CELL(call, stale, EITHER, -EBADF, told(weft_##call(closed(), __VA_ARGS__))) \
    CELL(call, garbage, EITHER, -EBADF, told(weft_##call(123456789, __VA_ARGS__))) \
    CELL(call, range, EITHER, -EBADF, told(weft_##call(-1, __VA_ARGS__)))
#define BY_POOL(call, wanted, expression) \
    NO_TIMER(call, wanted, expression) \
    CELL(call, timer, TIMER, ABORTS, expression)
#define OPERATION(call, wanted, fd, ...) \
    CELL(call, null, EITHER, -EINVAL, weft_##call(NULL, fd, __VA_ARGS__)) \
    CELL(call, stale, FIBER, -EBADF, finish(weft_##call(&io, closed(), __VA_ARGS__))) \
    CELL(call, garbage, FIBER, -EBADF, finish(weft_##call(&io, 123456789, __VA_ARGS__))) \
    CELL(call, range, FIBER, -EBADF, finish(weft_##call(&io, -1, __VA_ARGS__))) \
    CELL(call, no_runtime, NOTHING, -EPERM, weft_##call(&io, fd, __VA_ARGS__)) \
    CELL(call, thread, THREAD, -EPERM, weft_##call(&io, fd, __VA_ARGS__)) \
    CELL(call, fiber, FIBER, wanted, finish(weft_##call(&io, fd, __VA_ARGS__))) \
    CELL(call, timer, TIMER, -EPERM, weft_##call(&io, fd, __VA_ARGS__))

/* Outcomes that are no number. */
enum { ABORTS = 100000, ENDS };

struct cell {
    const char *call, *of; /* of: the case; of NONE, the cases, between commas */
    enum surroundings in;
    long long wanted;
    long long (*run)(void); /* NULL: there is no such input */
};
extern const struct cell cells_of_runtime[], cells_of_fibers[], cells_of_clusters[], cells_of_values[], cells_of_sync[],
    cells_of_locks[], cells_of_scope[], cells_of_tasks[], cells_of_chan[], cells_of_par[], cells_of_process[],
    cells_of_io[], cells_of_io_async[], cells_of_stream[], cells_of_file[];

/* Objects in all kinds of states, prepared before the cell runs. */
extern struct fixture {
    struct weft_fiber parked, ended, stale, detached, joined;
    struct weft_sem none, one, full;
    struct weft_mutex free, others;
    struct weft_counter nothing, outstanding, most;
    struct weft_cond cond;
    struct weft_rwlock free_rw, others_rw; /* a writer holds the other */
    struct weft_barrier barrier;           /* of two */
    struct weft_once once, others_once;    /* the other is being done */
    struct weft_latch latch;               /* one is missing */
    struct weft_timer idle, armed, fired, garbage;
    struct weft_key key, deleted;
    struct weft_cluster second, gone; /* alive, and destroyed */
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
/* A handle to the record of the calling thread, which does not belong to a fiber. */
struct weft_fiber of_this_thread(void);
void *nothing_to_do(void *arg);
int returns_seven(void *arg);
void does_nothing(void *arg);
/* Cancels the calling fiber, and returns 0. */
int cancel_self(void);

#endif
