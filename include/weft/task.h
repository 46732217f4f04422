/* SPDX-License-Identifier: MIT */
/*
 * Tasks: fork and join. weft.h includes this header and says how to read it.
 *
 * A fork says that a call may run from now on, on this worker or on another one. The join returns when the call has
 * run. If no other worker took the call, the join runs it as an ordinary call on the same stack: no fence, no locked
 * instruction, no allocation. A task may do whatever a fiber may: block, lock, sleep, fork. There are two forms:
 *
 *   generic   weft_task_fork(&task, fn, arg) and weft_task_join(&task)
 *   typed     WEFT_TASK_1(long, fib, int, n) { ... } with WEFT_SPAWN, WEFT_CALL and WEFT_SYNC; a few times faster,
 *             because the position of the next fork is passed down as a hidden argument
 *
 * Cancelling the forking fiber also cancels its forked calls, on whichever fiber they run: their waits end. The calls
 * still run, and must still be joined. docs/TASKS.md has the promises and the limits.
 */
#ifndef WEFT_TASK_H
#define WEFT_TASK_H

#include "../weft.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---------------------------------------------------------------------------------------------
 * The generic form
 *
 * Fork any function with any argument. A fiber joins its tasks before it ends, in any order.
 * ------------------------------------------------------------------------------------------ */

/*
 * A forked call. It lives in the frame of the forking function or elsewhere, needs no initialisation, and stays until
 * it is joined.
 */
struct weft_task {
    void *opaque[2];
};

/* Initialises a struct weft_task, for compilers that warn without it. */
#define WEFT_TASK_INIT \
    { \
        { NULL, NULL } \
    }

/*
 * Allows fn(arg) to run from now on, in parallel with the caller. The same fiber must join the task before it ends. If
 * memory is exhausted, or 4 million tasks of the fiber are outstanding, the fork runs fn at once.
 *
 *     struct weft_task task;
 *     weft_task_fork(&task, left_half, &left);
 *     right_half(&right);
 *     weft_task_join(&task);
 *
 * fn must return. If it calls weft_fiber_exit or throws a C++ exception, the program prints one line and aborts. An
 * exception that unwinds the forking frame and leaves its task behind is noticed when the fiber ends.
 *
 * Errors:
 *   -EINVAL   task or fn is NULL
 *   -EPERM    the caller is not a fiber
 * [fiber]
 */
int weft_task_fork(struct weft_task *task, void (*fn)(void *), void *arg);

/*
 * Returns when the task has run; runs it if no other worker has started it. What the task wrote is visible afterwards.
 * The wait cannot be cancelled. Joining the youngest outstanding task takes a few instructions; any other order works,
 * too.
 *
 * Errors:
 *   -EINVAL   task is NULL, was not forked, or is joined already
 *   -EPERM    another fiber forked the task, or the caller is not a fiber
 * [fiber; parks]
 */
int weft_task_join(struct weft_task *task);

/* ---------------------------------------------------------------------------------------------
 * The typed form
 *
 *     WEFT_TASK_1(uint64_t, fib, unsigned, n) {           a task with one argument, like a function
 *         if (n < 2) return n;
 *         WEFT_SPAWN(fib, n - 1);                         fork
 *         uint64_t b = WEFT_CALL(fib, n - 2);             an ordinary call that passes the context down
 *         return WEFT_SYNC(fib) + b;                      join the youngest spawn
 *     }
 *     uint64_t result = WEFT_RUN(fib, 30);                from any function that a fiber runs
 *
 * Rules:
 *
 *   - A task syncs everything it spawns, in reverse order. The name given to WEFT_SYNC is that of the spawned task.
 *   - WEFT_SPAWN, WEFT_CALL and WEFT_SYNC work in the body of a task only. Functions that it calls use WEFT_RUN,
 *     weft_task_fork and weft_task_join, and join what they fork before they return.
 *   - Several of them in one expression run one after the other, in an order that the compiler chooses. Where the order
 *     matters, as between syncs of different tasks, use separate statements.
 *   - The arguments together, and the result, take at most 48 bytes and need an alignment of at most 16.
 *   - A type is written before a name and can be assigned: use a typedef for function pointers, and no const values. In
 *     C++ types are trivially copyable, tasks are noexcept, and a task shared with C is declared inside extern "C".
 *
 * Define WEFT_TASK_CHECKS before including weft.h to have every spawn and sync checked; without it, weft detects the
 * mistakes that cost nothing to detect. See docs/TASKS.md.
 * ------------------------------------------------------------------------------------------ */

