/* SPDX-License-Identifier: MIT */
/*
 * The timer wheel under a clock that jumps: never early, late by less than a tick, exactly once.
 *
 * The model is an array of deadlines. After the wheel was brought to a time `now`, it must have
 * returned all timers with a tick that has begun by then, and none with a deadline still ahead.
 */
#include "../test.h"

#include "driver/wheel.h"

#include <stdlib.h>
#include <string.h>

#define TICK (UINT64_C(1) << WEFT_WHEEL_TICK_LOG)

struct timer {
    struct weft__timer t;
    uint64_t deadline;
    enum { IDLE, ARMED, FIRED, CANCELLED } state;
};

static void nothing(void *arg) { (void)arg; }

static struct weft__due due_of(struct timer *t) { return (struct weft__due){nothing, t, t->deadline ^ 0x5a5a}; }

static void arm(struct weft__wheel *w, struct timer *t, uint64_t deadline) {
    t->deadline = deadline;
    t->state = ARMED;
    uint64_t before = weft__wheel_next(w);
    int earliest = weft__wheel_arm(w, &t->t, deadline, due_of(t));
    CHECK_EQ(earliest, weft__wheel_next(w) < before);
    CHECK(weft__wheel_next(w) <= (deadline + TICK < deadline ? UINT64_MAX : deadline + TICK));
}

/* Brings the wheel to `now`, n at a time, and checks every timer that comes out. */
static size_t expire_n(struct weft__wheel *w, uint64_t now, unsigned n) {
    struct weft__due due[256];
    size_t all = 0;
    uint64_t left = WEFT_WHEEL_LOOK;
    unsigned k;
    do {
        k = weft__wheel_expire(w, now, due, n, &left);
        CHECK(k <= n);
        for (unsigned i = 0; i < k; i++) {
            struct timer *t = due[i].arg;
            CHECK_EQ(t->state, ARMED);
            CHECK(due[i].fn == nothing);
            CHECK(due[i].ticket == (t->deadline ^ 0x5a5a));
            CHECK(!load_rlx(&t->t.wheel));
            /* The last tick has no end, so its deadlines cannot be rounded up. */
            CHECK(t->deadline <= now || t->deadline > UINT64_MAX - TICK);
            t->state = FIRED;
        }
        all += k;
    } while (k == n);
    return all;
}

static size_t expire(struct weft__wheel *w, uint64_t now) { return expire_n(w, now, 64); }

/* No remaining timer is late by a tick or more, and `next` is not later than any of them. */
static void check_rest(struct weft__wheel *w, struct timer *t, size_t n, uint64_t now) {
    size_t armed = 0;
    for (size_t i = 0; i < n; i++) {
        if (t[i].state != ARMED) continue;
        armed++;
        CHECK(t[i].deadline > now || now - t[i].deadline < TICK);
        /* It is not after the tick in which the deadline has passed. */
        CHECK(weft__wheel_next(w) <= t[i].deadline || weft__wheel_next(w) - t[i].deadline < TICK);
    }
    CHECK_EQ(load_rlx(&w->armed), armed);
}

TEST(an_empty_wheel_has_nothing) {
    struct weft__wheel w;
    weft__wheel_init(&w, 123456789);
    CHECK(weft__wheel_next(&w) == WEFT_FOREVER);
    CHECK_EQ(expire(&w, 123456789), 0);
    CHECK_EQ(expire(&w, WEFT_FOREVER), 0);
    CHECK(weft__wheel_next(&w) == WEFT_FOREVER);
}

TEST(never_early_and_late_by_less_than_a_tick) {
    /* Deadlines around the edges of a tick, from clocks around the edges of a tick. */
    static const int64_t edge[] = {-1, 0, 1, 17};
    for (unsigned s = 0; s < 4; s++)
        for (unsigned d = 0; d < 4; d++)
            for (uint64_t ahead = 0; ahead < 200; ahead += 7) {
                struct weft__wheel w;
                struct timer t = {.state = IDLE};
                uint64_t start = 1000 * TICK + (uint64_t)edge[s], deadline = start + ahead * TICK + (uint64_t)edge[d];
                weft__wheel_init(&w, start);
                arm(&w, &t, deadline);
                if (deadline > start) CHECK_EQ(expire(&w, deadline - 1), 0);
                CHECK_EQ(expire(&w, deadline + TICK - 1), 1);
                CHECK_EQ(expire(&w, deadline + 2 * TICK), 0);
                CHECK(weft__wheel_next(&w) == WEFT_FOREVER);
            }
}

