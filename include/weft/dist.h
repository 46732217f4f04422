/* SPDX-License-Identifier: MIT */
/*
 * Calls that can run on any rank of an MPI job. They are in a separate library, libweft-mpi: link it with `pkg-config
 * weft-mpi`, and start the program with mpirun.
 *
 * A program declares, forks and joins a remote call like a typed task (weft/task.h). If no other rank takes the call,
 * it runs like a typed task, without packing. A rank without work asks other ranks. They send it calls that no worker
 * has begun, and receive the results.
 *
 *     WEFT_REMOTE_1(uint64_t, fib, unsigned, n) {
 *         if (n < 2) return n;
 *         WEFT_SPAWN(fib, n - 1);
 *         uint64_t b = WEFT_CALL(fib, n - 2);
 *         return WEFT_SYNC(fib) + b;
 *     }
 *     static int run(void *unused) {
 *         (void)unused;
 *         printf("%llu\n", (unsigned long long)WEFT_RUN(fib, 40));
 *         return 0;
 *     }
 *     int main(void) { return weft_dist_run(run, NULL, NULL) ? 1 : 0; }
 *
 * All ranks run the same program. weft_dist_run runs the first function on rank 0; the other ranks serve until it has
 * returned. When a rank is lost, the calls that it had taken run again elsewhere, so a call must be restartable. Losing
 * rank 0 ends the job. docs/DIST.md has the promises, the rules for MPI, and the limits.
 */
#ifndef WEFT_DIST_H
#define WEFT_DIST_H

#include "../weft.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---------------------------------------------------------------------------------------------
 * The job
 * ------------------------------------------------------------------------------------------ */

/*
 * The configuration of a job. Initialise it with WEFT_DIST_CONFIG_INIT; a member that is 0 has its default. Every rank
 * passes the same.
 */
struct weft_dist_config {
    const struct weft_config *runtime; /* the runtime of each rank; NULL: the defaults. No continuations */
    uint64_t
        detect; /* ns: a rank that does not answer for this long counts as lost; 0: from the environment, or 10 s */
    const void *comm; /* the MPI_Comm whose ranks take part; NULL: MPI_COMM_WORLD */
    unsigned stats;   /* 1: rank 0 prints the statistics of all ranks at the end */
};

/* Initialises a struct weft_dist_config with defaults. */
#define WEFT_DIST_CONFIG_INIT WEFT_ZERO

/*
 * Starts a runtime on every rank, runs main(arg) as a fiber of rank 0, and stops all runtimes when main has returned.
 * Every rank calls it. Returns the result of main, on every rank. If the program has not initialised MPI, weft
 * initialises it, and finalises it at the end. If a rank was lost, weft does not finalise MPI, because MPI_Finalize
 * would wait for that rank.
 *
 * If the ranks cannot work together, rank 0 prints one line that says why, and every rank returns an error.
 *
 *   config   the configuration; NULL for the defaults
 *
 * Errors:
 *   -EINVAL       main is NULL, the configuration is out of range, or the program differs between ranks
 *   -EPROTO       MPI could not be initialised with MPI_THREAD_FUNNELED or better, or mpirun belongs to another MPI
 *   -ENOTCONN     the ranks cannot connect to each other
 *   -EBUSY        a runtime is already running
 *   -ENOMEM       out of memory
 *   -E2BIG        the configuration has members that this library does not know
 * [thread]
 */
WEFT_MUST_USE static inline int weft_dist_run(int (*main)(void *), void *arg, const struct weft_dist_config *config);
int weft__dist_run(int (*main)(void *), void *arg, const struct weft_dist_config *config, size_t size);
static inline int weft_dist_run(int (*main)(void *), void *arg, const struct weft_dist_config *config) {
    return weft__dist_run(main, arg, config, sizeof(struct weft_dist_config));
}