/*
 * Makes sure that WEFT_RUN will not abort in this fiber before the fiber parks next.
 *
 * Errors:
 *   -EPERM    the caller is not a fiber
 *   -ENOMEM   out of memory
 * [fiber]
 */
WEFT_MUST_USE int weft_task_prepare(void);

/* ---------------------------------------------------------------------------------------------
 * Internal: the inline half of fork and join
 *
 * The macros below use these declarations. Programs do not.
 * ------------------------------------------------------------------------------------------ */

/* A forked call that has not started, or that a thief runs. */
struct weft_deque;
struct weft_call {
    void (*run)(struct weft_deque *deque, struct weft_call *call); /* called by the thief */
    uint64_t state;
    char data[48] __attribute__((aligned(16))); /* arguments, then the result */
} __attribute__((aligned(64)));

/* The queue of a fiber's forked calls, the youngest at the head: the members that inline code uses. */
struct weft_deque {
    struct weft_call *head;                                /* the next fork goes here */
    struct weft_call *split __attribute__((aligned(128))); /* thieves take only calls below this */
    struct weft_call *low;                                 /* forks in [low, low + span) need no slow path */
    uintptr_t span;                                        /* 0: a thief asks for work */
} __attribute__((aligned(128)));

/* The slow paths, and entering and leaving typed tasks. */
void weft__task_pushed(struct weft_deque *deque, struct weft_call *call);
int weft__task_pop(struct weft_deque *deque, struct weft_call *call);

/* One WEFT_RUN, in the frame of its caller. */
struct weft_entry {
    struct weft_deque *deque;
    struct weft_call *head;  /* the head at the start; it must be the same at the end */
    struct weft_call *below; /* the head of the WEFT_RUN around it */
};
void weft__task_enter(struct weft_entry *entry);
void weft__task_leave(struct weft_entry *entry);
void weft__task_misused(const char *what, const char *name);

/*
 * For libweft-mpi, which lets other processes run calls. weft__task_steal takes calls that no worker has begun: first
 * those of suspended fibers, then the older half of the caller's own calls, then those of other workers. When the
 * result of such a call is in call->data, weft__task_done completes the call. The caller of both functions is a fiber.
 */
struct weft__stolen {
    struct weft_call *call;
    void (*fn)(void *); /* a generic call's function, and its argument; NULL: the call is typed */
    void *arg;
};
unsigned weft__task_steal(struct weft__stolen *stolen, unsigned n);
void weft__task_done(struct weft_call *call);

/* A worker calls fn before it sleeps, outside of any fiber. takes_calls is 0 for a spare: the worker in whose place it
 * runs still computes. fn returns 1 if it has made a fiber ready. NULL: none. */
void weft__before_sleep(int (*fn)(int takes_calls));

/*
 * With WEFT_TASK_CHECKS, each sync checks that the youngest spawn is of the task it names, and each call that was not
 * stolen checks that it has synced what it spawned. The checks are inline, so programs without them pay nothing.
 */
#ifdef WEFT_TASK_CHECKS
#define WEFT__TASK_CHECK(condition, what, name) ((condition) ? (void)0 : weft__task_misused(what, name))
#else
#define WEFT__TASK_CHECK(condition, what, name) ((void)0)
#endif

/* Publishes a forked call. The release pairs with a thief that reads the head. */
static inline __attribute__((always_inline)) void weft__task_push(struct weft_deque *d, struct weft_call *c) {
    __atomic_store_n(&d->head, c + 1, __ATOMIC_RELEASE);
    __atomic_signal_fence(__ATOMIC_SEQ_CST); /* light half; a worker that goes to sleep pays the heavy half */
    if (__builtin_expect((uintptr_t)c - (uintptr_t)d->low >= __atomic_load_n(&d->span, __ATOMIC_RELAXED), 0))
        weft__task_pushed(d, c);
}

