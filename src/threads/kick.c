/* SPDX-License-Identifier: MIT */
/*
 * Kicks: a signal to every carrier. The handler checks whether the thread that runs there must act on a signal or a
 * cancellation, and acts on it unless the thread is inside weft.
 *
 * The handler may run between two fibers, when the thread pointer still points to the storage of a fiber that has left
 * this carrier (sched/dispatch/own_tls.c). So it first compares the worker in that storage with its kernel thread.
 */
#define _GNU_SOURCE
#include "threads/kick.h"
#include "sched/core/cluster.h"
#include "sched/dispatch/own_tls.h"
#include "threads/threads.h"

#include <errno.h>
#include <sys/syscall.h>
#include <unistd.h>

static void on_kick(int signal) {
    struct weft__worker *w = weft__self();
    int err = errno;
    if (!w || load_rlx(&w->carrier.tid) != (int)__wrap_syscall(SYS_gettid) || !weft__own_tls_runs(w)) return;
    struct weft__thread *t = weft__thread_self();
    if (!t || t->inside) return;
    uint64_t kick = WEFT_BIT(signal); /* further kicks may come while the program's handlers run */
    __wrap_syscall(SYS_rt_sigprocmask, SIG_UNBLOCK, &kick, NULL, sizeof kick);
    if (weft__cancel_is_due(t) && weft__cancel_is_async()) weft__cancel_point();
    weft__signals_recheck(t);
    errno = err;
}

void weft__kick_begin(void) {
    struct sigaction a = {.sa_handler = on_kick, .sa_flags = SA_RESTART};
    sigaction(WEFT_KICK, &a, NULL);
}

static bool kick_cluster(struct weft__cluster *c, void *unused) {
    (void)unused;
    for (unsigned i = 0; i < load_acq(&c->count); i++) { /* pairs with the making of a worker */
        int tid = load_rlx(&c->workers[i]->carrier.tid);
        if (tid) __wrap_syscall(SYS_tgkill, getpid(), tid, WEFT_KICK);
    }
    return true;
}

static _Atomic uint32_t kickers, stops;

void weft__kick_all(void) {
    int err = errno;
    add_rlx(&kickers, 1);
    fence_sc(); /* pairs with weft__kick_stop */
    if (!load_rlx(&stops)) weft__each_cluster(kick_cluster, NULL);
    add_ar(&kickers, -1u); /* pairs with weft__kick_stop */
    errno = err;
}

void weft__kick_stop(void) {
    unsigned turn = 0;
    add_rlx(&stops, 1);
    fence_sc();                                      /* pairs with weft__kick_all */
    while (load_acq(&kickers)) weft__backoff(&turn); /* pairs with weft__kick_all */
}

void weft__kick_go_on(void) {
    add_rlx(&stops, -1u);
    weft__kick_all(); /* makes up for kicks that were not sent meanwhile */
}

void weft__kick_after_fork(void) {
    store_rlx(&kickers, 0);
    store_rlx(&stops, 0);
}
