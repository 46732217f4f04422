/* SPDX-License-Identifier: MIT */
/*
 * Signals for threads. The kernel knows carriers, not threads. So carriers block all signals except those of faults.
 * The receiver takes the signals of the process and gives each to a thread that waits for it or does not block it. If
 * there is no such thread, the signal stays pending here. Masks and pending signals are fields of the thread's record.
 *
 *   a sender                                   the thread
 *   1. locks; sets the bit in `pending`        if parked: is woken, and looks at `pending` in its wait
 *   2. unlocks                                 if in weft's I/O: its scope is cancelled (interrupt.c)
 *   3. ends its wait; kicks all carriers       if running: the handler of the kick looks (kick.c), or the thread looks
 *                                              when it is no longer inside
 */
#define _GNU_SOURCE
#include "threads/stack.h"
#include "threads/threads.h"

#include <errno.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static struct weft__lock lock;       /* protects the list, `for_process`, and `awaited` of each thread */
static struct weft__thread *all;     /* all threads that have not ended */
static _Atomic uint64_t for_process; /* pending, and blocked by every thread */
static siginfo_t infos[65];          /* details of the last signal of each number */

static void lock_all(void) {
    weft__thread_enter();
    weft__lock(&lock);
}
static void unlock_all(void) {
    weft__unlock(&lock);
    if (weft__thread_self()) weft__thread.inside--; /* runs no handlers: the caller does so later */
}

void weft__signals_add(struct weft__thread *t) {
    lock_all();
    t->next = all;
    t->link = &all;
    if (all) all->link = &t->next;
    all = t;
    unlock_all();
}

void weft__signals_remove(struct weft__thread *t) {
    bool restarts = true;
    t->inside = 0;
    weft__signals_run(t, &restarts);
    t->inside = 1;
    lock_all();
    *t->link = t->next;
    if (t->next) t->next->link = t->link;
    uint64_t left = atomic_exchange(&t->pending, 0);
    unlock_all();
    for (; left; left &= left - 1) weft__signals_dispatch(__builtin_ctzll(left) + 1, NULL);
}

void weft__signals_after_fork(void) {
    weft__unlock(&lock);
    all = NULL;
    store_rlx(&for_process, 0);
}

uint64_t weft__signals_set_kernel_mask(uint64_t mask) {
    uint64_t before = 0;
    __wrap_syscall(SYS_rt_sigprocmask, SIG_SETMASK, &mask, &before, sizeof mask);
    return before;
}

/* --- handlers ---------------------------------------------------------------------------------------------- */

static uint64_t bits_of(const sigset_t *set) {
    uint64_t bits;
    memcpy(&bits, set, sizeof bits);
    return bits;
}

bool weft__signals_on_alternate(const struct weft__thread *t) {
    uintptr_t here = (uintptr_t)__builtin_frame_address(0), low = (uintptr_t)t->alternate.ss_sp;
    return !(t->alternate.ss_flags & SS_DISABLE) && here - low < t->alternate.ss_size;
}

struct handling {
    const struct sigaction *action;
    siginfo_t info;
    uint64_t mask; /* of the interrupted code */
};
static void call_now(void *arg) {
    struct handling *h = (struct handling *)arg;
    if (h->action->sa_flags & SA_SIGINFO) {
        ucontext_t context;
        memset(&context, 0, sizeof context);
        memcpy(&context.uc_sigmask, &h->mask, sizeof h->mask);
        h->action->sa_sigaction(h->info.si_signo, &h->info, &context);
    } else
        h->action->sa_handler(h->info.si_signo);
}

static void call_handler(struct weft__thread *t, int signal, const struct sigaction *a) {
    uint64_t mask = load_rlx(&t->mask);
    int err = errno;
    struct handling h = {.action = a, .mask = mask};
    weft__signals_info(signal, &h.info);
    store_rlx(&t->mask, mask | bits_of(&a->sa_mask) | (a->sa_flags & SA_NODEFER ? 0 : WEFT_BIT(signal)));
    if (a->sa_flags & (int)SA_RESETHAND) {
        struct sigaction none = {.sa_handler = SIG_DFL};
        sigaction(signal, &none, NULL);
    }
    bool elsewhere =
        a->sa_flags & SA_ONSTACK && !(t->alternate.ss_flags & SS_DISABLE) && !weft__signals_on_alternate(t);
    if (elsewhere)
        weft__stack_call(call_now, &h, (char *)t->alternate.ss_sp + t->alternate.ss_size);
    else
        call_now(&h);
    store_rlx(&t->mask, mask);
    add_rlx(&t->handled, 1);
    errno = err;
}

/* Takes over the signals that are pending for the process and that this thread does not block. */
static void adopt_pending(struct weft__thread *t) {
    if (!(load_rlx(&for_process) & ~load_rlx(&t->mask))) return;
    lock_all();
    uint64_t taken = load_rlx(&for_process) & ~load_rlx(&t->mask);
    store_rlx(&for_process, load_rlx(&for_process) & ~taken);
    atomic_fetch_or(&t->pending, taken);
    unlock_all();
}

static bool is_ignored_by_default(int signal) {
    return signal == SIGCHLD || signal == SIGCONT || signal == SIGURG || signal == SIGWINCH;
}

/* Lets the kernel do the default action, which affects the whole process. */
static void do_default(int signal) {
    if (is_ignored_by_default(signal)) return;
    uint64_t before = weft__signals_set_kernel_mask(~WEFT_BIT(signal));
    __wrap_syscall(SYS_tgkill, getpid(), __wrap_syscall(SYS_gettid), signal);
    weft__signals_set_kernel_mask(before);
}