/* Joins the youngest call. Returns 1 if the caller must run it, 0 if a thief has run it. */
static inline __attribute__((always_inline)) int weft__task_take(struct weft_deque *d, struct weft_call *c) {
    __atomic_store_n(&d->head, c, __ATOMIC_RELAXED);
    __atomic_signal_fence(__ATOMIC_SEQ_CST); /* light half; a thief that moves the split pays the heavy half */
    if (__builtin_expect(c >= __atomic_load_n(&d->split, __ATOMIC_RELAXED), 1)) return 1;
    return weft__task_pop(d, c);
}

#ifdef __cplusplus
}
#define WEFT__ASSERT(condition, text) static_assert(condition, text)
#define WEFT__NO_THROW noexcept
#define WEFT__IS_COPIED(type) __is_trivially_copyable(type)
#else
#define WEFT__ASSERT(condition, text) _Static_assert(condition, text)
#define WEFT__NO_THROW
#define WEFT__IS_COPIED(type) 1
#endif

/* clang-format off */
#define WEFT__LIST(...) __VA_ARGS__
#define WEFT__UNUSED __attribute__((unused))

/*
 * Keeps the compiler from turning a sync at the end of a task into a jump to the task's beginning. With that jump, the
 * compiler would keep six registers alive across the sync. (fib: 3.0 -> 2.0 ns for each spawn.)
 */
#define WEFT__NO_TAIL_CALL __asm__ volatile("")

#define WEFT__CHECK_SYNC(d, c, name)                                                                            \
    WEFT__TASK_CHECK((c)->run == name##_weft_run, "the youngest spawn is not of the task that is synced", #name)
#define WEFT__CHECK_RETURN(d, c, name)                                                                          \
    WEFT__TASK_CHECK((d)->head == (c), "a task has not synced exactly what it spawned", #name)

/*
 * Each operation on the head is a function that receives the address of the head and reads it inside. So operations in
 * one expression, as in WEFT_CALL(...) + WEFT_SYNC(...), run one after the other in some order. As plain operators they
 * would be unsequenced, which is undefined. If the head were read as an argument, a call could start at an entry of the
 * deque that a sync has freed meanwhile.
 *
 * The lists in parentheses are: fields of the record, parameters, assignments, arguments from the record, arguments by
 * name.
 */
#define WEFT__TASK_DECLARE(push, linkage, R, keep, result, name, fields, params, assigns, loads, names)         \
    struct name##_weft_record { WEFT__LIST fields };                                                            \
    union name##_weft_data { struct name##_weft_record args; result };                                          \
    WEFT__ASSERT(sizeof(struct weft_call) == 64 && sizeof(union name##_weft_data) <= 48,                        \
                 "the arguments and the result of a task take 48 bytes at most");                               \
    WEFT__ASSERT(WEFT__IS_COPIED(union name##_weft_data),                                                       \
                 "arguments and result of a task are copied byte by byte: hand a pointer to it");               \
    WEFT__ASSERT(__alignof__(union name##_weft_data) <= 16,                                                     \
                 "no argument or result of a task may need an alignment of more than 16: hand a pointer to it");\
    linkage R name##_weft_call(struct weft_deque *weft_d, struct weft_call *weft_h WEFT__LIST params)           \
        WEFT__NO_THROW;                                                                                         \
    static WEFT__UNUSED void name##_weft_run(struct weft_deque *weft_d, struct weft_call *weft_c) {             \
        union name##_weft_data *weft_t = (union name##_weft_data *)(void *)weft_c->data;                        \
        keep name##_weft_call(weft_d, weft_d->head WEFT__LIST loads);                                           \
    }                                                                                                           \
    static inline WEFT__UNUSED __attribute__((always_inline)) void name##_weft_spawn(                           \
        struct weft_deque *weft_d, struct weft_call **weft_at WEFT__LIST params) {                              \
        struct weft_call *weft_c = *weft_at;                                                                    \
        union name##_weft_data *weft_t = (union name##_weft_data *)(void *)weft_c->data;                        \
        (void)weft_t;                                                                                           \
        weft_c->run = name##_weft_run;                                                                          \
        WEFT__LIST assigns                                                                                      \
        push(weft_d, weft_c);                                                                                   \
        *weft_at = weft_c + 1;                                                                                  \
    }

#define WEFT__USE_VALUE(R, name, params, loads, names)                                                          \
    static inline WEFT__UNUSED __attribute__((always_inline)) R name##_weft_plain(                              \
        struct weft_deque *weft_d, struct weft_call **weft_at WEFT__LIST params) {                              \
        R weft_result = name##_weft_call(weft_d, *weft_at WEFT__LIST names);                                    \
        WEFT__CHECK_RETURN(weft_d, *weft_at, name);                                                             \
        return weft_result;                                                                                     \
    }                                                                                                           \
    static inline WEFT__UNUSED __attribute__((always_inline)) R name##_weft_sync(struct weft_deque *weft_d,     \
                                                                                 struct weft_call **weft_at) {  \
        struct weft_call *weft_c = --*weft_at;                                                                  \
        WEFT__CHECK_SYNC(weft_d, weft_c, name);                                                                 \
        union name##_weft_data *weft_t = (union name##_weft_data *)(void *)weft_c->data;                        \
        if (__builtin_expect(weft__task_take(weft_d, weft_c), 1)) {                                             \
            R weft_result = name##_weft_call(weft_d, weft_c WEFT__LIST loads);                                  \
            WEFT__NO_TAIL_CALL;                                                                                 \
            WEFT__CHECK_RETURN(weft_d, weft_c, name);                                                           \
            return weft_result;                                                                                 \
        }                                                                                                       \
        return weft_t->result;                                                                                  \
    }                                                                                                           \
    static inline WEFT__UNUSED R name##_weft_enter(int weft_none WEFT__LIST params) {                           \
        struct weft_entry weft_e;                                                                               \
        (void)weft_none;                                                                                        \
        weft__task_enter(&weft_e);                                                                              \
        R weft_result = name##_weft_call(weft_e.deque, weft_e.head WEFT__LIST names);                           \
        weft__task_leave(&weft_e);                                                                              \
        return weft_result;                                                                                     \
    }
