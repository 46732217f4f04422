/* SPDX-License-Identifier: MIT */
/* Barriers: no party continues before all have arrived; exactly one party is the serial party; a party that gives up
 * does not count. */
#include "chain.h"

enum { PARTIES = 6 };
static struct weft_barrier b = WEFT_BARRIER_INIT(PARTIES);
static int arrived, serials;

static void errors(void *unused) {
    (void)unused;
    struct weft_barrier zeros = {0}, one = WEFT_BARRIER_INIT(1), two = WEFT_BARRIER_INIT(2);
    CHECK_EQ(weft_barrier_wait(&zeros), -EINVAL);
    CHECK_EQ(weft_barrier_init(&zeros, 0), -EINVAL);
    CHECK_EQ(weft_barrier_wait(&one), WEFT_BARRIER_SERIAL);
    CHECK_EQ(weft_barrier_wait_until(&one, 0), WEFT_BARRIER_SERIAL);
    CHECK_EQ(weft_barrier_wait_until(&two, 0), -ETIMEDOUT);
    CHECK_EQ(two.queue.word, 0);
    CHECK_EQ(weft_barrier_init(&two, 1), 0);
    CHECK_EQ(weft_barrier_wait(&two), WEFT_BARRIER_SERIAL);
}
TEST(errors_of_one_caller) { each_size(errors); }
TEST(errors_of_a_thread) { errors(NULL); }

static void *goes_round(void *unused) {
    int rounds = (int)test_size(2000);
    for (int i = 0; i < rounds; i++) {
        ADD(&arrived, 1);
        int r = weft_barrier_wait(&b);
        CHECK(r == 0 || r == WEFT_BARRIER_SERIAL);
        CHECK(LOAD(&arrived) >= (i + 1) * PARTIES); /* all have arrived */
        CHECK(LOAD(&arrived) <= (i + 2) * PARTIES); /* and no party is two rounds ahead */
        if (r) ADD(&serials, 1);
    }
    return unused;
}
TEST_WITHIN(rounds_of_fibers_and_threads, 60) {
    test_start(3);
    struct weft_fiber f[4];
    pthread_t t[2];
    for (int i = 0; i < 4; i++) f[i] = spawn(goes_round, NULL);
    for (int i = 0; i < 2; i++) t[i] = thread_start(goes_round, NULL);
    for (int i = 0; i < 4; i++) join(f[i]);
    for (int i = 0; i < 2; i++) thread_join(t[i]);
    CHECK_EQ(serials, test_size(2000));
    CHECK_EQ(b.queue.word, 0);
    test_stop();
}

/* --- a party that gives up takes its arrival back --------------------------------------------- */

static struct weft_barrier three = WEFT_BARRIER_INIT(3);
static void *waits(void *wanted) {
    CHECK_EQ(weft_barrier_wait(&three), *(int *)wanted);
    ADD(&arrived, 1);
    return NULL;
}
TEST(a_cancelled_one_was_never_there) {
    test_start(2);
    int zero = 0, cancelled = -ECANCELED;
    struct weft_fiber first = spawn(waits, &zero);
    await_chain(&three.queue, 1);
    struct weft_fiber second = spawn(waits, &cancelled);
    await_chain(&three.queue, 2);
    CHECK_EQ(weft_cancel(second), 0);
    join(second);
    await_chain(&three.queue, 1);
    CHECK_EQ(weft_barrier_wait_until(&three, weft_now() + WEFT_MILLISECOND), -ETIMEDOUT);
    CHECK_EQ(LOAD(&arrived), 1); /* the cancelled fiber has returned, the first fiber has not */
    second = spawn(waits, &zero);
    await_chain(&three.queue, 2);
    CHECK_EQ(weft_barrier_wait(&three), WEFT_BARRIER_SERIAL);
    join(first);
    join(second);
    CHECK_EQ(three.queue.word, 0);
    test_stop();
}

/* Deadlines that expire just when the last party arrives: either all parties of a round pass the barrier, or none. */
static int passed_round, given_up;
static void *is_impatient(void *seed) {
    uint64_t random = (uint64_t)(uintptr_t)seed;
    for (size_t i = test_size(3000); i > 0; i--) {
        int r = weft_barrier_wait_until(&three, weft_now() + test_below(&random, 20000));
        if (r < 0) {
            CHECK_EQ(r, -ETIMEDOUT);
            ADD(&given_up, 1);
            continue;
        }
        ADD(&passed_round, 1);
        if (r) ADD(&serials, 1);
    }
    return NULL;
}
TEST_WITHIN(deadlines_in_the_last_moment, 60) {
    test_start(4);
    struct weft_fiber f[5];
    pthread_t t;
    for (uintptr_t i = 0; i < 5; i++) f[i] = spawn(is_impatient, (void *)(i + 1));
    t = thread_start(is_impatient, (void *)(uintptr_t)77);
    for (int i = 0; i < 5; i++) join(f[i]);
    thread_join(t);
    CHECK_EQ(passed_round, 3 * serials);
    CHECK_EQ((size_t)(passed_round + given_up), 6 * test_size(3000));
    CHECK_EQ(three.queue.word, 0);
    test_stop();
}
