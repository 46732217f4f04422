/*
 * Signals that fibers wait for. See weft/signal.h.
 *
 *   the handler, on any thread                   the service's thread
 *   1. writes what came into a pipe              1. the pipe is readable: reads, one by one
 *      (it is full: sets the signal's bit        2. gives it to each subscription: to the first that
 *      in `missed`)                                 waits, or it is kept there
 *                                                3. when the pipe is empty: the same for `missed`
 *
 * A write is all that a handler may do, and it wakes the service. A full pipe is readable, so whoever sets
 * a bit of `missed` knows that step 3 is still to come.
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

/* Held by whoever subscribes, ends, or delivers. What follows is changed under it. */
static pthread_mutex_t change = PTHREAD_MUTEX_INITIALIZER;
static struct weft_signals *subscriptions;
static struct sigaction before[WEFT_SIGNALS_MOST + 1];
static unsigned subscribers[WEFT_SIGNALS_MOST + 1]; /* of each signal */
static uint64_t in_place;                           /* ours is the handler of these */
static uint64_t life = 1;                           /* grows in a forked child: it is subscribed to nothing */
static int source = -1;                             /* the pipe's end to read from */

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
    fence_sc(); /* pairs with close_pipe: it sees us, or we that there is no pipe */
    int to = load_rlx(&sink);
    if (to >= 0 && load_rlx(&owner) == getpid()) {
        struct weft_signal s = translate(sig, info);
        noted = true;
        if (write(to, &s, sizeof s) != sizeof s)
            atomic_fetch_or_explicit(&missed, WEFT_SIGNAL(sig), memory_order_release); /* pairs with deliver */
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
    for (struct weft_waiter *w; (w = s->queue.first);) {
        struct weft__fiber *f = w->fiber;
        weft__queue_remove(&s->queue, w);
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
    for (struct weft_signals *s = subscriptions; s; s = s->next) {
        if (!(s->set & WEFT_SIGNAL(what->number))) continue;
        uint64_t value = weft__queue_lock(&s->queue);
        if (!hand_over(s, what, won)) keep(s, what);
        weft__queue_unlock(&s->queue, value);
    }
}

static void deliver(void) {
    struct weft__list won = {NULL, NULL};
    struct weft_signal what;
    pthread_mutex_lock(&change);
    while (source >= 0 && read(source, &what, sizeof what) == sizeof what) give(&what, &won);
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

static void forget(struct weft_signals *s) {
    struct weft_signals **at = &subscriptions;
    while (*at != s) at = &(*at)->next;
    *at = s->next;
    if (!subscriptions) close_pipe();
    hear();
}

/* In the list before the handlers are there: nothing comes too early. */
static int subscribe(struct weft_signals *s) {
    int err = open_pipe();
    if (err) return err;
    s->next = subscriptions;
    subscriptions = s;
    if ((err = install_all(s->set)))
        forget(s);
    else
        hear();
    return err;
}

/* --- the public calls ----------------------------------------------------------------------------------- */

/* A look without the lock; whoever waits looks again with it. */
static _Atomic uint64_t *set_of(const struct weft_signals *s) { return (_Atomic uint64_t *)(uintptr_t)&s->set; }
static bool is_subscribed(const struct weft_signals *s) { return s && load_rlx(set_of(s)) && s->life == life; }

WEFT_PUBLIC int weft_signals_begin(struct weft_signals *signals, uint64_t set) {
    if (!signals || !set || set & forbidden) return -EINVAL;
    if (is_subscribed(signals)) return -EBUSY;
    struct weft_signal *kept = weft__alloc((size_t)__builtin_popcountll(set) * sizeof *kept);
    if (!kept) return -ENOMEM;
    int err = weft__service_hold(NULL);
    if (err) goto free_kept;
    *signals = (struct weft_signals){.kept = kept, .set = set, .life = life};
    pthread_mutex_lock(&change);
    err = subscribe(signals);
    pthread_mutex_unlock(&change);
    if (!err) return 0;
    weft__service_release(NULL);
free_kept:
    weft__free(kept);
    signals->set = 0;
    return err;
}

/* Locked: what has come; 0: nothing; -ESRCH: the subscription has just been ended, and nothing will. */
static int take(struct weft_signals *s, struct weft_signal *got) {
    if (!load_rlx(set_of(s))) return -ESRCH;
    if (!s->pending) return 0;
    int number = __builtin_ctzll(s->pending) + 1;
    s->pending &= s->pending - 1;
    if (got) *got = s->kept[place_of(s, number)];
    return number;
}

static WEFT_SWITCHES int next(struct weft_signals *s, struct weft_signal *got, uint64_t deadline) {
    struct asking me = {.waiter = {.fiber = weft__me()}};
    if (!me.waiter.fiber) return -ENOMEM;
    uint64_t value = weft__queue_lock(&s->queue);
    int found = take(s, got);
    if (found) {
        weft__queue_unlock(&s->queue, value);
        return found;
    }
    int err = weft__queue_wait(&s->queue, value, &me.waiter, WEFT_WAIT_BY_CANCEL | WEFT_WAIT_OUTSIDE, deadline);
    if (err) return err;
    if (!me.got.number) return -ESRCH;
    if (got) *got = me.got;
    return me.got.number;
}

WEFT_PUBLIC int weft_signals_next_until(struct weft_signals *signals, struct weft_signal *got, uint64_t deadline) {
    return is_subscribed(signals) ? next(signals, got, deadline) : -EINVAL;
}

WEFT_PUBLIC int weft_signals_next(struct weft_signals *signals, struct weft_signal *got) {
    return weft_signals_next_until(signals, got, WEFT_FOREVER);
}

WEFT_PUBLIC int weft_signals_next_try(struct weft_signals *signals, struct weft_signal *got) {
    if (!is_subscribed(signals)) return -EINVAL;
    uint64_t value = weft__queue_lock(&signals->queue);
    int found = take(signals, got);
    weft__queue_unlock(&signals->queue, value);
    return found ? found : -EAGAIN;
}

/* Who waits is told that nothing will come, by a signal without a number; who is about to wait finds no set. */
static void dismiss_all(struct weft_signals *s) {
    static const struct weft_signal none = {0};
    struct weft__list won = {NULL, NULL};
    uint64_t value = weft__queue_lock(&s->queue);
    while (hand_over(s, &none, &won)) {
    }
    store_rlx(set_of(s), 0);
    weft__queue_unlock(&s->queue, value);
    weft__make_all_ready(&won);
}

WEFT_PUBLIC int weft_signals_end(struct weft_signals *signals) {
    if (!is_subscribed(signals)) return -EINVAL;
    pthread_mutex_lock(&change);
    remove_handlers(signals->set);
    forget(signals);
    pthread_mutex_unlock(&change);
    dismiss_all(signals);
    weft__free(signals->kept);
    signals->kept = NULL;
    weft__service_release(NULL);
    return 0;
}

/* --- a forked child --------------------------------------------------------------------------------------- */

static void stopped(void) {}

static void forked(void) {
    pthread_mutex_init(&change, NULL);
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
    subscriptions = NULL;
    life++;
}

static struct weft__layer layer = {stopped, forked, NULL};
__attribute__((constructor)) static void add(void) { weft__layer_add(&layer); }