#define WEFT__USE_VOID(R, name, params, loads, names)                                                           \
    static inline WEFT__UNUSED __attribute__((always_inline)) void name##_weft_plain(                           \
        struct weft_deque *weft_d, struct weft_call **weft_at WEFT__LIST params) {                              \
        name##_weft_call(weft_d, *weft_at WEFT__LIST names);                                                    \
        WEFT__CHECK_RETURN(weft_d, *weft_at, name);                                                             \
    }                                                                                                           \
    static inline WEFT__UNUSED __attribute__((always_inline)) void name##_weft_sync(struct weft_deque *weft_d,  \
                                                                                    struct weft_call **weft_at) { \
        struct weft_call *weft_c = --*weft_at;                                                                  \
        WEFT__CHECK_SYNC(weft_d, weft_c, name);                                                                 \
        union name##_weft_data *weft_t = (union name##_weft_data *)(void *)weft_c->data;                        \
        (void)weft_t;                                                                                           \
        if (__builtin_expect(weft__task_take(weft_d, weft_c), 1)) {                                             \
            name##_weft_call(weft_d, weft_c WEFT__LIST loads);                                                  \
            WEFT__NO_TAIL_CALL;                                                                                 \
            WEFT__CHECK_RETURN(weft_d, weft_c, name);                                                           \
        }                                                                                                       \
    }                                                                                                           \
    static inline WEFT__UNUSED void name##_weft_enter(int weft_none WEFT__LIST params) {                        \
        struct weft_entry weft_e;                                                                               \
        (void)weft_none;                                                                                        \
        weft__task_enter(&weft_e);                                                                              \
        name##_weft_call(weft_e.deque, weft_e.head WEFT__LIST names);                                           \
        weft__task_leave(&weft_e);                                                                              \
    }

#define WEFT__DECLARE_VALUE(linkage, R, name, fields, params, assigns, loads, names)                            \
    WEFT__TASK_DECLARE(weft__task_push, linkage, R, weft_t->result =, R result;, name, fields, params, assigns, \
                       loads, names)                                                                            \
    WEFT__USE_VALUE(R, name, params, loads, names)
