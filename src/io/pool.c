/* See pool.h. */
#define _GNU_SOURCE
#include "io/pool.h"

#include "base/say.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define WEFT_POOL_PATIENCE (2 * WEFT_SECOND) /* of a thread that is idle */

struct helper {
    pthread_t thread;
    bool is_joinable; /* under `change` */
    bool runs;
    _Atomic uint32_t called; /* the word that it sleeps on while it is idle */
    struct helper *below;    /* on the stack of those */
};

/* Held while threads are made, and while all are ended. */
static pthread_mutex_t change = PTHREAD_MUTEX_INITIALIZER;

/* What follows is guarded by the queue's lock. */
static struct weft_queue jobs;
static struct helper helpers[WEFT_POOL_MOST];
static struct helper *idle;
static unsigned threads; /* that run, or are being made */
static bool quits;       /* the runtime stops: nobody stays idle */
static unsigned life;    /* grows in a forked child */

/* --- a thread -------------------------------------------------------------------------------------- */

static struct weft__job *take(void) {
    struct weft_waiter *w = jobs.first;
    if (!w) return NULL;
    weft__queue_remove(&jobs, w);
    return container_of(w, struct weft__job, waiter);
}

static void forget_idle(struct helper *me) {
    struct helper **at = &idle;
    while (*at && *at != me) at = &(*at)->below;
    if (*at) *at = me->below;
}

/* Locked; so it is again afterwards. False: nobody has called for so long. */
static bool rest(struct helper *me, uint64_t *value) {
    uint64_t until = weft__clock() + WEFT_POOL_PATIENCE;
    store_rlx(&me->called, 0);
    me->below = idle;
    idle = me;
    weft__queue_unlock(&jobs, *value);
    while (!load_acq(&me->called) && weft__futex_wait(&me->called, 0, until) != -ETIMEDOUT) { /* pairs with call */
    }
    *value = weft__queue_lock(&jobs);
    if (load_rlx(&me->called)) return true;
    forget_idle(me);
    return false;
}

/* The job's function has forked: this is the child, and what called us is not there. */
static WEFT_COLD _Noreturn void end_child(void) {
    weft__say("a function of weft_blocking has come to its end in a forked child: the child ends. Call _exit or exec "
              "before");
    _exit(EXIT_FAILURE);
}

static void *help(void *arg) {
    struct helper *me = arg;
    uint64_t value = weft__queue_lock(&jobs);
    unsigned born = life;
    for (;;) {
        struct weft__job *job = take();
        if (job) {
            weft__queue_unlock(&jobs, value);
            weft__thread_lent(true);
            job->run(job);
            weft__thread_lent(false);
            value = weft__queue_lock(&jobs);
            if (unlikely(life != born)) end_child();
        } else if (quits || !rest(me, &value)) {
            if (jobs.first) continue; /* it came in the last moment */
            break;
        }
    }
    me->runs = false;
    threads--;
    weft__queue_unlock(&jobs, value);
    return NULL;
}

/* --- jobs ------------------------------------------------------------------------------------------- */

/* Locked: the one that became idle last, which is to be woken afterwards; NULL: nobody is idle. */
static struct helper *call(void) {
    struct helper *h = idle;
    if (!h) return NULL;
    idle = h->below;
    store_rel(&h->called, 1); /* pairs with rest */
    return h;
}

/* Harmless if it has seen that it is called: then nobody sleeps there, or whoever does looks again. */
static void wake(struct helper *h) { weft__futex_wake(&h->called, 1); }

/* Under `change`: nobody else makes one. */
static struct helper *vacancy(void) {
    struct helper *found = NULL;
    uint64_t value = weft__queue_lock(&jobs);
    for (unsigned i = 0; i < WEFT_POOL_MOST && !found; i++)
        if (!helpers[i].runs) found = &helpers[i];
    weft__queue_unlock(&jobs, value);
    return found;
}

static int make(struct helper *h) {
    if (h->is_joinable) pthread_join(h->thread, NULL); /* it has ended, or is about to */
    uint64_t value = weft__queue_lock(&jobs);
    h->runs = true;
    threads++;
    weft__queue_unlock(&jobs, value);
    int err = weft__thread_create_deaf(&h->thread, help, h);
    h->is_joinable = !err;
    return err;
}

/* No thread could be made: if there are others, they will come to the job. */
static int do_without(struct helper *h, struct weft__job *job) {
    uint64_t value = weft__queue_lock(&jobs);
    h->runs = false;
    bool lost = !--threads && weft__chain_take_out(&jobs.first, &job->waiter);
    weft__queue_unlock(&jobs, value);
    return lost ? -EAGAIN : 0;
}

static WEFT_COLD int grow(struct weft__job *job) {
    pthread_mutex_lock(&change);
    struct helper *h = vacancy();
    int err = h && make(h) ? do_without(h, job) : 0;
    pthread_mutex_unlock(&change);
    return err;
}

int weft__pool_put(struct weft__job *job) {
    uint64_t value = weft__queue_lock(&jobs);
    weft__queue_append(&jobs, &job->waiter);
    struct helper *called = call();
    bool full = threads == WEFT_POOL_MOST;
    weft__queue_unlock(&jobs, value);
    if (called) wake(called);
    return called || full ? 0 : grow(job);
}

bool weft__pool_take_back(struct weft__job *job) { return weft__queue_leave(&jobs, &job->waiter); }

/* --- the runtime stops, or the process is a forked child ---------------------------------------------- */

static void end_all(bool end) {
    uint64_t value = weft__queue_lock(&jobs);
    quits = end;
    for (struct helper *h; end && (h = call());) wake(h);
    weft__queue_unlock(&jobs, value);
}

/* Calls that were abandoned are waited for. */
static void stopped(void) {
    pthread_mutex_lock(&change);
    end_all(true);
    for (unsigned i = 0; i < WEFT_POOL_MOST; i++) {
        if (helpers[i].is_joinable) pthread_join(helpers[i].thread, NULL);
        helpers[i].is_joinable = false;
    }
    end_all(false);
    pthread_mutex_unlock(&change);
}

static void forked(void) {
    pthread_mutex_init(&change, NULL);
    memset(&jobs, 0, sizeof jobs);
    memset(helpers, 0, sizeof helpers);
    idle = NULL;
    threads = 0;
    quits = false;
    life++;
}

static struct weft__layer layer = {stopped, forked, NULL};
__attribute__((constructor)) static void add(void) { weft__layer_add(&layer); }