/* 64^l ticks ahead, and one less and one more, for every level; from starts just before each carry. */
static void one_per_level(bool jump) {
    for (unsigned from = 0; from < WEFT_WHEEL_LEVELS; from++)
        for (unsigned level = 0; level < WEFT_WHEEL_LEVELS; level++)
            for (int64_t off = -2; off <= 2; off++) {
                uint64_t start = ((UINT64_C(1) << (6 * from % 52)) * TICK) - TICK + 5;
                uint64_t span = (UINT64_C(1) << (6 * level)) + (uint64_t)off;
                if (6 * level >= 51 || start + span * TICK < start) continue;
                struct weft__wheel w;
                struct timer t = {.state = IDLE};
                weft__wheel_init(&w, start);
                arm(&w, &t, start + span * TICK);
                if (off == -2 && !level) continue; /* in the past */
                if (jump) {
                    CHECK_EQ(expire(&w, t.deadline + TICK - 1), 1);
                    continue;
                }
                /* Follows the times for which the wheel asks: they must approach the deadline, and end. */
                unsigned looks = 0;
                while (t.state == ARMED) {
                    uint64_t next = weft__wheel_next(&w);
                    CHECK(next <= (t.deadline + TICK - 1) / TICK * TICK);
                    expire(&w, next);
                    CHECK(++looks <= WEFT_WHEEL_LEVELS + 1);
                }
            }
}
TEST(every_level_by_jumping) { one_per_level(true); }
TEST(every_level_by_following_next) { one_per_level(false); }

TEST(zero_past_and_almost_for_ever) {
    struct weft__wheel w;
    struct timer t[5] = {{.state = IDLE}};
    uint64_t now = 77 * TICK + 9;
    weft__wheel_init(&w, now);
    arm(&w, &t[0], 0);
    CHECK(weft__wheel_next(&w) == 0);
    arm(&w, &t[1], now - TICK);
    arm(&w, &t[2], now);
    arm(&w, &t[3], WEFT_FOREVER - 1);
    arm(&w, &t[4], WEFT_FOREVER - TICK);
    CHECK_EQ(expire(&w, now), 2); /* its own deadline is a tick's part away */
    CHECK_EQ(expire(&w, now + TICK), 1);
    CHECK_EQ(t[2].state, FIRED);
    CHECK_EQ(expire(&w, WEFT_FOREVER - 2 * TICK), 0);
    CHECK_EQ(expire(&w, WEFT_FOREVER), 2);
    CHECK_EQ(load_rlx(&w.armed), 0);
}

TEST(a_clock_that_stands_or_goes_back_is_harmless) {
    struct weft__wheel w;
    struct timer t[2] = {{.state = IDLE}};
    weft__wheel_init(&w, 1000 * TICK);
    arm(&w, &t[0], 1010 * TICK);
    arm(&w, &t[1], 5000 * TICK);
    CHECK_EQ(expire(&w, 1010 * TICK), 1);
    CHECK_EQ(expire(&w, 900 * TICK), 0);
    CHECK_EQ(expire(&w, 4999 * TICK), 0);
    CHECK_EQ(expire(&w, 5000 * TICK), 1);
}

TEST(cancelled_timers_do_not_fire) {
    struct weft__wheel w;
    struct timer t[3] = {{.state = IDLE}};
    weft__wheel_init(&w, 0);
    CHECK(!weft__wheel_cancel(&t[0].t));                         /* never armed */
    for (unsigned i = 0; i < 3; i++) arm(&w, &t[i], 100 * TICK); /* one slot: first, middle, last of a chain */
    CHECK(weft__wheel_cancel(&t[1].t));
    CHECK(!weft__wheel_cancel(&t[1].t));
    t[1].state = CANCELLED;
    CHECK_EQ(expire(&w, 100 * TICK), 2);
    CHECK(!weft__wheel_cancel(&t[0].t));
    arm(&w, &t[1], 50 * TICK); /* in the past by now; armed anew */
    CHECK(weft__wheel_cancel(&t[1].t));
    CHECK_EQ(load_rlx(&w.armed), 0);
}

