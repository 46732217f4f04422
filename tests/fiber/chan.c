/* SPDX-License-Identifier: MIT */
/* Channels: every item once and in order, to the longest waiter; closing, deadlines, cancellation. */
#include "fiber.h"

#include "sync/chan.h"

#include <stdlib.h>
#include <string.h>

/* Waits until a chain of the channel has this many waiters. */
static void await_parties(struct weft_chan *c, struct weft_waiter **chain, int n) {
    for (;;) {
        int there = 0;
        uint64_t word = weft__chan_lock(c);
        for (struct weft_waiter *w = *chain; w; w = w->next) there++;
        weft__chan_unlock(c, word);
        if (there == n) return;
        weft_yield();
    }
}

static void values(void *unused) {
    (void)unused;
    int room[3], x = 0;
    struct weft_chan c = WEFT_CHAN_BUFFERED(room), none = WEFT_CHAN_INIT(sizeof(int)), zero = WEFT_ZERO;
    CHECK_EQ(weft_chan_cap(&c), 3);
    CHECK_EQ(weft_chan_cap(&none), 0);
    for (int i = 0; i < 3; i++) {
        CHECK_EQ(weft_chan_len(&c), i);
        CHECK_EQ(i % 2 ? weft_chan_send(&c, &i) : weft_chan_send_try(&c, &i), 0);
    }
    CHECK_EQ(weft_chan_send_try(&c, &x), -EAGAIN);
    CHECK_EQ(weft_chan_send_until(&c, &x, 0), -ETIMEDOUT);
    for (int i = 0; i < 50; i++) { /* round and round */
        CHECK_EQ(i % 2 ? weft_chan_recv(&c, &x) : weft_chan_recv_try(&c, &x), 0);
        CHECK_EQ(x, i);
        CHECK_EQ(weft_chan_send(&c, &(int){i + 3}), 0);
    }
    CHECK_EQ(weft_chan_recv(&c, NULL), 0); /* dropped */
    CHECK_EQ(weft_chan_recv_until(&c, &x, 0), 0);
    CHECK_EQ(x, 51);
    CHECK_EQ(weft_chan_send_until(&c, &x, 0), 0);
    CHECK_EQ(weft_chan_recv(&c, &x), 0);
    CHECK_EQ(weft_chan_recv(&c, &x), 0);
    CHECK_EQ(x, 51);
    x = 7;
    CHECK_EQ(weft_chan_recv_try(&c, &x), -EAGAIN);
    CHECK_EQ(weft_chan_recv_until(&c, &x, weft_now() + 1000), -ETIMEDOUT);
    CHECK_EQ(weft_chan_len(&c), 0);
    CHECK_EQ(x, 7);
    CHECK_EQ(weft_chan_send_try(&none, &x), -EAGAIN);
    CHECK_EQ(weft_chan_recv_try(&none, &x), -EAGAIN);
    CHECK_EQ(weft_chan_send_until(&zero, NULL, 0), -ETIMEDOUT);
    CHECK_EQ(weft_chan_recv_until(&zero, NULL, 0), -ETIMEDOUT);
}
TEST(values) { each_size(values); }
TEST(values_without_a_runtime) { values(NULL); }

