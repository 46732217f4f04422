/*
 * weft: fibers you may block, on a few kernel threads.
 *
 * This header, those in weft/ that it includes, and two that stand by themselves, <weft/io.h> for input and output and
 * <weft/sort.h> for sorts of one type, are the whole public interface: C11, or C++11. How to read them:
 *
 *   - A function returns 0 or a negative errno (-EINVAL, ...) unless its comment says otherwise.
 *   - Every comment ends with a line in brackets that says who may call the function:
 *       fiber    from a fiber          thread   from any other thread of the program
 *       signal   from a signal handler (no function is safe there unless it says so)
 *     and then
 *       parks    the caller may be suspended; other fibers run meanwhile
 *       cancel   a cancellation point: weft_cancel(), or a scope that is cancelled, ends the wait with
 *                -ECANCELED (-ETIMEDOUT: the scope's deadline), and what was waited for has then not
 *                been taken
 *   - Deadlines are points in time of weft_now(), in nanoseconds; WEFT_FOREVER is none.
 *   - A thread that is no fiber blocks where a fiber would park, in the kernel, and uses no CPU.
 *   - Where a function parks, the fiber may go on on another kernel thread. Thread-local variables
 *     of the C library and of the program belong to the kernel thread, not to the fiber: read them
 *     anew after such a call. errno is taken care of below.
 *
 * The order: the runtime, fibers, park and unpark, cancellation, fiber-local values, time, clusters,
 * statistics; then weft/sync.h: counters, semaphores, mutexes, condition variables, reader-writer
 * locks, barriers, once, latches; weft/chan.h: channels, futures, select; weft/scope.h: scopes; weft/task.h: fork and
 * join; weft/par.h: loops and what is made of them; weft/poll.h: readiness of descriptors; weft/signal.h: signals.
 */
#ifndef WEFT_H
#define WEFT_H

#include <errno.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#define WEFT_ZERO \
    {}
#else
#define WEFT_ZERO \
    { 0 }
#endif

#define WEFT_VERSION_MAJOR 0
#define WEFT_VERSION_MINOR 1
#define WEFT_VERSION_PATCH 0

/* "0.1.0": the version of the library that is linked.  [fiber thread signal] */
const char *weft_version(void);

/*
 * errno. The C library lets compilers keep its address across calls; after a fiber has moved to
 * another kernel thread that address is the wrong thread's. This accessor may not be kept.
 */
int *weft_errno_location(void);
#undef errno
#define errno (*weft_errno_location())

/* ---------------------------------------------------------------------------------------------
 * The runtime
 *
 * One runtime a process. It runs fibers on `workers` kernel threads of its own; the program's own
 * threads may start it, hand work in, wait for results and stop it, as often as they like.
 * ------------------------------------------------------------------------------------------ */

/* Start from WEFT_CONFIG_INIT; a zero is a default. The environment (see the README's table) fills
 * in what is left at its default. */
struct weft_config {
    unsigned workers;       /* kernel threads that run fibers; 0: affinity mask and CPU quota decide */
    size_t stack_size;      /* bytes a fiber may use; 0: 128 KiB. Rounded up to a power of two */
    unsigned no_stealing;   /* 1: a worker runs only what it made ready itself; for comparisons */
    unsigned no_helping;    /* 1: a worker with work of its own takes no other's, however long that waits */
    unsigned no_rescue;     /* 1: nobody takes over what waits for a worker that is stuck */
    unsigned no_guards;     /* 1: stacks without guard pages: an overflow is not noticed */
    unsigned stats;         /* 1: print the statistics to standard error at the stop */
    uint64_t bound;         /* ns; 0: none. Ready fibers that wait longer are reported, ten a second, see weft_delays */
    unsigned bind;          /* 1: each worker stays on a CPU of its own; 0: where the kernel puts it */
    unsigned unpark;        /* where a fiber that is woken goes on: WEFT_UNPARK_LOCAL, WEFT_UNPARK_LAST */
    unsigned continuations; /* 1: a fork runs the call at once, and the caller's rest can be stolen meanwhile */
    unsigned deque;         /* where forked tasks wait: WEFT_DEQUE_SPLIT; others for comparisons */
};
enum {
    WEFT_DEQUE_SPLIT,     /* without fences or locked instructions, as long as nobody looks for work */
    WEFT_DEQUE_CHASE_LEV, /* a fence a join */
    WEFT_DEQUE_ABP,       /* the same; bounded: of tasks beyond the bound only the oldest are stolen */
    WEFT_DEQUE_LOCKED,    /* a lock a fork, and a join */
    WEFT_DEQUES
};
enum {
    WEFT_UNPARK_LOCAL, /* on the worker of the one that woke it: what that one handed over is in its cache */
    WEFT_UNPARK_LAST,  /* on the worker that it ran on last: what it had itself is in that one's cache */
};
#define WEFT_CONFIG_INIT WEFT_ZERO
#define WEFT_WORKERS_MAX 1024

