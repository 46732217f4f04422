/* SPDX-License-Identifier: MIT */
/*
 * Explores the threads for blocking calls, the real io/thread_pool.c: a thread that goes to rest, or has rested for
 * long enough, while a job is put. The job is run, once.
 */
#include "workers.h"

static int lock_mutex(pthread_mutex_t *m);
static int unlock_mutex(pthread_mutex_t *m);
#define pthread_mutex_lock lock_mutex
#define pthread_mutex_unlock unlock_mutex
#define pthread_join(thread, result) ((void)(thread))
#include "io/thread_pool.c"
#include "sched/wait/wait_queue.c"
#undef pthread_join

enum { PUTTER, FIRST, SECOND };

static struct {
    struct weft__lock mutex;
    struct weft__job job;
    uint64_t runs;
    struct helper *second; /* made by the thread that puts */
} s;

static int lock_mutex(pthread_mutex_t *m) { return (void)m, weft__lock(&s.mutex), 0; }
static int unlock_mutex(pthread_mutex_t *m) { return (void)m, weft__unlock(&s.mutex), 0; }
int weft__thread_create_masked(pthread_t *t, void *(*fn)(void *), void *arg) {
    (void)t, (void)fn;
    s.second = arg;
    weak_start(SECOND);
    return 0;
}
void weft__thread_set_foreign(bool lent) { (void)lent; }
void explored_switch(struct weft__context *from, struct weft__context *to) { (void)from, (void)to; }
bool weak_goes_too_far(void) { return false; }

static void run_job(struct weft__job *job) {
    (void)job;
    claim(!s.runs++, "run twice");
}

void run_thread(unsigned t) {
    if (t == PUTTER) claim(!weft__thread_pool_put(&s.job), "refused");
    if (t != PUTTER) pool_help(t == FIRST ? &helpers[0] : s.second);
}

static void set_up(void) {
    set_up_workers(1);
    for (unsigned t = 0; t < 3; t++) driven[t] = NULL;
    deadlines_pass = true;
    helpers[0].runs = true;
    threads = 1;
    s.job.run = run_job;
}
static void check(void) {
    claim(!weak_goes_on(PUTTER), "waits for ever");
    claim(s.runs == 1, "a job is left, and all threads rest");
}

static bool all_scenes(void) {
    return weak_explore(&(struct weak_scene){"pool, a thread that rests", 2, set_up, check});
}

int main(int argc, char **argv) {
    weak_share(&s, sizeof s);
    weak_share(helpers, 2 * sizeof helpers[0]);
    weak_share(&jobs, sizeof jobs);
    weak_share(&idle, sizeof idle);
    weak_share(&threads, sizeof threads);
    return weak_main(argc, argv, all_scenes);
}
