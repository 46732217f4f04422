/* SPDX-License-Identifier: MIT */
/*
 * Backtraces of hogs, on request. A signal handler on the hog's own carrier takes the backtrace.
 *
 * There is one request at a time, about one worker. It is in static memory, because a handler may run after the caller
 * has returned.
 *
 *   the caller                                       the handler, on the carrier
 *   1. IDLE: writes which worker it means, -> ASKED  1. ASKED, and about this worker: -> TAKEN
 *   2. sends the signal, while the carrier           2. if the worker still runs that fiber, on the fiber's
 *      cannot end                                       own stack: collects the addresses of its frames
 *   3. waits for ANSWERED. After a while it          3. -> ANSWERED
 *      gives up, ASKED -> IDLE, and a late handler
 *      does nothing
 *   4. writes the lines, -> IDLE
 *
 * The state has a number that grows with each request, so a late handler does not answer a later request.
 * If a handler stays in TAKEN for too long, the caller gives up, and the next caller first waits for that handler.
 *
 * The handler only collects addresses. The caller looks up the names and writes the lines, because a file that blocks
 * must not delay the hog, and because a handler may call few functions of the C library.
 */
#define _GNU_SOURCE
#include "arch/interrupted.h"
#include "base/handler.h"
#include "sched/core/self.h"
#include "sched/observe/stats.h"

#include <execinfo.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

#define WEFT_TRACE_SIGNAL SIGURG /* ignored by default, and seldom used */
#define WEFT_TRACE_WITHIN (1 * WEFT_SECOND)
#define WEFT_TRACE_FRAMES 64

enum { IDLE, ASKED, TAKEN, ANSWERED, PHASE = 3 };

static struct {
    _Atomic uint32_t state; /* the number of the request, and its phase in the lowest two bits */
    _Atomic(struct weft__worker *) worker;
    struct weft__fiber *fiber;
    /* The answer. */
    struct weft__text text;
    uintptr_t pc; /* where the fiber was interrupted; younger frames are the handler's */
    int frames;   /* 0: the worker does not run that fiber any more */
    void *frame[WEFT_TRACE_FRAMES];
} request;

static pthread_mutex_t asking = PTHREAD_MUTEX_INITIALIZER; /* held by the caller of a request */
static struct sigaction before;
static bool in_place;

/* --- the handler ---------------------------------------------------------------------------------- */

/*
 * Has the signal interrupted the code of fiber f, on f's stack? There are three other cases:
 *   - The carrier has just chosen f, but is still on another stack.
 *   - The carrier is in the last instructions of the switch to f: on f's stack, but in the frame of the fiber before.
 *     That would mislead the unwinder. The switch holds the context that it enters in a fixed register.
 *   - The carrier is ending f and no longer owns the record. Then the record may belong to another fiber already, with
 *     another stack or none. Reading it is safe, because records and stacks are never unmapped.
 */
static WEFT_MAY_RACE bool stands_in(const struct weft__fiber *f, const struct weft__interrupted *at) {
    const struct weft__stack *s = *(struct weft__stack *const volatile *)&f->stack;
    bool on_its_stack = s && at->sp >= (uintptr_t)s->low && at->sp < (uintptr_t)weft__stack_top(s);
    bool switching = at->to == (uintptr_t)&f->context && at->sp == (uintptr_t)f->context.sp;
    return on_its_stack && !switching;
}

static void answer_trace(struct weft__worker *w, const void *context) {
    uint32_t asked = load_acq(&request.state); /* pairs with backtrace_ask */
    if ((asked & PHASE) != ASKED || load_rlx(&request.worker) != w) return;
    if (!cas_ar(&request.state, &asked, asked + TAKEN - ASKED)) return;
    struct weft__fiber *f = load_rlx(&w->current);
    struct weft__interrupted at = weft__interrupted(context);
    request.frames = 0;
    request.pc = at.pc;
    if (f && f == request.fiber && stands_in(f, &at)) {
        weft__describe(f, &request.text);
        request.frames = backtrace(request.frame, WEFT_TRACE_FRAMES);
    }
    store_rel(&request.state, asked + ANSWERED - ASKED); /* pairs with answered */
    weft__futex_wake(&request.state, 1);
}

static void backtrace_on_signal(int sig, siginfo_t *info, void *context) {
    int saved = errno;
    struct weft__worker *w = weft__self();
    if (info->si_code == SI_QUEUE && info->si_value.sival_ptr == &request) {
        if (w) answer_trace(w, context);
    } else {
        weft__handler_pass_on(&before, sig, info, context);
    }
    errno = saved;
}

/* Installs the handler. It stays until the runtime stops, because a signal may come late. The first backtrace of a
 * process loads a library, which a handler must not do. So we take it here. */
