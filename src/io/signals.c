/*
 * Signals that fibers wait for. See weft/signal.h.
 *
 *   the handler, on any thread                   the service's thread
 *   1. writes what came into a pipe              1. the pipe is readable: reads, one by one
 *   2. it is full: sets the signal's bit         2. gives it to each subscription: to the first that
 *      in `missed`, and writes a record that        waits, or it is kept there
 *      says nothing                              3. when the pipe is empty: the same for `missed`
 *
 * A write is all that a handler may do, and it wakes the service. The service may have emptied the pipe, and looked at
 * `missed`, before the handler sets the bit: then the second write succeeds, and wakes the service again. If that one
 * finds the pipe full, step 3 is still to come.
 *
 * Why not signalfd: a signal reaches it only while every thread of the process blocks it, and a library
 * cannot ask that of threads that are there already. With a handler it does not matter who takes it.
 *
 * The pipe is there while anybody is subscribed. A handler may still run when the last one ends:
 *
 *   the handler                                  the end
 *   1. counts itself in                          1. takes the pipe away
 *   2. is there a pipe? writes                   2. waits until no handler is counted in
 *   3. counts itself out                         3. closes the pipe
 *
 * The memory of a subscription is the program's, and may be gone as soon as its end has returned. So nobody looks into
 * one before it was found in the list, under the lock, and who waits is taken out by the end; one that has just stopped
 * waiting, by deadline or cancellation, asks its own memory whether it is still in the chain. That is why there is one
 * lock for all: a lock of the subscription's own could not be asked any more.
 */
#define _GNU_SOURCE
#include "base/handler.h"
#include "io/service.h"
#include "sync/queue.h"

#include <string.h>
#include <unistd.h>

#define WEFT_SIGNALS_MOST 64
static const uint64_t forbidden =
    WEFT_SIGNAL(SIGKILL) | WEFT_SIGNAL(SIGSTOP) | WEFT_SIGNAL(SIGSEGV) | WEFT_SIGNAL(SIGBUS) | WEFT_SIGNAL(SIGFPE) |
    WEFT_SIGNAL(SIGILL) | WEFT_SIGNAL(SIGTRAP) | WEFT_SIGNAL(SIGSYS) | WEFT_SIGNAL(SIGABRT) | WEFT_SIGNAL(SIGURG);

/* Held by whoever subscribes, ends, or delivers, which takes a while. What follows is changed under it. */
static pthread_mutex_t change = PTHREAD_MUTEX_INITIALIZER;
static struct weft_signals *subscriptions; /* changed under the lock below, too */
static struct sigaction before[WEFT_SIGNALS_MOST + 1];
static unsigned subscribers[WEFT_SIGNALS_MOST + 1]; /* of each signal */
static uint64_t in_place;                           /* ours is the handler of these */
static int source = -1;                             /* the pipe's end to read from */

/* What is in a subscription, who waits there, and whether it is one. Taken after `change`. */
static struct weft__lock lock;

/* The handler's. */
static _Atomic int sink = -1; /* and the other one */
static _Atomic unsigned inside;
static _Atomic uint64_t missed;
static _Atomic int owner; /* the process that is subscribed: not a child that was forked just now */

/* --- the handler -------------------------------------------------------------------------------------- */

static struct weft_signal translate(int sig, const siginfo_t *info) {
    struct weft_signal s = {sig, info->si_code, info->si_pid, info->si_uid, 0, NULL, 1};
    if (sig == SIGCHLD)
        s.status = info->si_status;
    else if (info->si_code == SI_QUEUE)
        s.value = info->si_value.sival_ptr;
    return s;
}

/* False: nobody is subscribed, any more or in this process. */
static bool note(int sig, const siginfo_t *info) {
    bool noted = false;
    add_ar(&inside, 1);
    fence_sc();               /* pairs with close_pipe: it sees us, or we that there is no pipe */
    int to = load_acq(&sink); /* pairs with open_pipe: the owner is known */
    if (to >= 0 && load_rlx(&owner) == getpid()) {
        struct weft_signal s = translate(sig, info);
        noted = true;
        if (write(to, &s, sizeof s) != sizeof s) {
            static const struct weft_signal nothing;
            or_rel(&missed, WEFT_SIGNAL(sig)); /* pairs with deliver */
            ssize_t n = write(to, &nothing, sizeof nothing);
            (void)n; /* full again: step 3 is still to come */
        }
    }
    add_ar(&inside, -1); /* pairs with close_pipe */
    return noted;
}

