/* SPDX-License-Identifier: MIT */
/*
 * fork(2). In the child only the thread that forked continues; carriers and monitor exist only in the parent. So the
 * child begins as a process without a runtime, and may start one:
 *
 *   - Threads that do not exist in the child may have held locks, or half changed a chain. weft takes no locks before a
 *     fork to prevent that: it would cost every fork a few hundred locks, and the child does not need the data that
 *     they protect. The child uses pooled memory again if the lock of the pool was free. Everything else of the
 *     parent's runtime stays as it is: workers, records and stacks. So the child may still touch an object, for example
 *     a semaphore, whose chain of waiters leads through those stacks.
 *   - The parent's fibers are abandoned: their handles are stale, and waking one has no effect.
 *   - If a fiber forked, it continues as an ordinary thread, on its own stack. Its record becomes the record of that
 *     thread, so it still owns its mutexes and its local values.
 *   - If that fiber has thread-local storage of its own, this is the storage of the child's thread from now on.
 *   - When the function of that fiber returns, there is nothing to continue with: the child prints one line and ends.
 *
 * The parent notices nothing.
 */
#include "sched/control/atfork.h"
#include "sched/control/quiescence.h"
#include "sched/core/layers.h"
#include "sched/core/thread.h"
#include "sched/core/wait_word.h"
#include "sched/dispatch/own_tls.h"
#include "sched/elastic/recording.h"
#include "sched/elastic/trim.h"
#include "sched/elastic/worker_record.h"
#include "sched/life/stack_shortage.h"
#include "sched/observe/stats.h"
#include "sched/rings/rings.h"
#include "sched/wait/cancel_log.h"

#include "base/message.h"
#include "libc/libc.h"
#include "queue/deque.h"

#include <stdlib.h>
#include <unistd.h>

static struct weft__worker *buried; /* workers of the parent, kept because timers still point to their wheels */

/* Marks all fibers but one as abandoned. Unlocks every record, because another thread may have held the lock at the
 * fork, to cancel the fiber. That may even be a free record, if a cancellation comes after the end of its fiber. */
static void abandon_all(struct weft__fiber *but) {
    uint32_t records = load_rlx(&weft__fibers.records);
    for (uint32_t i = 0; i < records; i++) {
        struct weft__fiber *f = weft__fiber_at(i);
        if (load_rlx(&f->context.open))
            store_rlx(&f->context.open, 0); /* only if needed: the kernel copies each page that is written */
        if (f != but && weft__slot_in_use(&f->slot) && load_rlx(&f->context.kind) == WEFT_KIND_FIBER)
            store_rlx(&f->context.kind, WEFT_KIND_ABANDONED);
    }
}

/* Makes the record of the fiber that forked the record of this thread. It is neither cancelled nor in a scope: the
 * threads that could end its scopes exist only in the parent. */
static void become_thread(struct weft__fiber *f) {
    weft__tls = NULL;
    f = weft__thread_adopt(f);
    if (!f) return;
    weft__wait_anew(f, 0);
    store_rlx(&f->join, 0);
    store_rlx(&f->context.kind, WEFT_KIND_THREAD);
    store_rlx(&f->context.open, 0);
    f->frames = 0;
}

static void bury_workers(struct weft__cluster *c) {
    for (unsigned i = 0; i < WEFT_WORKERS_MAX && c->workers[i]; i++) {
        struct weft__worker *w = c->workers[i];
        weft__worker_after_fork(w);
        w->sleeper.below = buried;
        buried = w;
        c->workers[i] = NULL;
    }
}

static void reset_cluster(struct weft__cluster *c) {
    bury_workers(c);
    store_rlx(&c->count, 0);
    store_rlx(&c->configured, 0);
    store_rlx(&c->wanted, 0);
    store_rlx(&c->lent, 0);
    store_rlx(&c->reserve, 0);
    store_rlx(&c->making, false);
    store_rlx(&c->running, false);
    store_rlx(&c->ending, false);
    store_rlx(&c->stopping, false);
    if (c != &weft__cluster) store_rlx(&c->generation, load_rlx(&c->generation) + 1);
    pthread_mutex_init(&c->resizing, NULL);
    weft__unlock(&c->idle.lock);
    store_rlx(&c->idle.state, 0);
    c->idle.top = c->idle.watchman = NULL;
    weft__unlock(&c->injector.lock);
    c->injector.closed = WEFT_CLOSED;
    c->injector.displaced = c->injector.list = (struct weft__list){NULL, NULL};
    store_rlx(&c->injector.length, 0);
    weft__unlock(&c->tasks.lock);
    c->tasks.first = c->tasks.last = NULL;
    store_rlx(&c->tasks.suspended, 0);
    store_rlx(&c->tasks.parked, 0);
}

static void in_child(void) {
    struct weft__worker *w = weft__self();
    struct weft__fiber *me = w ? load_rlx(&w->current) : NULL;
    weft__fence_after_fork();
    /* The C library regards the carrier's storage as free: it is not the storage of the thread that forked. */
    if (w && weft__own_tls_runs(w)) weft__rseq_leave(w->carrier.thread_pointer);
    weft__slab_after_fork(&weft__fibers);
    weft__stack_after_fork();
    weft__starved_after_fork();
    weft__trimmer_after_fork();
    weft__recording_after_fork();
    weft__deque_after_fork();
    weft__blocks_after_fork();
    weft__keys_after_fork();
    weft__quiet_after_fork();
    weft__threads_after_fork();
    weft__threads_awake_after_fork();
    weft__cancel_log_after_fork();
    weft__rings_after_fork();
    weft__backtrace_after_fork();
    weft__runtime_after_fork();
    abandon_all(me);
    become_thread(me);
    for (unsigned i = 0; i < WEFT_CLUSTERS_MAX; i++)
        if (load_rlx(&weft__clusters[i])) reset_cluster(load_rlx(&weft__clusters[i]));
    weft__layers_after_fork();
}

void weft__atfork_register(void) {
    static bool registered;
    if (registered) return;
    registered = true;
    if (pthread_atfork(NULL, NULL, in_child)) weft__die("no memory to heed forks");
}

__attribute__((constructor)) static void register_at_load(void) { weft__atfork_register(); }