static int watch_answer(void) {
    struct sigaction action = {.sa_sigaction = backtrace_on_signal, .sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESTART};
    void *one[1];
    if (in_place) return 0;
    if (backtrace(one, 1) < 0 || sigaction(WEFT_TRACE_SIGNAL, NULL, &before)) return -errno;
    if (sigaction(WEFT_TRACE_SIGNAL, &action, NULL)) return -errno;
    in_place = true;
    return 0;
}

void weft__backtrace_unwatch(void) {
    pthread_mutex_lock(&asking);
    if (in_place) in_place = !weft__handler_restore(WEFT_TRACE_SIGNAL, backtrace_on_signal, &before);
    pthread_mutex_unlock(&asking);
}

/* --- the request ---------------------------------------------------------------------------------- */

/* The state IDLE with the next number. */
static uint32_t next_idle_state(uint32_t state) { return (state | PHASE) + 1; }
static void backtrace_forget(void) { store_rlx(&request.state, next_idle_state(load_rlx(&request.state))); }
void weft__backtrace_after_fork(void) {
    pthread_mutex_init(&asking, NULL);
    backtrace_forget();
}
/* True: no handler has taken the request, and none will. */
static bool withdraw_request(uint32_t state) {
    return (state & PHASE) == ASKED && cas_ar(&request.state, &state, next_idle_state(state));
}

/* Waits for the handler's answer. False: none came in time; the handler may still be working on it. */
static bool trace_answered(uint64_t deadline) {
    uint32_t state;
    int err = 0;
    while (((state = load_acq(&request.state)) & PHASE) != ANSWERED) { /* pairs with answer */
        if (err == -ETIMEDOUT && ((state & PHASE) == TAKEN || withdraw_request(state))) return false;
        err = weft__futex_wait(&request.state, state, deadline);
    }
    return true;
}

/* While we hold the lock no carrier ends: a stop takes it to set `stopping` before it ends carriers. */
static bool backtrace_ask(struct weft__cluster *c, unsigned index) {
    bool sent = false;
    pthread_mutex_lock(&c->resizing);
    struct weft__worker *w = !load_rlx(&c->stopping) && index < load_rlx(&c->count) ? c->workers[index] : NULL;
    struct weft__fiber *f = w ? load_acq(&w->hog.fiber) : NULL; /* pairs with the monitor */
    if (f) {
        store_rlx(&request.worker, w);
        request.fiber = f;
        store_rel(&request.state, (load_rlx(&request.state) & ~(uint32_t)PHASE) | ASKED); /* pairs with answer */
        sent = !pthread_sigqueue(w->carrier.thread, WEFT_TRACE_SIGNAL, (union sigval){.sival_ptr = &request});
        if (!sent) sent = !withdraw_request(load_rlx(&request.state)); /* a late signal may already run the handler */
    }
    pthread_mutex_unlock(&c->resizing);
    return sent;
}

static int write_answer(const struct weft__worker *w, int fd) {
    int first = 0;
    uint64_t ms = (weft__clock() - load_rlx(&w->hog.since)) / WEFT_MILLISECOND;
    while (first < request.frames && (uintptr_t)request.frame[first] != request.pc) first++;
    if (first == request.frames) first = 0;
    if (dprintf(fd, "weft: worker %u runs for %llu ms: %s\n", w->index, (unsigned long long)ms, request.text.text) < 0)
        return -errno;
    backtrace_symbols_fd(request.frame + first, request.frames - first, fd);
    return 1;
}

/* 1: written. 0: the worker has no hog, or no longer has one. */
static int trace_fiber(struct weft__cluster *c, unsigned index, int fd, uint64_t deadline) {
    if (!backtrace_ask(c, index) || !trace_answered(deadline)) return 0;
    int written = request.frames ? write_answer(c->workers[index], fd) : 0;
    backtrace_forget();
    return written;
}

static int trace_all(struct weft__cluster *c, int fd) {
    uint64_t deadline = weft__clock() + WEFT_TRACE_WITHIN;
    int written = 0, err = watch_answer();
    if (err) return err;
    if ((load_acq(&request.state) & PHASE) == TAKEN && !trace_answered(deadline)) return -ETIMEDOUT;
    if ((load_rlx(&request.state) & PHASE) != IDLE) backtrace_forget(); /* drops an answer that came too late */
    for (unsigned i = 0; err >= 0 && i < load_acq(&c->count); i++) {
        err = trace_fiber(c, i, fd, deadline);
        if (err > 0) written++;
        if ((load_rlx(&request.state) & PHASE) != IDLE) break; /* a handler still works on it, so we cannot ask again */
    }
    return err < 0 ? err : written;
}

WEFT_PUBLIC int weft_hogs_backtrace(struct weft_cluster cluster, int fd) {
    struct weft__cluster *c = weft__cluster_find(cluster);
    if (!c) return -ESRCH;
    if (fcntl(fd, F_GETFD) < 0) return -EBADF;
    pthread_mutex_lock(&asking);
    int result = trace_all(c, fd);
    pthread_mutex_unlock(&asking);
    return result;
}