TEST(made_and_freed) {
    struct weft_chan *c = weft_chan_make(24, 5), *signals = weft_chan_make(0, 3), *none = weft_chan_make(8, 0);
    char item[24];
    CHECK(c && signals && none);
    CHECK_EQ(weft_chan_cap(c), 5);
    for (int round = 0; round < 3; round++) {
        for (char i = 0; i < 5; i++) {
            memset(item, 'a' + i, sizeof item);
            CHECK_EQ(weft_chan_send(c, item), 0);
        }
        for (char i = 0; i < 5; i++) {
            CHECK_EQ(weft_chan_recv(c, item), 0);
            CHECK_EQ(item[0], 'a' + i);
            CHECK_EQ(item[23], 'a' + i);
        }
    }
    for (int i = 0; i < 3; i++) CHECK_EQ(weft_chan_send(signals, NULL), 0);
    CHECK_EQ(weft_chan_send_try(signals, NULL), -EAGAIN);
    CHECK_EQ(weft_chan_len(signals), 3);
    for (int i = 0; i < 3; i++) CHECK_EQ(weft_chan_recv(signals, NULL), 0);
    CHECK_EQ(weft_chan_recv_try(signals, NULL), -EAGAIN);
    CHECK_EQ(weft_chan_free(c), 0);
    CHECK_EQ(weft_chan_free(signals), 0);
    CHECK_EQ(weft_chan_free(none), 0);
    CHECK_EQ(weft_chan_free(NULL), 0);
    CHECK(!weft_chan_make(1u << 20, 1u << 20));
    CHECK(!weft_chan_make(SIZE_MAX, 1));
    CHECK(!weft_chan_make(1, SIZE_MAX));
}

/* --- hand-over ------------------------------------------------------------------------------------------ */

static struct weft_chan in = WEFT_CHAN_INIT(sizeof(int)), out = WEFT_CHAN_INIT(sizeof(int));

static void *doubles(void *unused) {
    for (int x; weft_chan_recv(&in, &x) == 0;) CHECK_EQ(weft_chan_send(&out, &(int){2 * x}), 0);
    CHECK_EQ(weft_chan_close(&out), 0);
    return unused;
}
static void to_and_fro(void *unused) {
    in = out = (struct weft_chan)WEFT_CHAN_INIT(sizeof(int));
    struct weft_fiber f = spawn(doubles, NULL);
    for (int i = 0, x; i < (int)test_size(20000); i++) {
        CHECK_EQ(weft_chan_send(&in, &i), 0);
        CHECK_EQ(weft_chan_recv(&out, &x), 0);
        CHECK_EQ(x, 2 * i);
    }
    CHECK_EQ(weft_chan_close(&in), 0);
    CHECK_EQ(weft_chan_recv(&out, unused), -EPIPE);
    join(f);
}
TEST_WITHIN(to_and_fro, 60) { each_size(to_and_fro); }
TEST_WITHIN(to_and_fro_between_threads, 60) {
    pthread_t t = thread_start(doubles, NULL);
    for (int i = 0, x; i < (int)test_size(3000); i++) {
        CHECK_EQ(weft_chan_send(&in, &i), 0);
        CHECK_EQ(weft_chan_recv(&out, &x), 0);
        CHECK_EQ(x, 2 * i);
    }
    CHECK_EQ(weft_chan_close(&in), 0);
    thread_join(t);
}

/* --- order ---------------------------------------------------------------------------------------------- */

enum { LINE = 20 };
static struct weft_chan line = WEFT_CHAN_INIT(sizeof(int));
static int got[LINE];

static void *receives(void *number) {
    CHECK_EQ(weft_chan_recv(&line, &got[(intptr_t)number]), 0);
    return NULL;
}
static void *sends(void *number) {
    CHECK_EQ(weft_chan_send(&line, &(int){(int)(intptr_t)number}), 0);
    return NULL;
}

/* Odd numbers are threads. Each is in the chain before the next comes. */
static void stand_in_line(void *(*fn)(void *), struct weft_waiter **chain, struct weft_fiber *f, pthread_t *t) {
    for (intptr_t i = 0; i < LINE; i++) {
        if (i % 2)
            t[i] = thread_start(fn, (void *)i);
        else
            f[i] = spawn(fn, (void *)i);
        await_parties(&line, chain, (int)i + 1);
    }
}
static void all_return(struct weft_fiber *f, pthread_t *t) {
    for (int i = 0; i < LINE; i++) {
        if (i % 2)
            thread_join(t[i]);
        else
            join(f[i]);
    }
}

