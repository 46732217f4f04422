/* SPDX-License-Identifier: MIT */
/*
 * weft: fibers for C.
 *
 * A fiber is a thread of control that costs a few kilobytes. It runs ordinary C code and may block: while it waits, its
 * kernel thread runs other fibers. This header includes most of the interface. Three headers stand on their own:
 * <weft/io.h> for input and output, <weft/sort.h> and <weft/scan.h> for algorithms over one type. <weft/tls.h> belongs
 * to a separate library. Everything works from C11 and from C++11.
 *
 * How to read the comments:
 *
 *   - A function returns 0, or a negative errno such as -EINVAL, unless its comment says otherwise. "Errors:" lists the
 *     errors of the function itself.
 *   - The last line of each comment, in brackets, names the permitted callers: "fiber" a fiber; "thread" any other
 *     thread of the program; "signal" a signal handler. No function may be called from a signal handler unless it says
 *     so.
 *   - "parks" means that the call may suspend its caller. Other fibers run meanwhile. A thread blocks in the kernel
 *     instead, and uses no CPU.
 *   - "cancel" means that the call is a cancellation point. When the caller is cancelled and would have to wait, the
 *     call returns -ECANCELED; when the deadline of a scope around the caller has passed, it returns -ETIMEDOUT. The
 *     call has then taken nothing and changed nothing. These two errors are not repeated in each list.
 *   - Deadlines are points in time on the clock of weft_now(), in nanoseconds. WEFT_FOREVER means no deadline. A call
 *     that takes a deadline returns -ETIMEDOUT when it has passed.
 *
 * A fiber may continue on another kernel thread after any call that parks. Thread-local variables of the C library and
 * of the program belong to the kernel thread: read them again after such a call. weft takes care of errno, see below.
 */
#ifndef WEFT_H
#define WEFT_H

#include <errno.h>
#include <stddef.h>
#include <stdint.h>

#include "weft/attributes.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The version of the headers that the program was compiled with. */
#define WEFT_VERSION_MAJOR 0
#define WEFT_VERSION_MINOR 1
#define WEFT_VERSION_PATCH 0

/*
 * Returns the version of the library that the program runs with, "0.1.0" for instance.
 *
 * Errors: none.
 * [fiber thread signal]
 */
const char *weft_version(void);

/*
 * Returns the address of errno on the current kernel thread. weft.h defines errno by this call.
 *
 * The C library allows a compiler to compute the address of errno once and keep it. After a fiber has moved, that is
 * the errno of the wrong thread. The compiler cannot keep the result of this function.
 *
 * Functions that return a negative errno do not set errno. Functions that release something (unlock, post, complete,
 * close a channel, weft_scope_end) leave it unchanged. Other calls that park may change it, like any library call.
 *
 * Errors: none.
 * [fiber thread signal]
 */
int *weft_errno_location(void);
#undef errno
#define errno (*weft_errno_location())

/* ---------------------------------------------------------------------------------------------
 * The runtime
 *
 * A process has at most one runtime at a time. The runtime runs fibers on its own kernel threads, the workers. The
 * program's threads start it, spawn fibers, wait for results and stop it, as often as they like.
 * ------------------------------------------------------------------------------------------ */

/*
 * The configuration of a runtime or of a cluster. Initialise it with WEFT_CONFIG_INIT and set the members that matter;
 * a member that is 0 has its default. Environment variables fill in members that are 0: the README has the table.
 *
 * This struct, weft_attr, weft_stats and weft_delays may grow at their ends. Functions that take one also pass the size
 * that the program was compiled with. So an older program works with a newer library. A newer program that sets a
 * member unknown to an older library gets -E2BIG. Therefore always initialise the whole struct.
 */
struct weft_config {
    unsigned workers;     /* kernel threads that run fibers; 0: as many as the affinity mask and CPU quota allow */
    size_t stack_size;    /* bytes of stack for each fiber, rounded up to a power of two; 0: 128 KiB */
    unsigned no_stealing; /* 1: workers do not steal fibers from each other; for comparisons */
    unsigned no_helping;  /* 1: a busy worker never takes fibers that wait longer on another worker */
    unsigned no_rescue;   /* 1: no spare worker takes over the queue of a worker that is stuck */
    unsigned no_guards;   /* 1: stacks have no guard pages, and overflows go unnoticed */
    unsigned
        no_deadlock; /* if all fibers are blocked for ever, weft_run 0: ends all, 1: hangs, 2: aborts; 3: never looks */
    unsigned stats;  /* 1: print statistics to standard error when the runtime stops */
    uint64_t delay_limit;   /* ns; report ready fibers that wait longer for a worker, at most ten a second; 0: off */
    unsigned bind;          /* 1: bind each worker to one CPU; 0: the kernel places workers */
    unsigned unpark;        /* where a woken fiber continues: WEFT_UNPARK_LOCAL or WEFT_UNPARK_LAST */
    unsigned continuations; /* 1: a fork runs the call at once, and thieves take the caller's continuation */
    unsigned deque;         /* the queue for forked tasks: WEFT_DEQUE_SPLIT, or another kind for comparisons */
    unsigned own_tls;       /* 1: every fiber has thread-local variables of its own, see struct weft_attr */
};