#define WEFT__DECLARE_VOID(linkage, R, name, fields, params, assigns, loads, names)                             \
    WEFT__TASK_DECLARE(weft__task_push, linkage, R, (void)weft_t;, , name, fields, params, assigns, loads,      \
                       names)                                                                                   \
    WEFT__USE_VOID(R, name, params, loads, names)

#define WEFT__LISTS_0 (char none;), (), (), (), () /* C has no empty structures */
#define WEFT__LISTS_1(A)                                                                                        \
    (A a1;), (, A a1), (weft_t->args.a1 = a1;), (, weft_t->args.a1), (, a1)
#define WEFT__LISTS_2(A, B)                                                                                     \
    (A a1; B a2;), (, A a1, B a2), (weft_t->args.a1 = a1; weft_t->args.a2 = a2;),                               \
    (, weft_t->args.a1, weft_t->args.a2), (, a1, a2)
#define WEFT__LISTS_3(A, B, C)                                                                                  \
    (A a1; B a2; C a3;), (, A a1, B a2, C a3),                                                                  \
    (weft_t->args.a1 = a1; weft_t->args.a2 = a2; weft_t->args.a3 = a3;),                                        \
    (, weft_t->args.a1, weft_t->args.a2, weft_t->args.a3), (, a1, a2, a3)
#define WEFT__LISTS_4(A, B, C, D)                                                                               \
    (A a1; B a2; C a3; D a4;), (, A a1, B a2, C a3, D a4),                                                      \
    (weft_t->args.a1 = a1; weft_t->args.a2 = a2; weft_t->args.a3 = a3; weft_t->args.a4 = a4;),                  \
    (, weft_t->args.a1, weft_t->args.a2, weft_t->args.a3, weft_t->args.a4), (, a1, a2, a3, a4)
#define WEFT__LISTS_5(A, B, C, D, E)                                                                            \
    (A a1; B a2; C a3; D a4; E a5;), (, A a1, B a2, C a3, D a4, E a5),                                          \
    (weft_t->args.a1 = a1; weft_t->args.a2 = a2; weft_t->args.a3 = a3; weft_t->args.a4 = a4;                    \
     weft_t->args.a5 = a5;),                                                                                    \
    (, weft_t->args.a1, weft_t->args.a2, weft_t->args.a3, weft_t->args.a4, weft_t->args.a5),                    \
    (, a1, a2, a3, a4, a5)
#define WEFT__LISTS_6(A, B, C, D, E, F)                                                                         \
    (A a1; B a2; C a3; D a4; E a5; F a6;), (, A a1, B a2, C a3, D a4, E a5, F a6),                              \
    (weft_t->args.a1 = a1; weft_t->args.a2 = a2; weft_t->args.a3 = a3; weft_t->args.a4 = a4;                    \
     weft_t->args.a5 = a5; weft_t->args.a6 = a6;),                                                              \
    (, weft_t->args.a1, weft_t->args.a2, weft_t->args.a3, weft_t->args.a4, weft_t->args.a5, weft_t->args.a6),   \
    (, a1, a2, a3, a4, a5, a6)
#define WEFT__APPLY(macro, ...) macro(__VA_ARGS__)

/* The body of a task is a function with two hidden parameters. */
#define WEFT__DEFINE(linkage, R, name, ...)                                                                     \
    linkage R name##_weft_call(struct weft_deque *weft_d WEFT__UNUSED, struct weft_call *weft_h WEFT__UNUSED    \
                               __VA_ARGS__) WEFT__NO_THROW

/* ---------------------------------------------------------------------------------------------
 * Macros of the typed form
 *
 * n in the names is the number of arguments, 0 to 6.
 * ------------------------------------------------------------------------------------------ */

/*
 * Declare a typed task with a result for use in several files: WEFT_TASK_DECLARE_n(result, name, type, ...). Put it
 * into a header, and WEFT_TASK_DEFINE_n into one source file.
 */
