/* SPDX-License-Identifier: MIT */
/* Barriers, once, spin locks. glibc serves barriers that are shared between processes; our own barriers have a mark. */
#define _GNU_SOURCE
#include "threads/threads.h"

#include <errno.h>
#include <limits.h>
#include <string.h>

REAL(pthread_barrier_init);
REAL(pthread_barrier_destroy);
REAL(pthread_barrier_wait);
REAL(pthread_once);

struct barrier {
    uint32_t count;
    _Atomic uint32_t arrived, round, inside;
    uint64_t mark;
};
#define MARK UINT64_C(0x7765667420626172)
_Static_assert(sizeof(struct barrier) <= sizeof(pthread_barrier_t), "fits");

static struct barrier *barrier_inside(pthread_barrier_t *b) { return (struct barrier *)(void *)b; }
static bool is_glibcs_barrier(pthread_barrier_t *b) { return barrier_inside(b)->mark != MARK; }

/* Lets other fibers run. If the caller is a kernel thread, lets other threads run. */
static void let_others(unsigned *turn) {
    weft__thread_enter();
    if (weft__caller_parks())
        weft_yield();
    else
        weft__backoff(turn);
    weft__thread_leave();
}

WEFT_INTERPOSED int pthread_barrier_init(pthread_barrier_t *barrier, const pthread_barrierattr_t *attr,
                                         unsigned count) {
    int shared = 0;
    if (attr) pthread_barrierattr_getpshared(attr, &shared);
    if (!count || count > INT_MAX) return EINVAL;
    memset(barrier, 0, sizeof *barrier);
    if (shared) return real(pthread_barrier_init)(barrier, attr, count);
    barrier_inside(barrier)->count = count;
    barrier_inside(barrier)->mark = MARK;
    return 0;
}
WEFT_INTERPOSED int pthread_barrier_destroy(pthread_barrier_t *barrier) {
    unsigned turn = 0;
    if (is_glibcs_barrier(barrier)) return real(pthread_barrier_destroy)(barrier);
    while (load_acq(&barrier_inside(barrier)->inside)) let_others(&turn); /* pairs with pthread_barrier_wait */
    barrier_inside(barrier)->mark = 0;
    return 0;
}
WEFT_INTERPOSED int pthread_barrier_wait(pthread_barrier_t *barrier) {
    struct barrier *b = barrier_inside(barrier);
    if (is_glibcs_barrier(barrier)) return real(pthread_barrier_wait)(barrier);
    uint32_t round = load_acq(&b->round);
    int result = 0;
    add_ar(&b->inside, 1);
    if (add_ar(&b->arrived, 1) + 1 == b->count) {
        store_rlx(&b->arrived, 0);
        add_ar(&b->round, 1);
        weft__lot_wake(&b->round, INT_MAX);
        result = PTHREAD_BARRIER_SERIAL_THREAD;
    } else
        while (load_acq(&b->round) == round)
            weft__lot_wait(&b->round, round, WEFT_FOREVER, WEFT_LOT_PLAIN, weft__lot_for(WEFT_ON_BARRIER, b));
    add_ar(&b->inside, -1u); /* pairs with pthread_barrier_destroy */
    return result;
}

/* --- once --------------------------------------------------------------------------------------------------- */

enum { UNTOUCHED, RUNS, DONE };

static void once_undo(void *word) {
    store_rel((_Atomic uint32_t *)word, UNTOUCHED);
    weft__lot_wake((_Atomic uint32_t *)word, INT_MAX);
}

/* True: the caller runs the function. After a fork, the word may say that a thread of the parent process runs it. That
 * thread is not in this process, so the caller begins again. */
static bool once_claim(_Atomic uint32_t *word, uint32_t runs) {
    for (;;) {
        uint32_t is = load_acq(word); /* pairs with pthread_once */
        if (is == DONE) return false;
        if (is != runs && cas_ar(word, &is, runs)) return true;
        if (is == runs) weft__lot_wait(word, runs, WEFT_FOREVER, WEFT_LOT_PLAIN, weft__lot_for(WEFT_ON_ONCE, word));
    }
}

WEFT_INTERPOSED int pthread_once(pthread_once_t *once, void (*fn)(void)) {
    _Atomic uint32_t *word = (_Atomic uint32_t *)(void *)once;
    if (likely(load_acq(word) == DONE) || !once_claim(word, weft__threads_forks << 2 | RUNS)) return 0;
    pthread_cleanup_push(once_undo, word);
    fn();
    pthread_cleanup_pop(0);
    store_rel(word, DONE); /* pairs with once_claim */
    weft__lot_wake(word, INT_MAX);
    return 0;
}

/* --- spin locks ----------------------------------------------------------------------------------------------- */

/* Uses glibc's lock. The holder may be a fiber that waits for this worker, so the caller soon yields. */
WEFT_INTERPOSED int pthread_spin_lock(pthread_spinlock_t *lock) {
    enum { SPINS = 100 };
    unsigned turn = 0;
    while (pthread_spin_trylock(lock)) {
        for (int i = 0; i < SPINS && *lock <= 0; i++) weft__cpu_pause();
        let_others(&turn);
    }
    return 0;
}