/* Kinds of queue for forked tasks. Every kind gives the same results; they differ in speed. */
enum {
    WEFT_DEQUE_SPLIT,     /* no fence and no locked instruction as long as no worker looks for work; the default */
    WEFT_DEQUE_CHASE_LEV, /* one fence for each join */
    WEFT_DEQUE_ABP,       /* one fence for each join; if a fiber has very many tasks, only the oldest can be stolen */
    WEFT_DEQUE_LOCKED,    /* one lock for each fork and each join */
    WEFT_DEQUES           /* the number of kinds */
};

/* Where a woken fiber continues. */
enum {
    WEFT_UNPARK_LOCAL, /* on the worker that woke it: the data handed over is in its cache; the default */
    WEFT_UNPARK_LAST,  /* on the worker that ran it last: its own data may be in that cache */
};

/* Initialises a struct weft_config with defaults. */
#define WEFT_CONFIG_INIT WEFT_ZERO

/* The largest number of workers of a cluster. */
#define WEFT_WORKERS_MAX 1024

/*
 * Starts a runtime, runs main(arg) as the first fiber, waits until every fiber has ended, and stops the runtime.
 * Returns the result of main; if main ended by weft_fiber_exit(result), returns (int)(intptr_t)result.
 *
 *     static int run(void *arg) { puts("hello from a fiber"); return 0; }
 *     int main(void) { return weft_run(run, NULL, NULL); }
 *
 * Fibers that can never be woken are reported, not awaited. If some are left when main has returned, weft names them on
 * standard error and cancels them. If main itself and all other fibers wait for each other, and no timer, descriptor,
 * signal or thread can wake one, weft explains the deadlock on standard error within a few seconds, with the line of
 * each wait. It then cancels all fibers. With no_deadlock 1, or WEFT_DEADLOCK=0, it leaves them alone and the program
 * hangs. With no_deadlock 2, or WEFT_DEADLOCK=2, it checks a hundred times a second from the start, and aborts the
 * program when it finds a deadlock. Use that in tests, or to get a core file. With 3 it does not look, and prints
 * nothing.
 *
 *   config   the configuration; NULL for the defaults
 *
 * Errors:
 *   -EINVAL    main is NULL, or the configuration is out of range
 *   -EBUSY     a runtime is already running; or fibers did not end even after they were cancelled, and were abandoned
 *   -EDEADLK   all fibers waited for each other, and were cancelled
 *   -EAGAIN    the kernel did not give enough threads
 *   -ENOMEM    out of memory
 *   -E2BIG     the configuration has members that this library does not know
 * [thread]
 */
WEFT_MUST_USE static inline int weft_run(int (*main)(void *), void *arg, const struct weft_config *config);
int weft__run(int (*main)(void *), void *arg, const struct weft_config *config, size_t size);
static inline int weft_run(int (*main)(void *), void *arg, const struct weft_config *config) {
    return weft__run(main, arg, config, sizeof(struct weft_config));
}

/*
 * Starts a runtime and returns. For programs with threads of their own: they spawn fibers, wait for results, and call
 * weft_stop at the end.
 *
 *   config   the configuration; NULL for the defaults
 *
 * Errors:
 *   -EINVAL   the configuration is out of range
 *   -EBUSY    a runtime is already running
 *   -EAGAIN   the kernel did not give enough threads
 *   -ENOMEM   out of memory
 *   -E2BIG    the configuration has members that this library does not know
 * [thread]
 */
WEFT_MUST_USE static inline int weft_start(const struct weft_config *config);
int weft__start(const struct weft_config *config, size_t size);
static inline int weft_start(const struct weft_config *config) {
    return weft__start(config, sizeof(struct weft_config));
}

