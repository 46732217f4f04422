/* SPDX-License-Identifier: MIT */
/*
 * Signals that fibers wait for. See weft/signal.h.
 *
 *   the handler, on any thread                   the poll thread
 *   1. writes the signal to a pipe               1. the pipe is readable: reads the signals one by one
 *   2. the pipe is full: sets the signal's bit   2. passes each to every subscription: to its first waiter,
 *      in `missed`, and writes an empty record      or stores it there
 *                                                3. when the pipe is empty: the same for `missed`
 *
 * A handler may do little more than write, and the write wakes the poll thread. Suppose the poll thread has emptied the
 * pipe and looked at `missed` before the handler sets the bit. Then the handler's second write succeeds and wakes it
 * again. If the second write finds the pipe full, the poll thread has not done its step 3 yet.
 *
 * Why not signalfd: it receives a signal only while every thread of the process blocks it, and a library cannot make
 * existing threads do so. With a handler any thread may receive it.
 *
 * The pipe exists while there are subscriptions. A handler may still run when the last subscription ends:
 *
 *   the handler                                  the end
 *   1. inside + 1                                1. removes the pipe
 *   2. if there is a pipe, writes                2. waits until inside is 0
 *   3. inside - 1                                3. closes the pipe
 *
 * The memory of a subscription belongs to the program, and may be gone as soon as its end has returned. So no thread
 * reads a subscription before it has found it in the list, under the lock. The end removes all waiters. A waiter that
 * has just stopped waiting, by deadline or cancellation, checks its own memory for whether it is still in the chain.
 * That is why all subscriptions share a lock: the lock of a single subscription might be gone.
 */
#define _GNU_SOURCE
#include "base/handler.h"
#include "io/poll_thread.h"
#include "sched/core/layers.h"
#include "sched/wait/wait_queue.h"

#include <string.h>
#include <unistd.h>

#define WEFT_SIGNALS_MOST 64
static const uint64_t forbidden =
    WEFT_SIGNAL(SIGKILL) | WEFT_SIGNAL(SIGSTOP) | WEFT_SIGNAL(SIGSEGV) | WEFT_SIGNAL(SIGBUS) | WEFT_SIGNAL(SIGFPE) |
    WEFT_SIGNAL(SIGILL) | WEFT_SIGNAL(SIGTRAP) | WEFT_SIGNAL(SIGSYS) | WEFT_SIGNAL(SIGABRT) | WEFT_SIGNAL(SIGURG);

/* Held while subscribing, ending or delivering, which takes a while. Protects the following variables. */
static pthread_mutex_t change = PTHREAD_MUTEX_INITIALIZER;
static struct weft_signals *subscriptions; /* also changed under `lock` */
static struct sigaction before[WEFT_SIGNALS_MOST + 1];
static unsigned subscribers[WEFT_SIGNALS_MOST + 1]; /* number of subscriptions for each signal */
static uint64_t in_place;                           /* signals with our handler installed */
static int source = -1;                             /* the read end of the pipe */

/* Protects the contents of subscriptions, their waiters and the list. Taken after `change`. */
static struct weft__lock lock;

/* Used by the handler. */
static _Atomic int sink = -1; /* the write end of the pipe */
static _Atomic unsigned inside;
static _Atomic uint64_t missed;
static _Atomic int owner; /* the subscribed process: not a child that was just forked */

/* --- the handler -------------------------------------------------------------------------------------- */

static struct weft_signal signals_translate(int sig, const siginfo_t *info) {
    struct weft_signal s = {sig, info->si_code, info->si_pid, info->si_uid, 0, NULL, 1};
    if (sig == SIGCHLD)
        s.status = info->si_status;
    else if (info->si_code == SI_QUEUE)
        s.value = info->si_value.sival_ptr;
    return s;
}

