/* SPDX-License-Identifier: MIT */
/* Reader-writer locks: which fibers may be inside together, which is next, and that none waits for ever. */
#include "fiber.h"

#include "sched/wait/wait_queue.h"

static struct weft_rwlock l;

static void errors(void *unused) {
    (void)unused;
    struct weft_rwlock rw = WEFT_RWLOCK_INIT;
    CHECK_EQ(weft_rwlock_unlock_read(&rw), -EPERM);
    CHECK_EQ(weft_rwlock_unlock_write(&rw), -EPERM);
    CHECK_EQ(weft_rwlock_read(&rw), 0);
    CHECK_EQ(weft_rwlock_read_try(&rw), 0);
    CHECK_EQ(weft_rwlock_write_try(&rw), -EBUSY);
    CHECK_EQ(weft_rwlock_write_until(&rw, 0), -ETIMEDOUT);
    CHECK_EQ(weft_rwlock_unlock_write(&rw), -EPERM);
    CHECK_EQ(weft_rwlock_unlock_read(&rw), 0);
    CHECK_EQ(weft_rwlock_unlock_read(&rw), 0);
    CHECK_EQ(weft_rwlock_unlock_read(&rw), -EPERM);
    CHECK_EQ(weft_rwlock_write(&rw), 0);
    CHECK_EQ(weft_rwlock_write(&rw), -EDEADLK);
    CHECK_EQ(weft_rwlock_read(&rw), -EDEADLK);
    CHECK_EQ(weft_rwlock_read_try(&rw), -EBUSY);
    CHECK_EQ(weft_rwlock_write_try(&rw), -EBUSY);
    CHECK_EQ(weft_rwlock_unlock_read(&rw), -EPERM);
    CHECK_EQ(weft_rwlock_unlock_write(&rw), 0);
    CHECK_EQ(weft_rwlock_write_until(&rw, 0), 0);
    CHECK_EQ(weft_rwlock_unlock_write(&rw), 0);
    CHECK_EQ(rw.word, 0);
}
TEST(errors_of_one_caller) { each_size(errors); }
TEST(errors_of_a_thread) { errors(NULL); }

/* --- phases: readers r and writers w come one by one; the order in which they get the lock ----------- */

static int chain_length(struct weft_waiter **chain) {
    int n = 0;
    _Atomic uint64_t *word = (_Atomic uint64_t *)(void *)&l.word;
    uint64_t w = weft__word_lock(word, load_rlx(word));
    for (struct weft_waiter *at = *chain; at; at = at->next) n++;
    store_rel(word, w);
    return n;
}
static bool so_many_wait(void *n) { return chain_length(&l.readers) + chain_length(&l.writers) == *(int *)n; }
static void await_waiting(int n) { test_until(so_many_wait, &n); }

static int inside, served, order[16];

static void *reads(void *arg) {
    CHECK_EQ(weft_rwlock_read(&l), 0);
    order[ADD(&served, 1)] = (int)(intptr_t)arg;
    ADD(&inside, 1);
    while (LOAD(&inside) < 3) weft_sleep_for(100 * WEFT_MICROSECOND); /* all of the phase are in at once */
    CHECK_EQ(weft_rwlock_unlock_read(&l), 0);
    return NULL;
}
static void *writes(void *arg) {
    CHECK_EQ(weft_rwlock_write(&l), 0);
    order[ADD(&served, 1)] = (int)(intptr_t)arg;
    CHECK_EQ(weft_rwlock_unlock_write(&l), 0);
    return NULL;
}
/* Odd numbers are writers. After a writer all waiting readers enter; then the writers follow in order. */
TEST(phases_of_fibers_and_threads) {
    test_start(2);
    struct weft_fiber f[6];
    pthread_t t[6];
    CHECK_EQ(weft_rwlock_write(&l), 0);
    for (intptr_t i = 0; i < 6; i++) {
        void *(*fn)(void *) = i % 2 ? writes : reads;
        if (i < 3)
            f[i] = spawn(fn, (void *)i);
        else
            t[i] = thread_start(fn, (void *)i);
        await_waiting((int)i + 1);
    }
    CHECK_EQ(weft_rwlock_unlock_write(&l), 0);
    for (int i = 0; i < 3; i++) join(f[i]);
    for (int i = 3; i < 6; i++) thread_join(t[i]);
    CHECK_EQ(served, 6);
    for (int i = 0; i < 3; i++) CHECK_EQ(order[i] % 2, 0);
    for (int i = 3; i < 6; i++) CHECK_EQ(order[i], 2 * i - 5);
    CHECK_EQ(l.word, 0);
    test_stop();
}

