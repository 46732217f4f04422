/* SPDX-License-Identifier: MIT */
/*
 * Explores the real mutexes, condition variables, reader-writer locks and barriers (weak.h). No thread is inside
 * without permission, a cancelled thread holds nothing, no thread that could continue waits for ever, and at the end
 * nothing is left.
 */
#include <stdbool.h>
#include <stdint.h>

#include "weft.h"

struct shared {
    struct weft_mutex mutex;
    struct weft_cond cond;
    struct weft_rwlock rwlock;
    struct weft_barrier barrier;
    _Atomic uint64_t somewhere; /* changed inside, as a step */
    uint8_t holders, readers, writers, flag;
    uint64_t guarded;            /* protected by the lock under test */
    uint8_t waits_first, passed; /* thread 1 is first in the chain; how often it was passed */
    int result[3];
};

#include "waits.h"

/* Small limits, so that the exploration reaches them. */
#define WEFT_MUTEX_PASSES 1
#define WEFT_MUTEX_SPINS 2
#define WEFT_MUTEX_PAUSES 1
#include "sched/wait/wait_queue.c"
#include "sync/barrier.c"
#include "sync/cond.c"
#include "sync/mutex.c"
#include "sync/rwlock.c"

/* --- what a thread does ------------------------------------------------------------------------- */

static void step(void) { (void)load_rlx(&S->somewhere); }

static GHOST void count(uint8_t *number, int change) { *number = (uint8_t)(*number + change); }
static GHOST uint8_t look_at(const uint8_t *number) { return *number; }

static void section(void) {
    claim(!look_at(&S->holders), "two hold the mutex");
    count(&S->holders, 1);
    S->guarded++;
    step();
    count(&S->holders, -1);
}

void weft_yield(void) {}

static int guarded(int err) {
    if (err) return err;
    section();
    claim(!weft_mutex_unlock(&S->mutex), "the owner cannot unlock");
    return 0;
}
static int use(void) { return guarded(weft_mutex_lock_cancellable(&S->mutex, WEFT_FOREVER)); }
static int try(void) { return guarded(weft_mutex_try(&S->mutex)); }

static int read_it(int err) {
    if (err) return err;
    count(&S->readers, 1);
    claim(!look_at(&S->writers), "one reads while another writes");
    uint64_t before = S->guarded;
    step();
    claim(before == S->guarded, "changed while it is read");
    count(&S->readers, -1);
    claim(!weft_rwlock_unlock_read(&S->rwlock), "a reader cannot leave");
    return 0;
}
static int write_it(int err) {
    if (err) return err;
    claim(!look_at(&S->writers) && !look_at(&S->readers), "one writes, and is not alone");
    count(&S->writers, 1);
    S->guarded++;
    step();
    count(&S->writers, -1);
    claim(!weft_rwlock_unlock_write(&S->rwlock), "a writer cannot leave");
    return 0;
}
static int reads(void) { return read_it(weft_rwlock_read_cancellable(&S->rwlock, WEFT_FOREVER)); }
static int writes(void) { return write_it(weft_rwlock_write_cancellable(&S->rwlock, WEFT_FOREVER)); }

static int waits_for_flag(void) {
    int err = weft_mutex_lock(&S->mutex);
    if (err) return err;
    while (!S->flag && !err) err = weft_cond_wait(&S->cond, &S->mutex);
    section();
    claim(!weft_mutex_unlock(&S->mutex), "not held after the condition");
    return err;
}
static void raises_flag(void) {
    if (weft_mutex_lock(&S->mutex)) return;
    S->flag = 1;
    weft_cond_signal(&S->cond);
    weft_mutex_unlock(&S->mutex);
}

/* Is thread 1 first, unless an heir is before it? */
static GHOST bool is_first(void) {
    struct weft_waiter *first = S->mutex.queue.first;
    return first && first->fiber == &all.record[1] && !(S->mutex.queue.word & WEFT_MUTEX_HEIR);
}
/* Counts how often thread 1 is passed while it is first. The thread that takes the mutex counts, inside. */
static void counts_passes(void) {
    if (weft_mutex_lock(&S->mutex)) return;
    if (S->waits_first) S->passed++;
    claim(S->passed <= WEFT_MUTEX_PASSES, "passed too often");
    if (is_first()) S->waits_first = 1;
    weft_mutex_unlock(&S->mutex);
}
static void is_passed(void) {
    if (weft_mutex_lock(&S->mutex)) return;
    S->waits_first = S->passed = 0;
    weft_mutex_unlock(&S->mutex);
}

/* --- the programs --------------------------------------------------------------------------------- */

enum { THREE, CANCELLED, TRIES, PASSES, CONDITION, SIGNAL, PHASES, WRITERS, GIVES_UP, GIVES_UP_INSIDE, PARTIES };
static unsigned program;

