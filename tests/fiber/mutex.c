/* SPDX-License-Identifier: MIT */
/* Mutexes: exclusion, order, and an owner that is checked. */
#include "chain.h"

#include "sync/mutex.h"

static struct weft_mutex m;

static void errors(void *unused) {
    (void)unused;
    struct weft_mutex mutex = WEFT_MUTEX_INIT;
    CHECK_EQ(weft_mutex_unlock(&mutex), -EPERM);
    CHECK_EQ(weft_mutex_lock(&mutex), 0);
    CHECK_EQ(weft_mutex_lock(&mutex), -EDEADLK);
    CHECK_EQ(weft_mutex_lock_until(&mutex, 0), -EDEADLK);
    CHECK_EQ(weft_mutex_try(&mutex), -EBUSY);
    CHECK_EQ(weft_mutex_unlock(&mutex), 0);
    CHECK_EQ(weft_mutex_unlock(&mutex), -EPERM);
    CHECK_EQ(weft_mutex_try(&mutex), 0);
    CHECK_EQ(weft_mutex_unlock(&mutex), 0);
}
TEST(errors_of_one_caller) { each_size(errors); }
TEST(errors_of_a_thread) { errors(NULL); }

static void *not_mine(void *arg) {
    (void)arg;
    CHECK_EQ(weft_mutex_unlock(&m), -EPERM);
    CHECK_EQ(weft_mutex_try(&m), -EBUSY);
    CHECK_EQ(weft_mutex_lock_until(&m, weft_now() + WEFT_MILLISECOND), -ETIMEDOUT);
    return NULL;
}
static void of_another(void *unused) {
    (void)unused;
    m = (struct weft_mutex)WEFT_MUTEX_INIT;
    CHECK_EQ(weft_mutex_lock(&m), 0);
    join(spawn(not_mine, NULL));
    CHECK_EQ(weft_mutex_unlock(&m), 0);
}
TEST(held_by_another) { each_size(of_another); }
TEST(held_by_a_thread) {
    test_start(2);
    of_another(NULL);
    CHECK_EQ(weft_mutex_lock(&m), 0);
    thread_join(thread_start(not_mine, NULL));
    CHECK_EQ(weft_mutex_unlock(&m), 0);
    test_stop();
}

/* A mutex is locked on one worker and unlocked on another: its owner is the fiber. */
static void *holds_across_moves(void *unused) {
    (void)unused;
    for (size_t i = test_size(500); i > 0; i--) {
        CHECK_EQ(weft_mutex_lock(&m), 0);
        weft_yield();
        if (i % 50 == 0) CHECK_EQ(weft_sleep_for(1000), 0);
        CHECK_EQ(weft_mutex_lock(&m), -EDEADLK);
        CHECK_EQ(weft_mutex_unlock(&m), 0);
    }
    return NULL;
}
static void moves(void *unused) {
    (void)unused;
    struct weft_fiber f[8];
    m = (struct weft_mutex)WEFT_MUTEX_INIT;
    for (int i = 0; i < 8; i++) f[i] = spawn(holds_across_moves, NULL);
    for (int i = 0; i < 8; i++) join(f[i]);
}
TEST_WITHIN(the_owner_is_the_fiber, 60) { each_size(moves); }

