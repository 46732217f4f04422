/* SPDX-License-Identifier: MIT */
/*
 * Planted faults inside fibers. The tool for each must report it; run.sh checks that. "planted kind" says which tool
 * this binary was built for.
 */
#include "sched/rings/rings.h"
#include "sched/wait/block.h"
#include "sync/chan.h"
#include "weft.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#if defined(WEFT_LOCKS)
#define KIND "locks"
#elif defined(__SANITIZE_ADDRESS__)
#define KIND "address"
#elif defined(__SANITIZE_THREAD__)
#define KIND "thread"
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define KIND "address"
#elif __has_feature(thread_sanitizer)
#define KIND "thread"
#endif
#endif
#ifndef KIND
#define KIND "none"
#endif

static volatile size_t index_beyond = 16; /* so that no compiler sees it */

/* Two fibers on two workers write one number, and nothing orders them. */
static int shared;
static _Atomic int arrived;

static void *racer(void *unused) {
    (void)unused;
    atomic_fetch_add_explicit(&arrived, 1, memory_order_relaxed);
    while (atomic_load_explicit(&arrived, memory_order_relaxed) < 2) {
    }
    for (int i = 0; i < 1000; i++) shared++;
    return NULL;
}

static void *heap(void *unused) {
    (void)unused;
    volatile char *p = malloc(16);
    weft_yield();
    p[index_beyond] = 1;
    weft_yield();
    free((void *)(uintptr_t)p);
    return NULL;
}

static void *stack(void *unused) {
    (void)unused;
    volatile char buffer[16];
    weft_yield();
    buffer[index_beyond] = 1;
    return NULL;
}

static void *freed(void *unused) {
    (void)unused;
    volatile char *p = malloc(16);
    free((void *)(uintptr_t)p);
    weft_yield();
    p[0] = 1;
    return NULL;
}

static void *uninitialised(void *unused) {
    (void)unused;
    volatile int array[4];
    weft_yield();
    if (array[index_beyond % 4]) puts("set");
    return NULL;
}

/* A pointer to a frame that was left, used after a switch. */
__attribute__((noinline)) static volatile char *of_a_frame(void) {
    volatile char buffer[16];
    volatile char *volatile p = buffer; /* or a compiler would return NULL instead */
    buffer[index_beyond % 16] = 1;
    return p;
}

static void *returned(void *unused) {
    (void)unused;
    volatile char *p = of_a_frame();
    weft_yield();
    if (p[index_beyond % 16]) puts("set");
    return NULL;
}

static void *leaked(void *unused) {
    (void)unused;
    volatile char *volatile p = malloc(16);
    weft_yield();
    p[0] = 1;
    p = NULL;
    return NULL;
}

/* Stays three calls deep in a fiber until a debugger has looked. */
__attribute__((noinline)) static void third(void) { abort(); }
__attribute__((noinline)) static void second(void) {
    third();
    __asm__ volatile("");
}
static void *deep(void *unused) {
    (void)unused;
    weft_yield();
    second();
    __asm__ volatile("");
    return NULL;
}

/* A fiber is parked two calls deep. Another fiber on the same worker then crashes. */
__attribute__((noinline)) static void inner(void) {
    weft_park();
    __asm__ volatile("");
}
static void *outer(void *unused) {
    (void)unused;
    atomic_store(&arrived, 1);
    inner();
    __asm__ volatile("");
    return NULL;
}
static void *parked(void *unused) {
    (void)unused;
    weft_spawn(NULL, &(struct weft_attr){.name = "outer", .pinned = 1}, outer, NULL);
    while (!atomic_load(&arrived)) weft_yield();
    abort();
}

/* Locks of the kernel thread, held by a fiber that parks. */
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static pthread_spinlock_t spin;

static void *yields(void *unused) {
    (void)unused;
    for (int i = 0; i < 3; i++) { /* one place, said once */
        pthread_mutex_lock(&mutex);
        weft_yield();
        pthread_mutex_unlock(&mutex);
    }
    return NULL;
}
static void *parks(void *unused) {
    (void)unused;
    pthread_rwlock_rdlock(&rwlock);
    weft_sleep_for(1000);
    pthread_rwlock_unlock(&rwlock);
    return NULL;
}
static void *tries(void *unused) {
    (void)unused;
    pthread_spin_init(&spin, 0);
    if (!pthread_spin_trylock(&spin)) weft_sleep_for(1000);
    pthread_spin_unlock(&spin);
    return NULL;
}
static void wait_a_little(void) {
    struct timespec at;
    clock_gettime(CLOCK_REALTIME, &at);
    at.tv_nsec = (at.tv_nsec + 1000000) % 1000000000;
    pthread_cond_timedwait(&cond, &mutex, &at);
}
static void *waits(void *unused) {
    (void)unused;
    pthread_mutex_lock(&mutex);
    wait_a_little();
    weft_yield();
    pthread_mutex_unlock(&mutex);
    return NULL;
}
static void *ends(void *unused) {
    (void)unused;
    pthread_rwlock_wrlock(&rwlock);
    return NULL;
}
/* Correct fibers: each unlocks in time. Locks that weft itself uses are not reported. */
static void *innocent(void *unused) {
    (void)unused;
    pthread_mutexattr_t attr;
    pthread_mutex_t recursive;
    struct weft_cluster cluster;
    pthread_mutexattr_init(&attr);
    pthread_mutexattr_settype(&attr, PTHREAD_MUTEX_RECURSIVE);
    pthread_mutex_init(&recursive, &attr);
    for (int i = 0; i < 100; i++) {
        pthread_mutex_lock(&mutex);
        if (i % 10 == 0) wait_a_little();
        pthread_mutex_lock(&recursive);
        pthread_mutex_lock(&recursive);
        pthread_mutex_unlock(&recursive);
        pthread_rwlock_rdlock(&rwlock);
        pthread_mutex_unlock(&mutex);
        pthread_mutex_unlock(&recursive);
        pthread_rwlock_unlock(&rwlock);
        if (i % 2)
            weft_yield();
        else
            weft_sleep_for(1000);
    }
    if (!weft_cluster_create(&cluster, &(struct weft_config){.workers = 1})) {
        weft_cluster_resize(cluster, 2);
        weft_cluster_move((struct weft_fiber){0}, cluster);
        weft_yield();
    }
    return NULL;
}

