/* SPDX-License-Identifier: MIT */
/*
 * Explores the end of the poll thread, with the real io/poll_thread.c. The last holder, or a stop, ends it while a
 * runtime starts and one of its fibers needs the thread. The fiber finds a thread that continues, or starts a new
 * thread. A worker asks the poller, or sleeps in it, only while the poller is open.
 */
#include "workers.h"

static int lock_mutex(pthread_mutex_t *m);
static int unlock_mutex(pthread_mutex_t *m);
#define pthread_mutex_lock lock_mutex
#define pthread_mutex_unlock unlock_mutex
#define pthread_join(thread, result) ((void)(thread))
#include "io/poll_thread.c"
#undef pthread_join

enum { ENDER, FIBER, FETCHER };
enum { FETCHES, DOZES };

static struct {
    struct weft__lock mutex;
    _Atomic uint64_t open; /* the poller is open */
    uint8_t worker;
} s;

static int lock_mutex(pthread_mutex_t *m) { return (void)m, weft__lock(&s.mutex), 0; }
static int unlock_mutex(pthread_mutex_t *m) { return (void)m, weft__unlock(&s.mutex), 0; }
int weft__poller_open(struct weft__poller *p) { return (void)p, store_rlx(&s.open, 1), 0; }
void weft__poller_close(struct weft__poller *p) { (void)p, store_rlx(&s.open, 0); }
unsigned weft__poller_fetch(struct weft__poller *p, struct weft__report *reports, unsigned n) {
    (void)p, (void)reports, (void)n;
    claim(load_rlx(&s.open), "the poller is closed while a worker fetches");
    return 0;
}
bool weft__poller_doze(struct weft__poller *p, uint64_t deadline) {
    (void)p, (void)deadline;
    claim(load_rlx(&s.open), "the poller is closed while a worker sleeps in it");
    return false;
}
void weft__poller_wake(struct weft__poller *p) { (void)p; }
_Atomic uint32_t weft__poll_duty_state;
void weft__poll_duty_notify(void) {}
void weft__readiness_reset(void) {}
int weft__thread_create_masked(pthread_t *t, void *(*fn)(void *), void *arg) { return (void)t, (void)fn, (void)arg, 0; }
void explored_switch(struct weft__context *from, struct weft__context *to) { (void)from, (void)to; }
bool weak_goes_too_far(void) { return false; }

/* The start of a runtime, and the fence of the spawn (weft__hand_in). */
static void start_and_wait(void) {
    store_rel(&weft__cluster.running, true);
    fence_sc();
    claim(!weft__poll_thread_hold(&fiber[0]), "no service");
    claim(load_rlx(&s.open), "the poller is closed");
}

static void sleep_in_poller(void) {
    if (begin_doze() < 0) return;
    poll_thread_doze(WEFT_FOREVER);
    end_doze();
}

void run_thread(unsigned t) {
    if (t == ENDER) poll_thread_stopped();
    if (t == FIBER) start_and_wait();
    if (t == FETCHER && s.worker == FETCHES) fetch_events();
    if (t == FETCHER && s.worker == DOZES) sleep_in_poller();
}

static void set_up_for(unsigned worker) {
    set_up_workers(1);
    store_rlx(&weft__cluster.running, false);
    for (unsigned t = 0; t < 3; t++) driven[t] = NULL;
    store_rlx(&serving, true);
    poller.doze_fd = 5;
    store_rlx(&s.open, 1);
    s.worker = (uint8_t)worker;
}
static void set_up(void) { set_up_for(FETCHES); }
static void set_up_dozing(void) { set_up_for(DOZES); }
static void check(void) {
    for (unsigned t = 0; t < 2; t++) claim(!weak_goes_on(t), "waits for ever");
    claim(load_rlx(&s.open) && load_rlx(&serving), "a fiber waits, and nothing serves it");
}

static bool all_scenes(void) {
    return weak_explore(&(struct weak_scene){"service, ends while a runtime starts", 2, set_up, check}) &&
           weak_explore(&(struct weak_scene){"service, ends while a worker fetches", 3, set_up, check}) &&
           weak_explore(&(struct weak_scene){"service, ends while a worker sleeps there", 3, set_up_dozing, check});
}

int main(int argc, char **argv) {
    share_workers(1);
    weak_share(&s, sizeof s);
    weak_share((void *)&serving, sizeof serving);
    weak_share((void *)&quits, sizeof quits);
    weak_share((void *)&fetching, sizeof fetching);
    weak_share((void *)&dozing, sizeof dozing);
    return weak_main(argc, argv, all_scenes);
}