/*
 * Starts the runtime, runs main(arg) as its first fiber, waits until every fiber has ended, and
 * stops the runtime. Returns what main returned, (int)(intptr_t)result if it ended by weft_exit, or a
 * negative errno if the runtime could not be started. Fibers that are blocked for ever when main has
 * ended (see weft_stop) are named on standard error and cancelled; if some still do not end they are abandoned and the
 * result is -EBUSY. If main itself is blocked for ever, and all other fibers are, they are named, after a second or
 * more, and left alone: the program hangs.
 * -EBUSY also: a runtime is running. -EINVAL: main is NULL or the configuration is out of range.
 * -EAGAIN, -ENOMEM: no threads, no memory, or no stack for main.  [thread]
 */
int weft_run(int (*main)(void *), void *arg, const struct weft_config *config);

/* Starts the runtime; config may be NULL. Errors as for weft_run.  [thread] */
int weft_start(const struct weft_config *config);

/*
 * Waits until every fiber has ended, then stops the runtime. From the call on, threads cannot spawn
 * new fibers or make clusters (-ESRCH); fibers, and functions of timers, can. What was accepted runs to its end.
 *
 * When all that is left are fibers that are blocked for ever, names them on standard error, returns -EBUSY and leaves
 * the runtime running: wake or cancel them, and stop again. That is only said when it is certain: no fiber, timer or
 * request is left that could wake them, and no other thread of the process either. A thread that waits in weft, without
 * a deadline, is no such thread; any other one is, whatever it does. While there is one, the stop
 * waits, and says so in one line: after a second, and then ever less often.
 * -EBUSY also: another thread is in weft_start, weft_stop or weft_run. -ESRCH: no runtime. -EDEADLK: called by a fiber
 * or by the function of a timer.  [thread]
 */
int weft_stop(void);

/* The number of workers of the caller's cluster, or for a thread of the first; 0 when no runtime is running.
 * [fiber thread] */
unsigned weft_workers(void);

/* ---------------------------------------------------------------------------------------------
 * Fibers
 * ------------------------------------------------------------------------------------------ */

/*
 * A handle. Valid until the fiber was joined, or, detached, until it ended; later use is answered
 * with -ESRCH. Copy and compare (the id) as you like; { 0 } is no fiber.
 */
struct weft_fiber {
    uint64_t id;
};

struct weft_counter;

/* A handle of a cluster, see below. {0} stands for the caller's own, or for a thread the first. */
struct weft_cluster {
    uint64_t id;
};

/*
 * Priorities: within a worker, ready high fibers run before the others and low ones after them; but a
 * quarter of the turns goes to the normal ones, and one in 32 to the low ones, whatever is above them.
 */
enum { WEFT_NORMAL, WEFT_HIGH, WEFT_LOW };

