/* SPDX-License-Identifier: MIT */
/*
 * libweft-threads: the threads of an unmodified program as fibers. See README.md.
 *
 *   thread    a thread of the program. It is a fiber with a block of its own (libc/block.c), and its record is a
 *             thread-local of that block: so pthread_t leads to the record, and the record is gone with the block.
 *   first     the first thread of the process: the main thread or, in a forked child, the thread that forked. It
 *             becomes a fiber when the program creates a second thread.
 *   receiver  the kernel thread on which the first thread began. It receives the signals of the process.
 *   inside    a thread is inside while it runs code of weft or of this library. Handlers of the program's signals do
 *             not run then; they run when it leaves.
 *   lot       the table of threads that wait, by address: a futex for fibers.
 *
 * With `weft__posix` the library serves a program that is written for weft: threads stay kernel threads, and calls that
 * block park the program's own fibers. Then there are no records of threads, and no signals or cancellations of
 * threads; see posix.c.
 */
#ifndef WEFT_THREADS_H
#define WEFT_THREADS_H

#include "arch/thread_pointer.h"
#include "base/lock.h"
#include "libc/libc.h"
#include "look/lot_waiter.h"
#include "sched/core/self.h"
#include "sched/wait/wait_chain.h"
#include "weft.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <time.h>

#define WEFT_INTERPOSED __attribute__((visibility("default")))
/* The C library's function of this name, with the prototype of its header. */
#define real(name) __wrap_##name
long __wrap_syscall(long number, ...);
#define REAL(name) extern __typeof__(name) __wrap_##name
/* This library's function of this name, when another file calls it: the plain name would mean the C library's. */
#define ours(name) __real_##name
#define OURS(name) extern __typeof__(name) __real_##name

/* The states of a thread. */
enum {
    WEFT_THREAD_NONE,     /* not a fiber: a carrier, or threads are still kernel threads */
    WEFT_THREAD_JOINABLE, /* runs */
    WEFT_THREAD_DETACHED, /* runs, and is freed when it ends */
    WEFT_THREAD_ENDED,    /* waits for its joiner */
    /* In the following states the block is free. Calls with the thread's handle return the errors of glibc. */
    WEFT_THREAD_COLLECTED, /* it was joined, or detached after its end */
    WEFT_THREAD_GONE,      /* it was detached, and has ended */
};

struct weft__thread {
    _Atomic uint32_t state; /* WEFT_THREAD_NONE ... */
    _Atomic uint32_t over;  /* 1: it has ended; joiners wait here */
    unsigned inside;        /* how often it has entered */
    bool is_first;
    struct weft_fiber fiber;
    uintptr_t owner_name; /* see look/lot_waiter.h; 0: it is no fiber, and was none before a fork */
    void *block;
    void *(*fn)(void *);
    void *arg, *result;
    void *stack; /* the program's own, or NULL: its lowest byte */
    size_t stack_size, guard_size;
    struct weft__thread *next, **link; /* in the list of all, under its lock (signals.c) */
    /* cancel.c */
    _Atomic bool is_cancelled;
    /* signals.c */
    _Atomic uint64_t mask, pending;
    uint64_t awaited;         /* by sigwait, under the lock */
    _Atomic int got;          /* the signal that sigwait got; 0: none yet */
    _Atomic uint32_t handled; /* number of handlers that have run */
    stack_t alternate;
    /* interrupt.c: the wait in weft that a signal or a cancellation ends; under `waits` */
    struct weft__lock waits;
    struct weft_scope *scope;
    /* attributes.c */
    int policy, priority;
    char name[16];
};

extern __thread struct weft__thread weft__thread __attribute__((tls_model("initial-exec")));
/* Are the program's threads fibers? Set when it creates its first thread. */
extern _Atomic bool weft__threads_on;
/* How often the process has forked, for a pthread_once that a thread of the parent was running. */
extern uint32_t weft__threads_forks;

/* The calling thread, or NULL if it is no fiber. A thread's record never moves: the compiler may keep its address. */
static inline struct weft__thread *weft__thread_self(void) {
    return likely(weft__thread.state != WEFT_THREAD_NONE) ? &weft__thread : NULL;
}

/* --- posix.c: the fibers of a program that is written for weft ------------------------------------------------ */

/* Is the program written for weft? Set before main, and constant afterwards. */
extern bool weft__posix;