/*
 * Return the number of this rank, how many ranks the job has, and how many of these are not lost. Outside of
 * weft_dist_run: 0, 1 and 1.
 *
 * Errors: none.
 * [fiber thread]
 */
unsigned weft_dist_rank(void);
unsigned weft_dist_ranks(void);
unsigned weft_dist_living(void);

/* ---------------------------------------------------------------------------------------------
 * Remote calls of any size
 *
 * The typed form below has arguments of at most 48 bytes. This form has arguments and results of any size: flat bytes,
 * or whatever functions of the program pack.
 * ------------------------------------------------------------------------------------------ */

struct weft_deque;
struct weft_call;

/*
 * A function that other ranks can run. WEFT_REMOTE_FUNCTION declares and registers it. A program that fills in the
 * struct itself registers it by weft_dist_register, before weft_dist_run.
 *
 * Without pack functions, argument and result are flat: bytes that mean the same on every rank. On the rank that forked
 * the call, the function gets the pointer that was passed to the fork; on other ranks it gets a copy.
 */
struct weft_remote {
    const char *name;                                     /* the same on every rank, and unique */
    void (*fn)(const void *arg, void *result);            /* the function */
    size_t (*arg_size)(const void *arg);                  /* bytes that arg_pack writes */
    void (*arg_pack)(const void *arg, void *bytes);       /* packs an argument */
    void *(*arg_unpack)(const void *bytes, size_t size);  /* makes an argument; NULL: no memory */
    void (*arg_free)(void *arg);                          /* frees what arg_unpack made; may be NULL */
    size_t (*result_size)(const void *result);            /* bytes that result_pack writes */
    void (*result_pack)(const void *result, void *bytes); /* packs a result, and frees what it refers to */
    int (*result_unpack)(void *result, const void *bytes, size_t size); /* fills the result of the fork; 0 or -errno */
    void (*run)(struct weft_deque *deque, struct weft_call *call);      /* typed calls: what a thief calls */
    size_t typed_arg;                                                   /* typed calls: bytes of the arguments */
    size_t typed_result;                                                /* typed calls: bytes of the result */
    struct weft_remote *next;                                           /* internal */
    unsigned index;                                                     /* internal; 0: not registered */
};

/* A forked remote call. It lives in the frame of the forking function or elsewhere, and stays until it is joined. */
struct weft_dist_call {
    struct weft_task task;
    const struct weft_remote *remote;
    const void *arg;
    void *result;
    size_t arg_size, result_size;
    int error;
};

/*
 * Registers a remote function. Every rank registers the same functions before it calls weft_dist_run. The struct must
 * exist until the program ends.
 *
 * Errors:
 *   -EINVAL   remote, its name or its function is NULL
 *   -EEXIST   another remote function has this name
 *   -EBUSY    weft_dist_run is running
 * [thread]
 */
int weft_dist_register(struct weft_remote *remote);

/*
 * Returns the remote function that is registered under a name, or NULL.
 *
 * Errors: none.
 * [fiber thread]
 */
const struct weft_remote *weft_dist_find(const char *name);

/*
 * Allows a remote function to run from now on, on any rank. The same fiber must join the call before it ends.
 *
 *   arg          stays until the join; packed by the functions of `remote`, or arg_size flat bytes
 *   result       receives the result by the time of the join; result_size bytes, which start as zeros on another rank
 *
 * Errors:
 *   -EINVAL   call or remote is NULL
 *   -ENOENT   the remote function is not registered; weft also prints one line
 *   -EPERM    the caller is not a fiber
 * [fiber]
 */
int weft_dist_fork(struct weft_dist_call *call, const struct weft_remote *remote, const void *arg, size_t arg_size,
                   void *result, size_t result_size);

/*
 * Returns when the call has run, here or on another rank; runs it if it has not begun.
 *
 * Errors:
 *   -EINVAL   call is NULL, was not forked, or is joined already
 *   -EPERM    another fiber forked the call, or the caller is not a fiber
 *   other     the error of result_unpack
 * [fiber; parks]
 */