/* Attributes of a spawn. Start from WEFT_ATTR_INIT; a zero is a default. */
struct weft_attr {
    const char *name;  /* shown in messages; the first 15 bytes are kept */
    size_t stack_size; /* 0: as configured. Rounded up to a power of two, 16 KiB to 64 MiB */
    unsigned detached; /* 1: nobody joins it */
    unsigned pinned;   /* 0: runs anywhere; n: only on worker n - 1, or on who stands in for it while it is stuck */
    unsigned node;     /* 0: begins where it is spawned; n: on memory node n - 1, if a worker was last seen there */
    unsigned priority; /* WEFT_NORMAL, WEFT_HIGH, WEFT_LOW; of no effect on a pinned fiber */
    struct weft_cluster cluster;  /* {0}: the caller's, or for a thread the first */
    struct weft_counter *counter; /* completed once (weft_counter_complete) when the fiber has ended */
};
#define WEFT_ATTR_INIT WEFT_ZERO

#define WEFT_STR_(x) #x
#define WEFT_STR(x) WEFT_STR_(x)
#define WEFT_HERE __FILE__ ":" WEFT_STR(__LINE__)

/*
 * Makes a fiber that will run fn(arg), and returns at once. With fiber NULL it is detached. attr
 * may be NULL. The fiber has no stack before it runs first.
 * -EINVAL: fn NULL; stack_size, pinned, node or priority out of range.
 * -ESRCH: no runtime, or no such cluster. -ENOMEM: no memory. -EAGAIN: no stack can be had now, and fibers
 * that were spawned before wait for one: they begin as soon as there are some.
 * [fiber thread]
 */
#define weft_spawn(...) weft_spawn_at(__VA_ARGS__, WEFT_HERE) /* (fiber, attr, fn, arg) */

/* The same; `where` is a string with static lifetime that messages show as the place of the spawn. */
int weft_spawn_at(struct weft_fiber *fiber, const struct weft_attr *attr, void *(*fn)(void *), void *arg,
                  const char *where);

/*
 * Waits until the fiber has ended, stores what it returned in *result (unless NULL) and gives the
 * handle back. -ESRCH: no such fiber. -EINVAL: it is detached. -EDEADLK: it is the caller.
 * -EBUSY: somebody else is joining it. -ECANCELED: it may still be joined.
 * [fiber thread; parks, cancel]
 */
int weft_join(struct weft_fiber fiber, void **result);

/* The same with a deadline: -ETIMEDOUT, and it may still be joined.  [fiber thread; parks, cancel] */
int weft_join_until(struct weft_fiber fiber, void **result, uint64_t deadline);

/* Nobody will join it. -ESRCH, -EINVAL, -EBUSY as above.  [fiber thread] */
int weft_detach(struct weft_fiber fiber);

/* The calling fiber; { 0 } on a thread that is none.  [fiber thread] */
struct weft_fiber weft_self(void);

/* The worker that runs the caller, counted from 0; -EPERM on a thread that is no fiber. It may be
 * another one after any call that parks; and one above weft_workers(), that stands in for another
 * whose fiber does not come back.  [fiber] */
int weft_worker(void);

/* Lets the other ready fibers of this worker run first. On a thread: sched_yield.  [fiber thread] */
void weft_yield(void);

/* Ends the calling fiber as if its function had returned result. Frames below are left as they
 * are: no C++ destructors run. A forked call (weft/task.h), and what a loop or algorithm calls (weft/par.h),
 * must return: there, whichever fiber runs it, and on a thread that is no fiber: one line, and abort.  [fiber] */
#ifdef __cplusplus
[[noreturn]]
#else
_Noreturn
#endif
void weft_exit(void *result);

/* ---------------------------------------------------------------------------------------------
 * Park and unpark
 *
 * Each fiber has one permit, at first not there. Unpark makes it there; park waits until it is
 * there and takes it. So an unpark before the park is not lost, and two before it are one.
 * ------------------------------------------------------------------------------------------ */

/* -ECANCELED. -EPERM: the caller is no fiber, and has no permit.  [fiber; parks, cancel] */
int weft_park(void);

