/*
 * Tasks: calls that may run in parallel. Included by weft.h; its conventions hold here, too.
 *
 * A fork says that a call may run from now on, here or on another worker; the join returns when it
 * has run. When nobody took it meanwhile, the join is the call itself, on the same stack: no fence, no
 * locked instruction, no allocation. A task may do whatever a fiber may: block, lock, sleep, fork. Two forms:
 *
 *   generic   weft_fork(&task, fn, arg) ... weft_task_join(&task)
 *   typed     WEFT_TASK_1(long, fib, int, n) { ... WEFT_SPAWN(fib, n - 1) ... WEFT_SYNC(fib) ... }
 *             a few times faster: the place of the next fork is handed down as a hidden argument
 *
 * A call is told to stop (weft_cancel, scopes) with the fiber that forks it, whichever fiber runs it: its waits end. It
 * is run all the same, and joined.
 *
 * What is promised, and the bounds: docs/TASKS.md.
 */
#ifndef WEFT_TASK_H
#define WEFT_TASK_H

#include "../weft.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---------------------------------------------------------------------------------------------
 * The generic form
 * ------------------------------------------------------------------------------------------ */

/* In the frame of whoever forks, or anywhere; need not be initialised. It stays until it is joined. */
struct weft_task {
    void *opaque[2];
};
#define WEFT_TASK_INIT \
    { \
        { NULL, NULL } \
    }

/*
 * fn(arg) may run from now on; it must be joined by the same fiber, before that ends. fn must return:
 * weft_exit in it, or an exception that leaves it, ends the program in one line, whichever fiber runs it. So it is with
 * the typed form. An exception that passes the frame that forks and leaves the task behind there
 * is noticed only when the fiber ends.
 * Runs fn at once if there is no memory to remember it, or if 4 million tasks of the fiber are
 * outstanding. -EINVAL: task or fn NULL. -EPERM: the caller is no fiber.  [fiber]
 */
int weft_fork(struct weft_task *task, void (*fn)(void *), void *arg);

/*
 * Returns when the task has run; runs it itself if nobody has begun it. What it wrote is seen. Always
 * completes, cancelled or not. The youngest task that is outstanding is joined in a few instructions;
 * any other order works. -EINVAL: NULL, or not forked, or joined already. -EPERM: another fiber forked
 * it, or the caller is no fiber.  [fiber; parks]
 */
int weft_task_join(struct weft_task *task);

/* ---------------------------------------------------------------------------------------------
 * The typed form
 *
 *     WEFT_TASK_1(uint64_t, fib, unsigned, n) {           a task with one argument: like a function
 *         if (n < 2) return n;
 *         WEFT_SPAWN(fib, n - 1);                         fork
 *         uint64_t b = WEFT_CALL(fib, n - 2);             a plain call, which hands the context down
 *         return WEFT_SYNC(fib) + b;                      join the youngest spawn
 *     }
 *     ... WEFT_RUN(fib, 30) ...                           from any function of a fiber
 *
 * WEFT_TASK_n(result, name, type, argument, ...) and WEFT_VOID_TASK_n(name, type, argument, ...) for n
 * from 0 to 6; together the arguments, and the result, take 48 bytes at most, and need no alignment above
 * 16. Static; for several files, WEFT_TASK_DECLARE_n(result, name, type, ...) in a header and
 * WEFT_TASK_DEFINE_n(result, name, type, argument, ...) in one of them (WEFT_VOID_TASK_DECLARE_n, ..._DEFINE_n).
 * Types are such that they can be written before a name, and assigned: a typedef for pointers to functions,
 * no const of the value itself. In C++ they are trivially copyable, a task is noexcept, and one that C shares is
 * declared within extern "C" { }.
 *
 * Within a task, each spawn is synced by the same function, in reverse order; the name given to
 * WEFT_SYNC is that of the spawn. Several of them in one expression, as in WEFT_CALL(fib, n - 2) + WEFT_SYNC(fib), come
 * one after the other, but in an order that is the compiler's: where the order matters, as for syncs of different
 * tasks, each needs a statement. WEFT_SPAWN, WEFT_CALL and WEFT_SYNC can be used in the body of a
 * task only; functions that it calls may use WEFT_RUN, weft_fork and weft_task_join, and join what
 * they have forked before they return. A typed task cannot be forked by a thread that is no fiber, nor
 * without memory: WEFT_RUN then says so in one line, and aborts; weft_task_prepare asks first.
 *
 * Mistakes with spawns and syncs are noticed where that costs nothing; all of them with WEFT_TASK_CHECKS defined
 * before weft.h is included. See docs/TASKS.md.
 * ------------------------------------------------------------------------------------------ */