/* False: there is no subscription in this process. */
static bool signals_note(int sig, const siginfo_t *info) {
    bool noted = false;
    add_ar(&inside, 1);
    fence_sc();               /* pairs with close_pipe: it sees the count, or we see that there is no pipe */
    int to = load_acq(&sink); /* pairs with open_pipe: `owner` is valid */
    if (to >= 0 && load_rlx(&owner) == getpid()) {
        struct weft_signal s = signals_translate(sig, info);
        noted = true;
        if (write(to, &s, sizeof s) != sizeof s) {
            static const struct weft_signal nothing;
            or_rel(&missed, WEFT_SIGNAL(sig)); /* pairs with deliver_signals */
            ssize_t n = write(to, &nothing, sizeof nothing);
            (void)n; /* full again: the poll thread still has to do step 3 */
        }
    }
    add_ar(&inside, -1); /* pairs with close_pipe */
    return noted;
}

/* A signal without a subscription goes to the previous handler or its default action. */
static void signals_on_signal(int sig, siginfo_t *info, void *context) {
    int saved = errno;
    if (!signals_note(sig, info) && !weft__handler_pass_on(&before[sig], sig, info, context) &&
        before[sig].sa_handler == SIG_DFL) {
        sigaction(sig, &before[sig], NULL);
        raise(sig);
    }
    errno = saved;
}

/* --- delivery: locked --------------------------------------------------------------------------------- */

struct asking {
    struct weft_waiter waiter;
    struct weft_signal got;
};

static unsigned signals_slot_of(const struct weft_signals *s, int number) {
    return (unsigned)__builtin_popcountll(s->set & (WEFT_SIGNAL(number) - 1));
}

/* Passes the signal to the first waiter that can still be won. */
static bool hand_over(struct weft_signals *s, const struct weft_signal *what, struct weft__list *won) {
    for (struct weft_waiter *w; (w = s->first);) {
        struct weft__fiber *f = w->fiber;
        weft__chain_remove(&s->first, w);
        container_of(w, struct asking, waiter)->got = *what;
        if (!weft__wait_win(f, w->ticket, WEFT_WON_DONE)) continue;
        weft__list_put(won, &f->slot.link);
        return true;
    }
    return false;
}

static void signals_keep(struct weft_signals *s, const struct weft_signal *what) {
    struct weft_signal *kept = &s->kept[signals_slot_of(s, what->number)];
    if (s->pending & WEFT_SIGNAL(what->number))
        kept->count += what->count;
    else
        *kept = *what;
    s->pending |= WEFT_SIGNAL(what->number);
}

static void signals_give(const struct weft_signal *what, struct weft__list *won) {
    weft__lock(&lock);
    for (struct weft_signals *s = subscriptions; s; s = s->next)
        if (s->set & WEFT_SIGNAL(what->number) && !hand_over(s, what, won)) signals_keep(s, what);
    weft__unlock(&lock);
}

static void deliver_signals(void) {
    struct weft__list won = {NULL, NULL};
    struct weft_signal what;
    pthread_mutex_lock(&change);
    while (source >= 0 && read(source, &what, sizeof what) == sizeof what)
        if (what.number) signals_give(&what, &won);
    uint64_t rest = xchg_ar(&missed, 0); /* pairs with signals_note */
    for (; rest; rest &= rest - 1) {
        what = (struct weft_signal){.number = __builtin_ctzll(rest) + 1, .count = 1};
        signals_give(&what, &won);
    }
    pthread_mutex_unlock(&change);
    weft__make_all_ready(&won);
}

/* --- subscribing: locked ------------------------------------------------------------------------------- */

static int open_pipe(void) {
    int ends[2];
    if (source >= 0) return 0;
    int err = weft__pipe(ends);
    if (err) return err;
    if ((err = weft__poll_thread_watch(ends[0], deliver_signals))) {
        close(ends[0]);
        close(ends[1]);
        return err;
    }
    source = ends[0];
    store_rlx(&owner, getpid());
    store_rel(&sink, ends[1]); /* pairs with signals_note */
    return 0;
}

static void close_pipe(void) {
    int was = load_rlx(&sink);
    store_rlx(&sink, -1);
    fence_sc(); /* pairs with signals_note */
    for (unsigned turn = 0; load_acq(&inside);) weft__backoff(&turn);
    close(was);
    close(source);
    source = -1;
    store_rlx(&missed, 0);
}