/* A reader that comes while a writer waits gets the lock after the writer. */
static void *reads_late(void *unused) {
    CHECK_EQ(weft_rwlock_read_try(&l), -EBUSY);
    CHECK_EQ(weft_rwlock_read(&l), 0);
    CHECK_EQ(LOAD(&served), 1); /* the writer was inside */
    CHECK_EQ(weft_rwlock_unlock_read(&l), 0);
    return unused;
}
TEST(a_writer_that_waits_keeps_readers_out) {
    test_start(2);
    CHECK_EQ(weft_rwlock_read(&l), 0);
    struct weft_fiber writer = spawn(writes, NULL);
    await_waiting(1);
    struct weft_fiber reader = spawn(reads_late, NULL);
    await_waiting(2);
    CHECK_EQ(weft_rwlock_unlock_read(&l), 0);
    join(writer);
    join(reader);
    CHECK_EQ(l.word, 0);
    test_stop();
}

/* --- a writer that gives up lets the waiters behind it go on ----------------------------------------------------- */

static void *gives_up(void *deadline) {
    uint64_t until = *(uint64_t *)deadline;
    CHECK_EQ(weft_rwlock_write_cancellable(&l, until), until == WEFT_FOREVER ? -ECANCELED : -ETIMEDOUT);
    return NULL;
}
static void *reads_with_others(void *unused) {
    CHECK_EQ(weft_rwlock_read(&l), 0);
    ADD(&inside, 1);
    CHECK_EQ(weft_rwlock_unlock_read(&l), 0);
    return unused;
}
static void readers_go_on(void *by_cancel) {
    test_start(2);
    STORE(&inside, 0);
    uint64_t deadline = by_cancel ? WEFT_FOREVER : weft_now() + 30 * WEFT_MILLISECOND;
    CHECK_EQ(weft_rwlock_read(&l), 0); /* and stays */
    struct weft_fiber writer = spawn(gives_up, &deadline), reader[4];
    pthread_t thread = 0;
    if (by_cancel) await_waiting(1);
    for (int i = 0; i < 4; i++) reader[i] = spawn(reads_with_others, NULL);
    if (by_cancel) {
        thread = thread_start(reads_with_others, NULL);
        await_waiting(6);
        CHECK_EQ(LOAD(&inside), 0);
        CHECK_EQ(weft_cancel(writer), 0);
        thread_join(thread);
    }
    join(writer);
    for (int i = 0; i < 4; i++) join(reader[i]);
    CHECK_EQ(LOAD(&inside), by_cancel ? 5 : 4);
    CHECK_EQ(weft_rwlock_unlock_read(&l), 0);
    CHECK_EQ(l.word, 0);
    test_stop();
}
TEST(a_writer_is_cancelled) { readers_go_on(&l); }
TEST(a_writer_is_late) { readers_go_on(NULL); }

/* --- none is kept out --------------------------------------------------------------------------------------- */