/* The calling fiber. NULL: the caller is a kernel thread, or a carrier between two fibers. */
static inline struct weft__fiber *weft__caller_fiber(void) {
    struct weft__worker *w = weft__self();
    return w ? load_rlx(&w->current) : NULL;
}
/* Does a call that blocks park its caller? True for threads that are fibers, and with weft__posix for all fibers. */
static inline bool weft__caller_parks(void) {
    return weft__thread_self() || (unlikely(weft__posix) && weft__caller_fiber());
}
/* Names the caller as the owner of a lock. With weft__posix a fiber has no storage of its own, and moves between
 * carriers. */
static inline uintptr_t weft__caller(void) {
    uintptr_t name = weft__thread.owner_name;
    if (likely(name)) return name;
    struct weft__fiber *f = unlikely(weft__posix) ? weft__caller_fiber() : NULL;
    return f ? (uintptr_t)weft__lock_owner(weft__life(f)) : (uintptr_t)weft__thread_pointer();
}

/* --- records of threads ----------------------------------------------------------------------------------------- */

/* The thread of a pthread_t; its state is NONE if it is a kernel thread. */
struct weft__thread *weft__thread_of(pthread_t thread);
/* The pthread_t of a thread. */
pthread_t weft__thread_id(const struct weft__thread *t);

/* Enter and leave: see `inside` above. Both do nothing for a caller that is no thread of the program, because it may
 * move to another carrier in between. */
static inline void weft__thread_enter(void) {
    if (likely(weft__thread_self() != NULL)) weft__thread.inside++;
    fence_compiler();
}
void weft__thread_leave_pending(void);
static inline void weft__thread_leave(void) {
    fence_compiler();
    if (unlikely(!weft__thread_self()) || --weft__thread.inside) return;
    if (unlikely(load_rlx(&weft__thread.pending) & ~load_rlx(&weft__thread.mask))) weft__thread_leave_pending();
}

/* --- begin.c: from a process with one thread to one with fibers ---------------------------------------- */

/* True: the caller is a fiber now. False: the program goes on with kernel threads. */
bool weft__threads_begin_fibers(void);
/* The first thread ends by pthread_exit: its fiber ends. */
_Noreturn void weft__threads_end_first(void);
/* The storage of the first thread and of the receiver; see setxid.c. */
extern void *weft__threads_first_block, *weft__threads_receiver_block;

/* --- life.c -------------------------------------------------------------------------------------------- */

/* Called when the thread's function has returned: runs destructors, and ends the process if no other thread is left. */
void weft__thread_finish(struct weft__thread *t);
/* In a forked child: forgets all threads but the caller. */
void weft__threads_live_after_fork(void);
/* The last steps of a thread's end, on the carrier's storage. */
void weft__thread_announce(struct weft__thread *t);

/* --- lot.c --------------------------------------------------------------------------------------------- */

/* What ends a wait besides a wake-up and the deadline. For the program's own fibers CANCEL means weft's
 * cancellation. */
enum { WEFT_LOT_PLAIN, WEFT_LOT_CANCEL = 1, WEFT_LOT_SIGNAL = 2 };
/* Waits while *word is value. 0: woken, or the value differs; or ETIMEDOUT, ECANCELED, EINTR. object: what the program
 * waits for, for the observer and the recorder. */
int weft__lot_wait(_Atomic uint32_t *word, uint32_t value, uint64_t deadline, int until,
                   struct weft__lot_object object);
static inline struct weft__lot_object weft__lot_for(unsigned on, const void *object) {
    return (struct weft__lot_object){weft__for(on, object), NULL, NULL};
}
static inline struct weft__lot_object weft__lot_owned(unsigned on, const void *object, const void *owner) {
    return (struct weft__lot_object){weft__for(on, object), owner, NULL};
}
/* Parks a thread that is a fiber, as weft_park_until does, for something that no waker of the lot knows. 0; or
 * ETIMEDOUT. */
int weft__lot_park(uint64_t deadline, struct weft__lot_object object);
/* Wakes up to n waiters; returns how many. */
int weft__lot_wake(_Atomic uint32_t *word, int n);
/* Wakes up to n, and moves up to m others to another word. */
int weft__lot_requeue(_Atomic uint32_t *word, int n, _Atomic uint32_t *to, int m);
void weft__lot_after_fork(void);