int weft__signals_run(struct weft__thread *t, bool *restarts) {
    int count = 0;
    adopt_pending(t);
    for (uint64_t due; (due = load_rlx(&t->pending) & ~load_rlx(&t->mask)); adopt_pending(t)) {
        int signal = __builtin_ctzll(due) + 1;
        struct sigaction a;
        atomic_fetch_and(&t->pending, ~WEFT_BIT(signal));
        if (sigaction(signal, NULL, &a) || a.sa_handler == SIG_IGN) continue;
        if (a.sa_handler == SIG_DFL) {
            do_default(signal);
            continue;
        }
        if (!(a.sa_flags & SA_RESTART)) *restarts = false;
        call_handler(t, signal, &a);
        count++;
    }
    return count;
}

void weft__thread_leave_pending(void) {
    bool restarts = true;
    weft__signals_run(&weft__thread, &restarts);
}

void weft__signals_recheck(struct weft__thread *t) {
    bool restarts = true;
    if ((load_rlx(&t->pending) | load_rlx(&for_process)) & ~load_rlx(&t->mask)) weft__signals_run(t, &restarts);
}

/* --- sending ------------------------------------------------------------------------------------------------ */

void weft__signals_info(int signal, siginfo_t *info) {
    *info = infos[signal];
    info->si_signo = signal;
}

static void note_signal_info(int signal, const siginfo_t *info) {
    infos[signal] =
        info ? *info : (siginfo_t){.si_signo = signal, .si_code = SI_TKILL, .si_pid = getpid(), .si_uid = getuid()};
}

/* Locked. Does the thread wait for it? */
static bool give_signal(struct weft__thread *t, int signal) {
    if (!(t->awaited & WEFT_BIT(signal))) return false;
    t->awaited = 0;
    atomic_store(&t->got, signal);
    weft_unpark(t->fiber);
    return true;
}

/* Locked. The thread that will handle the signal: the first thread if it does not block the signal, else any thread
 * that does not. */
static struct weft__thread *find_taker(int signal) {
    struct weft__thread *found = NULL;
    for (struct weft__thread *t = all; t; t = t->next)
        if (!(load_rlx(&t->mask) & WEFT_BIT(signal)) && (!found || t->is_first)) found = t;
    return found;
}

void weft__signals_dispatch(int signal, const siginfo_t *info) {
    struct sigaction a;
    bool given = false;
    if (sigaction(signal, NULL, &a)) return;
    lock_all();
    note_signal_info(signal, info);
    for (struct weft__thread *t = all; t && !given; t = t->next) given = give_signal(t, signal);
    struct weft__thread *taker = given ? NULL : find_taker(signal);
    if (!given && !taker) atomic_fetch_or(&for_process, WEFT_BIT(signal));
    bool handled = taker && a.sa_handler != SIG_IGN && a.sa_handler != SIG_DFL;
    if (handled) {
        atomic_fetch_or(&taker->pending, WEFT_BIT(signal));
        weft__interrupt(taker); /* under the lock, so that the thread cannot end first */
    }
    unlock_all();
    if (taker && a.sa_handler == SIG_DFL) do_default(signal);
    if (handled) weft__kick_all();
}

int weft__signals_send(struct weft__thread *t, int signal, const siginfo_t *info) {
    struct sigaction a;
    if (signal < 0 || signal > 64) return EINVAL;
    if (load_acq(&t->over) || !signal) return 0;
    if (signal == SIGKILL || signal == SIGSTOP) return __wrap_syscall(SYS_kill, getpid(), signal) ? errno : 0;
    if (sigaction(signal, NULL, &a)) return errno;
    lock_all();
    note_signal_info(signal, info);
    bool given = give_signal(t, signal);
    bool blocked = load_rlx(&t->mask) & WEFT_BIT(signal);
    bool ignored = !blocked && a.sa_handler == SIG_IGN, usual = !blocked && a.sa_handler == SIG_DFL;
    if (!given && !ignored && !usual) {
        atomic_fetch_or(&t->pending, WEFT_BIT(signal));
        if (t != weft__thread_self()) weft__interrupt(t);
    }
    unlock_all();
    if (given || ignored) return 0;
    if (usual) {
        do_default(signal);
    } else if (t == weft__thread_self()) {
        weft__signals_recheck(t);
    } else if (!blocked)
        weft__kick_all();
    return 0;
}

/* --- waiting for signals -------------------------------------------------------------------------------------- */

uint64_t weft__signals_pending(struct weft__thread *t) { return load_rlx(&t->pending) | load_rlx(&for_process); }

int weft__signals_take(struct weft__thread *t, uint64_t set, siginfo_t *info) {
    int signal = 0;
    lock_all();
    uint64_t there = weft__signals_pending(t) & set;
    if (there) {
        signal = __builtin_ctzll(there) + 1;
        if (load_rlx(&t->pending) & WEFT_BIT(signal))
            atomic_fetch_and(&t->pending, ~WEFT_BIT(signal));
        else
            atomic_fetch_and(&for_process, ~WEFT_BIT(signal));
        if (info) weft__signals_info(signal, info);
    } else {
        atomic_store(&t->got, 0);
        t->awaited = set;
    }
    unlock_all();
    return signal;
}

bool weft__signals_await(struct weft__thread *t, uint64_t set) {
    lock_all();
    bool none = !atomic_load(&t->got);
    if (none) t->awaited = set;
    unlock_all();
    return none;
}
