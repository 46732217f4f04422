/* SPDX-License-Identifier: MIT */
/*
 * Blocking calls: a job of the thread pool, and a fiber that waits for its end. They synchronize by the state of the
 * call, under its lock:
 *
 *   the waiter                                    the thread
 *   1. state = WAITED_FOR; enqueues the job       1. makes the call
 *   2. waits. If it is cancelled before a thread  2. if WAITED_FOR: sets ENDED and wins the waiter.
 *      runs the job, takes the job back              After that the call's memory belongs to the waiter.
 *   3. if a thread runs it: waits on,                If ABANDONED: frees the memory
 *      uncancellable. But if the call owns its
 *      arguments: sets ABANDONED and returns
 *
 * A running call is never interrupted, because neither the program's functions nor the C library expect that.
 */
#define _GNU_SOURCE
#include "io/blocking.h"

#include "io/engine.h"
#include "io/thread_pool.h"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

enum { WAITED_FOR, ENDED, ABANDONED };

struct call {
    struct weft__job job;
    void *(*fn)(void *);
    void *arg, *result;
    void (*destroy)(void *);
    struct weft__lock lock;
    uint8_t state;
    struct weft__fiber *fiber; /* the waiter, and its ticket */
    uint64_t ticket;
};

static void destroy_arg(struct call *c) {
    if (c->destroy) c->destroy(c->arg);
}

/* --- the thread ------------------------------------------------------------------------------------- */

static void blocking_run(struct weft__job *job) {
    struct call *c = container_of(job, struct call, job);
    c->result = c->fn(c->arg);
    weft__lock(&c->lock);
    bool abandoned = c->state == ABANDONED;
    struct weft__fiber *f = c->fiber;
    bool won = !abandoned && weft__wait_win(f, c->ticket, WEFT_WON_DONE);
    c->state = ENDED;
    weft__unlock(&c->lock);
    if (won) weft__make_ready(f);
    if (!abandoned) return;
    destroy_arg(c);
    weft__free(c);
}

/* --- the waiter --------------------------------------------------------------------------------------- */

/* The waiter was cancelled, but a thread runs the call: waits until the call has ended. */
static WEFT_SWITCHES void wait_on(struct call *c) {
    struct weft__fiber *me = c->fiber;
    weft__lock(&c->lock);
    bool ended = c->state == ENDED;
    if (!ended) weft__wait_begin(me, WEFT_WAIT_OUTSIDE, &c->ticket);
    uint64_t ticket = c->ticket;
    weft__unlock(&c->lock);
    if (!ended) weft__wait_block_for(me, ticket, WEFT_FOREVER, weft__for(WEFT_ON_JOB, NULL));
}

/* Gives up a call that owns its arguments. True: the call still runs, and frees its memory at its end. */
static bool abandon_call(struct call *c) {
    weft__lock(&c->lock);
    bool runs = c->state != ENDED;
    if (runs) c->state = ABANDONED;
    weft__unlock(&c->lock);
    return runs;
}

/* Lets a thread make the call, and waits. 0: a thread has made the call or is making it; *cause is the error that ended
 * the wait, or 0. An error: the call was not made. */
static WEFT_SWITCHES int make_call(struct call *c, int *cause) {
    struct weft__fiber *me = c->fiber = weft__me();
    *cause = 0;
    if (!me) return -ENOMEM;
    int err = weft__wait_begin(me, WEFT_WAIT_BY_CANCEL | WEFT_WAIT_OUTSIDE, &c->ticket);
    if (err) return weft__refused(me, err);
    uint64_t ticket = c->ticket;
    if ((err = weft__thread_pool_put(&c->job))) {
        weft__wait_withdraw(me, ticket);
        return err;
    }
    err = weft__wait_block_for(me, ticket, WEFT_FOREVER, weft__for(WEFT_ON_JOB, NULL));
    if (err && weft__thread_pool_take_back(&c->job)) return err;
    *cause = err;
    return 0;
}