/*
 * Waits until every fiber has ended, then stops the runtime.
 *
 * From the call on, threads can neither spawn fibers nor create clusters (-ESRCH). Fibers and timer functions still
 * can. Everything accepted before runs to its end. When only background fibers (weft_attr) are left, and no
 * asynchronous operation is in flight, weft cancels these fibers and waits for them.
 *
 * When the remaining fibers can never be woken, weft_stop names them on standard error and returns -EBUSY. The runtime
 * keeps running: wake or cancel those fibers and stop again. weft_stop does this only when it is certain. As long as
 * another thread of the program could still wake a fiber, weft_stop waits. It reports that in one line after a second,
 * and then less and less often. It assumes that a thread which waits inside weft without a deadline wakes no fiber.
 *
 * Errors:
 *   -EBUSY     fibers are left that can never be woken; or another thread is starting or stopping the runtime
 *   -ESRCH     no runtime is running
 *   -EDEADLK   the caller is a fiber or a timer function
 * [thread]
 */
int weft_stop(void);

/*
 * Returns the number of workers of the caller's cluster; for a thread, that of the first cluster. Returns 0 when no
 * runtime is running.
 *
 * Errors: none.
 * [fiber thread]
 */
unsigned weft_workers(void);

/* ---------------------------------------------------------------------------------------------
 * Fibers
 *
 * A fiber runs one function to its end. Another fiber or thread may join it and receive the function's result.
 * ------------------------------------------------------------------------------------------ */

/*
 * A handle of a fiber. It is valid until the fiber was joined or, if the fiber is detached, until it has ended. Calls
 * with a stale handle return -ESRCH. Handles may be copied, and compared by their id. A zero handle stands for no
 * fiber.
 */
struct weft_fiber {
    uint64_t id;
};

struct weft_counter;

/* A handle of a cluster. A zero handle stands for the caller's own cluster; for a thread, the first cluster. */
struct weft_cluster {
    uint64_t id;
};

/*
 * Priorities of ready fibers on one worker. High fibers run before normal fibers, and low fibers after them. So that no
 * fiber starves, a quarter of all turns goes to normal fibers and one turn in 32 to low fibers.
 */
enum { WEFT_NORMAL, WEFT_HIGH, WEFT_LOW };

/* Attributes of a new fiber. Initialise them with WEFT_ATTR_INIT; a member that is 0 has its default. */
struct weft_attr {
    const char *name;  /* shown in messages; weft keeps the first 15 bytes */
    size_t stack_size; /* bytes, rounded up to a power of two from 16 KiB to 64 MiB; 0: as configured */
    unsigned detached; /* 1: the fiber cannot be joined */
    unsigned pinned;   /* n: run only on worker n - 1, or on its stand-in while that worker is stuck; 0: anywhere */
    unsigned node;     /* n: start on memory node n - 1 if a worker runs there; 0: start where it is spawned */
    unsigned priority; /* WEFT_NORMAL, WEFT_HIGH or WEFT_LOW; has no effect on a pinned fiber */
    struct weft_cluster cluster;  /* zero: the caller's cluster; for a thread, the first */
    struct weft_counter *counter; /* weft_counter_complete is called once when the fiber has ended; for a child of a
                                     scope, when its function has returned */
    unsigned background;          /* 1: the fiber does not keep the runtime alive, see weft_stop. Not in a scope */
    unsigned own_tls;             /* 1: the fiber has its own copies of all thread-local variables, also of errno and
                                     of libraries; their destructors run when it ends. See docs/THREADS.md */
};

/* Initialises a struct weft_attr with defaults. */
#define WEFT_ATTR_INIT WEFT_ZERO

/* Turns its argument into a string after expanding it. */
#define WEFT_STR_(x) #x
#define WEFT_STR(x) WEFT_STR_(x)

/* The current source line as a string, "file.c:12". weft_spawn passes it to weft_spawn_at. */
#define WEFT_HERE __FILE__ ":" WEFT_STR(__LINE__)

/*
 * Creates a fiber that runs fn(arg), and returns without waiting for it.
 *
 *     struct weft_fiber fiber;
 *     void *result;
 *     if (weft_spawn(&fiber, NULL, work, &item) == 0 && weft_join(fiber, &result) == 0) use(result);
 *
 * The fiber gets its stack when it runs for the first time. weft_spawn is a macro: it records the source line of the
 * call for messages.
 *
 * Synopsis: int weft_spawn(struct weft_fiber *fiber, const struct weft_attr *attr, void *(*fn)(void *), void *arg);
 *
 *   fiber   receives the handle, a zero handle after an error; NULL creates a detached fiber
 *   attr    attributes; NULL for the defaults
 *
 * Errors:
 *   -EINVAL   fn is NULL, or an attribute is out of range
 *   -ESRCH    no runtime is running, a thread calls while it stops, or the cluster does not exist
 *   -EAGAIN   no stack is available, and fibers spawned earlier already wait for one; they start as stacks become free
 *   -ENOMEM   out of memory
 *   -E2BIG    the attributes have members that this library does not know
 *   -ENOTSUP  own_tls: a static program, a sanitizer, an unknown C library, or a kernel without FSGSBASE
 * [fiber thread]
 */
