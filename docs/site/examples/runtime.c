/* SPDX-License-Identifier: MIT */
/*
 * Examples for the reference. If the comment of a public function has no example, the reference shows the first
 * function of these files that calls it. tests/docs compiles them.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <weft.h>

void *work(void *arg);
int step(int i);
void show(const char *text);

static void check_version(void) {
    printf("compiled with %d.%d, runs with %s\n", WEFT_VERSION_MAJOR, WEFT_VERSION_MINOR, weft_version());
}

/* For languages that cannot use the macro errno of weft.h. */
static int last_error(void) { return *weft_errno_location(); }

static int main_with_threads(void) {
    struct weft_config config = WEFT_CONFIG_INIT;
    config.workers = 2;
    if (weft_start(&config)) return 1;
    if (weft_spawn(NULL, NULL, work, NULL)) show("no fiber");
    return weft_stop() ? 1 : 0; /* waits for the fiber */
}

/* One fiber for each worker, to compute. */
static int spawn_workers(struct weft_fiber *fibers) {
    for (unsigned i = 0; i < weft_workers(); i++)
        if (weft_spawn(&fibers[i], NULL, work, NULL)) return -1;
    return 0;
}

/* A wrapper of one's own: messages of weft show the line of the caller. */
#define my_spawn(fn, arg) my_spawn_at(fn, arg, WEFT_HERE)
static int my_spawn_at(void *(*fn)(void *), void *arg, const char *where) {
    struct weft_attr attr = {.name = "mine"};
    return weft_spawn_at(NULL, &attr, fn, arg, where);
}

static int wait_for_it(struct weft_fiber fiber) {
    void *result;
    int err = weft_join_until(fiber, &result, weft_now() + WEFT_SECOND);
    if (err == -ETIMEDOUT) { /* it is still there: cancel it, and wait for its end */
        weft_cancel(fiber);
        err = weft_join(fiber, &result);
    }
    return err;
}

static void let_it_go(struct weft_fiber fiber) {
    if (weft_detach(fiber)) show("it was joined already");
}

static void say_where_i_am(void) {
    printf("fiber %llu runs on worker %d\n", (unsigned long long)weft_self().id, weft_worker());
}

static void compute_politely(void) {
    for (int i = 0; i < 1000000; i++) {
        step(i);
        if (i % 10000 == 0) weft_yield(); /* the fibers that are ready on this worker run first */
    }
}

static void give_up(const char *why) {
    show(why);
    weft_fiber_exit(NULL); /* does not return; clean-up handlers run */
}

/* A box for one item, made of park and unpark. */
struct box {
    struct weft_fiber receiver;
    void *_Atomic item;
};
static int take_item(struct box *box, void **item) {
    while (!(*item = box->item)) {
        int err = weft_park(); /* may return for an older permit: look again */
        if (err) return err;
    }
    return 0;
}
static void put_item(struct box *box, void *item) {
    box->item = item;
    weft_unpark(box->receiver);
}

static int compute_until_cancelled(void) {
    for (int i = 0; i < 1000000; i++) {
        if (i % 1000 == 0 && weft_cancelled()) return -ECANCELED;
        step(i);
    }
    return 0;
}

/* A buffer for each fiber, freed when the fiber ends. */
static struct weft_key buffer_key;
static int begin_buffers(void) { return weft_key_create(&buffer_key, free); }
static char *my_buffer(void) {
    char *buffer = weft_local_get(buffer_key);
    if (buffer || !(buffer = malloc(512))) return buffer;
    if (weft_local_set(buffer_key, buffer) == 0) return buffer;
    free(buffer);
    return NULL;
}
static void end_buffers(void) { weft_key_delete(buffer_key); }

static uint64_t time_it(void (*fn)(void)) {
    uint64_t begin = weft_now();
    fn();
    return (weft_now() - begin) / WEFT_MICROSECOND;
}

static void *tick(void *unused) {
    uint64_t next = weft_now();
    while (weft_sleep_until(next += WEFT_SECOND) == 0) puts("tick"); /* ends when the fiber is cancelled */
    return unused;
}

static int try_again(int (*fn)(void)) {
    for (uint64_t pause = 10 * WEFT_MILLISECOND; fn(); pause *= 2) {
        int err = weft_sleep_for(pause);
        if (err) return err; /* cancelled */
    }
    return 0;
}

/* A watchdog that rings unless it is stopped in time. */
static void ring(void *name) { fprintf(stderr, "%s takes long\n", (const char *)name); }
static int watched(int (*fn)(void), char *name) {
    struct weft_timer timer = WEFT_TIMER_INIT;
    int err = weft_timer_arm(&timer, weft_now() + WEFT_SECOND, ring, name);
    if (err) return err;
    err = fn();
    weft_timer_stop(&timer); /* waits for ring if it is running: the timer may then be freed */
    return err;
}

/* From another timer function, which must not wait. */
static void cancel_ring(struct weft_timer *timer) {
    if (weft_timer_cancel(timer) == -EALREADY) show("it rang");
}

/* Reports are written by workers of their own. */
static int report_elsewhere(void) {
    struct weft_cluster reports;
    struct weft_config config = {.workers = 1};
    int err = weft_cluster_create(&reports, &config);
    if (err) return err;
    struct weft_attr attr = {.name = "report", .cluster = reports};
    err = weft_spawn(NULL, &attr, work, NULL);
    if (!err) err = weft_cluster_drain(reports); /* until nothing runs there any more */
    weft_cluster_destroy(reports);
    return err;
}

static int spawn_on_each_node(void) {
    struct weft_cluster nodes[8];
    int n = weft_cluster_per_node(nodes, 8, NULL);
    for (int i = 0; i < n; i++) {
        struct weft_attr attr = {.cluster = nodes[i]};
        if (weft_spawn(NULL, &attr, work, NULL)) return -1;
    }
    return n;
}

static int compute_in(struct weft_cluster compute) {
    struct weft_cluster home = weft_cluster_self();
    int err = weft_cluster_move((struct weft_fiber){0}, compute); /* this fiber, at once */
    if (err) return err;
    step(0);
    return weft_cluster_move((struct weft_fiber){0}, home);
}

static int double_workers(struct weft_cluster cluster) {
    int workers = weft_cluster_workers(cluster);
    return workers < 0 ? workers : weft_cluster_resize(cluster, 2 * (unsigned)workers);
}

static void print_load(void) {
    struct weft_stats all, one;
    if (weft_stats_read(&all)) return;
    printf("%llu switches\n", (unsigned long long)all.switches);
    for (unsigned i = 0; weft_stats_worker(i, &one) == 0; i++)
        printf("worker %u: busy for %llu ms\n", i, (unsigned long long)(one.busy_ns / WEFT_MILLISECOND));
}

static void print_delays(void) {
    struct weft_delays delays;
    struct weft_cluster first = {0};
    if (weft_delays_read(first, &delays) == 0)
        printf("of 100 ready fibers 99 waited for less than %llu us\n", (unsigned long long)delays.p99 / 1000);
}

static void print_hogs(void) {
    struct weft_cluster first = {0};
    struct weft_hog hogs[16];
    int n = weft_hogs(first, hogs, 16);
    for (int i = 0; i < n && i < 16; i++) printf("%s, spawned at %s\n", hogs[i].name, hogs[i].where);
    if (n > 0) weft_hogs_backtrace(first, STDERR_FILENO); /* what they are doing */
}

static void report_all(int fd) {
    weft_dump(fd);      /* every fiber, with its stack */
    weft_metrics(fd);   /* numbers, for Prometheus */
    weft_stats_print(); /* the same as a table, on standard error */
}