/* The timers of a closed wheel were not handed out, and report that. No timer can be armed in it until it is opened. */
TEST(closing_drops_all) {
    struct weft__wheel w;
    static struct timer t[200];
    weft__wheel_init(&w, 1000 * TICK);
    for (uint64_t i = 0; i < 200; i++) arm(&w, &t[i], i < 10 ? 0 : (1000 + (i * i * i)) * TICK);
    weft__wheel_close(&w);
    CHECK_EQ(load_rlx(&w.armed), 0);
    CHECK(weft__wheel_next(&w) == WEFT_FOREVER);
    CHECK_EQ(expire(&w, WEFT_FOREVER), 0);
    for (unsigned i = 0; i < 200; i++) CHECK(!weft__timer_is_armed(&t[i].t));
    for (unsigned i = 0; i < 100; i++) CHECK(weft__wheel_cancel(&t[i].t)); /* it was not called, said once */
    for (unsigned i = 0; i < 100; i++) CHECK(!weft__wheel_cancel(&t[i].t));
    CHECK_EQ(weft__wheel_arm(&w, &t[0].t, 0, due_of(&t[0])), -ESRCH);
    CHECK(!weft__timer_is_armed(&t[0].t));
    weft__wheel_open(&w);
    for (unsigned i = 0; i < 200; i++) arm(&w, &t[i], 0); /* dropped or cancelled: it can be used again */
    CHECK_EQ(expire(&w, WEFT_FOREVER), 200);
}

/* Moved timers expire in the other wheel. Timers that are cancelled there do not expire. */
TEST(moved_to_another_wheel) {
    struct weft__wheel from, to;
    static struct timer t[200];
    weft__wheel_init(&from, 1000 * TICK);
    weft__wheel_init(&to, 2000 * TICK);
    for (uint64_t i = 0; i < 200; i++) {
        t[i].t.idle = i % 4 == 0;
        arm(&from, &t[i], i < 10 ? 0 : (1000 + (i * i)) * TICK);
    }
    CHECK_EQ(load_rlx(&from.armed), 150);
    weft__wheel_move(&from, &to);
    CHECK_EQ(load_rlx(&from.armed), 0);
    CHECK(weft__wheel_next(&from) == WEFT_FOREVER);
    CHECK_EQ(load_rlx(&to.armed), 150);
    CHECK(weft__wheel_next(&to) == 0);
    CHECK(weft__wheel_cancel(&t[199].t));
    CHECK_EQ(expire(&to, 3000 * TICK), 45); /* 1000 + 44 * 44 */
    CHECK_EQ(load_rlx(&to.armed), 150 - 1 - 33);
    weft__wheel_close(&to);
    CHECK(weft__wheel_cancel(&t[198].t));
    CHECK(!weft__wheel_cancel(&t[44].t)); /* it was handed out */
    CHECK(!weft__wheel_cancel(&t[199].t));
}

/* A stop closes the wheels while a cluster ends, which hands its timers on: they are dropped, like all others. */
TEST(moved_to_a_closed_wheel) {
    struct weft__wheel from, to;
    static struct timer t[100];
    weft__wheel_init(&from, 1000 * TICK);
    weft__wheel_init(&to, 1000 * TICK);
    for (uint64_t i = 0; i < 100; i++) arm(&from, &t[i], i < 10 ? 0 : (1000 + i * i) * TICK);
    weft__wheel_close(&to);
    weft__wheel_move(&from, &to);
    CHECK_EQ(load_rlx(&from.armed), 0);
    CHECK_EQ(load_rlx(&to.armed), 0);
    CHECK(weft__wheel_next(&to) == WEFT_FOREVER);
    for (unsigned i = 0; i < 100; i++) CHECK(!weft__timer_is_armed(&t[i].t));
    weft__wheel_open(&to);
    CHECK_EQ(expire(&to, WEFT_FOREVER), 0);
    for (unsigned i = 0; i < 100; i++) CHECK(weft__wheel_cancel(&t[i].t));
    for (unsigned i = 0; i < 100; i++) CHECK(!weft__wheel_cancel(&t[i].t));
}

/* A timer that is armed for the past while a look hands out timers comes with the next look, after the older timers. */
TEST(a_look_ends) {
    enum { N = 300 };
    static struct timer t[N], *order[N];
    struct weft__wheel w;
    struct weft__due due[64];
    weft__wheel_init(&w, 0);
    for (size_t i = 0; i < N; i++) arm(&w, &t[i], i / 2 * TICK);
    for (unsigned look = 0; look < 10; look++) {
        uint64_t left = WEFT_WHEEL_LOOK;
        size_t all = 0;
        for (unsigned k = 64; k == 64; all += k) {
            k = weft__wheel_expire(&w, N * TICK, due, 64, &left);
            for (unsigned i = 0; i < k; i++) {
                if (!look) order[all + i] = due[i].arg;
                CHECK(due[i].arg == order[all + i]); /* as they were armed */
                arm(&w, due[i].arg, 0);
            }
        }
        CHECK_EQ(all, N);
        CHECK(weft__wheel_next(&w) == 0);
    }
}

