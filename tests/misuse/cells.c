/* SPDX-License-Identifier: MIT */
/* The lists, made into functions and tables. See misuse.h. */
#define _GNU_SOURCE
#include "io.h"
#include "misuse.h"
#include "par.h"

#include "weft/profile.h"
#include "weft/trace.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

static int create_all_keys(void) {
    struct weft_key key;
    int err = 0;
    for (unsigned i = 0; i <= WEFT_KEYS_MAX && !err; i++) err = weft_key_create(&key, NULL);
    return err;
}

/* Until there is no room for another. */
static int create_all_clusters(void) {
    struct weft_cluster cluster;
    int err = 0;
    for (unsigned i = 0; i <= 64 && !err; i++) err = weft_cluster_create(&cluster, &(struct weft_config){.workers = 1});
    return err;
}

/* A fiber that lives in the second cluster, and stays. */
static void *parks_there(void *unused) { return weft_park(), unused; }
static struct weft_fiber inhabit(void) {
    struct weft_fiber f = {0};
    weft_spawn(&f, &(struct weft_attr){.cluster = fx.second}, parks_there, NULL);
    return f;
}

/* Descriptors: with bytes to read, without any bytes for ever, a regular file, closed. */
static int pipe_with(const char *text) {
    int ends[2];
    return pipe2(ends, O_NONBLOCK) || write(ends[1], text, strlen(text)) < 0 ? -1 : ends[0];
}
static int readable(void) { return pipe_with("text"); }
static int silent(void) { return pipe_with(""); }
static int a_file(void) { return open("/proc/self/exe", O_RDONLY | O_CLOEXEC); }
/* A number that the next open does not return. */
static int closed(void) {
    int fd = fcntl(silent(), F_DUPFD_CLOEXEC, 500);
    close(fd);
    return fd;
}

static struct weft_signals signals;
static void subscribed(int number) { weft_signals_begin(&signals, WEFT_SIGNAL(number)); }

static int once_again(void *unused) { return (void)unused, weft_once_run(&fx.once, once_again, NULL); }

static struct weft_cluster clusters[64];
static struct weft_delays delays;
static struct weft_hog hogs[4];

static struct weft_task task;
static void exits(void *unused) { (void)unused, weft_fiber_exit(NULL); }
static void exits_if_cancelled(void *unused) { (void)unused, weft_fiber_exit_if_cancelled(); }
static int fork_join_of(void (*fn)(void *)) {
    int err = weft_task_fork(&task, fn, NULL);
    return err ? err : weft_task_join(&task);
}
static int fork_join(void) { return fork_join_of(does_nothing); }
WEFT_VOID_TASK_0(exits_typed) { weft_fiber_exit(NULL); }
static struct weft_scope scope;
static struct weft_shield shield;
static struct weft_cleanup cleanup, another;
static struct weft_cancellation cancellation;
static int returns_zero(void *arg) { return (void)arg, 0; }
/* Returns the outcome, after ending whatever was begun for it. */
static int and_end(int result) { return weft_scope_end(&scope), result; }
static int and_unshield(int result) { return weft_shield_end(&shield), result; }
static int out_of_shield(int result) { return weft_shield_end(&shield), and_end(result); }
static int out_of_scope(int result) { return weft_scope_end(&scope), and_unshield(result); }
static int and_pop(int result) { return weft_cleanup_pop(&cleanup, 0), result; }

static int item;
#define CASE(kind, on, item) ((struct weft_case[]){WEFT_CASE_##kind(on, item)})

#define PASTE_(list, call, of, line) cell_##list##_##call##_##of##_##line
#define PASTE(list, call, of, line) PASTE_(list, call, of, line)
#define FUNCTION(call, of) PASTE(LIST, call, of, __LINE__)

/* First pass: a function for each cell, named after its list, call, case and line. The value on a comma's left side may
 * be unused. */
#pragma GCC diagnostic ignored "-Wunused-value"
#define CELL(call, of, in, wanted, expression) \
    static long long FUNCTION(call, of)(void) { return (long long)(expression); }
