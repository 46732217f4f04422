/*
 * fork. In the child only the thread that forked goes on; carriers and monitor are the parent's. So the
 * child begins as a process in which no runtime runs, and may start one of its own:
 *
 *   - Locks may have been held, and chains half changed, by threads that are not there. Nothing of ours is
 *     locked before a fork to prevent that: it would cost every fork a few hundred locks, and the child
 *     needs none of what they guard. What was free is used again where its lock was free; the rest of what the
 *     parent's runtime had, workers, records and stacks, is left as it is: objects that the child may
 *     still touch, a semaphore for instance, have chains that lead through those stacks.
 *   - The parent's fibers are abandoned: their handles are stale, and who wakes one wakes nobody.
 *   - The fiber that forked, if it was one, goes on as an ordinary thread, on its own stack. Its record
 *     becomes that thread's, so mutexes that it holds, and its local values, are still its own.
 *   - When its function returns there is nothing to go on with: one line, and the child ends.
 *
 * The parent notices nothing.
 */
#include "sched/fork.h"
#include "sched/rings.h"

#include "base/say.h"
#include "queue/deque.h"
#include "sched/cluster.h"
#include "sched/starved.h"
#include "sched/trim.h"
#include "sched/wait.h"
#include "topo/topology.h"

#include <stdlib.h>
#include <unistd.h>

static struct weft__layer *layers;
static struct weft__worker *buried; /* the parent's: timers still point to their wheels */

void weft__layer_add(struct weft__layer *layer) {
    layer->next = layers;
    layers = layer;
}

void weft__layers_stopped(void) {
    for (struct weft__layer *l = layers; l; l = l->next)
        if (l->stopped) l->stopped();
}

/* Somebody may just have been cancelling one, free ones included: a request may come when its fiber has ended. */
static void abandon_all(struct weft__fiber *but) {
    uint32_t records = load_rlx(&weft__fibers.records);
    for (uint32_t i = 0; i < records; i++) {
        struct weft__fiber *f = weft__fiber_at(i);
        if (load_rlx(&f->context.open))
            store_rlx(&f->context.open, 0); /* only then: a page that is written is copied */
        if (f != but && weft__slot_in_use(&f->slot) && load_rlx(&f->context.kind) == WEFT_KIND_FIBER)
            store_rlx(&f->context.kind, WEFT_KIND_ABANDONED);
    }
}

/* Neither cancelled nor in a scope: whoever could end what it has open is not here. */
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
        weft__wheel_forked(&w->wheel);
        weft__ring_forget(&w->ring);
        w->sleeper_below = buried;
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
    c->idle.top = NULL;
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
    weft__topology_after_fork();
    weft__fence_forked();
    weft__slab_forked(&weft__fibers);
    weft__stack_forked();
    weft__starved_forked();
    weft__trimmer_forked();
    weft__deque_forked();
    weft__keys_forked();
    weft__quiet_forked();
    weft__threads_forked();
    weft__threads_awake_forked();
    weft__told_forked();
    weft__rings_forked();
    weft__backtrace_forked();
    weft__runtime_forked();
    abandon_all(me);
    become_thread(me);
    for (unsigned i = 0; i < WEFT_CLUSTERS_MAX; i++)
        if (load_rlx(&weft__clusters[i])) reset_cluster(load_rlx(&weft__clusters[i]));
    for (struct weft__layer *l = layers; l; l = l->next)
        if (l->forked) l->forked();
}

__attribute__((constructor)) static void heed_forks(void) {
    if (pthread_atfork(weft__topology_before_fork, weft__topology_after_fork, in_child))
        weft__die("no memory to heed forks");
}

WEFT_COLD _Noreturn void weft__forked_end(const struct weft__fiber *f) {
    struct weft__text text;
    weft__say("%s has come to its end in a forked child, and no runtime is there to go on: the child ends. "
              "Call _exit or exec before",
              f ? weft__describe(f, &text) : "a timer's function");
    _exit(EXIT_FAILURE);
}
