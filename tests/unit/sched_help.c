/* SPDX-License-Identifier: MIT */
/* The rule by which a busy worker helps another, and how often it looks. */
#include "../test.h"

#include "sched/balance/help_rule.h"

#define US 1000

static struct weft__view queue(uint64_t waited, uint64_t average, uint64_t length) {
    return (struct weft__view){waited, average, length};
}

static uint64_t help(struct weft__view mine, struct weft__view theirs) { return weft__help(&mine, &theirs); }

TEST(queues_that_are_even_are_left_alone) {
    CHECK(help(queue(0, 2 * US, 100), queue(0, 2 * US, 100)) == 0);
    CHECK(help(queue(0, 2 * US, 100), queue(10 * US, 2 * US, 110)) == 0);
    CHECK(help(queue(0, 5000 * US, 50000), queue(7000 * US, 5000 * US, 50000)) == 0);
}

TEST(a_queue_that_waits_longer_is_helped) {
    CHECK(help(queue(0, 2 * US, 100), queue(30 * US, 2 * US, 100)) == 13);
    CHECK(help(queue(0, 2 * US, 100), queue(60 * US, 2 * US, 100)) == 100);
    CHECK(help(queue(0, 2 * US, 1), queue(30 * US, 2 * US, 1)) == 1);
}

TEST(half_of_what_a_queue_is_longer_is_taken) {
    CHECK(help(queue(0, 2 * US, 100), queue(0, 4 * US, 200)) == 50);
    CHECK(help(queue(0, 4 * US, 100), queue(0, 2 * US, 200)) == 0);
}

TEST(looks_become_rarer_while_all_is_even) {
    uint64_t pause = weft__help_pause(0, true);
    CHECK(pause == WEFT_HELP_PAUSE);
    CHECK((pause = weft__help_pause(pause, true)) == 2 * WEFT_HELP_PAUSE);
    for (int i = 0; i < 100; i++) pause = weft__help_pause(pause, true);
    CHECK(pause == WEFT_HELP_PAUSE_MOST);
    CHECK(weft__help_pause(pause, false) == WEFT_HELP_PAUSE);
    CHECK(weft__help_pause(0, false) == WEFT_HELP_PAUSE);
}

/* A queue in which fibers begin to wait is visited before they are late: no pause is longer than the slack. */
TEST(a_look_comes_before_a_queue_is_late) { CHECK(WEFT_HELP_PAUSE_MOST < WEFT_HELP_SLACK); }

TEST(a_worker_that_looks_seldom_looks_at_more) {
    CHECK(weft__help_looks(0, 100) == 1);
    CHECK(weft__help_looks(WEFT_HELP_PAUSE_MOST, 100) == 1 + WEFT_HELP_PAUSE_MOST / WEFT_HELP_INTERVAL);
    CHECK(weft__help_looks(WEFT_HELP_PAUSE_MOST, 1) == 1);
    CHECK(weft__help_looks(1000000, 100) == WEFT_HELP_LOOKS);
}
