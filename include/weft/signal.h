/* SPDX-License-Identifier: MIT */
/*
 * Signals for fibers. weft.h includes this header and says how to read it.
 *
 * A fiber or thread subscribes to some signals, receives them one after the other, and ends the subscription:
 *
 *     struct weft_signals s = WEFT_SIGNALS_INIT;
 *     if (weft_signals_begin(&s, WEFT_SIGNAL(SIGTERM) | WEFT_SIGNAL(SIGHUP))) return 1;
 *     while (weft_signals_next(&s, NULL) == SIGHUP) reload();
 *     weft_signals_end(&s);
 *
 * Signals that arrive between two calls are kept: for each number, the first signal and a count. Every subscription
 * receives every signal. When several callers wait on one subscription, one of them receives it.
 *
 * From the first subscription to a signal until the last one ends, weft's handler is installed for it, with SA_RESTART,
 * and the previous handler or action does not see the signal. It does not matter which thread the kernel chooses. If
 * all threads of the program block the signal, weft's own thread takes it. docs/PROCESS.md has more on signals and
 * fibers.
 */
#ifndef WEFT_SIGNAL_H
#define WEFT_SIGNAL_H

#include "sync.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The bit of a signal number in a set: WEFT_SIGNAL(SIGTERM) | WEFT_SIGNAL(SIGHUP). */
#define WEFT_SIGNAL(number) (UINT64_C(1) << ((number)-1))

/* A received signal, as in siginfo_t. */
struct weft_signal {
    int number;     /* SIGTERM, ... */
    int code;       /* SI_USER, SI_QUEUE, CLD_EXITED, ... */
    int pid;        /* the sender, or the child that SIGCHLD is about */
    unsigned uid;   /* its user */
    int status;     /* for SIGCHLD: the child's status */
    void *value;    /* for sigqueue(3): its value */
    uint64_t count; /* how many arrived since the last call; the other members describe the first one */
};

/* A subscription. */
struct weft_signals {
    struct weft_waiter *first; /* the first waiting caller */
    struct weft_signals *next;
    struct weft_signal *kept; /* the pending signals */
    uint64_t set, pending;
};

/* Initialises a struct weft_signals. */
#define WEFT_SIGNALS_INIT WEFT_ZERO

/*
 * Subscribes to a set of signals. SIGKILL, SIGSTOP, SIGURG, the signals of faults and of abort, and those reserved by
 * the C library cannot be subscribed to.
 *
 *   set   bits of WEFT_SIGNAL
 *
 * Errors:
 *   -EINVAL   signals is NULL, or the set is empty or contains such a signal
 *   -EBUSY    the subscription has already begun
 *   -ENOMEM, -EMFILE, -ENFILE, -EAGAIN
 *             no memory, descriptors or threads
 * [fiber thread; blocks the kernel thread for a moment]
 */
WEFT_MUST_USE int weft_signals_begin(struct weft_signals *signals, uint64_t set);

/*
 * Waits for a signal and returns its number. If several are pending, returns the lowest number. A cancelled call has
 * taken no signal.
 *
 *   got   receives the details; may be NULL
 *
 * Errors:
 *   -EINVAL   signals is NULL, or the subscription has not begun
 *   -ESRCH    the subscription was ended meanwhile
 * [fiber thread; parks, cancel]
 */
WEFT_MUST_USE int weft_signals_next(struct weft_signals *signals, struct weft_signal *got);
WEFT_MUST_USE int weft_signals_next_until(struct weft_signals *signals, struct weft_signal *got, uint64_t deadline);

/*
 * Returns a pending signal without waiting.
 *
 * Errors:
 *   -EAGAIN   no signal is pending
 *   -EINVAL   signals is NULL, or the subscription has not begun
 * [fiber thread]
 */
WEFT_MUST_USE int weft_signals_next_try(struct weft_signals *signals, struct weft_signal *got);

/*
 * Ends a subscription. Pending signals are dropped, and waiting callers get -ESRCH. Afterwards the memory may be freed.
 *
 * Errors: -EINVAL if signals is NULL, the subscription has not begun, or another caller has just ended it.
 * [fiber thread; blocks the kernel thread for a moment]
 */
int weft_signals_end(struct weft_signals *signals);

#ifdef __cplusplus
}
#endif
#endif
