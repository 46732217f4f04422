/* SPDX-License-Identifier: MIT */
/* Select: exactly one case is done; all cases that can be done are equally likely. */
#include "fiber.h"

#include "sync/chan.h"

#include <poll.h>
#include <string.h>
#include <unistd.h>

#define INTS WEFT_CHAN_INIT(sizeof(int))

static void values(void *unused) {
    (void)unused;
    int a_room[2], b_room[2], x = 0, y = 0, one = 1;
    struct weft_chan a = WEFT_CHAN_BUFFERED(a_room), b = WEFT_CHAN_BUFFERED(b_room), none = INTS;
    struct weft_future f = WEFT_FUTURE_INIT;
    void *value = NULL;
    struct weft_case cases[] = {WEFT_CASE_RECV(&a, &x),       WEFT_CASE_RECV(&b, &y),   WEFT_CASE_SEND(&none, &one),
                                WEFT_CASE_FUTURE(&f, &value), WEFT_CASE_RECV(NULL, &x), WEFT_ZERO};
    CHECK_EQ(weft_case_select_try(cases, 6), -EAGAIN);
    CHECK_EQ(weft_case_select_until(cases, 6, weft_now() + 1000), -ETIMEDOUT);
    CHECK_EQ(weft_case_select_until(NULL, 0, 0), -ETIMEDOUT);
    CHECK(!a.receivers && !b.receivers && !none.senders && !f.queue.first);
    CHECK_EQ(weft_chan_send(&b, &(int){5}), 0);
    CHECK_EQ(weft_case_select(cases, 6), 1);
    CHECK_EQ(cases[1].result, 0);
    CHECK_EQ(y, 5);
    CHECK_EQ(weft_future_set(&f, &f), 0);
    CHECK_EQ(weft_case_select(cases, 6), 3);
    CHECK_EQ(cases[3].result, 0);
    CHECK(value == &f);
    cases[3].on = NULL;
    CHECK_EQ(weft_chan_close(&a), 0);
    CHECK_EQ(weft_case_select_until(cases, 6, 0), 0);
    CHECK_EQ(cases[0].result, -EPIPE);
    cases[0].on = NULL;
    CHECK_EQ(weft_chan_close(&none), 0);
    CHECK_EQ(weft_case_select_try(cases, 6), 2);
    CHECK_EQ(cases[2].result, -EPIPE);

    struct weft_future bad = WEFT_FUTURE_INIT;
    CHECK_EQ(weft_future_fail(&bad, -EAGAIN), 0); /* an error like any other */
    struct weft_case fails[] = {WEFT_CASE_FUTURE(&bad, NULL)};
    CHECK_EQ(weft_case_select_try(fails, 1), 0);
    CHECK_EQ(fails[0].result, -EAGAIN);

    struct weft_case sends[] = {WEFT_CASE_SEND(&b, &one)};
    CHECK_EQ(weft_case_select(sends, 1), 0);
    CHECK_EQ(weft_case_select_try(sends, 1), 0);
    CHECK_EQ(weft_case_select_try(sends, 1), -EAGAIN);
    CHECK_EQ(weft_chan_len(&b), 2);
}
TEST(values) { each_size(values); }
TEST(values_without_a_runtime) { values(NULL); }

/* --- each kind, waited for -------------------------------------------------------------------------------- */

static struct weft_chan left, right;
static struct weft_future future;