/* -ETIMEDOUT: the deadline passed and there was no permit. -ECANCELED, -EPERM.  [fiber; parks, cancel] */
int weft_park_until(uint64_t deadline);

/* What was written before the unpark is seen after the park. -ESRCH: no such fiber. [fiber thread] */
int weft_unpark(struct weft_fiber fiber);

/* ---------------------------------------------------------------------------------------------
 * Cancellation
 *
 * A request that stays: from then on every cancellation point of the fiber that would have to wait
 * ends with -ECANCELED, the one in which it is parked included; one that need not wait (the permit,
 * the unit, the mutex is there) completes. The fiber decides what to do about it; returning is usual. Waits that give
 * something back (unlock, post, re-lock of a mutex) are no cancellation points and always complete.
 *
 * Scopes (weft/scope.h) cancel the fibers in them, for a failure or a deadline; shields keep it off.
 * ------------------------------------------------------------------------------------------ */

/* The fiber, the scopes that it has begun, with all that is in them, and the calls that it has forked (weft/task.h),
 * whichever fiber runs them, but for those that it has forked in a shield. Its loops and algorithms (weft/par.h) begin
 * nothing more. -ESRCH: no such fiber.  [fiber thread] */
int weft_cancel(struct weft_fiber fiber);

/* 0 when the caller may wait; why not, WEFT_BY_REQUEST (1) ..., when it was asked to stop, by weft_cancel or by
 * a scope that it is in, and is in no shield.  [fiber thread] */
int weft_cancelled(void);

/* ---------------------------------------------------------------------------------------------
 * Fiber-local values
 * ------------------------------------------------------------------------------------------ */

struct weft_key {
    unsigned index;
};
#define WEFT_KEYS_MAX 128

/* Makes a key; every fiber's value for it is NULL. When a fiber ends with a value that is not
 * NULL, destroy(value) runs on it; destroy may be NULL. -EAGAIN: all keys are in use. [fiber thread] */
int weft_key_create(struct weft_key *key, void (*destroy)(void *));

/* Forgets the key; destroys no value. -EINVAL: no such key.  [fiber thread] */
int weft_key_delete(struct weft_key key);

/* NULL when nothing was set, or for a key that does not exist.  [fiber thread] */
void *weft_local_get(struct weft_key key);

/* -EINVAL: no such key. -ENOMEM.  [fiber thread] */
int weft_local_set(struct weft_key key, void *value);

/* ---------------------------------------------------------------------------------------------
 * Time
 * ------------------------------------------------------------------------------------------ */

#define WEFT_FOREVER UINT64_MAX
#define WEFT_MICROSECOND UINT64_C(1000)
#define WEFT_MILLISECOND UINT64_C(1000000)
#define WEFT_SECOND UINT64_C(1000000000)

/* Nanoseconds of the monotonic clock.  [fiber thread signal] */
uint64_t weft_now(void);

/* -ECANCELED, also if there is nothing to wait for.  [fiber thread; parks, cancel] */
int weft_sleep_for(uint64_t nanoseconds);
int weft_sleep_until(uint64_t deadline);

/*
 * A timer calls fn(arg) once, at the deadline or soon after, on some worker and between fibers:
 * fn must not park, and must be short: nobody takes over from one that computes or blocks. fn may arm it
 * again, also for a time that has passed: fibers have their turns in between. Armed and
 * cancelled without a system call or a process-wide lock. The memory is the caller's, and must stay
 * until the timer has fired or was cancelled.
 *
 * weft_stop does not wait for timers, unless fibers are left that could be woken by them. One that is still armed when
 * the runtime has stopped is not called, and is not armed any more: it may be armed in the next runtime.
 */
struct weft_timer {
    void *opaque[8];
};
#define WEFT_TIMER_INIT \
    { \
        { NULL } \
    }

/* -EINVAL: timer or fn NULL. -EBUSY: it is armed. -ESRCH: no runtime, or it stops at this moment.  [fiber thread] */
int weft_timer_arm(struct weft_timer *timer, uint64_t deadline, void (*fn)(void *), void *arg);

