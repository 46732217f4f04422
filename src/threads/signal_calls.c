/* SPDX-License-Identifier: MIT */
/*
 * The calls for signals: masks, sending, waiting. See signals.c.
 */
#define _GNU_SOURCE
#include "threads/threads.h"

#include <errno.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

REAL(pthread_sigmask);
REAL(sigpending);
REAL(sigwait);
REAL(sigwaitinfo);
REAL(sigtimedwait);
REAL(sigsuspend);
REAL(pause);
REAL(pthread_kill);
REAL(pthread_sigqueue);

static uint64_t set_bits_of(const sigset_t *set) {
    uint64_t bits;
    memcpy(&bits, set, sizeof bits);
    return bits;
}
static void to_set(sigset_t *set, uint64_t bits) {
    memset(set, 0, sizeof *set);
    memcpy(set, &bits, sizeof bits);
}

WEFT_INTERPOSED int pthread_sigmask(int how, const sigset_t *set, sigset_t *before) {
    struct weft__thread *t = weft__thread_self();
    if (!t) return real(pthread_sigmask)(how, set, before);
    uint64_t mask = load_rlx(&t->mask);
    uint64_t bits = set ? set_bits_of(set) & ~(WEFT_BIT(SIGKILL) | WEFT_BIT(SIGSTOP) | WEFT_BIT(32) | WEFT_BIT(33)) : 0;
    if (before) to_set(before, mask);
    if (!set) return 0;
    if (how != SIG_BLOCK && how != SIG_UNBLOCK && how != SIG_SETMASK) return EINVAL;
    store_rlx(&t->mask, how == SIG_BLOCK ? mask | bits : how == SIG_UNBLOCK ? mask & ~bits : bits);
    weft__signals_recheck(t);
    return 0;
}
WEFT_INTERPOSED int sigprocmask(int how, const sigset_t *set, sigset_t *before) {
    int err = pthread_sigmask(how, set, before);
    if (err) errno = err;
    return err ? -1 : 0;
}
WEFT_INTERPOSED int sigpending(sigset_t *set) {
    struct weft__thread *t = weft__thread_self();
    if (!t) return real(sigpending)(set);
    to_set(set, weft__signals_pending(t) & load_rlx(&t->mask));
    return 0;
}

/* --- waiting --------------------------------------------------------------------------------------------- */

/* Parks. True: a handler has run. */
static bool park_for_signal(struct weft__thread *t, uint64_t deadline, int *err) {
    bool restarts = true;
    t->inside++;
    *err = weft__lot_park(deadline, weft__lot_for(WEFT_ON_SIGNAL, NULL));
    t->inside--;
    return weft__signals_run(t, &restarts) > 0;
}

/* Waits for a signal of the set and returns its number; -1 with errno EINTR or EAGAIN. */
static int sigwait_until(struct weft__thread *t, uint64_t set, siginfo_t *info, uint64_t deadline) {
    weft__cancel_point();
    int signal = weft__signals_take(t, set, info);
    while (!signal) {
        int err;
        bool handled = park_for_signal(t, deadline, &err);
        if (!(signal = atomic_load(&t->got)) && (handled || err == ETIMEDOUT || weft__cancel_is_due(t)) &&
            weft__signals_await(t, 0)) {
            weft__cancel_point();
            errno = handled ? EINTR : EAGAIN;
            return -1;
        }
        signal = atomic_load(&t->got);
        if (signal && info) weft__signals_info(signal, info);
    }
    return signal;
}

WEFT_INTERPOSED int sigwait(const sigset_t *set, int *signal) {
    struct weft__thread *t = weft__thread_self();
    if (!t) return real(sigwait)(set, signal);
    do *signal = sigwait_until(t, set_bits_of(set), NULL, WEFT_FOREVER);
    while (*signal < 0);
    return 0;
}
WEFT_INTERPOSED int sigwaitinfo(const sigset_t *set, siginfo_t *info) {
    struct weft__thread *t = weft__thread_self();
    return t ? sigwait_until(t, set_bits_of(set), info, WEFT_FOREVER) : real(sigwaitinfo)(set, info);
}
WEFT_INTERPOSED int sigtimedwait(const sigset_t *set, siginfo_t *info, const struct timespec *time) {
    struct weft__thread *t = weft__thread_self();
    if (!t) return real(sigtimedwait)(set, info, time);
    if (time && weft__time_is_bad(time)) {
        errno = EINVAL;
        return -1;
    }
    return sigwait_until(t, set_bits_of(set), info, time ? weft__time_after(time) : WEFT_FOREVER);
}