static void *sends_right(void *unused) {
    CHECK_EQ(weft_chan_send(&right, &(int){7}), 0);
    return unused;
}
static void *receives_left(void *unused) {
    int x;
    CHECK_EQ(weft_chan_recv(&left, &x), 0);
    CHECK_EQ(x, 3);
    return unused;
}
static void *completes(void *unused) {
    CHECK_EQ(weft_future_fail(&future, -EIO), 0);
    return unused;
}
static void *closes_right(void *unused) {
    CHECK_EQ(weft_chan_close(&right), 0);
    return unused;
}
static void each_kind(void *unused) {
    (void)unused;
    void *(*const partners[])(void *) = {receives_left, sends_right, completes, closes_right};
    const int which[] = {0, 1, 2, 1}, result[] = {0, 0, -EIO, -EPIPE};
    for (int i = 0; i < 8; i++) {
        int x = 0, three = 3;
        left = right = (struct weft_chan)INTS;
        future = (struct weft_future)WEFT_FUTURE_INIT;
        struct weft_case cases[] = {WEFT_CASE_SEND(&left, &three), WEFT_CASE_RECV(&right, &x),
                                    WEFT_CASE_FUTURE(&future, NULL)};
        struct weft_fiber f = i < 4 ? spawn(partners[i], NULL) : (struct weft_fiber){0};
        pthread_t t = i < 4 ? 0 : thread_start(partners[i - 4], NULL);
        CHECK_EQ(i % 2 ? weft_case_select(cases, 3) : weft_case_select_until(cases, 3, weft_now() + WEFT_SECOND * 100),
                 which[i % 4]);
        CHECK_EQ(cases[which[i % 4]].result, result[i % 4]);
        CHECK_EQ(x, i % 4 == 1 ? 7 : 0);
        CHECK(!left.senders && !right.receivers && !future.queue.first);
        if (i < 4)
            join(f);
        else
            thread_join(t);
    }
}
TEST(each_kind) { each_size(each_kind); }

static void *is_cancelled(void *unused) {
    int x = 0, one = 1;
    struct weft_case cases[] = {WEFT_CASE_SEND(&left, &one), WEFT_CASE_RECV(&right, &x),
                                WEFT_CASE_FUTURE(&future, NULL), WEFT_CASE_TIME(weft_now() + 3600 * WEFT_SECOND)};
    CHECK_EQ(weft_case_select(cases, 4), -ECANCELED);
    CHECK_EQ(weft_case_select(cases, 4), -ECANCELED);
    cases[3].on = NULL;
    CHECK_EQ(weft_case_select(cases, 4), -ECANCELED);
    cases[3] = (struct weft_case)WEFT_CASE_TIME(0); /* a case that need not wait is done */
    CHECK_EQ(weft_case_select(cases, 4), 3);
    return unused;
}
static void cancelled(void *unused) {
    (void)unused;
    left = right = (struct weft_chan)INTS;
    future = (struct weft_future)WEFT_FUTURE_INIT;
    struct weft_fiber f = spawn(is_cancelled, NULL);
    settle();
    CHECK_EQ(weft_cancel(f), 0);
    join(f);
    CHECK_EQ(weft_chan_recv_try(&left, NULL), -EAGAIN);
    CHECK_EQ(weft_chan_send_try(&right, &(int){1}), -EAGAIN);
    CHECK(!left.senders && !right.receivers && !future.queue.first);
}
TEST(cancelled) { each_size(cancelled); }

/* --- times ------------------------------------------------------------------------------------------------ */

static void times(void *unused) {
    (void)unused;
    int x = 0;
    struct weft_chan none = INTS;
    struct weft_case never[] = {WEFT_CASE_TIME(WEFT_FOREVER), WEFT_CASE_RECV(&none, &x)};
    CHECK_EQ(weft_case_select_try(never, 2), -EAGAIN);
    CHECK_EQ(weft_case_select_until(never, 2, weft_now() + 1000), -ETIMEDOUT);
    struct weft_case past[] = {WEFT_CASE_RECV(&none, &x), WEFT_CASE_TIME(0), WEFT_CASE_TIME(WEFT_FOREVER)};
    past[1].result = 1;
    CHECK_EQ(weft_case_select_try(past, 3), 1);
    CHECK_EQ(past[1].result, 0);
    CHECK_EQ(weft_case_select_until(past, 3, 0), 1);
    /* Of several times the first ends the select. It is not early, and no waiter is left in a chain. */
    for (int i = 0; i < 3; i++) {
        uint64_t when = weft_now() + 2 * WEFT_MILLISECOND, hour = 3600 * WEFT_SECOND;
        struct weft_case cases[] = {WEFT_CASE_TIME(when + hour), WEFT_CASE_RECV(&none, &x), WEFT_CASE_TIME(when),
                                    WEFT_CASE_TIME(when + 2 * hour), WEFT_CASE_TIME(WEFT_FOREVER)};
        CHECK_EQ(i ? weft_case_select_until(cases, 5, i == 1 ? when : when + hour) : weft_case_select(cases, 5), 2);
        CHECK(weft_now() >= when);
        CHECK(!none.receivers);
        /* The deadline of the call comes first. */
        CHECK_EQ(weft_case_select_until(cases, 2, when + 1), -ETIMEDOUT);
    }
    /* With a descriptor that is never ready. */
    int p[2];
    CHECK(!pipe(p));
    uint64_t when = weft_now() + WEFT_MILLISECOND;
    struct weft_case outside[] = {WEFT_CASE_READY(p[0], POLLIN), WEFT_CASE_TIME(when)};
    CHECK_EQ(weft_case_select(outside, 2), 1);
    CHECK(weft_now() >= when);
    close(p[0]);
    close(p[1]);
}
TEST(times) { each_size(times); }
TEST(times_without_a_runtime) { times(NULL); }