/* 0: fn was not called since the timer was armed, and will not be; also once after the runtime was stopped under it.
 * -EALREADY: it was called, is being called, or the timer is not armed.  [fiber thread] */
int weft_timer_cancel(struct weft_timer *timer);

/* ---------------------------------------------------------------------------------------------
 * Clusters: workers that share work among themselves, and with no other cluster
 *
 * The runtime begins with one. Programs may make more, to keep kinds of work apart: their fibers wait
 * for each other, wake each other and use the same locks and semaphores as in one.
 * ------------------------------------------------------------------------------------------ */

/*
 * Makes a cluster, by a configuration (may be NULL), of which no_guards and stats have no effect. It lasts until it is
 * destroyed, or the runtime is stopped. -EINVAL: cluster NULL, or out of range. -ESRCH: no runtime, or the caller is a
 * thread and a stop is under way. -ENOMEM: no memory, or 64 exist. -EAGAIN: no threads.
 * [fiber thread; blocks the kernel thread while threads are made]
 */
int weft_cluster_create(struct weft_cluster *cluster, const struct weft_config *config);

/*
 * Makes a cluster for each memory node on which the process may run, with as many workers as it has
 * CPUs there, that stay there; n at most. Returns how many, or an error as above, and then none.
 * [fiber thread; blocks]
 */
int weft_cluster_per_node(struct weft_cluster *clusters, unsigned n, const struct weft_config *config);

/* Ends it. Timers that its fibers armed still fire, and what they have begun to read or write goes on, elsewhere; only
 * a chain of weft_uring is cut short (-ECANCELED). It waits for one that was moved and has not yet parked. -EBUSY:
 * fibers live in it, and nothing has changed; join, cancel or move them first. -EDEADLK: the caller is one. -EINVAL:
 * the first one. -ESRCH: no such cluster.  [fiber thread] */
int weft_cluster_destroy(struct weft_cluster cluster);

/* The caller's; {0} for a thread.  [fiber thread] */
struct weft_cluster weft_cluster_self(void);

/*
 * The fiber ({0}: the caller) belongs to that cluster from now on. The caller goes over at once, others
 * when they next become ready or yield; a pin is forgotten. -ESRCH: no such fiber or cluster. -EPERM: {0},
 * and the caller is no fiber.  [fiber thread; parks]
 */
int weft_cluster_move(struct weft_fiber fiber, struct weft_cluster to);

/*
 * So many workers run from now on; 0: as many as the affinity mask and the CPU quota allow, now and
 * whenever those change. Fewer: the last ones finish what they run, hand on what waits, and sleep;
 * fibers pinned to them still run there. Nobody else pauses. May be called by anybody, at any time.
 * -EINVAL: too many. -ESRCH: no such cluster. -EAGAIN, -ENOMEM: no threads or memory; there are as
 * many as could be had.  [fiber thread]
 */
int weft_cluster_resize(struct weft_cluster cluster, unsigned workers);

/* How many it has. -ESRCH.  [fiber thread] */
int weft_cluster_workers(struct weft_cluster cluster);

/*
 * Waits until the cluster is quiet: nobody is ready or runs, no timer of it is armed, nothing is on its
 * way to it; or until it has ended. A fiber that drains its own cluster does not count; one that sleeps counts where it
 * went to sleep, also when it was moved since. -ESRCH: no such cluster. -ETIMEDOUT. -ECANCELED.  [fiber thread; parks,
 * cancel]
 */
int weft_cluster_drain(struct weft_cluster cluster);
int weft_cluster_drain_until(struct weft_cluster cluster, uint64_t deadline);

/* ---------------------------------------------------------------------------------------------
 * Statistics: always counted. Each number only grows while the runtime runs.
 * ------------------------------------------------------------------------------------------ */