#define WEFT_TASK_DECLARE_0(R, name) WEFT__APPLY(WEFT__DECLARE_VALUE, , R, name, WEFT__LISTS_0)
#define WEFT_TASK_DECLARE_1(R, name, A) WEFT__APPLY(WEFT__DECLARE_VALUE, , R, name, WEFT__LISTS_1(A))
#define WEFT_TASK_DECLARE_2(R, name, A, B) WEFT__APPLY(WEFT__DECLARE_VALUE, , R, name, WEFT__LISTS_2(A, B))
#define WEFT_TASK_DECLARE_3(R, name, A, B, C) WEFT__APPLY(WEFT__DECLARE_VALUE, , R, name, WEFT__LISTS_3(A, B, C))
#define WEFT_TASK_DECLARE_4(R, name, A, B, C, D) WEFT__APPLY(WEFT__DECLARE_VALUE, , R, name, WEFT__LISTS_4(A, B, C, D))
#define WEFT_TASK_DECLARE_5(R, name, A, B, C, D, E) \
    WEFT__APPLY(WEFT__DECLARE_VALUE, , R, name, WEFT__LISTS_5(A, B, C, D, E))
#define WEFT_TASK_DECLARE_6(R, name, A, B, C, D, E, F) \
    WEFT__APPLY(WEFT__DECLARE_VALUE, , R, name, WEFT__LISTS_6(A, B, C, D, E, F))

/* Declare a typed task without a result for use in several files: WEFT_VOID_TASK_DECLARE_n(name, type, ...). */
#define WEFT_VOID_TASK_DECLARE_0(name) WEFT__APPLY(WEFT__DECLARE_VOID, , void, name, WEFT__LISTS_0)
#define WEFT_VOID_TASK_DECLARE_1(name, A) WEFT__APPLY(WEFT__DECLARE_VOID, , void, name, WEFT__LISTS_1(A))
#define WEFT_VOID_TASK_DECLARE_2(name, A, B) WEFT__APPLY(WEFT__DECLARE_VOID, , void, name, WEFT__LISTS_2(A, B))
#define WEFT_VOID_TASK_DECLARE_3(name, A, B, C) WEFT__APPLY(WEFT__DECLARE_VOID, , void, name, WEFT__LISTS_3(A, B, C))
#define WEFT_VOID_TASK_DECLARE_4(name, A, B, C, D) \
    WEFT__APPLY(WEFT__DECLARE_VOID, , void, name, WEFT__LISTS_4(A, B, C, D))
#define WEFT_VOID_TASK_DECLARE_5(name, A, B, C, D, E) \
    WEFT__APPLY(WEFT__DECLARE_VOID, , void, name, WEFT__LISTS_5(A, B, C, D, E))
#define WEFT_VOID_TASK_DECLARE_6(name, A, B, C, D, E, F) \
    WEFT__APPLY(WEFT__DECLARE_VOID, , void, name, WEFT__LISTS_6(A, B, C, D, E, F))

/*
 * Define the body of a task that WEFT_TASK_DECLARE_n declares: WEFT_TASK_DEFINE_n(result, name, type, argument, ...) {
 * ... }.
 */
#define WEFT_TASK_DEFINE_0(R, name) WEFT__DEFINE(, R, name, )
#define WEFT_TASK_DEFINE_1(R, name, A, a) WEFT__DEFINE(, R, name, , A a)
#define WEFT_TASK_DEFINE_2(R, name, A, a, B, b) WEFT__DEFINE(, R, name, , A a, B b)
#define WEFT_TASK_DEFINE_3(R, name, A, a, B, b, C, c) WEFT__DEFINE(, R, name, , A a, B b, C c)
#define WEFT_TASK_DEFINE_4(R, name, A, a, B, b, C, c, D, d) WEFT__DEFINE(, R, name, , A a, B b, C c, D d)
#define WEFT_TASK_DEFINE_5(R, name, A, a, B, b, C, c, D, d, E, e) WEFT__DEFINE(, R, name, , A a, B b, C c, D d, E e)
#define WEFT_TASK_DEFINE_6(R, name, A, a, B, b, C, c, D, d, E, e, F, f) \
    WEFT__DEFINE(, R, name, , A a, B b, C c, D d, E e, F f)

