/* SPDX-License-Identifier: MIT */
/*
 * Calls that need much stack, on the smallest stack. Each fiber fills the free part of its stack with a pattern, makes
 * its call, and checks how deep the call went. An eighth must be left for the caller. An overflow would end the
 * program.
 */
#define _GNU_SOURCE
#include "fiber.h"

#include "sched/core/self.h"
#include "weft/io.h"
#include "weft/par.h"
#include "weft/poll.h"

#include <linux/io_uring.h>
#include <netdb.h>
#include <poll.h>
#include <stdio.h>
#include <unistd.h>

#define SMALLEST 16384
#define PAINT 0x5a

struct call {
    const char *name;
    void (*fn)(void);
};

/* Not inlined: the frame of the call must begin where the frame of this function began. */
__attribute__((noinline)) static char *paint(const struct weft__stack *s) {
    char *end = (char *)(uintptr_t)weft__stack_pointer() - 256; /* leaves the frame of this function unchanged */
    for (volatile char *p = s->low; p < end; p++) *p = PAINT;
    return end;
}
static void *call_it(void *p) {
    struct call *call = p;
    const struct weft__stack *s = load_rlx(&weft__self()->current)->stack;
    const char *end = paint(s), *deepest = s->low;
    call->fn();
    if (s != load_rlx(&weft__self()->current)->stack) test_fail(__FILE__, __LINE__, "another stack?");
    while (deepest < end && *deepest == PAINT) deepest++;
    if (deepest - s->low < SMALLEST / 8)
        test_fail(__FILE__, __LINE__, "%s leaves %d bytes of a stack of %d", call->name, (int)(deepest - s->low),
                  SMALLEST);
    return NULL;
}

/* --- the calls --------------------------------------------------------------------------------------------------- */

static void create_by_default(void) {
    struct weft_cluster c;
    CHECK_EQ(weft_cluster_create(&c, NULL), 0);
    CHECK_EQ(weft_cluster_drain(c), 0);
    CHECK_EQ(weft_cluster_destroy(c), 0);
}
static void create_per_node(void) {
    struct weft_cluster c[4];
    int n = weft_cluster_per_node(c, 4, NULL);
    CHECK(n > 0);
    for (int i = 0; i < n; i++) CHECK_EQ(weft_cluster_destroy(c[i]), 0);
}
static void resize_by_default(void) { CHECK_EQ(weft_cluster_resize((struct weft_cluster){0}, 0), 0); }
static void *same(void *arg) { return arg; }
static void spawn_on_node(void) { join(spawn_with(&(struct weft_attr){.node = 1}, same, NULL)); }
static void spawn_many(void) {
    struct weft_fiber f[300]; /* more than the available stacks and records */
    for (int i = 0; i < 300; i++)
        f[i] = spawn_with(&(struct weft_attr){.stack_size = (size_t)SMALLEST << i % 6}, same, NULL);
    for (int i = 0; i < 300; i++) join(f[i]);
}
static void ask_for_delays(void) {
    struct weft_delays d;
    CHECK_EQ(weft_delays_read((struct weft_cluster){0}, &d), 0);
}
static void ask_for_hogs(void) { CHECK(weft_hogs((struct weft_cluster){0}, NULL, 0) >= 0); }
static void trace_hogs(void) { CHECK(weft_hogs_backtrace((struct weft_cluster){0}, STDERR_FILENO) >= 0); }
static void submit_many(void) {
    static const struct io_uring_sqe nothing[WEFT_URING_MOST];
    static int results[WEFT_URING_MOST];
    int err = weft_uring(nothing, results, WEFT_URING_MOST);
    CHECK(err == 0 || err == -ENOTSUP);
}
static void any_of_many(void) {
    enum { MANY = 16 };
    static struct weft_future futures[MANY], *all[MANY];
    for (int i = 0; i < MANY; i++) {
        futures[i] = (struct weft_future)WEFT_FUTURE_INIT;
        all[i] = &futures[i];
    }
    CHECK_EQ(weft_future_any_until(all, MANY, weft_now() + WEFT_MILLISECOND), -ETIMEDOUT);
}
static void poll_many(void) {
    static struct pollfd fds[64];
    for (int i = 0; i < 64; i++) fds[i] = (struct pollfd){.fd = -1};
    CHECK_EQ(weft_poll(fds, 64, 1), 0);
}
static void resolve(void) {
    struct addrinfo *found;
    CHECK_EQ(weft_getaddrinfo("127.0.0.1", "80", NULL, &found), 0);
    freeaddrinfo(found);
}
static int add(size_t first, size_t last, void *sum) {
    for (; first < last; first++) ADD((size_t *)sum, first);
    return 0;
}
static void loop(void) {
    size_t sum = 0;
    CHECK_EQ(weft_for(0, 10000, add, &sum, NULL), 0);
    CHECK_EQ(sum, 10000 * 9999 / 2);
}
static int ascending(const void *a, const void *b, void *unused) {
    (void)unused;
    return (*(const int *)a > *(const int *)b) - (*(const int *)a < *(const int *)b);
}
static void sort(void) {
    static int numbers[20000];
    for (int i = 0; i < 20000; i++) numbers[i] = i * 7919 % 20011;
    CHECK_EQ(weft_sort(numbers, 20000, sizeof numbers[0], ascending, NULL), 0);
    for (int i = 1; i < 20000; i++) CHECK(numbers[i - 1] <= numbers[i]);
}
static void print_stats(void) { weft_stats_print(); }

static struct call calls[] = {
    {"weft_cluster_create", create_by_default},
    {"weft_cluster_per_node", create_per_node},
    {"weft_cluster_resize", resize_by_default},
    {"weft_spawn on a node", spawn_on_node},
    {"weft_spawn", spawn_many},
    {"weft_delays", ask_for_delays},
    {"weft_hogs", ask_for_hogs},
    {"weft_hogs_backtrace", trace_hogs},
    {"weft_uring", submit_many},
    {"weft_future_any_until", any_of_many},
    {"weft_poll", poll_many},
    {"weft_getaddrinfo", resolve},
    {"weft_for", loop},
    {"weft_sort", sort},
    {"weft_stats_print", print_stats},
};

static void call_all(void *unused) {
    (void)unused;
    struct weft_attr attr = {.stack_size = SMALLEST};
    for (unsigned i = 0; i < sizeof calls / sizeof *calls; i++) {
        attr.name = calls[i].name;
        join(spawn_with(&attr, call_it, &calls[i]));
    }
}
TEST(calls_leave_room_on_the_smallest_stack) {
    if (TEST_ASAN || TEST_TSAN || test_valgrind()) test_skip("the tool's frames are larger");
    test_in_fiber(1, call_all, NULL);
    test_in_fiber(3, call_all, NULL);
}
