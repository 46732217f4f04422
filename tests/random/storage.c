/* SPDX-License-Identifier: MIT */
/*
 * Thread-local storage of fibers. A fiber that has its own finds there what it wrote, wherever it runs, and its value
 * of a key is destroyed once, at its end. Other fibers find the initial values of the carrier's storage: no fiber
 * without storage of its own writes there.
 */
#include "random.h"

#include "sched/core/self.h"
#include "sched/dispatch/own_tls.h"
#include "sched/life/own_tls_spawn.h"

#include <pthread.h>

static __thread unsigned mine; /* number of the actor + 1 */
static pthread_key_t key;

/* The compiler must not keep the address: it changes with the carrier. */
static __attribute__((noinline)) unsigned *here(void) {
    unsigned *p = &mine;
    __asm__ volatile("" : "+r"(p));
    return p;
}

static void destroy(void *actor) {
    struct actor *a = actor;
    if (a->number % 2) weft_yield();
    WANT(*here(), a->number + 1);
    atomic_fetch_add(&a->destroyed, 1);
}

static void make_key(void) { OK(pthread_key_create(&key, destroy)); }

bool storage_is_possible(void) { return !weft__own_tls_check(); }

/* Does the cluster where the fiber was spawned give it storage? -1: it is not known which cluster that was. */
static int is_given(const struct actor *a) {
    struct program *p = the_program;
    if (a->attr.own_tls) return 1;
    if (a->pushed) return -1;
    for (unsigned i = 0; i < p->n_clusters; i++)
        if (p->cluster[i].id == a->where) return p->cluster_config[i].own_tls != 0;
    return -1;
}

void storage_begin(struct actor *a) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    a->owns = weft__own_tls_runs(weft__self());
    if (is_given(a) >= 0) WANT(a->owns, is_given(a));
    WANT(*here(), 0);
    if (!a->owns) return;
    OK(pthread_once(&once, make_key));
    *here() = a->number + 1;
    OK(pthread_setspecific(key, a));
}

void storage_must_be_mine(const struct actor *a) { WANT(*here(), a->owns ? a->number + 1 : 0); }

void storage_check(const struct actor *a) { WANT(atomic_load(&a->destroyed), a->owns); }