WEFT_MUST_USE int weft_dist_join(struct weft_dist_call *call);

/*
 * Runs a remote function on the given rank and waits for it. For work that belongs to a certain rank, such as a part of
 * the program that calls MPI on all ranks.
 *
 * Errors:
 *   -EINVAL       rank is not in the job, or remote is NULL
 *   -ENOENT       the remote function is not registered; weft also prints one line
 *   -EOWNERDEAD   the rank is lost; the function may have run
 *   -EPERM        the caller is not a fiber
 *   -ENOMEM       out of memory
 * [fiber; parks]
 */
WEFT_MUST_USE int weft_dist_on(unsigned rank, const struct weft_remote *remote, const void *arg, size_t arg_size,
                               void *result, size_t result_size);

/* Declares and registers a remote function for flat arguments: WEFT_REMOTE_FUNCTION(name, fn); then `&name`. */
#define WEFT_REMOTE_FUNCTION(name, fn) \
    static struct weft_remote name = {#name, fn, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 0, 0, NULL, 0}; \
    WEFT__REGISTER(name)

/* ---------------------------------------------------------------------------------------------
 * Loops
 * ------------------------------------------------------------------------------------------ */

/*
 * A loop that ranks share: `body` handles the indices from begin to end - 1 and adds their result to *result, which has
 * result_size bytes and begins as zeros. `combine` adds *from to *into. For a loop without a result both result_size
 * and combine are 0. WEFT_REMOTE_LOOP declares and registers a loop.
 */
struct weft_dist_loop {
    struct weft_remote remote; /* internal */
    void (*body)(uint64_t begin, uint64_t end, const void *arg, void *result);
    void (*combine)(void *into, const void *from);
    size_t result_size;
};

/*
 * Runs a loop on all ranks. weft_dist_for ignores the result, weft_dist_reduce stores it.
 *
 *   grain      indices that one call of `body` handles at most; 0: weft chooses, 1/64 of a rank's share
 *   arg        arg_size flat bytes, the same for all calls
 *
 * Errors:
 *   -EINVAL   loop is NULL, or end < begin
 *   -ENOENT   the loop is not registered
 *   -EPERM    the caller is not a fiber
 *   -ENOMEM   out of memory
 * [fiber; parks]
 */
WEFT_MUST_USE int weft_dist_for(const struct weft_dist_loop *loop, uint64_t begin, uint64_t end, uint64_t grain,
                                const void *arg, size_t arg_size);
WEFT_MUST_USE int weft_dist_reduce(const struct weft_dist_loop *loop, uint64_t begin, uint64_t end, uint64_t grain,
                                   const void *arg, size_t arg_size, void *result);

/* Declares and registers a loop: WEFT_REMOTE_LOOP(name, body, combine, result_size); then `&name`. */
#define WEFT_REMOTE_LOOP(name, body, combine, result_size) \
    static struct weft_dist_loop name = { \
        {#name, weft__dist_loop_run, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 0, 0, NULL, 0}, \
        body, \
        combine, \
        result_size}; \
    WEFT__REGISTER(name.remote)

/* ---------------------------------------------------------------------------------------------
 * Data that ranks share
 * ------------------------------------------------------------------------------------------ */

/* A handle of read-only data that every rank can get. The handle is flat: pass it in arguments of remote calls. */
struct weft_dist_data {
    uint64_t id;
    uint64_t size;
};

/*
 * Makes data available to all ranks. The call sends nothing: each rank fetches the bytes once, when it first asks for
 * them. The caller must not change or free the bytes until weft_dist_broadcast_end.
 *
 * Errors:
 *   -EINVAL   data is NULL, or bytes is NULL and size is not 0
 *   -ENOMEM   out of memory
 * [fiber]
 */
WEFT_MUST_USE int weft_dist_broadcast(struct weft_dist_data *data, const void *bytes, size_t size);

/*
 * Returns the bytes of shared data, on any rank. The first call on a rank fetches them; they stay until
 * weft_dist_broadcast_end.
 *
 * Errors:
 *   -ESRCH        the data does not exist, or no longer exists
 *   -EOWNERDEAD   the rank that made the data available is lost
 *   -ENOMEM       out of memory
 *   -EPERM        the caller is not a fiber
 * [fiber; parks]
 */
WEFT_MUST_USE int weft_dist_data_get(struct weft_dist_data data, const void **bytes);

/*
 * Ends the sharing, on the rank that began it. Copies on other ranks are freed; no call may use them any more.
 *
 * Errors: -ESRCH if the data does not exist on this rank.
 * [fiber]
 */
int weft_dist_broadcast_end(struct weft_dist_data data);

/*
 * A number that all ranks share under a unique name: a maximum, or a count. Rank 0 keeps it. Make it a static variable,
 * initialised with WEFT_DIST_NUMBER_INIT("name").
 */
struct weft_dist_number {
    const char *name;
    int64_t value;   /* what this rank knows; read it with weft_dist_max_get */
    uint64_t id;     /* internal */
    void *opaque[2]; /* internal */
};

/* Initialises a struct weft_dist_number. */
#define WEFT_DIST_NUMBER_INIT(name) \
    { \
        name, 0, 0, { NULL, NULL } \
    }

/*
 * Raises the shared maximum to `value` if it is smaller. The caller's rank knows the new value at once, other ranks
 * when a message reaches them. weft sends a message only if the value is larger than what this rank knows. The maximum
 * begins with 0.
 *
 * Errors: -EINVAL if number is NULL or has no name.
 * [fiber]
 */
int weft_dist_max(struct weft_dist_number *number, int64_t value);

/*
 * Returns what this rank knows of the shared maximum. Takes two instructions.
 *
 * Errors: none.
 * [fiber thread]
 */
static inline int64_t weft_dist_max_get(const struct weft_dist_number *number) {
    return __atomic_load_n(&number->value, __ATOMIC_RELAXED);
}

/*
 * Add to a shared count, read it, or wait until it is 0: for termination and progress. Rank 0 keeps the count; the
 * additions of one rank arrive in order. Add before you pass work to other ranks, and subtract when the work is done.
 * Then the count is never 0 too early. A call that runs again after a rank was lost adds again: use weft_dist_commit if
 * the count must be exact.
 *
 *   value   receives the count, as rank 0 knows it after all earlier additions of this rank
 *
 * Errors: -EINVAL if number is NULL or has no name; -EPERM if the caller is not a fiber.
 * [fiber; the last two park]
 */
int weft_dist_count_add(struct weft_dist_number *number, int64_t value);
int weft_dist_count_get(struct weft_dist_number *number, int64_t *value);
int weft_dist_count_wait(struct weft_dist_number *number);

/*
 * Guards a side effect that must not happen twice. Returns 1 to the first caller in the job with this key, and 0 to all
 * later callers. So a call that runs again after a rank was lost does not repeat the effect. Call it directly before
 * the effect. If the rank is lost between this call and the effect, the effect does not happen at all.
 *
 * Errors: -EPERM if the caller is not a fiber.
 * [fiber; parks]
 */
WEFT_MUST_USE int weft_dist_commit(uint64_t key);

/* ---------------------------------------------------------------------------------------------
 * Statistics
 * ------------------------------------------------------------------------------------------ */

/* What a rank has done since weft_dist_run began. */
struct weft_dist_stats {
    uint64_t asked;     /* requests for work that this rank has sent */
    uint64_t refused;   /* requests that were answered without work */
    uint64_t lifelines; /* times that it stopped asking and waited for work from its lifelines */
    uint64_t given;     /* calls that it gave to other ranks */
    uint64_t taken;     /* calls that it got from other ranks */
    uint64_t rerun;     /* calls that it ran again, because the rank that had taken them was lost */
    uint64_t messages;  /* messages sent */
    uint64_t bytes;     /* bytes of these */
    uint64_t wakeups;   /* times that a message had to wake this rank */
    uint64_t lost;      /* ranks that were lost, as far as this rank knows */
    uint64_t cpu_ns;    /* CPU time of the process since the ranks have connected, so without the start of MPI */
    uint64_t ran_ns;    /* time that this rank spent in calls of other ranks */
};

/*
 * Reads the statistics of a rank. The statistics of a lost rank are zeros.
 *
 * Errors:
 *   -EINVAL       rank is not in the job, or stats is NULL
 *   -EOWNERDEAD   the rank is lost
 *   -EPERM        the caller is not a fiber
 * [fiber; parks]
 */
WEFT_MUST_USE int weft_dist_stats_read(unsigned rank, struct weft_dist_stats *stats);

/*
 * Prints the statistics of all ranks to standard error, one line for each rank.
 *
 * Errors: -EPERM if the caller is not a fiber.
 * [fiber; parks]
 */
int weft_dist_stats_print(void);

/* ---------------------------------------------------------------------------------------------
 * Internal: the inline half of typed remote calls
 *
 * The macros below use these declarations. Programs do not.
 * ------------------------------------------------------------------------------------------ */

/* Points to a word that is not 0 when a message has arrived or a rank waits for work. Outside of weft_dist_run it
 * points to a 0. */
extern uint32_t *weft__dist_bell;
void weft__dist_poll(void) __attribute__((cold));
void weft__dist_loop_run(const void *arg, void *result);

/* Forks like a typed task, and then tests the bell. */
static inline __attribute__((always_inline)) void weft__remote_push(struct weft_deque *d, struct weft_call *c) {
    weft__task_push(d, c);
    if (__builtin_expect(__atomic_load_n(weft__dist_bell, __ATOMIC_RELAXED) != 0, 0)) weft__dist_poll();
}

#ifdef __cplusplus
}
#endif

/* clang-format off */
#define WEFT__REGISTER(remote) WEFT__REGISTER_LINE(remote, __LINE__)
#define WEFT__REGISTER_LINE(remote, line) WEFT__REGISTER_AS(remote, line)
#define WEFT__REGISTER_AS(remote, line)                                                                         \
    __attribute__((constructor)) static void weft_register_##line(void) {                                       \
        (void)weft_dist_register(&(remote));                                                                    \
    }                                                                                                           \
    struct weft_remote