/* Define the body of a task that WEFT_VOID_TASK_DECLARE_n declares. */
#define WEFT_VOID_TASK_DEFINE_0(name) WEFT_TASK_DEFINE_0(void, name)
#define WEFT_VOID_TASK_DEFINE_1(name, ...) WEFT_TASK_DEFINE_1(void, name, __VA_ARGS__)
#define WEFT_VOID_TASK_DEFINE_2(name, ...) WEFT_TASK_DEFINE_2(void, name, __VA_ARGS__)
#define WEFT_VOID_TASK_DEFINE_3(name, ...) WEFT_TASK_DEFINE_3(void, name, __VA_ARGS__)
#define WEFT_VOID_TASK_DEFINE_4(name, ...) WEFT_TASK_DEFINE_4(void, name, __VA_ARGS__)
#define WEFT_VOID_TASK_DEFINE_5(name, ...) WEFT_TASK_DEFINE_5(void, name, __VA_ARGS__)
#define WEFT_VOID_TASK_DEFINE_6(name, ...) WEFT_TASK_DEFINE_6(void, name, __VA_ARGS__)

/* Declare and define a static typed task with a result: WEFT_TASK_n(result, name, type, argument, ...) { ... }. */
#define WEFT_TASK_0(R, name) \
    WEFT__APPLY(WEFT__DECLARE_VALUE, static, R, name, WEFT__LISTS_0) WEFT__DEFINE(static, R, name, )
#define WEFT_TASK_1(R, name, A, a) \
    WEFT__APPLY(WEFT__DECLARE_VALUE, static, R, name, WEFT__LISTS_1(A)) WEFT__DEFINE(static, R, name, , A a)
#define WEFT_TASK_2(R, name, A, a, B, b) \
    WEFT__APPLY(WEFT__DECLARE_VALUE, static, R, name, WEFT__LISTS_2(A, B)) WEFT__DEFINE(static, R, name, , A a, B b)
#define WEFT_TASK_3(R, name, A, a, B, b, C, c) \
    WEFT__APPLY(WEFT__DECLARE_VALUE, static, R, name, WEFT__LISTS_3(A, B, C)) \
    WEFT__DEFINE(static, R, name, , A a, B b, C c)
#define WEFT_TASK_4(R, name, A, a, B, b, C, c, D, d) \
    WEFT__APPLY(WEFT__DECLARE_VALUE, static, R, name, WEFT__LISTS_4(A, B, C, D)) \
    WEFT__DEFINE(static, R, name, , A a, B b, C c, D d)
#define WEFT_TASK_5(R, name, A, a, B, b, C, c, D, d, E, e) \
    WEFT__APPLY(WEFT__DECLARE_VALUE, static, R, name, WEFT__LISTS_5(A, B, C, D, E)) \
    WEFT__DEFINE(static, R, name, , A a, B b, C c, D d, E e)
#define WEFT_TASK_6(R, name, A, a, B, b, C, c, D, d, E, e, F, f) \
    WEFT__APPLY(WEFT__DECLARE_VALUE, static, R, name, WEFT__LISTS_6(A, B, C, D, E, F)) \
    WEFT__DEFINE(static, R, name, , A a, B b, C c, D d, E e, F f)

/* Declare and define a static typed task without a result: WEFT_VOID_TASK_n(name, type, argument, ...) { ... }. */
#define WEFT_VOID_TASK_0(name) \
    WEFT__APPLY(WEFT__DECLARE_VOID, static, void, name, WEFT__LISTS_0) WEFT__DEFINE(static, void, name, )
#define WEFT_VOID_TASK_1(name, A, a) \
    WEFT__APPLY(WEFT__DECLARE_VOID, static, void, name, WEFT__LISTS_1(A)) WEFT__DEFINE(static, void, name, , A a)
#define WEFT_VOID_TASK_2(name, A, a, B, b) \
    WEFT__APPLY(WEFT__DECLARE_VOID, static, void, name, WEFT__LISTS_2(A, B)) \
    WEFT__DEFINE(static, void, name, , A a, B b)
