/* SPDX-License-Identifier: MIT */
/* The process: calls that block, children, signals, forks, fibers that keep their worker. */
#define _GNU_SOURCE
#include "io.h"

#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static void nap(uint64_t nanoseconds) {
    struct timespec t = {0, (long)nanoseconds};
    while (nanosleep(&t, &t)) { /* a signal came */
    }
}

/* --- calls that block ------------------------------------------------------------------------- */

struct call {
    uint64_t nap;
    unsigned ran;
    void *result;
};
static void *block(void *call) {
    struct call *c = call;
    nap(c->nap);
    c->ran++;
    return c;
}
static int call_blocking(void *call) {
    struct call *c = call;
    return weft_blocking(block, c, &c->result);
}

/* Cancelled, it has not run; else it has, once. */
static void run_blocking(struct party *p) {
    struct call c = {.nap = below(p, 200 * WEFT_MICROSECOND)};
    OK(insist_on(p, call_blocking, &c));
    WANT(c.ran, 1);
    SO(c.result == &c);
}

struct owned {
    uint64_t nap;
    struct outcome *outcome;
};
struct outcome {
    _Atomic unsigned ran, destroyed, freed;
};
static void *block_owned(void *owned) {
    struct owned *o = owned;
    nap(o->nap);
    atomic_fetch_add(&o->outcome->ran, 1);
    return NULL;
}
static void destroy_owned(void *owned) {
    struct owned *o = owned;
    atomic_fetch_add(&o->outcome->destroyed, 1);
    free(o);
}

/* The argument is freed once: by the caller, or by an abandoned call. */
static void run_owned(struct party *p) {
    struct outcome *outcome = p->op->data;
    struct owned *o = malloc(sizeof *o);
    struct weft_scope scope;
    SO(o);
    *o = (struct owned){below(p, 200 * WEFT_MICROSECOND), outcome};
    bool timed = one_in(p, 2);
    if (timed) OK(weft_scope_begin(&scope, weft_now() + below(p, 100 * WEFT_MICROSECOND)));
    int err = weft_blocking_owned(block_owned, o, destroy_owned, NULL);
    if (timed) weft_scope_end(&scope);
    if (err == -ECANCELED || err == -ETIMEDOUT) {
        SO(p->actor->told || (timed && err == -ETIMEDOUT));
        return;
    }
    OK(err);
    WANT(atomic_load(&outcome->ran), 1);
    atomic_fetch_add(&outcome->freed, 1);
    free(o);
}

static void check_owned(struct op *op) {
    struct outcome *o = op->data;
    SO(atomic_load(&o->ran) <= 1);
    WANT(atomic_load(&o->destroyed) + atomic_load(&o->freed), 1);
}

struct lookup {
    struct addrinfo *list;
};
static int call_lookup(void *lookup) {
    struct addrinfo hints = {.ai_flags = AI_NUMERICHOST, .ai_socktype = SOCK_STREAM};
    int err = weft_getaddrinfo("127.0.0.1", "80", &hints, &((struct lookup *)lookup)->list);
    return err == EAI_SYSTEM ? -errno : err;
}
static void run_lookup(struct party *p) {
    struct lookup l;
    OK(insist_on(p, call_lookup, &l));
    WANT(((struct sockaddr_in *)(void *)l.list->ai_addr)->sin_port, htons(80));
    freeaddrinfo(l.list);
}

/* --- children --------------------------------------------------------------------------------- */

struct child {
    pid_t pid;
    int status;
};
static int call_waitpid(void *child) {
    struct child *c = child;
    pid_t pid = weft_waitpid(c->pid, &c->status, 0);
    return pid < 0 ? -errno : (int)pid;
}

static void await_child(struct party *p, pid_t pid, int wanted) {
    struct child c = {pid, 0};
    int got;
    do got = insist_on(p, call_waitpid, &c);
    while (is_thread(p->actor) && got == -EINTR);
    WANT(got, pid);
    if (!WIFEXITED(c.status) || WEXITSTATUS(c.status) != wanted) broken(__FILE__, __LINE__, "status", c.status, wanted);
    WANT(weft_waitpid(pid, NULL, 0), -1);
    WANT(errno, ECHILD);
}

static void run_child(struct party *p) {
    char *const argv[] = {"sh", "-c", "exit 7", NULL}, *const none[] = {NULL};
    pid_t pid;
    OK(posix_spawn(&pid, "/bin/sh", NULL, NULL, argv, none));
    await_child(p, pid, 7);
}

/* In a child of fork: there is no runtime, and there can be a new one. */
static void *add_one(void *n) {
    weft_yield();
    atomic_fetch_add((_Atomic int *)n, 1);
    return NULL;
}
static int main_of_child(void *n) {
    struct weft_fiber f[10];
    for (int i = 0; i < 10; i++)
        if (weft_spawn(&f[i], NULL, add_one, n)) return -1;
    if (weft_sleep_for(1000)) return -2;
    for (int i = 0; i < 10; i++)
        if (weft_join(f[i], NULL)) return -3;
    return *(int *)n;
}