#define weft_spawn(...) weft_spawn_at(__VA_ARGS__, WEFT_HERE)

/*
 * Does what weft_spawn does; the caller chooses the source line that messages show. This is a function, for wrappers
 * and other languages.
 *
 *   where   a string that is never freed
 *
 * Errors: those of weft_spawn.
 * [fiber thread]
 */
WEFT_MUST_USE static inline int weft_spawn_at(struct weft_fiber *fiber, const struct weft_attr *attr,
                                              void *(*fn)(void *), void *arg, const char *where);
int weft__spawn(struct weft_fiber *fiber, const struct weft_attr *attr, void *(*fn)(void *), void *arg,
                const char *where, size_t size);
static inline int weft_spawn_at(struct weft_fiber *fiber, const struct weft_attr *attr, void *(*fn)(void *), void *arg,
                                const char *where) {
    return weft__spawn(fiber, attr, fn, arg, where, sizeof(struct weft_attr));
}

/* For weft.hpp: the result of a spawn without attributes. It fits into two registers. */
struct weft__spawned {
    struct weft_fiber fiber;
    int64_t error; /* 0, or one of weft_spawn */
};
struct weft__spawned weft__spawn_plain(void *(*fn)(void *), void *arg, const char *where);

/*
 * Waits until a fiber has ended and stores its result. The handle is invalid afterwards. Memory written by the fiber is
 * visible after the join. After -ECANCELED or -ETIMEDOUT the fiber can still be joined.
 *
 *   result   receives the value that the fiber's function returned; may be NULL
 *
 * Errors:
 *   -ESRCH     the handle is stale or zero
 *   -EINVAL    the fiber is detached
 *   -EBUSY     another caller is joining the fiber
 *   -EDEADLK   the fiber is the caller
 * [fiber thread; parks, cancel]
 */
WEFT_MUST_USE int weft_join(struct weft_fiber fiber, void **result);
WEFT_MUST_USE int weft_join_until(struct weft_fiber fiber, void **result, uint64_t deadline);

/*
 * Detaches a fiber: it cannot be joined any more, and frees its record when it ends.
 *
 * Errors:
 *   -ESRCH    the handle is stale or zero
 *   -EINVAL   the fiber is already detached
 *   -EBUSY    a caller is joining the fiber
 * [fiber thread]
 */
int weft_detach(struct weft_fiber fiber);

/*
 * Returns the handle of the calling fiber; a zero handle on any other thread.
 *
 * Errors: none.
 * [fiber thread]
 */
struct weft_fiber weft_self(void);

/*
 * Returns the number of the worker that runs the caller, counted from 0. It may change with every call that parks. A
 * stand-in for a stuck worker has a number of weft_workers() or above.
 *
 * Errors: -EPERM if the caller is not a fiber.
 * [fiber]
 */
int weft_worker(void);

/*
 * Lets the other ready fibers of this worker run first. A thread calls sched_yield instead.
 *
 * Errors: none.
 * [fiber thread]
 */
void weft_yield(void);

/*
 * Ends the calling fiber as if its function had returned `result`. Clean-up handlers run (weft_cleanup_push) and open
 * scopes are cancelled and ended. The frames below are abandoned: C++ destructors do not run.
 *
 * A forked call (weft/task.h) and a function called by a loop or algorithm (weft/par.h) must return. If one of them
 * calls weft_fiber_exit, or a thread does, the program prints one line and aborts.
 *
 * Errors: none; the function does not return.
 * [fiber]
 */
#ifdef __cplusplus
[[noreturn]]
#else
_Noreturn
#endif
void weft_fiber_exit(void *result);

/* ---------------------------------------------------------------------------------------------
 * Park and unpark
 *
 * Each fiber has one permit, which is absent at first. weft_unpark grants the permit. weft_park waits until the permit
 * is present and consumes it. So an unpark that comes before the park is not lost, and two of them count as one. This
 * is the primitive for building other ways to wait; most programs use those of weft/sync.h and weft/chan.h.
 * ------------------------------------------------------------------------------------------ */

/*
 * Waits until the permit of the calling fiber is present, and consumes it.
 *
 * Errors: -EPERM if the caller is not a fiber.
 * [fiber; parks, cancel]
 */
WEFT_MUST_USE int weft_park(void);
WEFT_MUST_USE int weft_park_until(uint64_t deadline);

/*
 * Grants a fiber its permit and wakes it if it waits for one. What the caller wrote before is visible to the fiber
 * after its park.
 *
 * Errors: -ESRCH if the handle is stale or zero.
 * [fiber thread]
 */