#define WEFT_VOID_TASK_3(name, A, a, B, b, C, c) \
    WEFT__APPLY(WEFT__DECLARE_VOID, static, void, name, WEFT__LISTS_3(A, B, C)) \
    WEFT__DEFINE(static, void, name, , A a, B b, C c)
#define WEFT_VOID_TASK_4(name, A, a, B, b, C, c, D, d) \
    WEFT__APPLY(WEFT__DECLARE_VOID, static, void, name, WEFT__LISTS_4(A, B, C, D)) \
    WEFT__DEFINE(static, void, name, , A a, B b, C c, D d)
#define WEFT_VOID_TASK_5(name, A, a, B, b, C, c, D, d, E, e) \
    WEFT__APPLY(WEFT__DECLARE_VOID, static, void, name, WEFT__LISTS_5(A, B, C, D, E)) \
    WEFT__DEFINE(static, void, name, , A a, B b, C c, D d, E e)
#define WEFT_VOID_TASK_6(name, A, a, B, b, C, c, D, d, E, e, F, f) \
    WEFT__APPLY(WEFT__DECLARE_VOID, static, void, name, WEFT__LISTS_6(A, B, C, D, E, F)) \
    WEFT__DEFINE(static, void, name, , A a, B b, C c, D d, E e, F f)

/*
 * Forks a call of a typed task: WEFT_SPAWN(fib, n - 1). In the body of a task only.
 *
 * Errors: none; the fork runs the call at once if it cannot be stored.
 * [fiber]
 */
#define WEFT_SPAWN(...) WEFT__WITH(spawn, (weft_d, &weft_h), __VA_ARGS__)

/*
 * Calls a typed task and returns its result: WEFT_CALL(fib, n - 2). In the body of a task only.
 *
 * Errors: none.
 * [fiber]
 */
#define WEFT_CALL(...) WEFT__WITH(plain, (weft_d, &weft_h), __VA_ARGS__)

/*
 * Joins the youngest spawn, which is of the task `name`, and returns its result. In the body of a task only. The wait
 * cannot be cancelled.
 *
 * Errors: none; a sync of the wrong task ends the program if WEFT_TASK_CHECKS is defined.
 * [fiber; parks]
 */
#define WEFT_SYNC(name) name##_weft_sync(weft_d, &weft_h)

/*
 * Calls a typed task from an ordinary function and returns its result: WEFT_RUN(fib, 30).
 *
 * Errors: prints one line and aborts if the caller is not a fiber or memory is exhausted; weft_task_prepare asks first.
 * [fiber; parks]
 */
#define WEFT_RUN(...) WEFT__WITH(enter, (0), __VA_ARGS__)

/*
 * name##_weft_##what(hidden arguments, arguments), chosen by their number: C11 cannot drop the comma before an empty
 * list.
 */
#define WEFT__WITH(what, hidden, ...) \
    WEFT__WITH_COUNT(what, hidden, __VA_ARGS__, 6, 5, 4, 3, 2, 1, 0, none)(what, hidden, __VA_ARGS__)
#define WEFT__WITH_COUNT(what, hidden, name, a, b, c, d, e, f, n, ...) WEFT__WITH_##n
#define WEFT__WITH_0(what, hidden, name) name##_weft_##what(WEFT__LIST hidden)
#define WEFT__WITH_1(what, hidden, name, a) name##_weft_##what(WEFT__LIST hidden, a)
#define WEFT__WITH_2(what, hidden, name, a, b) name##_weft_##what(WEFT__LIST hidden, a, b)
#define WEFT__WITH_3(what, hidden, name, a, b, c) name##_weft_##what(WEFT__LIST hidden, a, b, c)
#define WEFT__WITH_4(what, hidden, name, a, b, c, d) name##_weft_##what(WEFT__LIST hidden, a, b, c, d)
#define WEFT__WITH_5(what, hidden, name, a, b, c, d, e) name##_weft_##what(WEFT__LIST hidden, a, b, c, d, e)
#define WEFT__WITH_6(what, hidden, name, a, b, c, d, e, f) name##_weft_##what(WEFT__LIST hidden, a, b, c, d, e, f)

/* clang-format on */

#endif