static _Noreturn void be_child(unsigned workers) {
    _Atomic int n = 0;
    struct weft_config config = {.workers = workers};
    alarm(100); /* a child that hangs is killed, and noticed */
    if (weft_workers() || weft_self().id) _exit(2);
    if (weft_spawn(NULL, NULL, add_one, &n) != -ESRCH) _exit(3);
    if (weft_run(main_of_child, (void *)&n, &config) != 10) _exit(4);
    _exit(5);
}

static void run_fork(struct party *p) {
    unsigned workers = 1 + (unsigned)below(p, 3);
    pid_t pid = fork();
    SO(pid >= 0);
    if (!pid) be_child(workers);
    await_child(p, pid, 5);
}

/* --- signals: role 0 subscribes, the others send; each operation has a signal of its own ------ */

struct mail {
    struct weft_signals signals;
    struct weft_latch open;
    int number;
    unsigned each;
};

static bool make_signals(struct program *p, struct op *op) {
    struct mail *m = op->data;
    m->number = SIGRTMIN + 1;
    for (unsigned i = 0; i < p->n_ops; i++) m->number += p->ops[i].kind == op->kind;
    m->each = 1 + (unsigned)choose(p, 5);
    OK(weft_latch_init(&m->open, 1));
    return m->number <= SIGRTMAX && !test_emulated();
}

struct next {
    struct weft_signals *from;
    struct weft_signal got;
};
static int wait_for_signal(void *context, uint64_t deadline) {
    struct next *n = context;
    return deadline == AT_ONCE        ? weft_signals_next_try(n->from, &n->got)
           : deadline == WEFT_FOREVER ? weft_signals_next(n->from, &n->got)
                                      : weft_signals_next_until(n->from, &n->got, deadline);
}

static void receive_signals(struct party *p, struct mail *m) {
    struct next n = {.from = &m->signals};
    uint64_t all = m->each * (p->op->parties - 1), seen = 0;
    OK(weft_signals_begin(&m->signals, WEFT_SIGNAL(m->number)));
    WANT(weft_signals_begin(&m->signals, WEFT_SIGNAL(m->number)), -EBUSY);
    OK(weft_latch_count_down(&m->open, 1));
    for (; seen < all; seen += n.got.count) {
        WANT(insist(p, wait_for_signal, &n), m->number);
        WANT(n.got.number, m->number);
        WANT(n.got.code, SI_QUEUE);
        WANT(n.got.pid, getpid());
        pause_a_bit(p);
    }
    WANT(seen, all);
    WANT(weft_signals_next_try(&m->signals, NULL), -EAGAIN);
    OK(weft_signals_end(&m->signals));
}

static void send_signals(struct party *p, struct mail *m) {
    OK(insist(p, wait_for_latch, &m->open));
    for (unsigned i = 0; i < m->each; i++) {
        OK(sigqueue(getpid(), m->number, (union sigval){.sival_int = (int)i}));
        pause_a_bit(p);
    }
}

static void run_signals(struct party *p) { (p->role ? send_signals : receive_signals)(p, p->op->data); }

/* --- fibers that keep their worker ------------------------------------------------------------ */

static void run_hog(struct party *p) {
    uint64_t until = weft_now() + below(p, 12 * WEFT_MILLISECOND);
    if (one_in(p, 2))
        while (weft_now() < until) __asm__ volatile("" ::: "memory");
    else
        nap(below(p, 12 * WEFT_MILLISECOND));
}

/* What the hogs are doing goes to nowhere. */
static void run_backtrace(struct party *p) {
    int fd = open("/dev/null", O_WRONLY | O_CLOEXEC);
    SO(fd >= 0);
    int n = weft_hogs_backtrace(p->program->cluster[below(p, p->program->n_clusters)], fd);
    SO(n >= 0 || n == -ETIMEDOUT);
    OK(close(fd));
}

static const struct kind kinds[] = {
    {"blocking", 15, BY_THREADS, 1, 1, 0, NULL, run_blocking, NULL},
    {"owned", 15, BY_THREADS, 1, 1, sizeof(struct outcome), NULL, run_owned, check_owned},
    {"lookup", 5, BY_THREADS, 1, 1, 0, NULL, run_lookup, NULL},
    {"child_process", 4, BY_THREADS | FORKS, 1, 1, 0, NULL, run_child, NULL},
    {"fork", 4, BY_THREADS | FORKS, 1, 1, 0, NULL, run_fork, NULL},
    {"signals", 15, BY_THREADS, 2, 4, sizeof(struct mail), make_signals, run_signals, NULL},
    {"hog", 5, BY_THREADS | GREEDY, 1, 1, 0, NULL, run_hog, NULL},
    {"backtrace", 3, BY_THREADS | GREEDY, 1, 1, 0, NULL, run_backtrace, NULL},
    {0},
};
const struct family family_process = {kinds, NULL, NULL};
