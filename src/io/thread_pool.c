/* SPDX-License-Identifier: MIT */
/* See thread_pool.h. */
#define _GNU_SOURCE
#include "io/thread_pool.h"

#include "base/message.h"
#include "sched/core/layers.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define WEFT_POOL_PATIENCE (2 * WEFT_SECOND) /* how long a thread stays idle */

struct helper {
    pthread_t thread;
    bool is_joinable; /* under `change` */
    bool runs;
    _Atomic uint32_t called; /* the futex on which it sleeps while idle */
    struct helper *below;    /* next in the stack of idle threads */
};

/* Held while threads are created, and while all are ended. */
static pthread_mutex_t change = PTHREAD_MUTEX_INITIALIZER;

/* Protected by the lock of `jobs`. */
static struct weft_queue jobs;
static struct helper helpers[WEFT_THREAD_POOL_LIMIT];
static struct helper *idle;
static unsigned threads;    /* running or being created */
static bool quits;          /* the runtime stops: no thread stays idle */
static unsigned generation; /* incremented in a forked child */

/* --- a thread -------------------------------------------------------------------------------------- */

static struct weft__job *pool_take(void) {
    struct weft_waiter *w = jobs.first;
    if (!w) return NULL;
    weft__wait_queue_remove(&jobs, w);
    return container_of(w, struct weft__job, waiter);
}

static void forget_idle(struct helper *me) {
    struct helper **at = &idle;
    while (*at && *at != me) at = &(*at)->below;
    if (*at) *at = me->below;
}

/* Sleeps until another thread calls this one. Locked on entry and exit. False: no call came within the timeout. */
static bool pool_rest(struct helper *me, uint64_t *value) {
    uint64_t until = weft__clock() + WEFT_POOL_PATIENCE;
    store_rlx(&me->called, 0);
    me->below = idle;
    idle = me;
    weft__wait_queue_unlock(&jobs, *value);
    while (!load_acq(&me->called) && weft__futex_wait(&me->called, 0, until) != -ETIMEDOUT) { /* pairs with pool_call */
    }
    *value = weft__wait_queue_lock(&jobs);
    if (load_rlx(&me->called)) return true;
    forget_idle(me);
    return false;
}

/* The job's function has forked: this is the child process, and the caller of the job does not exist here. */
static WEFT_COLD _Noreturn void end_child(void) {
    weft__say("a function of weft_blocking has come to its end in a forked child: the child ends. Call _exit or exec "
              "before");
    _exit(EXIT_FAILURE);
}

static void *pool_help(void *arg) {
    struct helper *me = arg;
    uint64_t value = weft__wait_queue_lock(&jobs);
    unsigned born = generation;
    for (;;) {
        struct weft__job *job = pool_take();
        if (job) {
            weft__wait_queue_unlock(&jobs, value);
            weft__thread_set_foreign(true);
            job->run(job);
            weft__thread_set_foreign(false);
            value = weft__wait_queue_lock(&jobs);
            if (unlikely(generation != born)) end_child();
        } else if (quits || !pool_rest(me, &value)) {
            if (jobs.first) continue; /* a job came at the last moment */
            break;
        }
    }
    me->runs = false;
    threads--;
    weft__wait_queue_unlock(&jobs, value);
    return NULL;
}

/* --- jobs ------------------------------------------------------------------------------------------- */

/* Locked: removes the thread that became idle last; wake it afterwards. NULL: no thread is idle. */
static struct helper *pool_call(void) {
    struct helper *h = idle;
    if (!h) return NULL;
    idle = h->below;
    store_rel(&h->called, 1); /* pairs with pool_rest */
    return h;
}

/* Harmless if the thread has seen the call already: it sleeps no longer, or looks again. */
static void pool_wake(struct helper *h) { weft__futex_wake(&h->called, 1); }

/* Under `change`: no other thread creates one. */
static struct helper *pool_vacancy(void) {
    struct helper *found = NULL;
    uint64_t value = weft__wait_queue_lock(&jobs);
    for (unsigned i = 0; i < WEFT_THREAD_POOL_LIMIT && !found; i++)
        if (!helpers[i].runs) found = &helpers[i];
    weft__wait_queue_unlock(&jobs, value);
    return found;
}

static int pool_make(struct helper *h) {
    if (h->is_joinable) pthread_join(h->thread, NULL); /* it has ended, or is about to */
    uint64_t value = weft__wait_queue_lock(&jobs);
    h->runs = true;
    threads++;
    weft__wait_queue_unlock(&jobs, value);
    int err = weft__thread_create_masked(&h->thread, pool_help, h);
    h->is_joinable = !err;
    return err;
}

/* No thread could be created. Other threads will take the job. If there are none, removes it and returns -EAGAIN. */
static int do_without(struct helper *h, struct weft__job *job) {
    uint64_t value = weft__wait_queue_lock(&jobs);
    h->runs = false;
    bool lost = !--threads && weft__chain_take_out(&jobs.first, &job->waiter);
    weft__wait_queue_unlock(&jobs, value);
    return lost ? -EAGAIN : 0;
}

static WEFT_COLD int pool_grow(struct weft__job *job) {
    pthread_mutex_lock(&change);
    struct helper *h = pool_vacancy();
    int err = h && pool_make(h) ? do_without(h, job) : 0;
    pthread_mutex_unlock(&change);
    return err;
}

int weft__thread_pool_put(struct weft__job *job) {
    uint64_t value = weft__wait_queue_lock(&jobs);
    weft__wait_queue_append(&jobs, &job->waiter, WEFT_ON_JOB);
    struct helper *called = pool_call();
    bool full = threads == WEFT_THREAD_POOL_LIMIT;
    weft__wait_queue_unlock(&jobs, value);
    if (called) pool_wake(called);
    return called || full ? 0 : pool_grow(job);
}

bool weft__thread_pool_take_back(struct weft__job *job) { return weft__wait_queue_leave(&jobs, &job->waiter); }

/* --- the runtime stops, or the process is a forked child ---------------------------------------------- */

static void pool_end_all(bool end) {
    uint64_t value = weft__wait_queue_lock(&jobs);
    quits = end;
    for (struct helper *h; end && (h = pool_call());) pool_wake(h);
    weft__wait_queue_unlock(&jobs, value);
}

/* Waits for abandoned calls, too. */
static void pool_stopped(void) {
    pthread_mutex_lock(&change);
    pool_end_all(true);
    for (unsigned i = 0; i < WEFT_THREAD_POOL_LIMIT; i++) {
        if (helpers[i].is_joinable) pthread_join(helpers[i].thread, NULL);
        helpers[i].is_joinable = false;
    }
    pool_end_all(false);
    pthread_mutex_unlock(&change);
}

static void pool_after_fork(void) {
    pthread_mutex_init(&change, NULL);
    memset(&jobs, 0, sizeof jobs);
    memset(helpers, 0, sizeof helpers);
    idle = NULL;
    threads = 0;
    quits = false;
    generation++;
}

static struct weft__layer layer = {pool_stopped, pool_after_fork, NULL};
__attribute__((constructor)) static void register_pool(void) { weft__layer_add(&layer); }