/* A time that has passed is a case like others. */
static void times_are_fair(void *unused) {
    (void)unused;
    enum { TRIES = 20000 };
    struct weft_chan closed = INTS;
    int counts[3] = {0}, x;
    CHECK_EQ(weft_chan_close(&closed), 0);
    for (int i = 0; i < TRIES; i++) {
        struct weft_case cases[] = {WEFT_CASE_TIME(0), WEFT_CASE_RECV(&closed, &x), WEFT_CASE_TIME(WEFT_FOREVER)};
        counts[weft_case_select(cases, 3)]++;
    }
    CHECK(counts[0] > TRIES / 2 * 9 / 10 && counts[1] > TRIES / 2 * 9 / 10 && !counts[2]);
}
TEST(times_are_fair) { each_size(times_are_fair); }

/* Items arrive while times pass: each item is received once, whichever case was chosen. */
static void *sends_some(void *n) {
    for (intptr_t i = 0; i < (intptr_t)n; i++) {
        if (i % 8 == 0) CHECK_EQ(weft_sleep_for(20 * WEFT_MICROSECOND), 0);
        CHECK_EQ(weft_chan_send(&left, &(int){(int)i}), 0);
    }
    return NULL;
}
static void times_pass_meanwhile(void *unused) {
    (void)unused;
    intptr_t n = (intptr_t)test_size(2000) + 1;
    int next = 0, x;
    left = (struct weft_chan)INTS;
    struct weft_fiber f = spawn(sends_some, (void *)n);
    while (next < n) {
        struct weft_case cases[] = {WEFT_CASE_TIME(weft_now() + 10 * WEFT_MICROSECOND), WEFT_CASE_RECV(&left, &x)};
        int which = weft_case_select(cases, 2);
        CHECK(which == 0 || which == 1);
        CHECK_EQ(cases[which].result, 0);
        if (which) CHECK_EQ(x, next++);
    }
    join(f);
}
TEST(times_pass_meanwhile) { each_size(times_pass_meanwhile); }

/* --- the same channel several times ------------------------------------------------------------------------ */

/* A select that sends and receives on one channel never pairs with itself, always with the other select. */
static int sent, received;
static void *both_ways(void *number) {
    for (size_t i = test_size(2000); i > 0; i--) {
        int mine = (int)(intptr_t)number, x = -1;
        struct weft_case cases[] = {WEFT_CASE_SEND(&left, &mine), WEFT_CASE_RECV(&left, &x), WEFT_CASE_RECV(&left, &x)};
        int which = weft_case_select(cases, i % 2 ? 2 : 3);
        CHECK_EQ(cases[which].result, 0);
        if (which == 0)
            ADD(&sent, 1);
        else {
            CHECK_EQ(x, !mine);
            ADD(&received, 1);
        }
    }
    return NULL;
}
static void not_its_own_partner(void *unused) {
    (void)unused;
    static int room[1];
    left = (struct weft_chan)INTS;
    (void)room;
    STORE(&sent, 0);
    STORE(&received, 0);
    int one = 1, x;
    struct weft_case alone[] = {WEFT_CASE_SEND(&left, &one), WEFT_CASE_RECV(&left, &x)};
    CHECK_EQ(weft_case_select_try(alone, 2), -EAGAIN);
    CHECK_EQ(weft_case_select_until(alone, 2, weft_now() + 1000), -ETIMEDOUT);
    struct weft_fiber a = spawn(both_ways, (void *)0), b = spawn(both_ways, (void *)1);
    join(a);
    join(b);
    CHECK_EQ(sent, received);
    CHECK_EQ(sent, test_size(2000));
}
TEST_WITHIN(not_its_own_partner, 60) { each_size(not_its_own_partner); }

