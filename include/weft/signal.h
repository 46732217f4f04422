/*
 * Signals, awaited by fibers. Part of weft.h, which includes it and says how to read it.
 *
 * Whoever wants signals subscribes to some, asks for one after the other, and ends the subscription:
 *
 *     struct weft_signals s = WEFT_SIGNALS_INIT;
 *     weft_signals_begin(&s, WEFT_SIGNAL(SIGTERM) | WEFT_SIGNAL(SIGHUP));
 *     while (weft_signals_next(&s, NULL) == SIGHUP) reload();
 *     weft_signals_end(&s);
 *
 * What comes between two questions is kept: of each signal one, the first, and how many came. Every
 * subscription gets every signal; of several that ask one subscription, one gets it.
 *
 * From the first subscription to a signal until the last has ended, weft's handler is installed for it (with
 * SA_RESTART), and the handler or action from before does not see it. It does not matter which thread the
 * kernel chooses; and if all the program's threads block the signal, weft's own thread takes it. More
 * about signals and fibers: docs/PROCESS.md.
 */
#ifndef WEFT_SIGNAL_H
#define WEFT_SIGNAL_H

#include "sync.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A set of signals: of a number of <signal.h>, its bit. */
#define WEFT_SIGNAL(number) (UINT64_C(1) << ((number)-1))

/* A signal that came, as siginfo_t has it. */
struct weft_signal {
    int number;     /* SIGTERM, ... */
    int code;       /* SI_USER, SI_QUEUE, CLD_EXITED, ... */
    int pid;        /* who sent it, or of which child it tells */
    unsigned uid;   /* whose that is */
    int status;     /* of SIGCHLD: the child's */
    void *value;    /* of sigqueue(3) */
    uint64_t count; /* so many came since one was last asked for; the rest of this is about the first */
};

struct weft_signals {
    struct weft_waiter *first; /* that asks */
    struct weft_signals *next;
    struct weft_signal *kept; /* of each that is pending */
    uint64_t set, pending;
};
#define WEFT_SIGNALS_INIT WEFT_ZERO

/*
 * Subscribes. -EINVAL: NULL, no signal, or one that cannot be awaited: SIGKILL, SIGSTOP, those of faults
 * and of abort, SIGURG, and those that the C library has for itself. -EBUSY: it is subscribed.
 * -ENOMEM, -EMFILE, -ENFILE, -EAGAIN: no memory, descriptors or threads.  [fiber thread; blocks for a moment]
 */
int weft_signals_begin(struct weft_signals *signals, uint64_t set);

/*
 * Waits for a signal; returns its number, and tells more in *got unless that is NULL. Of several that have
 * come, that with the lowest number. -EINVAL: NULL, or not subscribed. -ESRCH: the subscription was ended
 * meanwhile. -ETIMEDOUT. -ECANCELED: no signal was taken.  [fiber thread; parks, cancel]
 */
int weft_signals_next(struct weft_signals *signals, struct weft_signal *got);
int weft_signals_next_until(struct weft_signals *signals, struct weft_signal *got, uint64_t deadline);

/* The same without waiting; -EAGAIN: none has come.  [fiber thread] */
int weft_signals_next_try(struct weft_signals *signals, struct weft_signal *got);

/* Ends the subscription; what has come and nobody asked for is forgotten, and who waits is told, -ESRCH. Then
 * its memory may be freed. -EINVAL: NULL, not subscribed, or another has just ended it.
 * [fiber thread; blocks for a moment] */
int weft_signals_end(struct weft_signals *signals);

#ifdef __cplusplus
}
#endif
#endif