#define WEFT__REMOTE_RECORD(name, size)                                                                         \
    static struct weft_remote name##_weft_remote = {#name, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL,      \
        name##_weft_run, sizeof(struct name##_weft_record), size, NULL, 0};                                     \
    __attribute__((constructor)) static void name##_weft_register(void) {                                       \
        (void)weft_dist_register(&name##_weft_remote);                                                          \
    }
#define WEFT__REMOTE_VALUE(R, name, fields, params, assigns, loads, names)                                      \
    WEFT__TASK_DECLARE(weft__remote_push, static, R, weft_t->result =, R result;, name, fields, params, assigns,\
                       loads, names)                                                                            \
    WEFT__USE_VALUE(R, name, params, loads, names)                                                              \
    WEFT__REMOTE_RECORD(name, sizeof(R))
#define WEFT__REMOTE_VOID(R, name, fields, params, assigns, loads, names)                                       \
    WEFT__TASK_DECLARE(weft__remote_push, static, R, (void)weft_t;, , name, fields, params, assigns, loads,     \
                       names)                                                                                   \
    WEFT__USE_VOID(R, name, params, loads, names)                                                               \
    WEFT__REMOTE_RECORD(name, 0)
/* clang-format on */

/* ---------------------------------------------------------------------------------------------
 * Typed remote calls
 *
 * n in the names is the number of arguments, 0 to 6. WEFT_SPAWN, WEFT_CALL, WEFT_SYNC and WEFT_RUN of weft/task.h work
 * with them. Arguments and result are flat: no pointers, unless they mean the same on every rank. A name is unique in
 * the program.
 * ------------------------------------------------------------------------------------------ */