/* Makes a call that uses the caller's memory. So the caller waits for its end, even if it is cancelled. */
static int call_and_wait(struct call *c) {
    int cause, err = make_call(c, &cause);
    if (!err && cause) wait_on(c);
    return err;
}

static bool blocking_is_thread(void) { return !weft__self(); }

WEFT_PUBLIC int weft_blocking(void *(*fn)(void *), void *arg, void **result) {
    struct call c = {.job = {.run = blocking_run}, .fn = fn, .arg = arg};
    if (!fn) return -EINVAL;
    int err = 0;
    if (blocking_is_thread())
        c.result = fn(arg);
    else
        err = call_and_wait(&c);
    if (!err && result) *result = c.result;
    return err;
}

WEFT_PUBLIC int weft_blocking_owned(void *(*fn)(void *), void *arg, void (*destroy)(void *), void **result) {
    if (!fn) return -EINVAL;
    struct call *c = weft__alloc(sizeof *c);
    if (!c) return -ENOMEM;
    *c = (struct call){.job = {.run = blocking_run}, .fn = fn, .arg = arg, .destroy = destroy};
    int cause, err = make_call(c, &cause);
    if (!err && cause && abandon_call(c)) return cause;
    if (!err && result) *result = c->result;
    if (err == -ECANCELED || err == -ETIMEDOUT) destroy_arg(c);
    weft__free(c);
    return err;
}

/* --- for the engines ---------------------------------------------------------------------------------- */

struct made {
    const struct weft__request *request;
    uint64_t generation; /* generation of its descriptor at the start; 0: none */
    ssize_t result;
    int signal; /* signal that the kernel sent for it; 0: none */
};

/* The pool's threads block all signals. A signal that the kernel sent for this call is pending there; the caller must
 * receive it. Some bytes may have been transferred before. */
static int signal_for(const struct weft__request *r, ssize_t result) {
    const struct timespec now = {0, 0};
    sigset_t set;
    if (result != -EPIPE && result != -EFBIG && !weft__request_is_splice(r)) return 0;
    sigemptyset(&set);
    sigaddset(&set, SIGPIPE);
    sigaddset(&set, SIGXFSZ);
    int number = sigtimedwait(&set, NULL, &now);
    return number > 0 ? number : 0;
}

static void *perform_call(void *arg) {
    struct made *m = arg;
    const struct weft__request *r = m->request;
    bool is_gone = (m->generation && weft__fd_generation_is_stale(r->fd, m->generation)) ||
                   (weft__request_is_splice(r) && r->other_generation &&
                    weft__fd_generation_is_stale(r->other, r->other_generation));
    m->result = is_gone ? -EBADF : weft__request_perform(m->request);
    m->signal = signal_for(r, m->result);
    return NULL;
}

/* Duplicates the descriptor of a directory: its number may be closed and reused before a thread makes the call. Files
 * are not duplicated: closing any descriptor of a file would drop the program's locks on it. */
static int hold_directory(const struct weft__request *r, int fd) {
    bool has = r->code == WEFT_IO_OPEN || (r->code >= WEFT_IO_STAT && r->code <= WEFT_IO_MKDIR);
    return has && fd >= 0 ? fcntl(fd, F_DUPFD_CLOEXEC, 0) : -1;
}

int weft__blocking_perform(const struct weft__request *r, ssize_t *result) {
    struct weft__request own = *r;
    int dir = hold_directory(r, r->fd), other = r->code == WEFT_IO_RENAME ? hold_directory(r, r->other) : -1;
    struct made m = {&own, r->fd >= 0 && dir < 0 ? weft__request_generation(r) : 0, 0, 0};
    if (dir >= 0) own.fd = dir;
    if (other >= 0) own.other = other;
    int err = weft_blocking(perform_call, &m, NULL);
    if (dir >= 0) close(dir);
    if (other >= 0) close(other);
    if (!err && m.signal) raise(m.signal);
    *result = m.result;
    return err;
}

ssize_t weft__blocking_run(const struct weft__request *r) {
    ssize_t result;
    int err = weft__blocking_perform(r, &result);
    return err ? err : result;
}