/* --- clock.c ------------------------------------------------------------------------------------------- */

bool weft__time_is_bad(const struct timespec *t);
/* An absolute time of that clock as a deadline of weft. */
uint64_t weft__time_deadline(const struct timespec *t, clockid_t clock);
/* A time from now on as a deadline. */
uint64_t weft__time_after(const struct timespec *t);

/* --- cancel.c ------------------------------------------------------------------------------------------ */

/* Was the thread cancelled, with cancellation enabled? */
bool weft__cancel_is_due(struct weft__thread *t);
/* Ends the calling thread if it was cancelled; otherwise returns. */
void weft__cancel_point(void);
/* Is the cancellation type asynchronous? */
bool weft__cancel_is_async(void);

/* --- interrupt.c: waits in weft that signals and cancellations end ---------------------------------------- */

struct weft__interruptible {
    struct weft_scope scope;
    uint32_t handled;
    bool restarts;
    bool has_scope; /* for a fiber of the program's own: its scope has begun */
};
/* Begins a wait that signals can end. Handles pending signals first. */
void weft__interrupt_begin(struct weft__interruptible *i, uint64_t deadline);
/* Ends such a wait. True: nothing has interrupted the call, or all handlers restart calls. Leaves errno unchanged. */
bool weft__interrupt_end(struct weft__interruptible *i);
/* Called when the call in such a wait has failed. Sets errno as the original call would: `late` if the deadline has
 * passed; EINTR if a signal or a cancellation has ended the wait, and then returns true. */
bool weft__interrupt_explain(uint64_t deadline, int late);
/* Ends the wait of another thread. */
void weft__interrupt(struct weft__thread *t);

/* --- signals.c ----------------------------------------------------------------------------------------- */

#define WEFT_BIT(s) (UINT64_C(1) << ((s)-1))
#define WEFT_KICK SIGSTKFLT /* makes a carrier look; real-time signals would queue */
/* Carriers receive these signals. The receiver receives all others. */
#define WEFT_FAULT_SIGNALS \
    (WEFT_BIT(SIGSEGV) | WEFT_BIT(SIGBUS) | WEFT_BIT(SIGFPE) | WEFT_BIT(SIGILL) | WEFT_BIT(SIGTRAP) | \
     WEFT_BIT(SIGSYS) | WEFT_BIT(SIGABRT) | WEFT_BIT(SIGPIPE) | WEFT_BIT(SIGKILL) | WEFT_BIT(SIGSTOP) | WEFT_BIT(32) | \
     WEFT_BIT(33) | WEFT_BIT(WEFT_KICK))
void weft__signals_add(struct weft__thread *t);
void weft__signals_remove(struct weft__thread *t);
/* Gives a signal for the process to a thread. */
void weft__signals_dispatch(int signal, const siginfo_t *info);
/* Runs the handlers of signals that are pending for the caller and not blocked. Returns how many; *restarts: all of
 * them restart calls. */
int weft__signals_run(struct weft__thread *t, bool *restarts);
uint64_t weft__signals_set_kernel_mask(uint64_t mask);
void weft__signals_after_fork(void);
/* Called when a mask has changed: signals that were blocked may be due. */
void weft__signals_recheck(struct weft__thread *t);
/* Does the calling thread run on the alternate stack that it has set? */
bool weft__signals_on_alternate(const struct weft__thread *t);
/* Sends a signal to one thread, as pthread_kill does. */
int weft__signals_send(struct weft__thread *t, int signal, const siginfo_t *info);
/* Takes one of these signals that is pending for the thread or the process. 0: none is. */
int weft__signals_take(struct weft__thread *t, uint64_t set, siginfo_t *info);
/* The thread waits for this set of signals from now on; 0: it waits no longer. False: one of them has come
 * meanwhile. */
bool weft__signals_await(struct weft__thread *t, uint64_t set);
uint64_t weft__signals_pending(struct weft__thread *t);
/* The details of the signal that the thread got. */
void weft__signals_info(int signal, siginfo_t *info);
/* Installs the handler for kicks. (kick.c) */
void weft__kick_begin(void);
/* Makes every carrier look, because a thread with a pending signal may run on it. (kick.c) */
void weft__kick_all(void);

/* --- setxid.c ------------------------------------------------------------------------------------------- */

void weft__setxid_begin(void);

#endif