/* Declare and define a remote call with a result: WEFT_REMOTE_n(result, name, type, argument, ...) { ... }. */
#define WEFT_REMOTE_0(R, name) WEFT__APPLY(WEFT__REMOTE_VALUE, R, name, WEFT__LISTS_0) WEFT__DEFINE(static, R, name, )
#define WEFT_REMOTE_1(R, name, A, a) \
    WEFT__APPLY(WEFT__REMOTE_VALUE, R, name, WEFT__LISTS_1(A)) WEFT__DEFINE(static, R, name, , A a)
#define WEFT_REMOTE_2(R, name, A, a, B, b) \
    WEFT__APPLY(WEFT__REMOTE_VALUE, R, name, WEFT__LISTS_2(A, B)) WEFT__DEFINE(static, R, name, , A a, B b)
#define WEFT_REMOTE_3(R, name, A, a, B, b, C, c) \
    WEFT__APPLY(WEFT__REMOTE_VALUE, R, name, WEFT__LISTS_3(A, B, C)) WEFT__DEFINE(static, R, name, , A a, B b, C c)
#define WEFT_REMOTE_4(R, name, A, a, B, b, C, c, D, d) \
    WEFT__APPLY(WEFT__REMOTE_VALUE, R, name, WEFT__LISTS_4(A, B, C, D)) \
    WEFT__DEFINE(static, R, name, , A a, B b, C c, D d)
