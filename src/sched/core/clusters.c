/* SPDX-License-Identifier: MIT */
/*
 * The table of clusters: finding one by its handle, and going over all that run.
 */
#include "sched/core/self.h"

struct weft__cluster weft__cluster = {.injector = {.closed = WEFT_CLOSED}, .resizing = PTHREAD_MUTEX_INITIALIZER};

_Atomic(struct weft__cluster *) weft__clusters[WEFT_CLUSTERS_MAX] = {&weft__cluster};

_Atomic bool weft__timers_held;

pthread_mutex_t weft__clusters_change = PTHREAD_MUTEX_INITIALIZER;

struct weft_stats weft__past;

struct weft__cluster *weft__cluster_find(struct weft_cluster handle) {
    struct weft__worker *w = weft__self();
    struct weft__cluster *c;
    if (!handle.id) {
        c = w ? w->cluster : &weft__cluster;
    } else {
        uint64_t number = handle.id % (1 << WEFT_CLUSTER_NUMBER_BITS) - 1;
        c = number < WEFT_CLUSTERS_MAX ? load_acq(&weft__clusters[number]) : NULL; /* pairs with its store */
        if (c && load_rlx(&c->generation) != weft__cluster_generation(handle)) c = NULL;
    }
    return c && load_acq(&c->running) ? c : NULL; /* pairs with weft__cluster_open */
}

bool weft__each_cluster(bool (*fn)(struct weft__cluster *, void *), void *arg) {
    for (unsigned i = 0; i < WEFT_CLUSTERS_MAX; i++) {
        struct weft__cluster *c = load_acq(&weft__clusters[i]);
        if (c && (load_acq(&c->running) || load_acq(&c->ending)) && !fn(c, arg)) return false;
    }
    return true;
}

struct weft_cluster weft__cluster_lasting(void) {
    struct weft__worker *w = weft__self();
    return !w || load_acq(&w->cluster->running) ? (struct weft_cluster){0} : weft__cluster_handle(&weft__cluster);
}