/* A fiber ends with the mutex locked. The next fiber in the same record does not hold it. */
static struct weft_rwlock rw;
static struct weft_once once;
static int exits(void *unused) {
    (void)unused;
    weft_fiber_exit(NULL);
}
static void *ends_holding(void *unused) {
    CHECK_EQ(weft_mutex_lock(&m), 0);
    CHECK_EQ(weft_rwlock_write(&rw), 0);
    weft_once_run(&once, exits, NULL);
    return unused;
}
static void *comes_after(void *unused) {
    struct weft_cond c = WEFT_COND_INIT;
    uint64_t soon = weft_now() + WEFT_MILLISECOND;
    CHECK_EQ(weft_mutex_unlock(&m), -EPERM);
    CHECK_EQ(weft_mutex_try(&m), -EBUSY);
    CHECK_EQ(weft_mutex_lock_until(&m, soon), -ETIMEDOUT);
    CHECK_EQ(weft_cond_wait(&c, &m), -EPERM);
    CHECK_EQ(weft_rwlock_unlock_write(&rw), -EPERM);
    CHECK_EQ(weft_rwlock_write_until(&rw, soon), -ETIMEDOUT);
    CHECK_EQ(weft_rwlock_read_until(&rw, soon), -ETIMEDOUT);
    CHECK_EQ(weft_once_run_until(&once, exits, NULL, soon), -ETIMEDOUT);
    return unused;
}
static void after_it(void *unused) {
    (void)unused;
    m = (struct weft_mutex)WEFT_MUTEX_INIT;
    rw = (struct weft_rwlock)WEFT_RWLOCK_INIT;
    once = (struct weft_once)WEFT_ONCE_INIT;
    struct weft_fiber first = spawn(ends_holding, NULL), next;
    join(first);
    for (;; join(next)) {
        next = spawn(comes_after, NULL);
        if (weft__life_index(next.id) == weft__life_index(first.id)) break; /* the same record */
    }
    CHECK(next.id != first.id);
    join(next);
}
TEST(an_ended_fiber_stays_the_owner) { each_size(after_it); }

/* --- order ----------------------------------------------------------------------------------------------- */

static int order[LINE], served;

static void *stands_in_line(void *arg) {
    CHECK_EQ(weft_mutex_lock(&m), 0);
    order[served++] = (int)(intptr_t)arg;
    CHECK_EQ(weft_mutex_unlock(&m), 0);
    return NULL;
}
TEST(first_come_first_served_fibers_and_threads) {
    test_start(2);
    struct line line;
    CHECK_EQ(weft_mutex_lock(&m), 0);
    line_begin(&line, stands_in_line, &m.queue);
    CHECK_EQ(served, 0);
    CHECK_EQ(weft_mutex_unlock(&m), 0);
    line_join(&line);
    for (int i = 0; i < LINE; i++) CHECK_EQ(order[i], i);
    test_stop();
}

/* --- passing the waiters -------------------------------------------------------------------------------- */

/* Locks the mutex, and returns a fiber that waits for it. */
static struct weft_fiber hold_before_one(void) {
    m = (struct weft_mutex)WEFT_MUTEX_INIT;
    served = 0;
    CHECK_EQ(weft_mutex_lock(&m), 0);
    struct weft_fiber f = spawn(stands_in_line, NULL);
    while (!chain_length(&m.queue)) weft_yield();
    return f;
}

/* On one worker no other fiber runs in between: other fibers pass the first waiter a given number of times, and then
 * the mutex is reserved for it. */
static void passes_exactly(void *unused) {
    (void)unused;
    struct weft_fiber f = hold_before_one();
    int passes = -1;
    do {
        passes++;
        CHECK_EQ(weft_mutex_unlock(&m), 0);
    } while (!weft_mutex_try(&m));
    CHECK_EQ(passes, WEFT_MUTEX_PASSES);
    CHECK_EQ(served, 0);
    CHECK_EQ(weft_mutex_lock(&m), 0); /* behind the other waiter */
    CHECK_EQ(served, 1);
    CHECK_EQ(weft_mutex_unlock(&m), 0);
    join(f);
    CHECK_EQ(m.queue.word, 0);
}
TEST(the_first_is_passed_so_often_and_no_more) { test_in_fiber(1, passes_exactly, NULL); }

/* An heir that runs, and finds the mutex held by a fiber that does not run, is not passed again. */
static void passes_once(void *unused) {
    (void)unused;
    struct weft_fiber f = hold_before_one();
    CHECK_EQ(weft_mutex_unlock(&m), 0);
    CHECK_EQ(weft_mutex_lock(&m), 0);
    CHECK_EQ(chain_length(&m.queue), 0);
    weft_yield(); /* the heir runs, and waits again */
    CHECK_EQ(chain_length(&m.queue), 1);
    CHECK_EQ(weft_mutex_unlock(&m), 0);
    CHECK_EQ(weft_mutex_try(&m), -EBUSY);
    join(f);
    CHECK_EQ(served, 1);
    CHECK_EQ(m.queue.word, 0);
}
TEST(an_heir_that_ran_is_passed_no_more) { test_in_fiber(1, passes_once, NULL); }