void run_thread(unsigned t) {
    int *r = &S->result[t];
    switch (program) {
    case THREE: /* three threads, one of them twice */
        *r = use();
        if (t == 0) *r |= use();
        break;
    case CANCELLED: /* one thread waits and is cancelled, perhaps as the heir */
        if (t == 2) cancel(1);
        *r = use();
        if (t == 0) *r |= use();
        break;
    case TRIES: *r = t == 1 ? try() : use(); break;
    case PASSES:
        if (t == 1)
            is_passed();
        else
            for (unsigned i = 0; i < 3 - t; i++) counts_passes();
        break;
    case CONDITION: /* a signal and a cancellation */
        if (t == 0)
            *r = waits_for_flag();
        else if (t == 1)
            raises_flag();
        else
            cancel(0);
        break;
    case SIGNAL: /* a signal, and another thread at the mutex */
        if (t == 0)
            *r = waits_for_flag();
        else if (t == 1)
            raises_flag();
        else
            *r = use();
        break;
    case PHASES: /* two threads read, one of them twice, and one writes */
        *r = t == 2 ? writes() : reads();
        if (t == 0) *r |= reads();
        break;
    case WRITERS: /* two threads write, one of them twice, and one reads */
        *r = t == 2 ? reads() : writes();
        if (t == 0) *r |= writes();
        break;
    case GIVES_UP: /* a writer between two readers is cancelled; the first reader stays */
        if (t == 2) cancel(1);
        *r = t == 0 ? weft_rwlock_read(&S->rwlock) : t == 1 ? writes() : reads();
        break;
    case GIVES_UP_INSIDE: /* a reader between two writers is cancelled */
        if (t == 2) cancel(1);
        *r = t == 1 ? reads() : writes();
        break;
    case PARTIES: /* a barrier for two; three come, one is cancelled */
        if (t == 2) cancel(0);
        *r = weft_barrier_wait(&S->barrier);
        break;
    }
}

static void set_up(void) {
    struct weft_barrier of_two = WEFT_BARRIER_INIT(2);
    S->barrier = of_two;
}
/* The owner of the mutex seems to run all the time, so other threads spin briefly. */
static void set_up_running(void) {
    for (unsigned t = 0; t < THREADS; t++) atomic_store(&all.record[t].context.on_stack, WEFT_STOOD_ON);
}

/* --- what must hold in the end ----------------------------------------------------------------------- */

static void all_free(void) {
    claim(!S->mutex.queue.word && !S->mutex.queue.first && !S->mutex.owner, "something is left of the mutex");
    claim(!S->rwlock.word && !S->rwlock.readers && !S->rwlock.writers && !S->rwlock.owner,
          "something is left of the reader-writer lock");
    claim(!S->cond.queue.word && !S->cond.queue.first, "something is left of the condition");
}
static void all_done(void) {
    for (unsigned t = 0; t < n_threads; t++) {
        claim(weak_has_ended(t), "waits for ever");
        claim(!S->result[t], "failed");
    }
    all_free();
}
/* Only thread `victim` may have been cancelled. */
static void all_but(unsigned victim, int otherwise) {
    for (unsigned t = 0; t < n_threads; t++) {
        claim(weak_has_ended(t), "waits for ever");
        claim(!S->result[t] || (t == victim && S->result[t] == otherwise), "another outcome");
    }
    all_free();
}
static void all_but_0(void) { all_but(0, -ECANCELED); }
static void all_but_1(void) { all_but(1, -ECANCELED); }
static void all_but_busy(void) { all_but(1, -EBUSY); }

/* A reader is still inside. */
static void all_but_1_and_a_reader(void) {
    claim(S->rwlock.word == WEFT_RW_READER, "the reader that stayed is not alone");
    S->rwlock.word = 0;
    all_but_1();
}

/* Two threads have passed, one of them as the serial party. The third was cancelled, or waits for another. */
static void two_of_three(void) {
    unsigned passed = 0, told = 0, cancelled = 0;
    for (unsigned t = 0; t < n_threads; t++) {
        if (!weak_has_ended(t)) continue;
        passed += S->result[t] >= 0;
        told += S->result[t] == WEFT_BARRIER_SERIAL;
        cancelled += S->result[t] == -ECANCELED;
    }
    claim(passed == 2 && told == 1, "not exactly two have passed");
    claim(cancelled + passed + (S->barrier.queue.word >> 2) == 3, "an arrival too many, or too few");
}

static bool one(const char *name, unsigned what, void (*begin)(void), void (*end)(void), bool large) {
    program = what;
    bool well = explore_all(&(struct weak_scene){name, 3, begin, end, large});
    if (cut) printf("%s: goes on for ever\n", name);
    return well && !cut;
}

static bool all_scenes(void) {
    return one("rwlock, two read and one writes", PHASES, set_up, all_done, false) &&
           one("rwlock, two write and one reads", WRITERS, set_up, all_done, true) &&
           one("rwlock, a writer gives up", GIVES_UP, set_up, all_but_1_and_a_reader, false) &&
           one("rwlock, a reader gives up", GIVES_UP_INSIDE, set_up, all_but_1, false) &&
           one("barrier of two, three come, one is cancelled", PARTIES, set_up, two_of_three, false) &&
           one("condition, a signal", SIGNAL, set_up, all_done, true) &&
           one("condition, a signal and a cancellation", CONDITION, set_up, all_but_0, false) &&
           one("mutex, a try", TRIES, set_up, all_but_busy, false) &&
           one("mutex, three", THREE, set_up, all_done, true) &&
           one("mutex, three, the holder runs", THREE, set_up_running, all_done, true) &&
           one("mutex, one is cancelled", CANCELLED, set_up, all_but_1, true) &&
           one("mutex, one is cancelled, the holder runs", CANCELLED, set_up_running, all_but_1, true) &&
           one("mutex, how often one is passed", PASSES, set_up, all_done, true);
}

int main(int argc, char **argv) { return weak_main(argc, argv, all_scenes); }