int weft_unpark(struct weft_fiber fiber);

/* ---------------------------------------------------------------------------------------------
 * Cancellation
 *
 * Cancellation is a request that stays. It ends the wait in which the fiber is parked. From then on, each cancellation
 * point of the fiber that would have to wait returns -ECANCELED instead. A call that need not wait, because the permit
 * or the item is there, still succeeds. The fiber decides what to do; most fibers clean up and return. Calls that give
 * something back (unlock, post, close) and locking a mutex are no cancellation points: they always complete.
 *
 * Scopes (weft/scope.h) cancel the fibers in them after a failure or a deadline. Shields hold cancellation off.
 * ------------------------------------------------------------------------------------------ */

/*
 * Cancels a fiber. That includes the scopes it has begun with everything in them, and the calls it has forked
 * (weft/task.h), unless it forked them inside a shield. Its loops and algorithms (weft/par.h) start no further pieces.
 *
 * Errors: -ESRCH if the handle is stale or zero.
 * [fiber thread]
 */
int weft_cancel(struct weft_fiber fiber);

/*
 * Tells whether the caller was cancelled, by weft_cancel or by a scope around it. Returns 0 if not, or while it is
 * inside a shield. Otherwise returns the reason: WEFT_BY_REQUEST, WEFT_BY_FAILURE or WEFT_BY_DEADLINE. For loops that
 * compute without ever waiting.
 *
 * Errors: none.
 * [fiber thread]
 */
int weft_cancelled(void);

/* ---------------------------------------------------------------------------------------------
 * Fiber-local values
 *
 * Values that belong to a fiber as thread-local variables belong to a thread. They work on threads, too.
 * ------------------------------------------------------------------------------------------ */

/* A key for values that each fiber has for itself, like a thread-local variable. */
struct weft_key {
    unsigned index;
};

/* The largest number of keys at a time. */
#define WEFT_KEYS_MAX 128

/*
 * Creates a key. The value for it is NULL in every fiber and thread.
 *
 *   destroy   called with the value when a fiber ends and its value is not NULL; may be NULL
 *
 * Errors:
 *   -EINVAL   key is NULL
 *   -EAGAIN   all WEFT_KEYS_MAX keys are in use
 * [fiber thread]
 */
WEFT_MUST_USE int weft_key_create(struct weft_key *key, void (*destroy)(void *));

/*
 * Deletes a key. Does not call the destructor for values that exist.
 *
 * Errors: -EINVAL if the key does not exist.
 * [fiber thread]
 */
int weft_key_delete(struct weft_key key);

/*
 * Returns the caller's value for a key; NULL if none was set or the key does not exist.
 *
 * Errors: none.
 * [fiber thread]
 */
void *weft_local_get(struct weft_key key);

/*
 * Sets the caller's value for a key.
 *
 * Errors:
 *   -EINVAL   the key does not exist
 *   -ENOMEM   out of memory
 * [fiber thread]
 */
WEFT_MUST_USE int weft_local_set(struct weft_key key, void *value);

/* ---------------------------------------------------------------------------------------------
 * Time
 *
 * All times are nanoseconds of the monotonic clock.
 * ------------------------------------------------------------------------------------------ */

/* The deadline that never comes. */
#define WEFT_FOREVER UINT64_MAX

/* Durations in nanoseconds: weft_now() + 5 * WEFT_SECOND is in five seconds. */
#define WEFT_MICROSECOND UINT64_C(1000)
#define WEFT_MILLISECOND UINT64_C(1000000)
#define WEFT_SECOND UINT64_C(1000000000)

/*
 * Returns the time of the monotonic clock in nanoseconds.
 *
 * Errors: none.
 * [fiber thread signal]
 */
uint64_t weft_now(void);

/*
 * Sleeps for a duration, or until a point in time. A cancelled caller gets its error at once, even if the duration is
 * 0. A loop that sleeps must look at the result: otherwise it goes round without waiting once its fiber is cancelled.
 *
 * Errors: none besides cancellation.
 * [fiber thread; parks, cancel]
 */
int weft_sleep_for(uint64_t nanoseconds);
int weft_sleep_until(uint64_t deadline);

/*
 * A timer calls fn(arg) once, at its deadline or soon after, on some worker and between fibers. The function must be
 * short and must not park: no other worker takes over from it. It may arm the timer again. Arming and cancelling need
 * no system call and no process-wide lock. The memory is the caller's; it must stay until the timer has fired or was
 * cancelled.
 *
 * weft_stop does not wait for timers unless a timer could still wake a fiber. A timer that is armed when the runtime
 * has stopped does not fire. It can be armed again in the next runtime.
 */
