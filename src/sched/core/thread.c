/* SPDX-License-Identifier: MIT */
/*
 * Threads that are no carriers. Each thread that waits gets a record at its first wait, and returns it
 * when it ends. The second half counts the threads that could still wake a fiber.
 */
#include "sched/core/thread.h"
#include "sched/core/quiescence.h"
#include "sched/core/wait_word.h"

#include "base/message.h"

#include <limits.h>

static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_key_t key;

static void thread_ends(void *record) {
    struct weft__fiber *f = record;
    weft__locals_destroy(f);
    if (f->frames) weft__die("a thread has ended in a scope or shield that it began and did not end");
    weft__slab_put(&weft__fibers, NULL, &f->slot);
}

static void make_key(void) {
    if (pthread_key_create(&key, thread_ends)) weft__die("no thread-specific key is left");
}

static struct weft__fiber *thread_record_make(void) {
    struct weft__slot *slot = weft__slab_get(&weft__fibers, NULL);
    if (!slot) return NULL;
    struct weft__fiber *f = container_of(slot, struct weft__fiber, slot);
    weft__wait_anew(f, 0);
    store_rlx(&f->context.kind, WEFT_KIND_THREAD);
    store_rlx(&f->join, 0);
    f->locals = NULL;
    f->frames = 0;
    f->stack = NULL;
    f->name[0] = 0;
    f->where = NULL;
    weft__quiet_notify(); /* a stop may have taken the record for a fiber that is about to run */
    if (pthread_setspecific(key, f)) {
        weft__slab_put(&weft__fibers, NULL, slot);
        return NULL;
    }
    return f;
}

struct weft__fiber *weft__thread_adopt(struct weft__fiber *f) {
    pthread_once(&once, make_key);
    if (!f) return pthread_getspecific(key);
    pthread_setspecific(key, f); /* without memory for this, the thread gets another record at its next wait */
    return f;
}

static WEFT_NOINLINE struct weft__fiber *thread_record(void) {
    pthread_once(&once, make_key);
    struct weft__fiber *f = pthread_getspecific(key);
    return f ? f : thread_record_make();
}

struct weft__fiber *weft__me_if_any(void) {
    struct weft__worker *w = weft__self();
    if (w) return load_rlx(&w->current);
    pthread_once(&once, make_key);
    return pthread_getspecific(key);
}

WEFT_COLD struct weft__fiber *weft__me_slow(void) {
    if (weft__self())
        weft__die("a timer's function called something that only a fiber or thread can do: it must not park");
    return thread_record();
}

/*
 * How many threads of the program are awake? A stop asks this if it finds only blocked fibers. A thread that is awake,
 * or that sleeps outside of weft, may still wake them. A thread that waits in weft without a deadline cannot wake a
 * fiber before something wakes it.
 *
 *   a thread that waits without a deadline       the fiber or thread that ends its wait
 *   1. waiting + 1                               1. released + 1
 *   2. sleeps                                    2. wakes it
 *   3. waiting - 1
 *   4. resumed + 1
 *
 * If as many threads have resumed as were released, then each thread that is counted as waiting really waits. If none
 * has been released since then, each still waited when the kernel reported the number of threads. Threads that wait
 * with a deadline take part in released and resumed only.
 */
static _Atomic uint64_t waiting, released, resumed;

void weft__thread_waits(void) { add_ar(&waiting, 1); }
void weft__thread_released(void) { add_ar(&released, 1); }
void weft__thread_resumes(bool waited) {
    if (waited) add_ar(&waiting, -UINT64_C(1));
    add_ar(&resumed, 1); /* pairs with weft__threads_awake, which then sees the count above */
}

/*
 * A thread's wait ends in the same two steps as a fiber's: the winner wins the wait word, and then releases the thread
 * (weft__make_ready). Between the steps the winner may still hold a lock of the object that the thread waited for. The
 * thread sleeps on the join word of its record. The release stores the ticket of the wait plus one there, which is
 * never the 0 that the thread stored before.
 *
 * A waiting thread also watches the deadlines of the scopes that it has begun, see scope.c. It cancels such a scope
 * itself, which cancels the thread, too, if its wait is cancellable.
 */
void weft__wait_thread_release(struct weft__fiber *f) {
    weft__thread_released();
    store_rel(&f->join, (load_rlx(&f->wait) & WEFT_WAIT_EPOCH) | 1); /* pairs with thread_block */
    weft__futex_wake(weft__wait_thread_futex(f),
                     1); /* harmless if the thread has left the wait or ended: records are never unmapped */
}

unsigned weft__threads_awake(void) {
    uint64_t were_released = load_acq(&released), have_resumed = load_acq(&resumed), wait = load_acq(&waiting);
    unsigned all = weft__threads_count_foreign();
    fence_sc(); /* the loads below come after the kernel's count; pairs with weft__thread_released */
    if (all == UINT_MAX || have_resumed != were_released || load_acq(&released) != were_released) return UINT_MAX;
    return all > 1 + wait ? all - 1 - (unsigned)wait : 0;
}

void weft__threads_awake_after_fork(void) {
    store_rlx(&waiting, 0);
    store_rlx(&released, 0);
    store_rlx(&resumed, 0);
}