TEST(receivers_are_served_in_order) {
    test_start(2);
    struct weft_fiber f[LINE];
    pthread_t t[LINE];
    stand_in_line(receives, &line.receivers, f, t);
    for (int i = 0; i < LINE; i++) CHECK_EQ(weft_chan_send_try(&line, &(int){100 + i}), 0);
    CHECK_EQ(weft_chan_send_try(&line, &(int){0}), -EAGAIN);
    all_return(f, t);
    for (int i = 0; i < LINE; i++) CHECK_EQ(got[i], 100 + i);
    test_stop();
}

static void senders_in_order(struct weft_chan with) {
    test_start(2);
    struct weft_fiber f[LINE];
    pthread_t t[LINE];
    int x, first = -(int)with.capacity;
    line = with;
    for (int i = first; i < 0; i++) CHECK_EQ(weft_chan_send(&line, &i), 0);
    stand_in_line(sends, &line.senders, f, t);
    for (int i = first; i < LINE; i++) {
        CHECK_EQ(weft_chan_recv_try(&line, &x), 0);
        CHECK_EQ(x, i);
    }
    CHECK_EQ(weft_chan_recv_try(&line, &x), -EAGAIN);
    all_return(f, t);
    test_stop();
}
TEST(senders_are_served_in_order) { senders_in_order((struct weft_chan)WEFT_CHAN_INIT(sizeof(int))); }
TEST(senders_are_served_in_order_through_a_buffer) {
    int room[3];
    senders_in_order((struct weft_chan)WEFT_CHAN_BUFFERED(room));
}

/* --- closing -------------------------------------------------------------------------------------------- */

static void *expects_the_end(void *chan) {
    int x = 5;
    CHECK_EQ(weft_chan_recv(chan, &x), -EPIPE);
    CHECK_EQ(x, 5);
    return NULL;
}
static void *expects_no_taker(void *chan) {
    CHECK_EQ(weft_chan_send(chan, &(int){1}), -EPIPE);
    return NULL;
}

static void closing(void *unused) {
    (void)unused;
    int room[2], x;
    struct weft_chan c = WEFT_CHAN_INIT(sizeof(int)), b = WEFT_CHAN_BUFFERED(room);
    struct weft_fiber f[8];
    for (int i = 0; i < 4; i++) f[i] = spawn(expects_the_end, &c);
    await_parties(&c, &c.receivers, 4);
    CHECK_EQ(weft_chan_close(&c), 0);
    CHECK_EQ(weft_chan_close(&c), -EALREADY);
    CHECK_EQ(weft_chan_send(&c, &x), -EPIPE);
    CHECK_EQ(weft_chan_send_try(&c, &x), -EPIPE);
    CHECK_EQ(weft_chan_recv_try(&c, &x), -EPIPE);
    for (int i = 0; i < 4; i++) join(f[i]);

    for (int i = 0; i < 2; i++) CHECK_EQ(weft_chan_send(&b, &i), 0);
    for (int i = 0; i < 4; i++) f[i] = spawn(expects_no_taker, &b);
    await_parties(&b, &b.senders, 4);
    CHECK_EQ(weft_chan_close(&b), 0);
    CHECK_EQ(weft_chan_send_until(&b, &x, 0), -EPIPE);
    for (int i = 0; i < 2; i++) { /* what was sent before is still there */
        CHECK_EQ(weft_chan_recv(&b, &x), 0);
        CHECK_EQ(x, i);
    }
    CHECK_EQ(weft_chan_recv(&b, &x), -EPIPE);
    CHECK_EQ(weft_chan_recv_until(&b, &x, 0), -EPIPE);
    for (int i = 0; i < 4; i++) join(f[i]);
}
TEST(closing_wakes_all_waiters) { each_size(closing); }

/* --- leaving -------------------------------------------------------------------------------------------- */