/* What came too late goes to whom it would have gone without us. */
static void on_signal(int sig, siginfo_t *info, void *context) {
    int saved = errno;
    if (!note(sig, info) && !weft__handler_pass_on(&before[sig], sig, info, context) &&
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

static unsigned place_of(const struct weft_signals *s, int number) {
    return (unsigned)__builtin_popcountll(s->set & (WEFT_SIGNAL(number) - 1));
}

/* The first that waits, if it can still be won, has it. */
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

static void keep(struct weft_signals *s, const struct weft_signal *what) {
    struct weft_signal *kept = &s->kept[place_of(s, what->number)];
    if (s->pending & WEFT_SIGNAL(what->number))
        kept->count += what->count;
    else
        *kept = *what;
    s->pending |= WEFT_SIGNAL(what->number);
}

static void give(const struct weft_signal *what, struct weft__list *won) {
    weft__lock(&lock);
    for (struct weft_signals *s = subscriptions; s; s = s->next)
        if (s->set & WEFT_SIGNAL(what->number) && !hand_over(s, what, won)) keep(s, what);
    weft__unlock(&lock);
}

static void deliver(void) {
    struct weft__list won = {NULL, NULL};
    struct weft_signal what;
    pthread_mutex_lock(&change);
    while (source >= 0 && read(source, &what, sizeof what) == sizeof what)
        if (what.number) give(&what, &won);
    uint64_t rest = xchg_ar(&missed, 0); /* pairs with note */
    for (; rest; rest &= rest - 1) {
        what = (struct weft_signal){.number = __builtin_ctzll(rest) + 1, .count = 1};
        give(&what, &won);
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
    if ((err = weft__service_watch(ends[0], deliver))) {
        close(ends[0]);
        close(ends[1]);
        return err;
    }
    source = ends[0];
    store_rlx(&owner, getpid());
    store_rel(&sink, ends[1]); /* pairs with note */
    return 0;
}

static void close_pipe(void) {
    int was = load_rlx(&sink);
    store_rlx(&sink, -1);
    fence_sc(); /* pairs with note */
    for (unsigned turn = 0; load_acq(&inside);) weft__backoff(&turn);
    close(was);
    close(source);
    source = -1;
    store_rlx(&missed, 0);
}

static int install(int sig) {
    struct sigaction action = {.sa_sigaction = on_signal, .sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESTART};
    sigfillset(&action.sa_mask);
    if (subscribers[sig]++) return 0;
    if (in_place & WEFT_SIGNAL(sig)) return 0; /* behind somebody else's */
    if (sigaction(sig, NULL, &before[sig]) || sigaction(sig, &action, NULL)) {
        subscribers[sig]--;
        return -errno;
    }
    in_place |= WEFT_SIGNAL(sig);
    return 0;
}

static void remove_handler(int sig) {
    if (!--subscribers[sig] && weft__handler_restore(sig, on_signal, &before[sig])) in_place &= ~WEFT_SIGNAL(sig);
}

static void remove_handlers(uint64_t set) {
    for (; set; set &= set - 1) remove_handler(__builtin_ctzll(set) + 1);
}

static int install_all(uint64_t set) {
    for (uint64_t rest = set; rest; rest &= rest - 1) {
        int err = install(__builtin_ctzll(rest) + 1);
        if (err) {
            remove_handlers(set & ~rest);
            return err;
        }
    }
    return 0;
}

static void hear(void) {
    uint64_t all = 0;
    for (struct weft_signals *s = subscriptions; s; s = s->next) all |= s->set;
    weft__service_hear(all);
}

/* Who waits is told that nothing will come, by a signal without a number; after that, nobody looks there. */
static void forget(struct weft_signals *s, struct weft__list *won) {
    static const struct weft_signal none = {0};
    struct weft_signals **at = &subscriptions;
    weft__lock(&lock);
    while (*at != s) at = &(*at)->next;
    *at = s->next;
    while (hand_over(s, &none, won)) {
    }
    weft__unlock(&lock);
    if (!subscriptions) close_pipe();
    hear();
}

/* In the list before the handlers are there: nothing comes too early. */
static int subscribe(struct weft_signals *s, struct weft__list *won) {
    int err = open_pipe();
    if (err) return err;
    weft__lock(&lock);
    s->next = subscriptions;
    subscriptions = s;
    weft__unlock(&lock);
    if ((err = install_all(s->set)))
        forget(s, won);
    else
        hear();
    return err;
}

/* --- the public calls ----------------------------------------------------------------------------------- */

/* By its address alone. With `change` or the lock held. */
static bool is_subscribed(const struct weft_signals *s) {
    const struct weft_signals *at = subscriptions;
    while (at && at != s) at = at->next;
    return at != NULL; /* and NULL is none */
}

static int begin(struct weft_signals *s, struct weft_signal *kept, uint64_t set, struct weft__list *won) {
    if (is_subscribed(s)) return -EBUSY;
    *s = (struct weft_signals){.kept = kept, .set = set};
    return subscribe(s, won);
}

WEFT_PUBLIC int weft_signals_begin(struct weft_signals *signals, uint64_t set) {
    struct weft__list won = {NULL, NULL};
    if (!signals || !set || set & forbidden) return -EINVAL;
    struct weft_signal *kept = weft__alloc((size_t)__builtin_popcountll(set) * sizeof *kept);
    if (!kept) return -ENOMEM;
    int err = weft__service_hold(NULL);
    if (err) goto free_kept;
    pthread_mutex_lock(&change);
    err = begin(signals, kept, set, &won);
    pthread_mutex_unlock(&change);
    if (!err) return 0;
    weft__make_all_ready(&won);
    weft__service_release(NULL);
free_kept:
    weft__free(kept);
    return err;
}

/* Locked: what has come; 0: nothing; -EINVAL: not subscribed, or not any more. */
static int take(struct weft_signals *s, struct weft_signal *got) {
    if (!is_subscribed(s)) return -EINVAL;
    if (!s->pending) return 0;
    int number = __builtin_ctzll(s->pending) + 1;
    s->pending &= s->pending - 1;
    if (got) *got = s->kept[place_of(s, number)];
    return number;
}

/* By deadline or cancellation. The subscription is there as long as we stand in its chain. */
static WEFT_COLD int leave(struct weft_signals *s, struct weft_waiter *w, int err) {
    weft__lock(&lock);
    weft__chain_take_out(&s->first, w);
    weft__unlock(&lock);
    return err;
}

static WEFT_SWITCHES int wait_for_one(struct weft_signals *s, struct weft_signal *got, uint64_t deadline) {
    struct asking me = {.waiter = {.fiber = weft__me()}};
    if (!me.waiter.fiber) return -ENOMEM;
    weft__lock(&lock);
    int found = take(s, got);
    if (!found) {
        found = weft__wait_begin(me.waiter.fiber, WEFT_WAIT_BY_CANCEL | WEFT_WAIT_OUTSIDE, &me.waiter.ticket);
        if (!found) weft__chain_append(&s->first, &me.waiter);
    }
    weft__unlock(&lock);
    if (found) return found;
    int err = weft__wait_block(me.waiter.fiber, me.waiter.ticket, deadline);
    if (err) return leave(s, &me.waiter, err);
    if (!me.got.number) return -ESRCH;
    if (got) *got = me.got;
    return me.got.number;
}

/* Without waiting: 0: none has come. */
static int next_now(struct weft_signals *s, struct weft_signal *got) {
    weft__lock(&lock);
    int found = take(s, got);
    weft__unlock(&lock);
    return found;
}

WEFT_PUBLIC int weft_signals_next_until(struct weft_signals *signals, struct weft_signal *got, uint64_t deadline) {
    int found = next_now(signals, got);
    return found ? found : wait_for_one(signals, got, deadline);
}

WEFT_PUBLIC int weft_signals_next(struct weft_signals *signals, struct weft_signal *got) {
    return weft_signals_next_until(signals, got, WEFT_FOREVER);
}

WEFT_PUBLIC int weft_signals_next_try(struct weft_signals *signals, struct weft_signal *got) {
    int found = next_now(signals, got);
    return found ? found : -EAGAIN;
}

/* Of two that end it, the second does not find it. */
WEFT_PUBLIC int weft_signals_end(struct weft_signals *signals) {
    struct weft__list won = {NULL, NULL};
    struct weft_signal *kept = NULL;
    pthread_mutex_lock(&change);
    bool ends = is_subscribed(signals);
    if (ends) {
        kept = signals->kept;
        remove_handlers(signals->set);
        forget(signals, &won);
    }
    pthread_mutex_unlock(&change);
    if (!ends) return -EINVAL;
    weft__make_all_ready(&won);
    weft__free(kept);
    weft__service_release(NULL);
    return 0;
}

/* --- a forked child --------------------------------------------------------------------------------------- */

static void stopped(void) {}

static void forked(void) {
    pthread_mutex_init(&change, NULL);
    weft__unlock(&lock);
    for (int sig = 1; sig <= WEFT_SIGNALS_MOST; sig++) {
        if (subscribers[sig] && weft__handler_restore(sig, on_signal, &before[sig])) in_place &= ~WEFT_SIGNAL(sig);
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
    subscriptions = NULL; /* those are the parent's */
}

static struct weft__layer layer = {stopped, forked, NULL};
__attribute__((constructor)) static void add(void) { weft__layer_add(&layer); }