#define WEFT_REMOTE_5(R, name, A, a, B, b, C, c, D, d, E, e) \
    WEFT__APPLY(WEFT__REMOTE_VALUE, R, name, WEFT__LISTS_5(A, B, C, D, E)) \
    WEFT__DEFINE(static, R, name, , A a, B b, C c, D d, E e)
#define WEFT_REMOTE_6(R, name, A, a, B, b, C, c, D, d, E, e, F, f) \
    WEFT__APPLY(WEFT__REMOTE_VALUE, R, name, WEFT__LISTS_6(A, B, C, D, E, F)) \
    WEFT__DEFINE(static, R, name, , A a, B b, C c, D d, E e, F f)

/* Declare and define a remote call without a result: WEFT_VOID_REMOTE_n(name, type, argument, ...) { ... }. */
#define WEFT_VOID_REMOTE_0(name) \
    WEFT__APPLY(WEFT__REMOTE_VOID, void, name, WEFT__LISTS_0) WEFT__DEFINE(static, void, name, )
#define WEFT_VOID_REMOTE_1(name, A, a) \
    WEFT__APPLY(WEFT__REMOTE_VOID, void, name, WEFT__LISTS_1(A)) WEFT__DEFINE(static, void, name, , A a)
#define WEFT_VOID_REMOTE_2(name, A, a, B, b) \
    WEFT__APPLY(WEFT__REMOTE_VOID, void, name, WEFT__LISTS_2(A, B)) WEFT__DEFINE(static, void, name, , A a, B b)
#define WEFT_VOID_REMOTE_3(name, A, a, B, b, C, c) \
    WEFT__APPLY(WEFT__REMOTE_VOID, void, name, WEFT__LISTS_3(A, B, C)) \
    WEFT__DEFINE(static, void, name, , A a, B b, C c)
#define WEFT_VOID_REMOTE_4(name, A, a, B, b, C, c, D, d) \
    WEFT__APPLY(WEFT__REMOTE_VOID, void, name, WEFT__LISTS_4(A, B, C, D)) \
    WEFT__DEFINE(static, void, name, , A a, B b, C c, D d)

#endif