#define NONE(call, ...)
#define LIST runtime
#include "cells_runtime.h"
#undef LIST
#define LIST fibers
#include "cells_fibers.h"
#undef LIST
#define LIST clusters
#include "cells_clusters.h"
#undef LIST
#define LIST values
#include "cells_values.h"
#undef LIST
#define LIST sync
#include "cells_sync.h"
#undef LIST
#define LIST locks
#include "cells_locks.h"
#undef LIST
#define LIST tasks
#include "cells_tasks.h"
#undef LIST
#define LIST scope
#include "cells_scope.h"
#undef LIST
#define LIST chan
#include "cells_chan.h"
#undef LIST
#define LIST par
#include "cells_par.h"
#undef LIST
#define LIST process
#include "cells_process.h"
#undef LIST
#define LIST io
#include "cells_io.h"
#undef LIST
#define LIST io_async
#include "cells_io_async.h"
#undef LIST
#define LIST stream
#include "cells_stream.h"
#undef LIST
#define LIST file
#include "cells_file.h"
#undef LIST
#undef CELL
#undef NONE

/* Second reading: the tables. */
#define CELL(call, of, in, wanted, expression) {"weft_" #call, #of, in, wanted, FUNCTION(call, of)},
#define NONE(call, ...) {"weft_" #call, #__VA_ARGS__, NOTHING, 0, NULL},
#define LIST runtime
const struct cell cells_of_runtime[] = {
#include "cells_runtime.h"
    {NULL, NULL, NOTHING, 0, NULL}};
#undef LIST
#define LIST fibers
const struct cell cells_of_fibers[] = {
#include "cells_fibers.h"
    {NULL, NULL, NOTHING, 0, NULL}};
#undef LIST
#define LIST clusters
const struct cell cells_of_clusters[] = {
#include "cells_clusters.h"
    {NULL, NULL, NOTHING, 0, NULL}};
#undef LIST
#define LIST values
const struct cell cells_of_values[] = {
#include "cells_values.h"
    {NULL, NULL, NOTHING, 0, NULL}};
#undef LIST
#define LIST sync
const struct cell cells_of_sync[] = {
#include "cells_sync.h"
    {NULL, NULL, NOTHING, 0, NULL}};
#undef LIST
#define LIST locks
const struct cell cells_of_locks[] = {
#include "cells_locks.h"
    {NULL, NULL, NOTHING, 0, NULL}};
#undef LIST
#define LIST tasks
const struct cell cells_of_tasks[] = {
#include "cells_tasks.h"
    {NULL, NULL, NOTHING, 0, NULL}};
#undef LIST
#define LIST scope
const struct cell cells_of_scope[] = {
#include "cells_scope.h"
    {NULL, NULL, NOTHING, 0, NULL}};
#undef LIST
#define LIST chan
const struct cell cells_of_chan[] = {
#include "cells_chan.h"
    {NULL, NULL, NOTHING, 0, NULL}};
#undef LIST
#define LIST par
const struct cell cells_of_par[] = {
#include "cells_par.h"
    {NULL, NULL, NOTHING, 0, NULL}};
#undef LIST
#define LIST process
const struct cell cells_of_process[] = {
#include "cells_process.h"
    {NULL, NULL, NOTHING, 0, NULL}};
#undef LIST
#define LIST io
const struct cell cells_of_io[] = {
#include "cells_io.h"
    {NULL, NULL, NOTHING, 0, NULL}};
#undef LIST
#define LIST io_async
const struct cell cells_of_io_async[] = {
#include "cells_io_async.h"
    {NULL, NULL, NOTHING, 0, NULL}};
#undef LIST
#define LIST stream
const struct cell cells_of_stream[] = {
#include "cells_stream.h"
    {NULL, NULL, NOTHING, 0, NULL}};
#undef LIST
#define LIST file
const struct cell cells_of_file[] = {
#include "cells_file.h"
    {NULL, NULL, NOTHING, 0, NULL}};