/* --- fairness ------------------------------------------------------------------------------------------------ */

/* All ready cases, at any index, are equally likely; the others are never chosen. */
static void fair(void *unused) {
    (void)unused;
    enum { CASES = 6, TRIES = 30000 };
    struct weft_chan closed = INTS, open = INTS;
    int counts[CASES] = {0}, x;
    CHECK_EQ(weft_chan_close(&closed), 0);
    struct weft_case cases[CASES];
    for (int i = 0; i < CASES; i++) {
        bool ready = i == 0 || i == 1 || i == 5;
        struct weft_case c = WEFT_CASE_RECV(ready ? &closed : &open, &x);
        cases[i] = c;
    }
    for (int i = 0; i < TRIES; i++) counts[weft_case_select(cases, CASES)]++;
    for (int i = 0; i < CASES; i++) {
        bool ready = cases[i].on == &closed;
        CHECK(ready ? counts[i] > TRIES / 3 * 9 / 10 && counts[i] < TRIES / 3 * 11 / 10 : counts[i] == 0);
    }
}
TEST(fair) { each_size(fair); }
TEST(fair_to_threads) { fair(NULL); }

/* Of two channels that always have items, both are served. */
static void *talks(void *chan) {
    while (!weft_chan_send(chan, &(int){0})) continue;
    return NULL;
}
static void hears_both(void *unused) {
    (void)unused;
    left = right = (struct weft_chan)INTS;
    struct weft_fiber a = spawn(talks, &left), b = spawn(talks, &right);
    int heard[2] = {0, 0}, x;
    for (size_t i = test_size(20000); i > 0 || !heard[0] || !heard[1]; i -= i > 0) {
        struct weft_case cases[] = {WEFT_CASE_RECV(&left, &x), WEFT_CASE_RECV(&right, &x)};
        heard[weft_case_select(cases, 2)]++;
    }
    CHECK_EQ(weft_chan_close(&left), 0);
    CHECK_EQ(weft_chan_close(&right), 0);
    join(a);
    join(b);
}
TEST_WITHIN(hears_both, 60) { each_size(hears_both); }

/* --- a moment at which no case could be done -------------------------------------------------- */

/* Of two channels at least one always holds an item: a try must find it. */
static void *finds_one(void *unused) {
    struct weft_case cases[] = {WEFT_CASE_RECV(&left, NULL), WEFT_CASE_RECV(&right, NULL)};
    CHECK(weft_case_select_try(cases, 2) >= 0);
    return unused;
}
static void one_is_there(void *unused) {
    (void)unused;
    for (size_t i = test_size(20000); i > 0; i--) {
        int l[1], r[1], x;
        left = (struct weft_chan)WEFT_CHAN_BUFFERED(l);
        right = (struct weft_chan)WEFT_CHAN_BUFFERED(r);
        CHECK_EQ(weft_chan_send(&left, &(int){1}), 0);
        struct weft_fiber f = spawn(finds_one, NULL);
        if (i % 2) weft_yield();
        CHECK_EQ(weft_chan_send(&right, &(int){1}), 0);
        weft_chan_recv_try(&left, &x);
        join(f);
    }
}
TEST_WITHIN(one_is_always_there, 60) { each_size(one_is_there); }
