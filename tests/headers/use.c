/* SPDX-License-Identifier: MIT */
/* A program that uses weft's headers. run.sh compiles it as C and as C++, with every compiler and standard. */
#define WEFT_NO_OLD_NAMES
#include <weft.h>
#include <weft/io.h>

#ifdef __cplusplus
/* No struct shares its name with a function, so C++ does not need the word struct here. */
weft_once once_of_cpp = WEFT_ONCE_INIT;
weft_stats stats_of_cpp;
weft_delays delays_of_cpp;
#endif

WEFT_TASK_0(int, none) { return 1; }
WEFT_TASK_1(long, fib, long, n) {
    if (n < 2) return n;
    WEFT_SPAWN(fib, n - 1);
    WEFT_SPAWN(none);
    long b = WEFT_CALL(fib, n - 2) + WEFT_CALL(none);
    return WEFT_SYNC(none) + b + WEFT_SYNC(fib);
}
WEFT_VOID_TASK_2(store, long *, to, long, value) { *to = value; }

static int item_room[4];
static struct weft_chan chan = WEFT_CHAN_BUFFERED(item_room);
static struct weft_chan plain = WEFT_CHAN_INIT(sizeof(int));
static struct weft_sem sem = WEFT_SEM_INIT(1);
static struct weft_mutex mutex = WEFT_MUTEX_INIT, recursive = WEFT_MUTEX_RECURSIVE_INIT;
static struct weft_rwlock rwlock = WEFT_RWLOCK_INIT;
static struct weft_cond cond = WEFT_COND_INIT;
static struct weft_barrier barrier = WEFT_BARRIER_INIT(1);
static struct weft_latch latch = WEFT_LATCH_INIT(0);
static struct weft_future future = WEFT_FUTURE_INIT;
static struct weft_counter counter = WEFT_COUNTER_INIT;
static struct weft_once once = WEFT_ONCE_INIT;
static struct weft_timer timer = WEFT_TIMER_INIT;
static struct weft_signals signals = WEFT_SIGNALS_INIT;
static struct weft_graph graph = WEFT_GRAPH_INIT;
static struct weft_combinable sums = WEFT_COMBINABLE_INIT(sizeof(int), NULL);

static void *fiber_main(void *arg) { return arg; }
static int child(void *arg) { return arg != NULL; }

static int use_all(void *arg) {
    struct weft_config config = WEFT_CONFIG_INIT;
    struct weft_attr attr = WEFT_ATTR_INIT;
    struct weft_for_options options = WEFT_FOR_INIT;
    struct weft_scope scope;
    struct weft_fiber fiber;
    struct weft_io io = WEFT_IO_INIT;
    struct weft_stats stats;
    int item = 0;
    long value = 0;
    void *result;
    struct weft_case cases[] = {WEFT_CASE_RECV(&chan, &item), WEFT_CASE_SEND(&plain, &item),
                                WEFT_CASE_FUTURE(&future, &result), WEFT_CASE_READY(0, 1),
                                WEFT_CASE_TIME(weft_now() + WEFT_MILLISECOND)};
    (void)config, (void)options, (void)io, (void)arg;
    (void)&sem, (void)&recursive, (void)&rwlock, (void)&cond, (void)&barrier, (void)&latch, (void)&counter;
    (void)&timer, (void)&signals, (void)&graph, (void)&sums;
    if (weft_case_select(cases, 5) < 0 || weft_once_run(&once, child, NULL)) return errno;
    weft_mutex_lock(&mutex);
    weft_mutex_unlock(&mutex);
    if (weft_spawn(&fiber, &attr, fiber_main, NULL) || weft_join(fiber, &result)) return 1;
    weft_scope_begin(&scope, WEFT_FOREVER);
    if (weft_scope_spawn(&scope, NULL, child, NULL)) return 1;
    WEFT_RUN(store, &value, WEFT_RUN(fib, 10) + WEFT_RUN(none));
    return weft_scope_end(&scope) + weft_stats_read(&stats) + (int)value;
}

int main(void) { return weft_run(use_all, NULL, NULL); }