static int install_handler(int sig) {
    struct sigaction action = {.sa_sigaction = signals_on_signal, .sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESTART};
    sigfillset(&action.sa_mask);
    if (subscribers[sig]++) return 0;
    if (in_place & WEFT_SIGNAL(sig)) return 0; /* behind another handler */
    if (sigaction(sig, NULL, &before[sig]) || sigaction(sig, &action, NULL)) {
        subscribers[sig]--;
        return -errno;
    }
    in_place |= WEFT_SIGNAL(sig);
    return 0;
}

static void remove_handler(int sig) {
    if (!--subscribers[sig] && weft__handler_restore(sig, signals_on_signal, &before[sig]))
        in_place &= ~WEFT_SIGNAL(sig);
}

static void remove_handlers(uint64_t set) {
    for (; set; set &= set - 1) remove_handler(__builtin_ctzll(set) + 1);
}

static int install_all(uint64_t set) {
    for (uint64_t rest = set; rest; rest &= rest - 1) {
        int err = install_handler(__builtin_ctzll(rest) + 1);
        if (err) {
            remove_handlers(set & ~rest);
            return err;
        }
    }
    return 0;
}

static void hear_signal(void) {
    uint64_t all = 0;
    for (struct weft_signals *s = subscriptions; s; s = s->next) all |= s->set;
    weft__poll_thread_set_signals(all);
}

/* Ends all waits by a signal without a number. After that no thread uses the subscription. */
static void signals_forget(struct weft_signals *s, struct weft__list *won) {
    static const struct weft_signal none = {0};
    struct weft_signals **at = &subscriptions;
    weft__lock(&lock);
    while (*at != s) at = &(*at)->next;
    *at = s->next;
    while (hand_over(s, &none, won)) {
    }
    weft__unlock(&lock);
    if (!subscriptions) close_pipe();
    hear_signal();
}

/* Enters the list before the handlers are installed, so that no signal comes too early. */
static int subscribe_signal(struct weft_signals *s, struct weft__list *won) {
    int err = open_pipe();
    if (err) return err;
    weft__lock(&lock);
    s->next = subscriptions;
    subscriptions = s;
    weft__unlock(&lock);
    if ((err = install_all(s->set)))
        signals_forget(s, won);
    else
        hear_signal();
    return err;
}

/* --- the public calls ----------------------------------------------------------------------------------- */

/* Compares only the address. With `change` or `lock` held. */
static bool is_subscribed(const struct weft_signals *s) {
    const struct weft_signals *at = subscriptions;
    while (at && at != s) at = at->next;
    return at != NULL; /* also for NULL */
}

static int signals_begin(struct weft_signals *s, struct weft_signal *kept, uint64_t set, struct weft__list *won) {
    if (is_subscribed(s)) return -EBUSY;
    *s = (struct weft_signals){.kept = kept, .set = set};
    return subscribe_signal(s, won);
}

WEFT_PUBLIC int weft_signals_begin(struct weft_signals *signals, uint64_t set) {
    struct weft__list won = {NULL, NULL};
    if (!signals || !set || set & forbidden) return -EINVAL;
    struct weft_signal *kept = weft__alloc((size_t)__builtin_popcountll(set) * sizeof *kept);
    if (!kept) return -ENOMEM;
    int err = weft__poll_thread_hold(NULL);
    if (err) goto free_kept;
    pthread_mutex_lock(&change);
    err = signals_begin(signals, kept, set, &won);
    pthread_mutex_unlock(&change);
    if (!err) return 0;
    weft__make_all_ready(&won);
    weft__poll_thread_release(NULL);
free_kept:
    weft__free(kept);
    return err;
}

/* Locked: the next stored signal; 0: none; -EINVAL: not subscribed. */
static int signals_take(struct weft_signals *s, struct weft_signal *got) {
    if (!is_subscribed(s)) return -EINVAL;
    if (!s->pending) return 0;
    int number = __builtin_ctzll(s->pending) + 1;
    s->pending &= s->pending - 1;
    if (got) *got = s->kept[signals_slot_of(s, number)];
    return number;
}

