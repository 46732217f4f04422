/* SPDX-License-Identifier: MIT */
/* Examples for the reference: see runtime.c. */
#define _GNU_SOURCE
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <weft.h>

int step(int i);
void *work(void *arg);
void show(const char *text);

static int run_many(int n) {
    struct weft_counter left = WEFT_COUNTER_INIT;
    struct weft_attr attr = {.counter = &left}; /* weft_counter_complete is called when a fiber has ended */
    for (int i = 0; i < n; i++) {
        weft_counter_add(&left, 1);
        if (weft_spawn(NULL, &attr, work, NULL)) weft_counter_complete(&left);
    }
    while (weft_counter_wait_until(&left, 0, weft_now() + WEFT_SECOND) == -ETIMEDOUT)
        printf("%llu are left\n", (unsigned long long)weft_counter_value(&left));
    return weft_counter_wait(&left, 0);
}

/* At most ten at a time. */
static struct weft_sem slots = WEFT_SEM_INIT(10);
static int limited(int i) {
    int err = weft_sem_wait(&slots);
    if (err) return err; /* cancelled: no unit was taken, so none is given back */
    err = step(i);
    weft_sem_post(&slots);
    return err;
}

static int limited_or_busy(int i) {
    if (weft_sem_try(&slots)) return -EBUSY;
    int err = step(i);
    weft_sem_post(&slots);
    return err;
}

struct pool {
    struct weft_sem free;
    struct weft_mutex lock;
    struct weft_barrier begin;
    struct weft_latch ready;
};
static void init_pool(struct pool *pool, unsigned size) {
    weft_sem_init(&pool->free, size); /* when the number is not known to the compiler */
    weft_mutex_init(&pool->lock, WEFT_MUTEX_RECURSIVE);
    weft_barrier_init(&pool->begin, size);
    weft_latch_init(&pool->ready, size);
}

struct account {
    struct weft_mutex lock; /* zeros are an unlocked mutex */
    long balance;
};
static void deposit(struct account *account, long amount) {
    weft_mutex_lock(&account->lock); /* no cancellation point: the mutex is held then */
    account->balance += amount;
    weft_mutex_unlock(&account->lock);
}

static int deposit_soon(struct account *account, long amount) {
    int err = weft_mutex_lock_until(&account->lock, weft_now() + 100 * WEFT_MILLISECOND);
    if (err) return err; /* -ETIMEDOUT: it is not held */
    account->balance += amount;
    return weft_mutex_unlock(&account->lock);
}

static int deposit_unless_cancelled(struct account *account, long amount) {
    int err = weft_mutex_lock_cancellable(&account->lock, WEFT_FOREVER);
    if (err) return err;
    account->balance += amount;
    return weft_mutex_unlock(&account->lock);
}

static bool deposit_now(struct account *account, long amount) {
    if (weft_mutex_try(&account->lock)) return false; /* -EBUSY */
    account->balance += amount;
    weft_mutex_unlock(&account->lock);
    return true;
}

static struct weft_mutex lock = WEFT_MUTEX_INIT;
static struct weft_cond changed = WEFT_COND_INIT;
static bool ready;
static void announce(void) {
    weft_mutex_lock(&lock);
    ready = true;
    weft_cond_broadcast(&changed); /* all waiters; weft_cond_signal wakes one */
    weft_mutex_unlock(&lock);
}

static struct weft_rwlock table_lock = WEFT_RWLOCK_INIT;
static int table[100];
static int look_up(int i) {
    weft_rwlock_read(&table_lock); /* other readers may be inside, too */
    int value = table[i];
    weft_rwlock_unlock_read(&table_lock);
    return value;
}
static void store(int i, int value) {
    weft_rwlock_write(&table_lock); /* alone */
    table[i] = value;
    weft_rwlock_unlock_write(&table_lock);
}

static int look_up_soon(int i, int *value) {
    int err = weft_rwlock_read_until(&table_lock, weft_now() + WEFT_MILLISECOND);
    if (err) return err;
    *value = table[i];
    return weft_rwlock_unlock_read(&table_lock);
}

static int look_up_unless_cancelled(int i, int *value) {
    int err = weft_rwlock_read_cancellable(&table_lock, WEFT_FOREVER);
    if (err) return err;
    *value = table[i];
    return weft_rwlock_unlock_read(&table_lock);
}

static int store_unless_cancelled(int i, int value) {
    int err = weft_rwlock_write_cancellable(&table_lock, WEFT_FOREVER);
    if (err) return err;
    table[i] = value;
    return weft_rwlock_unlock_write(&table_lock);
}

static bool look_up_now(int i, int *value) {
    if (weft_rwlock_read_try(&table_lock)) return false;
    *value = table[i];
    weft_rwlock_unlock_read(&table_lock);
    return true;
}

static bool store_now(int i, int value) {
    if (weft_rwlock_write_try(&table_lock)) return false;
    table[i] = value;
    weft_rwlock_unlock_write(&table_lock);
    return true;
}

/* Each of the four fibers begins a round when all have ended the round before. */
static struct weft_barrier rounds = WEFT_BARRIER_INIT(4);
static int do_rounds(int n) {
    for (int i = 0; i < n; i++) {
        step(i);
        int result = weft_barrier_wait(&rounds);
        if (result < 0) return result; /* cancelled: the caller does not count as arrived */
        if (result == WEFT_BARRIER_SERIAL) show("one of the four says that the round is over");
    }
    return 0;
}

static struct weft_once once = WEFT_ONCE_INIT;
static int open_log(void *path) { return path ? 0 : -EINVAL; }
static int use_log(char *path) {
    int err = weft_once_run(&once, open_log, path); /* the first caller opens it, the others wait */
    if (!err) show("the log is open");
    return err; /* of open_log: the next caller tries again */
}

static struct weft_latch loaded = WEFT_LATCH_INIT(3); /* opens when three parts are loaded, and stays open */
static void note_loaded(void) { weft_latch_count_down(&loaded, 1); }
static int wait_until_loaded(void) {
    if (weft_latch_try(&loaded) == 0) return 0; /* open already */
    show("still loading");
    return weft_latch_wait(&loaded);
}