/* Makes sure that WEFT_RUN will not abort in this fiber before it next parks. -EPERM: the caller is
 * no fiber. -ENOMEM.  [fiber] */
int weft_task_prepare(void);

/* A forked call that has not begun, or is being run by somebody else. */
struct weft_deque;
struct weft_call {
    void (*run)(struct weft_deque *deque, struct weft_call *call); /* by whoever took it */
    uint64_t state;
    char data[48] __attribute__((aligned(16))); /* arguments, then the result */
} __attribute__((aligned(64)));

/* Where the calls of a fiber wait, the youngest at the head; the part that is used inline. */
struct weft_deque {
    struct weft_call *head;                                /* the next goes here */
    struct weft_call *split __attribute__((aligned(128))); /* from here on nobody else takes */
    struct weft_call *low;                                 /* forks in [low, low + span) are nobody's business; */
    uintptr_t span;                                        /* 0: somebody asks for work */
} __attribute__((aligned(128)));

/* The slow halves, and the way in and out. */
void weft__task_pushed(struct weft_deque *deque, struct weft_call *call);
int weft__task_pop(struct weft_deque *deque, struct weft_call *call);
/* One WEFT_RUN, in the frame of its caller. */
struct weft_entry {
    struct weft_deque *deque;
    struct weft_call *head;  /* where it begins, and has to end */
    struct weft_call *below; /* where the one around it began */
};
void weft__task_enter(struct weft_entry *entry);
void weft__task_leave(struct weft_entry *entry);
void weft__task_misused(const char *what, const char *name);

/*
 * With WEFT_TASK_CHECKS defined before weft.h is included, each sync checks whose turn it is, and each call that nobody
 * has stolen that it leaves nothing behind. In line, so that programs without pay nothing.
 */
#ifdef WEFT_TASK_CHECKS
#define WEFT__TASK_CHECK(condition, what, name) ((condition) ? (void)0 : weft__task_misused(what, name))
#else
#define WEFT__TASK_CHECK(condition, what, name) ((void)0)
#endif

/* A fork: the call is written, so it counts. Release: for whoever takes it by the head. */
static inline __attribute__((always_inline)) void weft__task_push(struct weft_deque *d, struct weft_call *c) {
    __atomic_store_n(&d->head, c + 1, __ATOMIC_RELEASE);
    __atomic_signal_fence(__ATOMIC_SEQ_CST); /* the light half of a fence; the heavy one is paid by who goes to sleep */
    if (__builtin_expect((uintptr_t)c - (uintptr_t)d->low >= __atomic_load_n(&d->span, __ATOMIC_RELAXED), 0))
        weft__task_pushed(d, c);
}

