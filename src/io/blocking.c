/*
 * Calls that block: a job of the pool, and somebody who waits for its end. Where they meet is the state of the
 * call, under its lock:
 *
 *   whoever waits                                 the thread
 *   1. put: WAITED_FOR                            1. makes the call
 *   2. waits; it may be told to stop, and takes   2. WAITED_FOR: ENDED, and whoever waits is won. After
 *      the job back, if that can be done             that the memory of the call is not ours
 *   3. it cannot: waits on, and is not told.         ABANDONED: the memory is ours, to be freed
 *      Or, if the call owns what it uses:
 *      ABANDONED, and goes away
 *
 * A call that a thread makes is never interrupted: what would be interrupted is the program's or the C library's,
 * and neither expects it.
 */
#define _GNU_SOURCE
#include "io/blocking.h"

#include "io/engine.h"
#include "io/pool.h"

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
    struct weft__fiber *fiber; /* who waits, and by which ticket */
    uint64_t ticket;
};

static void destroy_arg(struct call *c) {
    if (c->destroy) c->destroy(c->arg);
}

/* --- the thread ------------------------------------------------------------------------------------- */

static void run(struct weft__job *job) {
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

/* --- whoever waits ------------------------------------------------------------------------------------ */

/* Told to stop, but a thread has begun: until it has ended. */
static WEFT_SWITCHES void wait_on(struct call *c) {
    struct weft__fiber *me = c->fiber;
    weft__lock(&c->lock);
    bool ended = c->state == ENDED;
    if (!ended) weft__wait_begin(me, WEFT_WAIT_OUTSIDE, &c->ticket);
    uint64_t ticket = c->ticket;
    weft__unlock(&c->lock);
    if (!ended) weft__wait_block(me, ticket, WEFT_FOREVER);
}

/* True: it runs on, and frees itself. */
static bool abandon(struct call *c) {
    weft__lock(&c->lock);
    bool runs = c->state != ENDED;
    if (runs) c->state = ABANDONED;
    weft__unlock(&c->lock);
    return runs;
}

/* 0: a thread has made the call, or is at it: *told is what whoever waited was told, or 0. Else it was not made. */
static WEFT_SWITCHES int make_call(struct call *c, int *told) {
    struct weft__fiber *me = c->fiber = weft__me();
    *told = 0;
    if (!me) return -ENOMEM;
    int err = weft__wait_begin(me, WEFT_WAIT_BY_CANCEL | WEFT_WAIT_OUTSIDE, &c->ticket);
    if (err) return err;
    uint64_t ticket = c->ticket;
    if ((err = weft__pool_put(&c->job))) {
        weft__wait_withdraw(me, ticket);
        return err;
    }
    err = weft__wait_block(me, ticket, WEFT_FOREVER);
    if (err && weft__pool_take_back(&c->job)) return err;
    *told = err;
    return 0;
}

/* The plain form: what it uses is the caller's, so it stays. */
static int call_and_wait(struct call *c) {
    int told, err = make_call(c, &told);
    if (!err && told) wait_on(c);
    return err;
}

static bool is_thread(void) { return !weft__self(); }

WEFT_PUBLIC int weft_blocking(void *(*fn)(void *), void *arg, void **result) {
    struct call c = {.job = {.run = run}, .fn = fn, .arg = arg};
    if (!fn) return -EINVAL;
    int err = 0;
    if (is_thread())
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
    *c = (struct call){.job = {.run = run}, .fn = fn, .arg = arg, .destroy = destroy};
    int told, err = make_call(c, &told);
    if (!err && told && abandon(c)) return told;
    if (!err && result) *result = c->result;
    if (err == -ECANCELED || err == -ETIMEDOUT) destroy_arg(c);
    weft__free(c);
    return err;
}

/* --- for the engines ---------------------------------------------------------------------------------- */

struct made {
    const struct weft__request *request;
    uint32_t life; /* of its descriptor, when it was made; 0: it has none */
    ssize_t result;
    int signal; /* that the kernel sent for it; 0: none */
};

/* The threads take no signals: one that the kernel sent for this call is pending there, and is the caller's to have.
 * Some bytes may have been moved before. */
static int signal_for(const struct weft__request *r, ssize_t result) {
    const struct timespec now = {0, 0};
    sigset_t set;
    if (result != -EPIPE && result != -EFBIG && !weft__request_moves(r)) return 0;
    sigemptyset(&set);
    sigaddset(&set, SIGPIPE);
    sigaddset(&set, SIGXFSZ);
    int number = sigtimedwait(&set, NULL, &now);
    return number > 0 ? number : 0;
}

static void *perform(void *arg) {
    struct made *m = arg;
    const struct weft__request *r = m->request;
    bool is_gone = (m->life && weft__known_other(r->fd, m->life)) ||
                   (weft__request_moves(r) && r->other_life && weft__known_other(r->other, r->other_life));
    m->result = is_gone ? -EBADF : weft__request_perform(m->request);
    m->signal = signal_for(r, m->result);
    return NULL;
}

/* A directory is held by a descriptor of its own: its number may be closed, and be another's, when a thread comes to
 * the call. Not a file: to close any descriptor of it would give up the program's locks. */
static int hold_directory(const struct weft__request *r, int fd) {
    bool has = r->code == WEFT_IO_OPEN || (r->code >= WEFT_IO_STAT && r->code <= WEFT_IO_MKDIR);
    return has && fd >= 0 ? fcntl(fd, F_DUPFD_CLOEXEC, 0) : -1;
}

int weft__blocking_make(const struct weft__request *r, ssize_t *result) {
    struct weft__request own = *r;
    int dir = hold_directory(r, r->fd), other = r->code == WEFT_IO_RENAME ? hold_directory(r, r->other) : -1;
    struct made m = {&own, r->fd >= 0 && dir < 0 ? weft__request_life(r) : 0, 0, 0};
    if (dir >= 0) own.fd = dir;
    if (other >= 0) own.other = other;
    int err = weft_blocking(perform, &m, NULL);
    if (dir >= 0) close(dir);
    if (other >= 0) close(other);
    if (!err && m.signal) raise(m.signal);
    *result = m.result;
    return err;
}

ssize_t weft__blocking_request(const struct weft__request *r) {
    ssize_t result;
    int err = weft__blocking_make(r, &result);
    return err ? err : result;
}