/* Leaves the chain after a deadline or cancellation. The subscription exists as long as this waiter is in its chain. */
static WEFT_COLD int signals_leave(struct weft_signals *s, struct weft_waiter *w, int err) {
    weft__lock(&lock);
    weft__chain_take_out(&s->first, w);
    weft__unlock(&lock);
    return err;
}

static WEFT_SWITCHES int signals_wait(struct weft_signals *s, struct weft_signal *got, uint64_t deadline) {
    struct asking me = {.waiter = {.fiber = weft__me()}};
    if (!me.waiter.fiber) return -ENOMEM;
    weft__lock(&lock);
    int found = signals_take(s, got);
    if (!found) {
        found = weft__wait_begin(me.waiter.fiber, WEFT_WAIT_BY_CANCEL | WEFT_WAIT_OUTSIDE, &me.waiter.ticket);
        if (!found) weft__chain_append(&s->first, &me.waiter, WEFT_ON_SIGNAL);
    }
    weft__unlock(&lock);
    if (found) return found < 0 ? weft__refused(me.waiter.fiber, found) : found;
    int err = weft__wait_block_for(me.waiter.fiber, me.waiter.ticket, deadline, weft__for(WEFT_ON_SIGNAL, s));
    if (err) return signals_leave(s, &me.waiter, err);
    if (!me.got.number) return -ESRCH;
    if (got) *got = me.got;
    return me.got.number;
}

/* Takes a signal without waiting; 0: there is none. */
static int next_now(struct weft_signals *s, struct weft_signal *got) {
    weft__lock(&lock);
    int found = signals_take(s, got);
    weft__unlock(&lock);
    return found;
}

WEFT_PUBLIC int weft_signals_next_until(struct weft_signals *signals, struct weft_signal *got, uint64_t deadline) {
    int found = next_now(signals, got);
    return found ? found : signals_wait(signals, got, deadline);
}

WEFT_PUBLIC int weft_signals_next(struct weft_signals *signals, struct weft_signal *got) {
    return weft_signals_next_until(signals, got, WEFT_FOREVER);
}

WEFT_PUBLIC int weft_signals_next_try(struct weft_signals *signals, struct weft_signal *got) {
    int found = next_now(signals, got);
    return found ? found : -EAGAIN;
}

/* If two threads end it at once, the second does not find it. */
WEFT_PUBLIC int weft_signals_end(struct weft_signals *signals) {
    struct weft__list won = {NULL, NULL};
    struct weft_signal *kept = NULL;
    pthread_mutex_lock(&change);
    bool ends = is_subscribed(signals);
    if (ends) {
        kept = signals->kept;
        remove_handlers(signals->set);
        signals_forget(signals, &won);
    }
    pthread_mutex_unlock(&change);
    if (!ends) return -EINVAL;
    weft__make_all_ready(&won);
    weft__free(kept);
    weft__poll_thread_release(NULL);
    return 0;
}

/* --- a forked child --------------------------------------------------------------------------------------- */

static void signals_stopped(void) {}

static void signals_after_fork(void) {
    pthread_mutex_init(&change, NULL);
    weft__unlock(&lock);
    for (int sig = 1; sig <= WEFT_SIGNALS_MOST; sig++) {
        if (subscribers[sig] && weft__handler_restore(sig, signals_on_signal, &before[sig]))
            in_place &= ~WEFT_SIGNAL(sig);
        subscribers[sig] = 0;
    }
    if (source >= 0) {
        close(source);
        close(load_rlx(&sink));
    }
    source = -1;
    store_rlx(&sink, -1);
    store_rlx(&inside, 0);
    store_rlx(&missed, 0);
    subscriptions = NULL; /* those belong to the parent */
}

static struct weft__layer layer = {signals_stopped, signals_after_fork, NULL};
__attribute__((constructor)) static void register_signals(void) { weft__layer_add(&layer); }
