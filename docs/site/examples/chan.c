/* SPDX-License-Identifier: MIT */
/* Examples for the reference: see runtime.c. Channels, futures, select, scopes, signals, readiness. */
#define _GNU_SOURCE
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <weft.h>

struct job {
    int number;
};
int handle(struct job *job);
int fetch(void *url);
int step(int i);
void show(const char *text);

static int through_a_channel(struct job job) {
    struct weft_chan *jobs = weft_chan_make(sizeof job, 64); /* on the heap, with room for 64 */
    if (!jobs) return -ENOMEM;
    int err = weft_chan_send(jobs, &job);
    printf("%zu of %zu\n", weft_chan_len(jobs), weft_chan_cap(jobs));
    if (!err) err = weft_chan_recv(jobs, &job);
    weft_chan_free(jobs);
    return err;
}

static void produce(struct weft_chan *jobs) {
    for (int i = 0; i < 100; i++)
        if (weft_chan_send(jobs, &(struct job){i})) break; /* -EPIPE: closed; -ECANCELED */
    weft_chan_close(jobs);                                 /* receivers get what is left, then -EPIPE */
}

static void produce_or_drop(struct weft_chan *jobs, struct job job) {
    if (weft_chan_send_try(jobs, &job) == -EAGAIN) show("the queue is full: the job is dropped");
}

static void consume_what_is_there(struct weft_chan *jobs) {
    struct job job;
    while (weft_chan_recv_try(jobs, &job) == 0) handle(&job); /* -EAGAIN: nothing is there now */
}

static struct weft_future answer = WEFT_FUTURE_INIT;
static void *compute(void *unused) {
    static int value;
    if (step(0))
        weft_future_fail(&answer, -EIO);
    else
        weft_future_set(&answer, &value); /* once; all waits return */
    return unused;
}
static int use_answer(void) {
    void *value;
    int err = weft_future_wait(&answer, &value); /* -EIO if it failed */
    if (!err) printf("%d\n", *(int *)value);
    return err;
}

static void use_answer_now(void) {
    void *value;
    if (weft_future_try(&answer, &value) == 0) printf("%d\n", *(int *)value);
}

static int wait_for_both(struct weft_future *a, struct weft_future *b) {
    struct weft_future *both[] = {a, b};
    int first = weft_future_any(both, 2); /* the index of a future that is done */
    if (first < 0) return first;
    return weft_future_all(both, 2);
}

static int next_job(struct weft_chan *urgent, struct weft_chan *jobs, struct job *job) {
    struct weft_case cases[] = {WEFT_CASE_RECV(urgent, job), WEFT_CASE_RECV(jobs, job)};
    if (weft_case_select_try(cases, 1) == 0) return cases[0].result; /* urgent jobs first */
    int which = weft_case_select(cases, 2);
    return which < 0 ? which : cases[which].result; /* -EPIPE: that channel is closed */
}

static int fetch_all(char **urls, int n) {
    struct weft_scope scope;
    weft_scope_begin(&scope, weft_now() + 5 * WEFT_SECOND);
    for (int i = 0; i < n; i++)
        if (weft_scope_spawn(&scope, NULL, fetch, urls[i])) break;
    return weft_scope_end(&scope); /* waits for all: 0, the first error, or -ETIMEDOUT */
}

/* A wrapper of one's own: messages of weft show the line of the caller. */
#define fetch_in(scope, url) fetch_in_at(scope, url, WEFT_HERE)
static int fetch_in_at(struct weft_scope *scope, char *url, const char *where) {
    return weft_scope_spawn_at(scope, NULL, fetch, url, where);
}

static void stop_the_others(struct weft_scope *scope, int err) {
    if (err)
        weft_scope_fail(scope, err); /* weft_scope_end returns err */
    else
        weft_scope_cancel(scope); /* weft_scope_end returns -ECANCELED */
}

/* At shutdown: what was begun has ten seconds. */
static int end_in_order(struct weft_scope *connections) {
    weft_scope_set_deadline(connections, weft_now() + 10 * WEFT_SECOND);
    return weft_scope_end(connections);
}

static void say_goodbye(struct weft_chan *log) {
    struct weft_shield shield;
    weft_shield_begin(&shield); /* the send may wait although the fiber was cancelled */
    if (weft_chan_send_until(log, "bye", weft_now() + WEFT_SECOND)) show("the log is full");
    weft_shield_end(&shield);
}

static void *with_memory(void *unused) {
    struct weft_cleanup cleanup;
    char *memory = malloc(100);
    weft_cleanup_push(&cleanup, free, memory);
    for (int i = 0; i < 100; i++) {
        step(i);
        weft_fiber_exit_if_cancelled(); /* ends the fiber here, and frees the memory */
    }
    weft_cleanup_pop(&cleanup, 1); /* frees it, too */
    return unused;
}

static void print_cancellations(void) {
    struct weft_cancellation list[10];
    int n = weft_cancellations(list, 10); /* the newest first */
    for (int i = 0; i < n && i < 10; i++)
        printf("%s%s\n", list[i].name, list[i].why == WEFT_BY_DEADLINE ? ": its time was up" : "");
}

static int wait_for_library(int fd) {
    int events = weft_ready_until(fd, POLLIN, weft_now() + WEFT_SECOND);
    return events < 0 ? events : 0; /* now the library can read without blocking */
}

static int is_readable(int fd) { return weft_ready_try(fd, POLLIN) > 0; }

static int until_asked_to_stop(void) {
    struct weft_signals signals = WEFT_SIGNALS_INIT;
    struct weft_signal got;
    int err = weft_signals_begin(&signals, WEFT_SIGNAL(SIGTERM) | WEFT_SIGNAL(SIGHUP));
    if (err) return err;
    while ((err = weft_signals_next(&signals, &got)) == SIGHUP) show("reading the configuration again");
    weft_signals_end(&signals);
    return err < 0 ? err : 0;
}

static int was_interrupted(struct weft_signals *signals) { return weft_signals_next_try(signals, NULL) == SIGINT; }