static int over;
static void *keeps_reading(void *unused) {
    while (!LOAD(&over)) { /* several of them: a reader is always inside */
        CHECK_EQ(weft_rwlock_read(&l), 0);
        weft_yield();
        CHECK_EQ(weft_rwlock_unlock_read(&l), 0);
    }
    return unused;
}
static void *keeps_writing(void *unused) {
    while (!LOAD(&over)) {
        CHECK_EQ(weft_rwlock_write(&l), 0);
        weft_yield();
        CHECK_EQ(weft_rwlock_unlock_write(&l), 0);
    }
    return unused;
}
static void *wants_in(void *write) {
    for (size_t i = test_size(500); i > 0; i--) {
        CHECK_EQ(write ? weft_rwlock_write(&l) : weft_rwlock_read(&l), 0);
        CHECK_EQ(write ? weft_rwlock_unlock_write(&l) : weft_rwlock_unlock_read(&l), 0);
    }
    return NULL;
}
static void is_served(void *(*others)(void *), void *write) {
    struct weft_fiber f[8];
    STORE(&over, 0);
    for (int i = 0; i < 8; i++) f[i] = spawn(others, NULL);
    join(spawn(wants_in, write));
    STORE(&over, 1);
    for (int i = 0; i < 8; i++) join(f[i]);
    CHECK_EQ(l.word, 0);
}
static void writer_among_readers(void *unused) { is_served(keeps_reading, &over), (void)unused; }
static void reader_among_writers(void *unused) { is_served(keeps_writing, NULL), (void)unused; }
TEST_WITHIN(a_writer_among_readers, 60) { each_size(writer_among_readers); }
TEST_WITHIN(a_reader_among_writers, 60) { each_size(reader_among_writers); }

/* A writer waits at most for one phase of readers for each writer before it. A reader waits for one writer. On one
 * worker this can be counted. */
static int written;
static void *writes_and_counts(void *unused) {
    for (int i = 0; i < 20; i++) {
        CHECK_EQ(weft_rwlock_write(&l), 0);
        written++;
        weft_yield();
        CHECK_EQ(weft_rwlock_unlock_write(&l), 0);
    }
    return unused;
}
static void reader_waits_for_one(void *unused) {
    (void)unused;
    struct weft_fiber f[8];
    for (int i = 0; i < 8; i++) f[i] = spawn(writes_and_counts, NULL);
    for (int i = 0; i < 10; i++) {
        weft_yield();
        int before = written;
        CHECK_EQ(weft_rwlock_read(&l), 0);
        CHECK(written - before <= 1);
        CHECK_EQ(weft_rwlock_unlock_read(&l), 0);
    }
    for (int i = 0; i < 8; i++) join(f[i]);
}
TEST(a_reader_waits_for_one_writer) { test_in_fiber(1, reader_waits_for_one, NULL); }

/* --- exclusion ------------------------------------------------------------------------------------------------ */

static long first_half, second_half; /* plain: ThreadSanitizer watches, too */
static long written_in_all;

static void *uses(void *seed) {
    uint64_t random = (uint64_t)(uintptr_t)seed;
    long mine = 0;
    for (size_t i = test_size(3000); i > 0; i--) {
        uint64_t way = test_below(&random, 6);
        int err = way == 0   ? weft_rwlock_read(&l)
                  : way == 1 ? weft_rwlock_read_until(&l, weft_now() + test_below(&random, 50000))
                  : way == 2 ? weft_rwlock_read_try(&l)
                  : way == 3 ? weft_rwlock_write(&l)
                  : way == 4 ? weft_rwlock_write_until(&l, weft_now() + test_below(&random, 50000))
                             : weft_rwlock_write_try(&l);
        if (err) {
            CHECK(way % 3 == 1 ? err == -ETIMEDOUT : way % 3 == 2 && err == -EBUSY);
            continue;
        }
        if (way < 3) {
            CHECK_EQ(first_half, second_half);
            if (i % 8 == 0) weft_yield();
            CHECK_EQ(first_half, second_half);
            CHECK_EQ(weft_rwlock_unlock_read(&l), 0);
        } else {
            first_half++;
            if (i % 8 == 0) weft_yield();
            second_half++;
            mine++;
            CHECK_EQ(weft_rwlock_unlock_write(&l), 0);
        }
    }
    ADD(&written_in_all, mine);
    return NULL;
}
TEST_WITHIN(exclusion_of_fibers_and_threads, 60) {
    test_start(3);
    struct weft_fiber f[8];
    pthread_t t[3];
    for (uintptr_t i = 0; i < 8; i++) f[i] = spawn(uses, (void *)(i + 1));
    for (uintptr_t i = 0; i < 3; i++) t[i] = thread_start(uses, (void *)(i + 100));
    for (int i = 0; i < 8; i++) join(f[i]);
    for (int i = 0; i < 3; i++) thread_join(t[i]);
    CHECK_EQ(first_half, written_in_all);
    CHECK_EQ(l.word, 0);
    test_stop();
}