struct weft_timer {
    void *opaque[8];
};

/* Initialises a struct weft_timer. */
#define WEFT_TIMER_INIT \
    { \
        { NULL } \
    }

/*
 * Arms a timer: fn(arg) is called at the deadline. If several callers arm a timer at the same time, one succeeds.
 *
 * Errors:
 *   -EINVAL   timer or fn is NULL
 *   -EBUSY    the timer is already armed
 *   -ESRCH    no runtime is running, or it is just stopping
 * [fiber thread]
 */
WEFT_MUST_USE int weft_timer_arm(struct weft_timer *timer, uint64_t deadline, void (*fn)(void *), void *arg);

/*
 * Cancels a timer without waiting. 0 means that the function was not called since the timer was armed and will not be.
 * After -EALREADY the function may still be running: use weft_timer_stop before freeing its memory.
 *
 * Errors: -EALREADY if the function was called or is running, or the timer is not armed.
 * [fiber thread]
 */
WEFT_MUST_USE int weft_timer_cancel(struct weft_timer *timer);

/*
 * Cancels a timer and waits until its function has returned, even if the function arms the timer again. Afterwards the
 * function will not be called and the memory may be freed. Returns 0 if the function was not called since the timer was
 * armed. The wait cannot be cancelled.
 *
 * Errors:
 *   -EALREADY   the function was called and has returned, or the timer was not armed
 *   -EDEADLK    the caller is a timer function
 * [fiber thread; parks]
 */
int weft_timer_stop(struct weft_timer *timer);

/* ---------------------------------------------------------------------------------------------
 * Clusters
 *
 * A cluster is a set of workers that share fibers among themselves and with no other cluster. The runtime starts with
 * one cluster. A program can create more to keep kinds of work apart. Fibers of different clusters use the same locks
 * and channels and wake each other as within one cluster.
 * ------------------------------------------------------------------------------------------ */

/*
 * Creates a cluster with its own workers. It exists until it is destroyed or the runtime stops.
 *
 *   config   the configuration; NULL for the defaults. no_guards and stats have no effect here
 *
 * Errors:
 *   -EINVAL   cluster is NULL, or the configuration is out of range
 *   -ESRCH    no runtime is running, or the caller is a thread and the runtime is stopping
 *   -ENOMEM   out of memory, or 64 clusters exist
 *   -EAGAIN   the kernel did not give enough threads
 *   -E2BIG    the configuration has members that this library does not know
 * [fiber thread; blocks the kernel thread while it creates threads]
 */
WEFT_MUST_USE static inline int weft_cluster_create(struct weft_cluster *cluster, const struct weft_config *config);
int weft__cluster_create(struct weft_cluster *cluster, const struct weft_config *config, size_t size);
static inline int weft_cluster_create(struct weft_cluster *cluster, const struct weft_config *config) {
    return weft__cluster_create(cluster, config, sizeof(struct weft_config));
}

/*
 * Creates one cluster for each memory node on which the process may run, at most n. Each has as many workers as the
 * process has CPUs on that node, and its workers stay there. Returns the number of clusters created. After an error
 * none was created.
 *
 * Errors: those of weft_cluster_create.
 * [fiber thread; blocks the kernel thread while it creates threads]
 */
WEFT_MUST_USE static inline int weft_cluster_per_node(struct weft_cluster *clusters, unsigned n,
                                                      const struct weft_config *config);
int weft__cluster_per_node(struct weft_cluster *clusters, unsigned n, const struct weft_config *config, size_t size);
static inline int weft_cluster_per_node(struct weft_cluster *clusters, unsigned n, const struct weft_config *config) {
    return weft__cluster_per_node(clusters, n, config, sizeof(struct weft_config));
}

/*
 * Destroys a cluster. Timers that its fibers armed still fire, and I/O that they started continues on another cluster.
 * Only a chain of weft_uring ends early, with -ECANCELED. If a fiber was moved away and still runs here, the call waits
 * until that fiber parks.
 *
 * Errors:
 *   -EBUSY     fibers live in the cluster, and nothing has changed: join, cancel or move them first
 *   -EDEADLK   the caller is a fiber of the cluster
 *   -EINVAL    it is the first cluster
 *   -ESRCH     the cluster does not exist
 * [fiber thread]
 */
int weft_cluster_destroy(struct weft_cluster cluster);

/*
 * Returns the cluster of the calling fiber; a zero handle on any other thread.
 *
 * Errors: none.
 * [fiber thread]
 */
struct weft_cluster weft_cluster_self(void);