/* Timers are handed out in small batches. Between two batches some overdue timers are cancelled. */
TEST(small_batches) {
    enum { N = 1000 };
    static struct timer t[N];
    struct weft__wheel w;
    struct weft__due due[3];
    size_t fired = 0, cancelled = 0;
    uint64_t left = WEFT_WHEEL_LOOK;
    weft__wheel_init(&w, 0);
    for (size_t i = 0; i < N; i++) arm(&w, &t[i], (i * 37 % 5000) * TICK);
    for (size_t i = 0;; i++) {
        unsigned k = weft__wheel_expire(&w, 6000 * TICK, due, 3, &left);
        for (unsigned j = 0; j < k; j++) {
            struct timer *one = due[j].arg;
            CHECK_EQ(one->state, ARMED);
            one->state = FIRED;
        }
        fired += k;
        if (k < 3) break;
        CHECK(weft__wheel_next(&w) == 0 || fired + cancelled == N);
        struct timer *victim = &t[i * 13 % N];
        CHECK_EQ(weft__wheel_cancel(&victim->t), victim->state == ARMED);
        if (victim->state == ARMED) {
            victim->state = CANCELLED;
            cancelled++;
        }
    }
    CHECK_EQ(fired + cancelled, N);
    CHECK(cancelled > 50);
    CHECK_EQ(load_rlx(&w.armed), 0);
}

/* A random distance. Every order of magnitude is equally likely. */
static uint64_t some_distance(uint64_t *random) {
    uint64_t bits = test_below(random, 50);
    return test_random(random) & ((UINT64_C(1) << bits) - 1);
}

TEST_WITHIN(random_arm_cancel_and_jumps_against_a_model, 60) {
    enum { N = 300 };
    static struct timer t[N];
    for (uint64_t seed = 1; seed <= test_size(40); seed++) {
        uint64_t random = seed, now = test_random(&random) >> (1 + test_below(&random, 40));
        struct weft__wheel w;
        memset(t, 0, sizeof t);
        weft__wheel_init(&w, now);
        for (unsigned step = 0; step < 3000; step++) {
            struct timer *one = &t[test_below(&random, N)];
            switch (test_below(&random, 8)) {
            case 0:
            case 1:
            case 2:
            case 3:
                if (one->state != ARMED) arm(&w, one, now + some_distance(&random));
                break;
            case 4:
            case 5:
                CHECK_EQ(weft__wheel_cancel(&one->t), one->state == ARMED);
                if (one->state == ARMED) one->state = CANCELLED;
                break;
            case 6:
                now += some_distance(&random) >> 8;
                expire_n(&w, now, 1 + (unsigned)test_below(&random, 64));
                break;
            case 7: /* exactly to what the wheel asks for */
                if (weft__wheel_next(&w) == WEFT_FOREVER) break;
                if (weft__wheel_next(&w) > now) now = weft__wheel_next(&w);
                expire(&w, now);
                break;
            }
            if (step % 16 == 0) check_rest(&w, t, N, now);
        }
        expire(&w, WEFT_FOREVER);
        for (size_t i = 0; i < N; i++) CHECK(t[i].state != ARMED);
        CHECK(weft__wheel_next(&w) == WEFT_FOREVER);
    }
}

TEST_WITHIN(a_million_armed, 60) {
    size_t n = test_size(1000000), cancelled = 0, fired = 0;
    struct timer *t = calloc(n, sizeof *t);
    struct weft__wheel w;
    uint64_t random = 5, now = 0;
    CHECK(t);
    weft__wheel_init(&w, 0);
    for (size_t i = 0; i < n; i++) arm(&w, &t[i], 1 + some_distance(&random) % (3600 * WEFT_SECOND));
    CHECK_EQ(load_rlx(&w.armed), n);
    for (size_t i = 0; i < n; i += 3) {
        CHECK(weft__wheel_cancel(&t[i].t));
        t[i].state = CANCELLED;
        cancelled++;
    }
    while (weft__wheel_next(&w) != WEFT_FOREVER) {
        now = weft__wheel_next(&w) > now ? weft__wheel_next(&w) : now;
        now += test_below(&random, 1000 * TICK);
        fired += expire(&w, now);
    }
    CHECK_EQ(fired + cancelled, n);
    free(t);
}