/* A join, of the youngest. 1: the call is the caller's to run; 0: somebody else has run it. */
static inline __attribute__((always_inline)) int weft__task_take(struct weft_deque *d, struct weft_call *c) {
    __atomic_store_n(&d->head, c, __ATOMIC_RELAXED);
    __atomic_signal_fence(__ATOMIC_SEQ_CST); /* as above; the heavy half is paid by a thief that moves the split */
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
/* A sync that is the last thing a task does must not become a jump back to its beginning: compilers then
 * keep six registers alive across it. (fib: 3.0 -> 2.0 ns a spawn.) */
#define WEFT__NO_TAIL_CALL __asm__ volatile("")

#define WEFT__CHECK_SYNC(d, c, name)                                                                            \
    WEFT__TASK_CHECK((c)->run == name##_weft_run, "the youngest spawn is not of the task that is synced", #name)
#define WEFT__CHECK_RETURN(d, c, name)                                                                          \
    WEFT__TASK_CHECK((d)->head == (c), "a task has not synced exactly what it spawned", #name)

/*
 * What uses the head is a function that is handed its address, and reads it within: so uses of it in one expression,
 * WEFT_CALL(...) + WEFT_SYNC(...) say, come one after the other, in whichever order. As operators of the expression itself
 * they would be unsequenced, which is no program at all; with the head read as an argument, a call could begin at a
 * place that a sync has freed meanwhile.
 *
 * Lists in parentheses: fields of the record, parameters, assignments, arguments from the record and by name.
 */
#define WEFT__TASK_DECLARE(linkage, R, keep, result, name, fields, params, assigns, loads, names)               \
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
        weft__task_push(weft_d, weft_c);                                                                        \
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
    WEFT__TASK_DECLARE(linkage, R, weft_t->result =, R result;, name, fields, params, assigns, loads, names)    \
    WEFT__USE_VALUE(R, name, params, loads, names)
#define WEFT__DECLARE_VOID(linkage, R, name, fields, params, assigns, loads, names)                             \
    WEFT__TASK_DECLARE(linkage, R, (void)weft_t;, , name, fields, params, assigns, loads, names)                \
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

/* The body: a function with two hidden parameters. */
#define WEFT__DEFINE(linkage, R, name, ...)                                                                     \
    linkage R name##_weft_call(struct weft_deque *weft_d WEFT__UNUSED, struct weft_call *weft_h WEFT__UNUSED    \
                               __VA_ARGS__) WEFT__NO_THROW

#define WEFT_TASK_DECLARE_0(R, name) WEFT__APPLY(WEFT__DECLARE_VALUE, , R, name, WEFT__LISTS_0)
#define WEFT_TASK_DECLARE_1(R, name, A) WEFT__APPLY(WEFT__DECLARE_VALUE, , R, name, WEFT__LISTS_1(A))
#define WEFT_TASK_DECLARE_2(R, name, A, B) WEFT__APPLY(WEFT__DECLARE_VALUE, , R, name, WEFT__LISTS_2(A, B))
#define WEFT_TASK_DECLARE_3(R, name, A, B, C) WEFT__APPLY(WEFT__DECLARE_VALUE, , R, name, WEFT__LISTS_3(A, B, C))
#define WEFT_TASK_DECLARE_4(R, name, A, B, C, D) WEFT__APPLY(WEFT__DECLARE_VALUE, , R, name, WEFT__LISTS_4(A, B, C, D))
#define WEFT_TASK_DECLARE_5(R, name, A, B, C, D, E) \
    WEFT__APPLY(WEFT__DECLARE_VALUE, , R, name, WEFT__LISTS_5(A, B, C, D, E))
#define WEFT_TASK_DECLARE_6(R, name, A, B, C, D, E, F) \
    WEFT__APPLY(WEFT__DECLARE_VALUE, , R, name, WEFT__LISTS_6(A, B, C, D, E, F))

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

#define WEFT_TASK_DEFINE_0(R, name) WEFT__DEFINE(, R, name, )
#define WEFT_TASK_DEFINE_1(R, name, A, a) WEFT__DEFINE(, R, name, , A a)
#define WEFT_TASK_DEFINE_2(R, name, A, a, B, b) WEFT__DEFINE(, R, name, , A a, B b)
#define WEFT_TASK_DEFINE_3(R, name, A, a, B, b, C, c) WEFT__DEFINE(, R, name, , A a, B b, C c)
#define WEFT_TASK_DEFINE_4(R, name, A, a, B, b, C, c, D, d) WEFT__DEFINE(, R, name, , A a, B b, C c, D d)
#define WEFT_TASK_DEFINE_5(R, name, A, a, B, b, C, c, D, d, E, e) WEFT__DEFINE(, R, name, , A a, B b, C c, D d, E e)
#define WEFT_TASK_DEFINE_6(R, name, A, a, B, b, C, c, D, d, E, e, F, f) \
    WEFT__DEFINE(, R, name, , A a, B b, C c, D d, E e, F f)

#define WEFT_VOID_TASK_DEFINE_0(name) WEFT_TASK_DEFINE_0(void, name)
#define WEFT_VOID_TASK_DEFINE_1(name, ...) WEFT_TASK_DEFINE_1(void, name, __VA_ARGS__)
#define WEFT_VOID_TASK_DEFINE_2(name, ...) WEFT_TASK_DEFINE_2(void, name, __VA_ARGS__)
#define WEFT_VOID_TASK_DEFINE_3(name, ...) WEFT_TASK_DEFINE_3(void, name, __VA_ARGS__)
#define WEFT_VOID_TASK_DEFINE_4(name, ...) WEFT_TASK_DEFINE_4(void, name, __VA_ARGS__)
#define WEFT_VOID_TASK_DEFINE_5(name, ...) WEFT_TASK_DEFINE_5(void, name, __VA_ARGS__)
#define WEFT_VOID_TASK_DEFINE_6(name, ...) WEFT_TASK_DEFINE_6(void, name, __VA_ARGS__)

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

/* Names and values, as in a call: WEFT_SPAWN(fib, n - 1). */
#define WEFT_SPAWN(name, ...) name##_weft_spawn(weft_d, &weft_h, ##__VA_ARGS__)
#define WEFT_CALL(name, ...) name##_weft_plain(weft_d, &weft_h, ##__VA_ARGS__)
#define WEFT_SYNC(name) name##_weft_sync(weft_d, &weft_h)
#define WEFT_RUN(name, ...) name##_weft_enter(0, ##__VA_ARGS__)
/* clang-format on */

#endif