/*
 * Moves a fiber to a cluster. The caller itself moves at once. Any other fiber moves when it next becomes ready or
 * yields. A moved fiber is no longer pinned.
 *
 *   fiber   the fiber; a zero handle stands for the caller
 *
 * Errors:
 *   -ESRCH   the fiber or the cluster does not exist
 *   -EPERM   the handle is zero and the caller is not a fiber
 * [fiber thread; parks]
 */
WEFT_MUST_USE int weft_cluster_move(struct weft_fiber fiber, struct weft_cluster to);

/*
 * Changes the number of workers. Surplus workers finish what they run, hand on what is queued, and sleep; fibers pinned
 * to them still run there. No other fiber pauses. Any fiber or thread may call this at any time.
 *
 *   workers   the number; 0: as many as the affinity mask and the CPU quota allow, now and whenever these change
 *
 * Errors:
 *   -EINVAL   more than WEFT_WORKERS_MAX workers
 *   -ESRCH    the cluster does not exist
 *   -EAGAIN   the kernel did not give enough threads; the cluster has as many workers as possible
 *   -ENOMEM   out of memory; likewise
 * [fiber thread]
 */
WEFT_MUST_USE int weft_cluster_resize(struct weft_cluster cluster, unsigned workers);

/*
 * Returns the number of workers of a cluster.
 *
 * Errors: -ESRCH if the cluster does not exist.
 * [fiber thread]
 */
int weft_cluster_workers(struct weft_cluster cluster);

/*
 * Waits until a cluster is idle or has been destroyed. Idle means: no fiber is ready or running, no timer is armed, and
 * no fiber is on its way to the cluster. A fiber that drains its own cluster does not count. A sleeping fiber counts
 * where it went to sleep, even if it was moved since.
 *
 * Errors: -ESRCH if the cluster does not exist.
 * [fiber thread; parks, cancel]
 */
WEFT_MUST_USE int weft_cluster_drain(struct weft_cluster cluster);
WEFT_MUST_USE int weft_cluster_drain_until(struct weft_cluster cluster, uint64_t deadline);

/* ---------------------------------------------------------------------------------------------
 * Statistics and diagnosis
 *
 * weft always counts; the counters cost nothing noticeable. Numbers only grow while the runtime runs. `weft dump` and
 * `weft explain` show a running program from outside, see docs/OBSERVABILITY.md.
 * ------------------------------------------------------------------------------------------ */

/* Counters of one worker or of all workers. */
struct weft_stats {
    uint64_t spawned;      /* fibers created */
    uint64_t completed;    /* fibers that have ended */
    uint64_t switches;     /* times a fiber started or continued to run */
    uint64_t parks;        /* waits that suspended a fiber */
    uint64_t unparks;      /* fibers made ready again */
    uint64_t steals_tried; /* attempts to take fibers from another worker's queue */
    uint64_t steals;       /* attempts that took something */
    uint64_t helps;        /* times a busy worker took fibers that waited longer on another worker */
    uint64_t moved;        /* fibers taken by steals and helps */
    uint64_t sleeps;       /* times the kernel thread went to sleep */
    uint64_t wakeups;      /* times another thread woke it */
    uint64_t timers;       /* deadlines and timers that passed */
    uint64_t tasks_stolen; /* forked calls that ran on another fiber than the forking one */
    uint64_t joins_parked; /* joins of tasks that had to wait */
    uint64_t by_request;   /* fibers cancelled by weft_cancel or weft_scope_cancel */
    uint64_t by_failure;   /* fibers cancelled because another fiber of their scope failed */
    uint64_t by_deadline;  /* fibers cancelled by the deadline of their scope */
    uint64_t busy_ns;      /* time not spent searching for work or asleep */
};

/*
 * Reads the counters of the whole runtime: all workers of all clusters, present and past, and threads that handed in
 * work.
 *
 * Errors:
 *   -EINVAL   stats is NULL
 *   -ESRCH    no runtime is running
 * [fiber thread]
 */
int weft__stats_read(struct weft_stats *stats, size_t size);
static inline int weft_stats_read(struct weft_stats *stats) {
    return weft__stats_read(stats, sizeof(struct weft_stats));
}

/*
 * Reads the counters of one worker of the caller's cluster; for a thread, of the first cluster.
 *
 * Errors:
 *   -EINVAL   stats is NULL, or there is no such worker
 *   -ESRCH    no runtime is running
 * [fiber thread]
 */
int weft__stats_worker(unsigned worker, struct weft_stats *stats, size_t size);
static inline int weft_stats_worker(unsigned worker, struct weft_stats *stats) {
    return weft__stats_worker(worker, stats, sizeof(struct weft_stats));
}