static int suspend_until_signal(struct weft__thread *t, uint64_t mask) {
    uint64_t before = load_rlx(&t->mask);
    bool restarts = true, handled;
    int err;
    weft__cancel_point();
    store_rlx(&t->mask, mask);
    for (handled = weft__signals_run(t, &restarts) > 0; !handled;) {
        handled = park_for_signal(t, WEFT_FOREVER, &err);
        if (!handled) weft__cancel_point();
    }
    store_rlx(&t->mask, before);
    weft__signals_recheck(t);
    errno = EINTR;
    return -1;
}
WEFT_INTERPOSED int sigsuspend(const sigset_t *set) {
    struct weft__thread *t = weft__thread_self();
    return t ? suspend_until_signal(t, set_bits_of(set)) : real(sigsuspend)(set);
}
WEFT_INTERPOSED int pause(void) {
    struct weft__thread *t = weft__thread_self();
    return t ? suspend_until_signal(t, load_rlx(&t->mask)) : real(pause)();
}

/* --- sending ----------------------------------------------------------------------------------------------- */

WEFT_INTERPOSED int pthread_kill(pthread_t thread, int signal) {
    struct weft__thread *t = weft__thread_of(thread);
    if (t->state == WEFT_THREAD_NONE) return real(pthread_kill)(thread, signal);
    if (t->state >= WEFT_THREAD_COLLECTED) return ESRCH;
    return weft__signals_send(t, signal, NULL);
}
WEFT_INTERPOSED int pthread_sigqueue(pthread_t thread, int signal, const union sigval value) {
    struct weft__thread *t = weft__thread_of(thread);
    if (t->state == WEFT_THREAD_NONE) return real(pthread_sigqueue)(thread, signal, value);
    siginfo_t info = {.si_signo = signal, .si_code = SI_QUEUE, .si_pid = getpid(), .si_uid = getuid()};
    info.si_value = value;
    return weft__signals_send(t, signal, &info);
}
WEFT_INTERPOSED int raise(int signal) {
    struct weft__thread *t = weft__thread_self();
    if (!t) return (int)__wrap_syscall(SYS_tgkill, getpid(), __wrap_syscall(SYS_gettid), signal);
    int err = signal ? weft__signals_send(t, signal, NULL) : 0;
    if (err) errno = err;
    return err ? -1 : 0;
}
/* If the signal is for this process and the caller does not block it, the caller handles it before kill returns. */
WEFT_INTERPOSED int kill(pid_t pid, int signal) {
    struct weft__thread *t = weft__thread_self();
    bool own = t && pid == getpid() && signal > 0 && signal <= 64 && signal != SIGKILL && signal != SIGSTOP;
    if (!own) return (int)__wrap_syscall(SYS_kill, pid, signal);
    if (!(load_rlx(&t->mask) & WEFT_BIT(signal))) return raise(signal);
    siginfo_t info = {.si_signo = signal, .si_code = SI_USER, .si_pid = pid, .si_uid = getuid()};
    weft__signals_dispatch(signal, &info);
    return 0;
}

/* Alternate stacks in the kernel belong to carriers: handlers of faults run there. Other handlers with SA_ONSTACK run
 * on the stack that the thread has set here. */
WEFT_INTERPOSED int sigaltstack(const stack_t *set, stack_t *before) {
    struct weft__thread *t = weft__thread_self();
    if (!t) return (int)__wrap_syscall(SYS_sigaltstack, set, before);
    bool on = weft__signals_on_alternate(t);
    if (before) {
        *before = t->alternate;
        if (on) before->ss_flags = SS_ONSTACK;
    }
    if (set && on) {
        errno = EPERM;
        return -1;
    }
    if (set && !(set->ss_flags & SS_DISABLE) && set->ss_size < (size_t)MINSIGSTKSZ) {
        errno = ENOMEM;
        return -1;
    }
    if (set) t->alternate = *set;
    if (set) t->alternate.ss_flags &= SS_DISABLE;
    return 0;
}