static int passed, last_passed, all_served;
static void *pushes_in(void *arg) {
    while (!LOAD(&all_served)) {
        if (weft_mutex_try(&m)) {
            if (arg) weft_yield();
            continue;
        }
        passed++;
        CHECK_EQ(weft_mutex_unlock(&m), 0);
    }
    return NULL;
}
static void *is_passed(void *arg) {
    CHECK_EQ(weft_mutex_lock(&m), 0);
    CHECK_EQ(served, (int)(intptr_t)arg); /* in order */
    CHECK(passed - last_passed <= WEFT_MUTEX_PASSES);
    last_passed = passed;
    if (++served == LINE) STORE(&all_served, 1);
    CHECK_EQ(weft_mutex_unlock(&m), 0);
    return NULL;
}
TEST_WITHIN(no_waiter_is_passed_more_often, 60) {
    test_start(4);
    for (size_t round = 0; round < test_size(200); round++) {
        struct weft_fiber f[LINE], pushers[3];
        pthread_t t[LINE], pusher;
        served = passed = last_passed = 0;
        STORE(&all_served, 0);
        CHECK_EQ(weft_mutex_lock(&m), 0);
        for (intptr_t i = 0; i < LINE; i++) {
            if (i % 8 == 7)
                t[i] = thread_start(is_passed, (void *)i);
            else
                f[i] = spawn(is_passed, (void *)i);
            await_chain(&m.queue, (int)i + 1);
        }
        for (intptr_t i = 0; i < 3; i++) pushers[i] = spawn(pushes_in, (void *)(i + 1));
        pusher = thread_start(pushes_in, NULL);
        CHECK_EQ(weft_mutex_unlock(&m), 0);
        for (int i = 0; i < LINE; i++) {
            if (i % 8 == 7)
                thread_join(t[i]);
            else
                join(f[i]);
        }
        for (int i = 0; i < 3; i++) join(pushers[i]);
        thread_join(pusher);
        CHECK_EQ(m.queue.word, 0);
    }
    test_stop();
}

/* If an heir gives up, by its deadline or by cancellation, the next waiter becomes the heir. */
static void *gives_up(void *arg) {
    uint64_t *deadline = arg;
    CHECK_EQ(weft_mutex_lock_cancellable(&m, *deadline), *deadline == WEFT_FOREVER ? -ECANCELED : -ETIMEDOUT);
    return NULL;
}
/* Or as long as the first waiter waits: on a slow machine its deadline may pass earlier. */
static void await_line(int n, uint64_t deadline) {
    while (chain_length(&m.queue) < n && weft_now() < deadline) weft_yield();
}
static void heirs_give_up(void *unused) {
    (void)unused;
    m = (struct weft_mutex)WEFT_MUTEX_INIT;
    for (int by_cancel = 0; by_cancel < 2; by_cancel++) {
        uint64_t deadline = by_cancel ? WEFT_FOREVER : weft_now() + 3 * WEFT_MILLISECOND;
        served = 0;
        CHECK_EQ(weft_mutex_lock(&m), 0);
        struct weft_fiber first = spawn(gives_up, &deadline), second;
        await_line(1, deadline);
        second = spawn(stands_in_line, NULL);
        await_line(2, deadline);
        CHECK_EQ(weft_mutex_unlock(&m), 0);
        CHECK_EQ(weft_mutex_lock(&m), 0);
        await_line(2, deadline); /* the heir has run */
        if (by_cancel) CHECK_EQ(weft_cancel(first), 0);
        join(first);
        CHECK(chain_length(&m.queue) == 1 || weft_now() >= deadline);
        CHECK_EQ(weft_mutex_unlock(&m), 0);
        join(second);
        CHECK_EQ(served, 1);
        CHECK_EQ(m.queue.word, 0);
    }
}
TEST(an_heir_gives_up) { test_in_fiber(1, heirs_give_up, NULL); }