struct weft_stats {
    uint64_t spawned;      /* fibers made */
    uint64_t completed;    /* fibers ended */
    uint64_t switches;     /* times a fiber was entered: begun, or gone on with */
    uint64_t parks;        /* waits that suspended the fiber */
    uint64_t unparks;      /* fibers made ready again */
    uint64_t steals_tried; /* looks into another worker's queue */
    uint64_t steals;       /* of these, the ones that took something */
    uint64_t helps;        /* times a worker with work of its own took another's, which waited longer */
    uint64_t moved;        /* fibers taken by steals and helps */
    uint64_t sleeps;       /* times the kernel thread went to sleep */
    uint64_t wakeups;      /* times it was woken by somebody */
    uint64_t timers;       /* deadlines and timers that passed */
    uint64_t tasks_stolen; /* forked calls that another than the forking fiber ran */
    uint64_t joins_parked; /* joins of tasks that had to wait */
    uint64_t by_request;   /* fibers told to stop: by weft_cancel or weft_scope_cancel */
    uint64_t by_failure;   /* because another in their scope had failed */
    uint64_t by_deadline;  /* because their scope's time was up */
    uint64_t busy_ns;      /* time not spent searching or asleep */
};

/* Of all workers of all clusters, those that are no more included, and of threads that hand work in. -ESRCH: no
 * runtime. -EINVAL.  [fiber thread] */
int weft_stats(struct weft_stats *stats);

/* Of one worker of the caller's cluster, or for a thread of the first. -EINVAL: no such worker. -ESRCH.
 * [fiber thread] */
int weft_stats_worker(unsigned worker, struct weft_stats *stats);

/*
 * How long fibers waited from being made ready to running, in nanoseconds. Of each worker's queue one
 * fiber at a time is timed, exactly, at most one in 8 us; and so is one at a time of those of high and of low
 * priority, of the pinned ones, and of those that are handed in from outside the cluster, until a worker has taken them
 * over. The percentiles are read off a histogram whose buckets span an eighth of their value; max also covers what a
 * look every 4 ms saw still waiting. With no_helping the queues are not timed.
 */
struct weft_delays {
    uint64_t timed; /* so many were */
    uint64_t p50, p99, p999, max;
    uint64_t late; /* of those that were timed, so many waited longer than the configured bound */
};

/* Of a cluster. -EINVAL: delays NULL. -ESRCH: no such cluster.  [fiber thread] */
int weft_delays(struct weft_cluster cluster, struct weft_delays *delays);

/* A fiber that has kept its worker for 4 ms or more, computing or in a blocking call. */
struct weft_hog {
    struct weft_fiber fiber;
    uint64_t since;    /* by weft_now(), to 4 ms */
    const char *where; /* it was spawned */
    char name[16];
    unsigned worker;
};

/* Those of a cluster, n at most, now; returns how many there are. -EINVAL: hogs NULL and n not 0.
 * -ESRCH: no such cluster.  [fiber thread] */
int weft_hogs(struct weft_cluster cluster, struct weft_hog *hogs, unsigned n);

/*
 * What those of a cluster are doing: writes a line for each, as in messages, and then its backtrace, a
 * line a frame. Returns how many were written: a fiber that has come back meanwhile is left out, and so
 * is one that does not answer within a second in all, because it blocks signals or is held up in the
 * kernel. Each hog is interrupted by SIGURG, with SA_RESTART: a call that is not restarted by that
 * (nanosleep, poll, epoll_wait and others, see signal(7)) returns early, with EINTR. The handler is
 * installed by the first call, passes on every other SIGURG, and goes with the runtime. Names are those that the
 * dynamic linker knows (link with -rdynamic); others are addresses, for addr2line. -EBADF: fd is no open file. -ESRCH:
 * no such cluster. -ETIMEDOUT: another hog is still being looked at. Or the error of a write.  [fiber thread; blocks
 * the kernel thread]
 */
int weft_hogs_backtrace(struct weft_cluster cluster, int fd);

/* The table that WEFT_STATS=1 prints at the stop, to standard error. -ESRCH.  [fiber thread] */
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

#endif