/*
 * How long ready fibers waited for a worker, in nanoseconds. weft samples: it times one fiber at a time for each
 * worker's queue, at most one every 8 microseconds, and likewise for high priority, low priority, pinned fibers, and
 * fibers that come from outside the cluster. Percentiles come from a histogram whose buckets span an eighth of their
 * value. max also covers fibers that were still waiting when the monitor looked, every 4 milliseconds. With no_helping,
 * the workers' queues are not timed.
 */
struct weft_delays {
    uint64_t timed; /* number of samples */
    uint64_t p50, p99, p999, max;
    uint64_t late; /* samples above delay_limit */
};

/*
 * Reads the delays of a cluster.
 *
 * Errors:
 *   -EINVAL   delays is NULL
 *   -ESRCH    the cluster does not exist
 * [fiber thread]
 */
int weft__delays_read(struct weft_cluster cluster, struct weft_delays *delays, size_t size);
static inline int weft_delays_read(struct weft_cluster cluster, struct weft_delays *delays) {
    return weft__delays_read(cluster, delays, sizeof(struct weft_delays));
}

/* A fiber that has kept its worker for 4 ms or more, because it computes or sits in a blocking call. */
struct weft_hog {
    struct weft_fiber fiber;
    uint64_t since;    /* the time of weft_now() at which it began, accurate to 4 ms */
    const char *where; /* the source line that spawned it */
    char name[16];
    unsigned worker;
};

/*
 * Lists the fibers of a cluster that keep their workers right now. Returns how many there are, which may exceed n.
 *
 *   hogs   receives at most n entries; may be NULL if n is 0
 *
 * Errors:
 *   -EINVAL   hogs is NULL and n is not 0
 *   -ESRCH    the cluster does not exist
 * [fiber thread]
 */
int weft_hogs(struct weft_cluster cluster, struct weft_hog *hogs, unsigned n);

/*
 * Writes to fd what the hogs of a cluster are doing: one line for each, followed by its backtrace. Returns how many
 * were written. A fiber that has meanwhile given its worker back is left out. So is a fiber that does not answer within
 * a second, because it blocks signals or is stuck in the kernel.
 *
 * weft interrupts each hog with SIGURG. System calls that the kernel does not restart after a handler with SA_RESTART
 * (nanosleep, poll, epoll_wait and others, see signal(7)) return early with EINTR. The first call installs the handler,
 * which passes every other SIGURG on; it is removed with the runtime. Function names are those that the dynamic linker
 * knows: link with -rdynamic. Other frames are shown as addresses for addr2line.
 *
 * Errors:
 *   -EBADF       fd is not open
 *   -ESRCH       the cluster does not exist
 *   -ETIMEDOUT   another call is still waiting for a hog
 *   other        errors of write(2)
 * [fiber thread; blocks the kernel thread]
 */
int weft_hogs_backtrace(struct weft_cluster cluster, int fd);

/*
 * Writes to fd what `weft dump` shows of this process: every fiber with its state, what it waits for and what holds
 * that, where it was spawned, and its stack. Fibers with equal stacks are shown together. The environment variable
 * WEFT_DUMP names a signal, QUIT for instance, that writes the same to standard error.
 *
 * Fibers keep running meanwhile. Records that changed while they were read are marked as torn. Running fibers are shown
 * without a stack.
 *
 * Errors:
 *   -ESRCH    no runtime is running
 *   -EBADF    fd is not open
 *   -EPERM    the kernel does not let the process read its own memory by process_vm_readv
 *   -ENOSYS   the kernel has no process_vm_readv
 *   -EAGAIN   no thread is available
 *   -ENOMEM   out of memory
 *   other     errors of write(2)
 * [fiber thread; blocks the kernel thread]
 */
int weft_dump(int fd);

/*
 * Writes the numbers of the runtime to fd in the text format of Prometheus: counters and gauges for each worker, and
 * the histogram of the delays from ready to running.
 *
 * Errors:
 *   -ESRCH    no runtime is running
 *   -EBADF    fd is not open
 *   -ENOMEM   out of memory
 *   other     errors of write(2)
 * [fiber thread; blocks the kernel thread]
 */
int weft_metrics(int fd);

/*
 * Prints the table of statistics to standard error, as WEFT_STATS=1 does when the runtime stops.
 *
 * Errors: -ESRCH if no runtime is running.
 * [fiber thread]
 */
int weft_stats_print(void);

#ifdef __cplusplus
}
#endif

#include "weft/chan.h"
#include "weft/par.h"
#include "weft/poll.h"
#include "weft/scope.h"
#include "weft/signal.h"
#include "weft/sync.h"
#include "weft/task.h"
#ifndef WEFT_NO_OLD_NAMES
#include "weft/old.h"
#endif

#endif