/* --- recursive ---------------------------------------------------------------------------------------------- */

static struct weft_mutex again = WEFT_MUTEX_RECURSIVE_INIT;

static void *finds_it_held(void *arg) {
    CHECK_EQ(weft_mutex_try(&again), *(int *)arg);
    if (!*(int *)arg) CHECK_EQ(weft_mutex_unlock(&again), 0);
    CHECK_EQ(weft_mutex_unlock(&again), -EPERM);
    return NULL;
}
static void recursion(void *unused) {
    (void)unused;
    struct weft_cond cond = WEFT_COND_INIT;
    int busy = -EBUSY, free = 0;
    CHECK_EQ(weft_mutex_unlock(&again), -EPERM);
    CHECK_EQ(weft_mutex_lock(&again), 0);
    CHECK_EQ(weft_mutex_lock(&again), 0);
    CHECK_EQ(weft_mutex_lock_until(&again, 0), 0);
    CHECK_EQ(weft_mutex_try(&again), 0);
    CHECK_EQ(weft_cond_wait_until(&cond, &again, 0), -EINVAL); /* locked more than once */
    for (int i = 0; i < 3; i++) {
        thread_join(thread_start(finds_it_held, &busy));
        CHECK_EQ(weft_mutex_unlock(&again), 0);
    }
    CHECK_EQ(weft_cond_wait_until(&cond, &again, 0), -ETIMEDOUT);
    thread_join(thread_start(finds_it_held, &busy));
    again.depth = UINT32_MAX;
    CHECK_EQ(weft_mutex_lock(&again), -EAGAIN);
    CHECK_EQ(weft_mutex_try(&again), -EAGAIN);
    again.depth = 0;
    CHECK_EQ(weft_mutex_unlock(&again), 0);
    thread_join(thread_start(finds_it_held, &free));
    CHECK_EQ(weft_mutex_unlock(&again), -EPERM);
    CHECK_EQ(weft_mutex_init(&again, 0), 0);
    CHECK_EQ(weft_mutex_lock(&again), 0);
    CHECK_EQ(weft_mutex_lock(&again), -EDEADLK);
    CHECK_EQ(weft_mutex_unlock(&again), 0);
    CHECK_EQ(weft_mutex_init(&again, WEFT_MUTEX_RECURSIVE), 0);
}
TEST(recursive) { each_size(recursion); }
TEST(recursive_by_a_thread) { recursion(NULL); }

/* --- exclusion -------------------------------------------------------------------------------------------- */

static long guarded, entered; /* plain: ThreadSanitizer watches, too */

static void *enters(void *seed) {
    uint64_t random = (uint64_t)(uintptr_t)seed;
    long mine = 0;
    for (size_t i = test_size(3000); i > 0; i--) {
        uint64_t way = test_below(&random, 3);
        int err = way == 0   ? weft_mutex_lock(&m)
                  : way == 1 ? weft_mutex_lock_until(&m, weft_now() + test_below(&random, 50000))
                             : weft_mutex_try(&m);
        if (err) {
            CHECK_EQ(err, way == 1 ? -ETIMEDOUT : -EBUSY);
            CHECK(way);
            continue;
        }
        long seen = ++guarded;
        if (i % 8 == 0) weft_yield();
        CHECK_EQ(guarded, seen);
        mine++;
        CHECK_EQ(weft_mutex_unlock(&m), 0);
    }
    __atomic_fetch_add(&entered, mine, __ATOMIC_RELAXED);
    return NULL;
}
TEST_WITHIN(exclusion_of_fibers_and_threads, 60) {
    test_start(3);
    struct weft_fiber f[8];
    pthread_t t[3];
    for (uintptr_t i = 0; i < 8; i++) f[i] = spawn(enters, (void *)(i + 1));
    for (uintptr_t i = 0; i < 3; i++) t[i] = thread_start(enters, (void *)(i + 100));
    for (int i = 0; i < 8; i++) join(f[i]);
    for (int i = 0; i < 3; i++) thread_join(t[i]);
    CHECK_EQ(guarded, entered);
    CHECK_EQ(weft_mutex_try(&m), 0);
    test_stop();
}