static void *is_cancelled(void *chan) {
    int x = 5;
    CHECK_EQ(weft_chan_recv(chan, &x), -ECANCELED);
    CHECK_EQ(x, 5);
    CHECK_EQ(weft_chan_send(&out, &x), -ECANCELED);
    return NULL;
}
static void *is_late(void *chan) {
    int x = 5;
    CHECK_EQ(weft_chan_recv_until(chan, &x, weft_now() + WEFT_MILLISECOND), -ETIMEDOUT);
    CHECK_EQ(weft_chan_send_until(&out, &x, weft_now() + WEFT_MILLISECOND), -ETIMEDOUT);
    return NULL;
}
/* A cancelled receiver, a receiver whose deadline has passed and a receiver without a deadline wait together. The last
 * gets the item. */
static void leaving(void *unused) {
    (void)unused;
    line = out = (struct weft_chan)WEFT_CHAN_INIT(sizeof(int));
    struct weft_fiber cancelled = spawn(is_cancelled, &line);
    await_parties(&line, &line.receivers, 1);
    struct weft_fiber late = spawn(is_late, &line), stays = spawn(receives, (void *)3);
    join(late);
    weft_cancel(cancelled);
    join(cancelled);
    CHECK_EQ(weft_chan_send(&line, &(int){33}), 0);
    join(stays);
    CHECK_EQ(got[3], 33);
    CHECK(!line.receivers && !line.senders && !out.senders);
    CHECK_EQ(weft_chan_recv_try(&line, NULL), -EAGAIN);
}
TEST(a_leaving_waiter_has_taken_nothing) { each_size(leaving); }

static void *takes_what_is_there(void *unused) {
    int room[1] = {0}, x;
    struct weft_chan c = WEFT_CHAN_BUFFERED(room);
    weft_cancel(weft_self());
    CHECK_EQ(weft_chan_send(&c, &(int){4}), 0);
    CHECK_EQ(weft_chan_send(&c, &(int){5}), -ECANCELED);
    CHECK_EQ(weft_chan_recv(&c, &x), 0);
    CHECK_EQ(x, 4);
    CHECK_EQ(weft_chan_recv(&c, &x), -ECANCELED);
    CHECK_EQ(weft_chan_close(&c), 0);
    CHECK_EQ(weft_chan_recv(&c, &x), -EPIPE);
    return unused;
}
TEST(a_cancelled_fiber_takes_an_item_that_is_there) {
    test_start(1);
    join(spawn(takes_what_is_there, NULL));
    test_stop();
}

/* --- memory ---------------------------------------------------------------------------------------------- */

static void *sends_once(void *chan) {
    CHECK_EQ(weft_chan_send(chan, &(int){9}), 0);
    return NULL;
}
TEST_WITHIN(freed_when_the_receive_has_returned, 60) {
    test_start(2);
    for (size_t i = test_size(3000); i > 0; i--) {
        int x = 0, room[1];
        struct weft_chan plain = WEFT_CHAN_INIT(sizeof(int)), buffered = WEFT_CHAN_BUFFERED(room);
        struct weft_chan *c = i % 2 ? &plain : &buffered;
        spawn_detached(sends_once, c);
        CHECK_EQ(weft_chan_recv(c, &x), 0);
        CHECK_EQ(x, 9);
        memset(c, 0xff, sizeof *c);
    }
    test_stop();
}

static void *waits_there(void *chan) {
    CHECK_EQ(weft_chan_recv(chan, NULL), -EPIPE);
    return NULL;
}
TEST(not_freed_while_a_fiber_waits) {
    test_start(2);
    struct weft_chan *c = weft_chan_make(4, 4), none = WEFT_CHAN_INIT(4);
    struct weft_fiber f = spawn(waits_there, c);
    await_parties(c, &c->receivers, 1);
    CHECK_EQ(weft_chan_free(c), -EBUSY);
    CHECK_EQ(weft_chan_close(c), 0);
    join(f);
    CHECK_EQ(weft_chan_free(c), 0);
    CHECK_EQ(weft_chan_free(&none), -EINVAL);
    test_stop();
}

