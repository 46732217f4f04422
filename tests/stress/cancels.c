/* SPDX-License-Identifier: MIT */
/* Parts about cancellation in the middle of waits: nothing is taken, nothing is lost. */
#include "crowd.h"

/* --- cancels --------------------------------------------------------------------------------------
 *
 * Semaphores, mutexes and counters with random deadlines, tries and cancellations, by fibers and
 * threads. The semaphore keeps its number of units, the plain number under the mutex grows by one for each success,
 * and the counter reaches zero when everything is completed.
 */

enum { UNITS = 3, FIBERS = 24, THREADS = 3 };

static struct weft_sem sem;
static struct weft_mutex mutex;
static struct weft_counter counter;
static _Atomic unsigned holders; /* of units */
static uint64_t guarded;         /* plain, by the mutex */
static _Atomic uint64_t entered, added, completed;

static void use_sem(uint64_t *random) {
    uint64_t way = below(random, 3);
    int err = way == 0 ? weft_sem_wait(&sem) : way == 1 ? weft_sem_wait_until(&sem, soon(random)) : weft_sem_try(&sem);
    if (!got(err, way == 1, way == 2)) return;
    SO(atomic_fetch_add(&holders, 1) < UNITS);
    if (below(random, 4) == 0) weft_yield();
    atomic_fetch_sub(&holders, 1);
    OK(weft_sem_post(&sem));
    moved();
}

static void use_mutex(uint64_t *random) {
    uint64_t way = below(random, 3);
    int err = way == 0   ? weft_mutex_lock(&mutex)
              : way == 1 ? weft_mutex_lock_cancellable(&mutex, soon(random))
                         : weft_mutex_try(&mutex);
    if (!got(err, way == 1, way == 2)) return;
    uint64_t seen = ++guarded;
    if (below(random, 8) == 0) weft_yield();
    WANT(guarded, seen);
    OK(weft_mutex_unlock(&mutex));
    atomic_fetch_add(&entered, 1);
    moved();
}

static void *complete_some(void *arg) {
    for (uintptr_t n = (uintptr_t)arg; n; n--) {
        atomic_fetch_add(&completed, 1); /* stored first: a waiter that sees the counter at zero sees this, too */
        OK(weft_counter_complete(&counter));
    }
    return NULL;
}

static void use_counter(uint64_t *random) {
    uint64_t n = 1 + below(random, 3);
    switch (below(random, 4)) {
    case 0: /* another fiber completes it */
        OK(weft_counter_add(&counter, n));
        atomic_fetch_add(&added, n);
        OK(weft_spawn(NULL, NULL, complete_some, (void *)(uintptr_t)n));
        break;
    case 1:
        OK(weft_counter_add(&counter, n));
        atomic_fetch_add(&added, n);
        complete_some((void *)(uintptr_t)n);
        break;
    case 2: got(weft_counter_wait_until(&counter, below(random, 20), soon(random)), true, false); break;
    case 3: /* the counter falls below that again and again, whatever the other fibers do */
        got(weft_counter_wait(&counter, 60), false, false);
        break;
    }
    moved();
}

static void *work_a_while(void *arg) {
    uint64_t random = *(uint64_t *)arg;
    for (uint64_t turns = 1 + below(&random, 200); turns && !over() && !weft_cancelled(); turns--) {
        switch (below(&random, 3)) {
        case 0: use_sem(&random); break;
        case 1: use_mutex(&random); break;
        case 2: use_counter(&random); break;
        }
        if (below(&random, 16) == 0) pause_a_bit(&random);
    }
    return NULL;
}

static void *employ(void *random) {
    employ_one_after_another(random, NULL, work_a_while);
    return NULL;
}

static void cancels_round(uint64_t random) {
    uint64_t each[FIBERS + THREADS];
    for (unsigned i = 0; i < FIBERS + THREADS; i++) each[i] = roll(&random);
    OK(weft_sem_init(&sem, UNITS));
    crowd(FIBERS, THREADS, employ, each, sizeof *each);
    OK(weft_counter_wait(&counter, 0));
    WANT(atomic_load(&added), atomic_load(&completed));
    WANT(guarded, atomic_load(&entered));
    WANT(atomic_load(&holders), 0);
    for (int i = 0; i < UNITS; i++) OK(weft_sem_try(&sem));
    WANT(weft_sem_try(&sem), -EAGAIN);
    OK(weft_mutex_try(&mutex));
    OK(weft_mutex_unlock(&mutex));
}

const struct part parts_of_cancels[] = {{"cancels", cancels_round, false, false}, {NULL, NULL, false, false}};
