/* SPDX-License-Identifier: MIT */
/* The configuration: first the fields, then the environment, then defaults. A wrong value is reported once. */
#include "../test.h"

#include "sched/control/config.h"
#include "sched/elastic/cpu_quota.h"

#include <stdio.h>
#include <stdlib.h>

static void clear(void) {
    static const char *const names[] = {"WEFT_WORKERS", "WEFT_STACK_SIZE", "WEFT_STEALING",
                                        "WEFT_GUARDS",  "WEFT_DEADLOCK",   "WEFT_STATS"};
    for (unsigned i = 0; i < sizeof names / sizeof *names; i++) unsetenv(names[i]);
}

static bool automatic; /* of the last one */
static int complete(struct weft_config *c) { return weft__config_complete(c, &automatic); }

TEST(defaults) {
    struct weft_config c = WEFT_CONFIG_INIT;
    clear();
    CHECK_EQ(complete(&c), 0);
    CHECK(automatic);
    CHECK_EQ(c.workers, weft__default_workers());
    CHECK_EQ(c.stack_size, 128 * 1024);
    CHECK_EQ(c.no_stealing, 0);
    CHECK_EQ(c.no_guards, 0);
    CHECK_EQ(c.no_deadlock, 0);
    CHECK_EQ(c.stats, 0);
}

TEST(the_environment_fills_in) {
    struct weft_config c = WEFT_CONFIG_INIT;
    setenv("WEFT_WORKERS", "7", 1);
    setenv("WEFT_STACK_SIZE", "0x10000", 1);
    setenv("WEFT_STEALING", "0", 1);
    setenv("WEFT_GUARDS", "0", 1);
    setenv("WEFT_DEADLOCK", "0", 1);
    setenv("WEFT_STATS", "1", 1);
    CHECK_EQ(complete(&c), 0);
    CHECK_EQ(c.workers, 7);
    CHECK_EQ(c.stack_size, 65536);
    CHECK_EQ(c.no_stealing, 1);
    CHECK_EQ(c.no_guards, 1);
    CHECK_EQ(c.no_deadlock, 1);
    CHECK_EQ(c.stats, 1);
}

TEST(a_deadlock_may_end_hang_or_abort_the_program) {
    static const struct {
        const char *text;
        unsigned is;
    } all[] = {{"0", 1}, {"1", 0}, {"2", 2}, {"3", 3}, {"4", 0}};
    for (unsigned i = 0; i < 5; i++) {
        struct weft_config c = WEFT_CONFIG_INIT, given = {.no_deadlock = 1};
        setenv("WEFT_DEADLOCK", all[i].text, 1);
        CHECK_EQ(complete(&c), 0);
        CHECK_EQ(c.no_deadlock, all[i].is);
        CHECK_EQ(complete(&given), 0);
        CHECK_EQ(given.no_deadlock, 1);
    }
}

TEST(what_was_given_wins) {
    struct weft_config c = {.workers = 3, .stack_size = 20000, .no_stealing = 1, .no_guards = 1, .stats = 1};
    setenv("WEFT_WORKERS", "7", 1);
    setenv("WEFT_STACK_SIZE", "1048576", 1);
    setenv("WEFT_STEALING", "1", 1);
    setenv("WEFT_GUARDS", "1", 1);
    setenv("WEFT_STATS", "0", 1);
    CHECK_EQ(complete(&c), 0);
    CHECK_EQ(c.workers, 3);
    CHECK_EQ(c.stack_size, 20000);
    CHECK_EQ(c.no_stealing, 1);
    CHECK_EQ(c.no_guards, 1);
    CHECK_EQ(c.stats, 1);
}

TEST(empty_is_as_if_unset) {
    struct weft_config c = WEFT_CONFIG_INIT;
    clear();
    setenv("WEFT_WORKERS", "", 1);
    CHECK_EQ(complete(&c), 0);
    CHECK_EQ(c.workers, weft__default_workers());
}

static void complete_bad(void *arg) {
    const char *const *bad = arg;
    struct weft_config c = WEFT_CONFIG_INIT;
    clear();
    setenv(bad[0], bad[1], 1);
    CHECK_EQ(complete(&c), 0);
    CHECK_EQ(c.workers, weft__default_workers());
    CHECK_EQ(c.stack_size, 128 * 1024);
    CHECK_EQ(c.no_stealing | c.no_guards | c.stats, 0);
}

TEST_WITHIN(nonsense_in_the_environment_is_said_and_ignored, 60) {
    static const char *const bad[][2] = {
        {"WEFT_WORKERS", "0"},
        {"WEFT_WORKERS", "-1"},
        {"WEFT_WORKERS", " -1"},
        {"WEFT_WORKERS", "1025"},
        {"WEFT_WORKERS", "two"},
        {"WEFT_WORKERS", "2x"},
        {"WEFT_WORKERS", "99999999999999999999999"},
        {"WEFT_WORKERS", "4294967297"},
        {"WEFT_STACK_SIZE", "0"},
        {"WEFT_STACK_SIZE", "128k"},
        {"WEFT_STACK_SIZE", "67108865"},
        {"WEFT_STACK_SIZE", "18446744073709551617"},
        {"WEFT_STEALING", "yes"},
        {"WEFT_STEALING", "2"},
        {"WEFT_GUARDS", "off"},
        {"WEFT_STATS", "3"},
    };
    static struct test_child child;
    for (unsigned i = 0; i < sizeof bad / sizeof *bad; i++) {
        test_child(&child, complete_bad, (void *)(uintptr_t)bad[i]);
        if (!test_child_exited(&child, 0)) test_fail(__FILE__, __LINE__, "%s=%s: %s", bad[i][0], bad[i][1], child.said);
        CHECK_EQ(test_lines_with(child.said, "weft: "), 1);
        CHECK_HAS(child.said, bad[i][0]);
        CHECK_HAS(child.said, bad[i][1]);
    }
}

TEST(fields_out_of_range_are_the_programs_error) {
    struct weft_config many = {.workers = WEFT_WORKERS_MAX + 1}, large = {.stack_size = ((size_t)64 << 20) + 1};
    struct weft_config most = {.workers = WEFT_WORKERS_MAX, .stack_size = (size_t)64 << 20};
    clear();
    CHECK_EQ(complete(&many), -EINVAL);
    CHECK_EQ(complete(&large), -EINVAL);
    CHECK_EQ(complete(&most), 0);
    CHECK_EQ(weft_start(&large), -EINVAL);
    CHECK_EQ(weft_start(&(struct weft_config){.workers = UINT32_MAX}), -EINVAL);
    CHECK_EQ(weft_workers(), 0);
}

/* From end to end: the variables reach a runtime. */
TEST(a_runtime_by_the_environment) {
    clear();
    setenv("WEFT_WORKERS", "5", 1);
    CHECK_EQ(weft_start(NULL), 0);
    CHECK_EQ(weft_workers(), 5);
    test_stop();
}

static void with_stats(void *unused) {
    (void)unused;
    clear();
    setenv("WEFT_STATS", "1", 1);
    test_start(2);
    test_stop();
}

TEST(statistics_at_the_stop) {
    static struct test_child child;
    test_child(&child, with_stats, NULL);
    CHECK(test_child_exited(&child, 0));
    CHECK_HAS(child.said, "spawned");
    CHECK_HAS(child.said, "worker 0");
    CHECK_HAS(child.said, "worker 1");
    CHECK_HAS(child.said, "all");
}