/* --- many ------------------------------------------------------------------------------------------------ */

enum { MAKERS = 6, USERS = 5 };
static struct weft_chan *market;
static size_t each;
static uint8_t *seen;
static uint64_t last_of[USERS][MAKERS];

static void *makes(void *number) {
    uint64_t base = (uintptr_t)number * each;
    for (uint64_t i = 0; i < each; i++) CHECK_EQ(weft_chan_send(market, &(uint64_t){base + i}), 0);
    return NULL;
}
static void *uses(void *number) {
    uintptr_t me = (uintptr_t)number;
    for (uint64_t x; weft_chan_recv(market, &x) == 0;) {
        CHECK_EQ(ADD(&seen[x], 1), 0);
        CHECK(last_of[me][x / each] <= x % each); /* of one sender, in order */
        last_of[me][x / each] = x % each;
    }
    return NULL;
}
static void many_to_many(size_t capacity) {
    test_start(3);
    each = test_size(8000);
    market = weft_chan_make(8, capacity);
    seen = calloc(MAKERS * each, 1);
    memset(last_of, 0, sizeof last_of);
    struct weft_fiber m[MAKERS], u[USERS];
    for (uintptr_t i = 0; i < USERS - 1; i++) u[i] = spawn(uses, (void *)i);
    for (uintptr_t i = 0; i < MAKERS - 1; i++) m[i] = spawn(makes, (void *)i);
    pthread_t user = thread_start(uses, (void *)(uintptr_t)(USERS - 1));
    pthread_t maker = thread_start(makes, (void *)(uintptr_t)(MAKERS - 1));
    for (int i = 0; i < MAKERS - 1; i++) join(m[i]);
    thread_join(maker);
    CHECK_EQ(weft_chan_close(market), 0);
    for (int i = 0; i < USERS - 1; i++) join(u[i]);
    thread_join(user);
    for (size_t i = 0; i < MAKERS * each; i++) CHECK_EQ(seen[i], 1);
    free(seen);
    CHECK_EQ(weft_chan_free(market), 0);
    test_stop();
}
TEST_WITHIN(many_to_many_without_a_buffer, 60) { many_to_many(0); }
TEST_WITHIN(many_to_many_with_room_for_one, 60) { many_to_many(1); }
TEST_WITHIN(many_to_many_with_room_for_a_hundred, 60) { many_to_many(100); }

/* Two fibers send all the time and two receive. None of the four waits for ever. */
static int stop_now;
static void *sends_all_the_time(void *count) {
    while (!weft_chan_send(&line, &(int){0})) ADD((uint64_t *)count, 1);
    return NULL;
}
static void *receives_all_the_time(void *count) {
    while (!LOAD(&stop_now) && !weft_chan_recv(&line, NULL)) ADD((uint64_t *)count, 1);
    CHECK_EQ(weft_chan_close(&line) % EALREADY, 0);
    return NULL;
}
static void no_fiber_starves(void *unused) {
    (void)unused;
    static int room[4];
    static uint64_t count[4][16];
    struct weft_fiber f[4];
    line = (struct weft_chan)WEFT_CHAN_BUFFERED(room);
    STORE(&stop_now, 0);
    memset(count, 0, sizeof count);
    for (int i = 0; i < 4; i++) f[i] = spawn(i % 2 ? sends_all_the_time : receives_all_the_time, count[i]);
    for (int i = 0; i < 4; i++)
        while (LOAD(count[i]) < 1000) CHECK_EQ(weft_sleep_for(WEFT_MILLISECOND), 0);
    STORE(&stop_now, 1);
    for (int i = 0; i < 4; i++) join(f[i]);
}
TEST(no_fiber_starves) { each_size(no_fiber_starves); }
