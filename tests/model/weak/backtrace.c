/* SPDX-License-Identifier: MIT */
/*
 * Explores the request for a backtrace, with the real sched/observe/backtrace.c: two requests, one after the other, to
 * a worker that may get its signals late. An answer belongs to the request that is read. No handler writes while the
 * answer is read, or while the next request is written.
 */
#define _GNU_SOURCE
#include "workers.h"

#include <pthread.h>
#include <signal.h>

static int lock_mutex(pthread_mutex_t *m);
static int unlock_mutex(pthread_mutex_t *m);
static int send_signal(void);
#define pthread_mutex_lock lock_mutex
#define pthread_mutex_unlock unlock_mutex
#define pthread_sigqueue(thread, sig, value) ((void)(thread), send_signal())
#include "sched/observe/backtrace.c"

enum { ASKER, FIRST, SECOND };

static struct {
    struct weft__lock mutex;
    uint8_t signals;
} s;
static ucontext_t context;

static int lock_mutex(pthread_mutex_t *m) { return (void)m, weft__lock(&s.mutex), 0; }
static int unlock_mutex(pthread_mutex_t *m) { return (void)m, weft__unlock(&s.mutex), 0; }
static GHOST int send_signal(void) { return weak_start(FIRST + s.signals++), 0; }
void explored_switch(struct weft__context *from, struct weft__context *to) { (void)from, (void)to; }
bool weak_goes_too_far(void) { return false; }

/* As trace_all and trace do it. */
static void ask_once(void) {
    if ((load_acq(&request.state) & PHASE) == TAKEN && !trace_answered(2)) return;
    if ((load_rlx(&request.state) & PHASE) != IDLE) backtrace_forget();
    if (!backtrace_ask(&weft__cluster, 0) || !trace_answered(2)) return;
    claim(request.frames == 0, "another answer");
    backtrace_forget();
}

void run_thread(unsigned t) {
    if (t == ASKER)
        for (unsigned i = 0; i < 2; i++) ask_once();
    else
        answer_trace(weft__self(), &context);
}

static void set_up(void) {
    set_up_workers(1);
    deadlines_pass = true;
    driven[ASKER] = NULL;
    driven[FIRST] = driven[SECOND] = &worker[0];
    store_rlx(&worker[0].hog.fiber, &fiber[0]);
}
static void check(void) {
    for (unsigned t = 0; t < 3; t++) claim(!weak_goes_on(t), "waits for ever");
}

static bool all_scenes(void) {
    return weak_explore(&(struct weak_scene){"backtrace, two requests, signals that are late", 1, set_up, check});
}

int main(int argc, char **argv) {
    share_workers(1);
    weak_share(&s, sizeof s);
    weak_share(&request, sizeof request);
    return weak_main(argc, argv, all_scenes);
}
