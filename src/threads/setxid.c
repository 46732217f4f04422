/* SPDX-License-Identifier: MIT */
/*
 * setuid and its kind. glibc changes the credentials of every kernel thread: it marks the descriptors in its list, and
 * signals the threads. The signal handler finds the mark by the thread pointer. Descriptors in the list are those of
 * carriers and of the first thread. So the handler must run with the storage that its kernel thread was made with, and
 * the caller must call as its carrier.
 */
#define _GNU_SOURCE
#include "arch/thread_pointer.h"
#include "sched/core/cluster.h"
#include "sched/dispatch/own_tls.h"
#include "threads/threads.h"

#include <errno.h>
#include <grp.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { SETXID = 33 }; /* glibc's signal */

struct kernel_action {
    void (*handler)(int, siginfo_t *, void *);
    unsigned long flags;
    void (*restorer)(void);
    uint64_t mask;
};
static struct kernel_action glibcs;

struct search {
    int tid;
    void *found;
};
static bool look_in(struct weft__cluster *c, void *arg) {
    struct search *s = (struct search *)arg;
    for (unsigned i = 0; i < load_acq(&c->count); i++) /* pairs with the making of a worker */
        if (load_rlx(&c->workers[i]->carrier.tid) == s->tid) s->found = c->workers[i]->carrier.thread_pointer;
    return !s->found;
}

/* The storage with which this kernel thread was created. */
static void *home_of(void *now) {
    struct search s = {(int)__wrap_syscall(SYS_gettid), NULL};
    if (now == weft__threads_receiver_block) return weft__threads_first_block;
    weft__each_cluster(look_in, &s);
    return s.found ? s.found : now;
}

static void on_setxid(int signal, siginfo_t *info, void *context) {
    void *now = weft__thread_pointer();
    weft__thread_pointer_set(home_of(now));
    glibcs.handler(signal, info, context);
    weft__thread_pointer_set(now);
}

void weft__setxid_begin(void) {
    if (glibcs.handler || __wrap_syscall(SYS_rt_sigaction, SETXID, NULL, &glibcs, sizeof glibcs.mask)) return;
    struct kernel_action a = glibcs;
    a.handler = on_setxid;
    if ((uintptr_t)glibcs.handler > 1) __wrap_syscall(SYS_rt_sigaction, SETXID, &a, NULL, sizeof a.mask);
}

/* Makes a call with the carrier's own storage. The call must not park, because the fiber must stay on its carrier. */
#define AS_CARRIER(call) \
    ({ \
        int result_, err_ = 0; \
        if (weft__thread_self()) { \
            void *own_ = weft__thread_pointer(); \
            weft__thread_enter(); \
            weft__own_tls_leave(); \
            result_ = call; \
            err_ = errno; \
            weft__own_tls_enter(own_); \
            weft__thread_leave(); \
            if (result_) errno = err_; \
        } else \
            result_ = call; \
        result_; \
    })

#define ID_CALL(name, parameters, arguments) \
    REAL(name); \
    WEFT_INTERPOSED int name parameters { return AS_CARRIER(real(name) arguments); }

ID_CALL(setuid, (uid_t a), (a))
ID_CALL(setgid, (gid_t a), (a))
ID_CALL(seteuid, (uid_t a), (a))
ID_CALL(setegid, (gid_t a), (a))
ID_CALL(setreuid, (uid_t a, uid_t b), (a, b))
ID_CALL(setregid, (gid_t a, gid_t b), (a, b))
ID_CALL(setresuid, (uid_t a, uid_t b, uid_t c), (a, b, c))
ID_CALL(setresgid, (gid_t a, gid_t b, gid_t c), (a, b, c))
ID_CALL(setgroups, (size_t n, const gid_t *groups), (n, groups))