/* --- broken invariants, for builds with assertions ------------------------------------------------------------ */

/* The fiber begins a wait although it already waits. */
static void *waits_twice(void *arg) {
    uint64_t ticket;
    struct weft__fiber *me = weft__me();
    weft__wait_begin(me, 0, &ticket);
    weft__wait_begin(me, 0, &ticket);
    return arg;
}
/* A fiber becomes ready although nothing has ended its wait. */
static void *made_ready_unwon(void *arg) {
    uint64_t ticket;
    struct weft__fiber *me = weft__me();
    weft__wait_begin(me, 0, &ticket);
    weft__make_ready(me);
    return arg;
}
/* A fiber blocks another fiber. */
static void *blocks_another(void *arg) {
    static struct weft__fiber other;
    weft__wait_block(&other, WEFT_WAIT_ONE, WEFT_FOREVER);
    return arg;
}
/* A fiber takes from the queue of a worker that its thread does not drive. */
static void *takes_elsewhere(void *arg) {
    struct weft__worker *w = weft__self();
    weft__next(w->cluster->workers[!w->index]);
    return arg;
}
/* Unlocks a fiber's own lock, which is not locked. */
static void *unlocks_twice(void *arg) {
    struct weft__fiber *me = weft__me();
    weft__frames_unlock(me, weft__frames_lock(me));
    weft__frames_unlock(me, 0);
    return arg;
}

/* Unlocks a wait queue that is not locked. */
static void *unlocks_queue(void *arg) {
    struct weft_sem sem = WEFT_SEM_INIT(1);
    weft__wait_queue_unlock(&sem.queue, 0);
    return arg;
}
/* A waiter leaves a chain that it is not in. */
static void *leaves_chain(void *arg) {
    struct weft_waiter waiter = {.fiber = weft__me()}, *chain = NULL;
    weft__chain_remove(&chain, &waiter);
    return arg;
}
/* A channel has more items than its buffer can hold. */
static void *overfills_channel(void *arg) {
    char buffer[8];
    struct weft_chan c = WEFT_CHAN_OVER(buffer, 1, sizeof buffer);
    weft__chan_unlock(&c, weft__chan_lock(&c) + (sizeof buffer + 1) * WEFT_CHAN_ITEM);
    return arg;
}
/* A timer is taken out of a wheel that does not hold it. */
static void *cancels_foreign_timer(void *arg) {
    struct weft__timer timer = {0}, *other = NULL;
    timer.link = &other;
    store_rlx(&timer.wheel, &weft__self()->wheel);
    weft__wheel_cancel(&timer);
    return arg;
}
/* Two fibers get the same entry of a ring, and one of them does not hold its lock. */
static void *claims_without_lock(void *arg) {
    static struct weft__uring ring;
    weft__ring_claim(&ring, NULL, NULL);
    return arg;
}

static const struct {
    const char *name;
    void *(*fn)(void *);
    unsigned fibers;
} faults[] = {{"race", racer, 2},
              {"heap", heap, 1},
              {"stack", stack, 1},
              {"freed", freed, 1},
              {"returned", returned, 1},
              {"leaked", leaked, 1},
              {"uninitialised", uninitialised, 1},
              {"deep", deep, 1},
              {"parked", parked, 1},
              {"yields", yields, 1},
              {"parks", parks, 1},
              {"tries", tries, 1},
              {"waits", waits, 1},
              {"ends", ends, 1},
              {"innocent", innocent, 2},
              {"waits_twice", waits_twice, 1},
              {"made_ready_unwon", made_ready_unwon, 1},
              {"blocks_another", blocks_another, 1},
              {"takes_elsewhere", takes_elsewhere, 1},
              {"unlocks_twice", unlocks_twice, 1},
              {"unlocks_queue", unlocks_queue, 1},
              {"leaves_chain", leaves_chain, 1},
              {"overfills_channel", overfills_channel, 1},
              {"cancels_foreign_timer", cancels_foreign_timer, 1},
              {"claims_without_lock", claims_without_lock, 1}};

static int run(void *name) {
    for (size_t k = 0; k < sizeof faults / sizeof *faults; k++) {
        if (strcmp(faults[k].name, name)) continue;
        struct weft_fiber f[2];
        for (unsigned i = 0; i < faults[k].fibers; i++) {
            struct weft_attr attr = {.name = faults[k].name, .pinned = i + 1};
            weft_spawn(&f[i], &attr, faults[k].fn, NULL);
        }
        for (unsigned i = 0; i < faults[k].fibers; i++) weft_join(f[i], NULL);
        return 0;
    }
    return 2;
}

int main(int argc, char **argv) {
    if (argc != 2) return 2;
    if (!strcmp(argv[1], "kind")) return puts(KIND) < 0;
#ifdef WEFT_ASSERTIONS
    if (!strcmp(argv[1], "asserts")) return 0;
#endif
    struct weft_config config = {.workers = 2, .no_rescue = 1}; /* or "parked" might look too early */
    return weft_run(run, argv[1], &config);
}
