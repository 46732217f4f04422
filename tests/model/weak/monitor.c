/* SPDX-License-Identifier: MIT */
/*
 * Explores the monitor's handshakes, with the real sched/elastic/monitor.c and now_busy in worker.c. The monitor never
 * reads a cluster that has ended, does not rest while a worker is busy, and ends when it is asked to.
 */
#include "workers.h"

static int join_thread(void);
#define pthread_join(thread, result) join_thread()
#include "sched/elastic/monitor.c"
#include "sched/wake/helpers.c"
#undef pthread_join
#include "sched/loop/worker.c"

enum { MONITOR, OTHER };
enum { ENDS, BUSY, STOPS };

static struct {
    uint8_t way;
    uint64_t of_cluster; /* stands for all memory that a cluster frees at its end */
} s;

/* --- what is underneath ---------------------------------------------------------------------------------- */

static int join_thread(void) { return 0; }
void weft__idle_end(struct weft__worker *w) { (void)w; }
void weft__poll_duty_tick(void) {}
void weft__recording_tick(uint64_t now) { (void)now; }
bool weft__each_cluster(bool (*fn)(struct weft__cluster *, void *), void *arg) {
    struct weft__cluster *c = &weft__cluster;
    return !(load_acq(&c->running) || load_acq(&c->ending)) || fn(c, arg);
}
void weft__rescue(struct weft__cluster *c, struct weft__rescue *r) {
    (void)c;
    r->busy = s.of_cluster || load_rlx(&worker[0].progress.busy_since);
}
void explored_switch(struct weft__context *from, struct weft__context *to) { (void)from, (void)to; }
bool weak_goes_too_far(void) { return false; }

/* --- what the threads do ----------------------------------------------------------------------------------- */

/* As begin_end and weft_cluster_destroy in cluster.c do it. */
static void end_cluster(void) {
    struct weft__cluster *c = &weft__cluster;
    store_rel(&c->ending, true);
    store_rel(&c->running, false);
    weft__monitor_leaves(c);
    s.of_cluster = 1;
    weak_gone(0, &s.of_cluster, sizeof s.of_cluster);
}

void run_thread(unsigned t) {
    if (t == MONITOR) {
        if (s.way != ENDS)
            monitor_rest();
        else
            for (unsigned i = 0; i < 2; i++) monitor_tick(1);
        return;
    }
    switch (s.way) {
    case ENDS: end_cluster(); break;
    case BUSY: now_busy(weft__self()); break;
    case STOPS: weft__monitor_stop(); break;
    }
}

/* --- scenes -------------------------------------------------------------------------------------------------- */

static void set_up_for(unsigned way) {
    set_up_workers(1);
    driven[MONITOR] = NULL;
    driven[OTHER] = way == BUSY ? &worker[0] : NULL;
    store_rlx(&quits, 0);
    s.way = (uint8_t)way;
}
static void ends_meanwhile(void) { set_up_for(ENDS); }
static void becomes_busy(void) { set_up_for(BUSY); }
static void stops(void) { set_up_for(STOPS); }

static void check(void) {
    claim(!weak_goes_on(OTHER), "waits for ever");
    claim(!weak_goes_on(MONITOR), "the monitor rests over that");
}

static bool all_scenes(void) {
    return weak_explore(&(struct weak_scene){"monitor, a cluster ends", 2, ends_meanwhile, check}) &&
           weak_explore(&(struct weak_scene){"monitor, rests while a worker becomes busy", 2, becomes_busy, check}) &&
           weak_explore(&(struct weak_scene){"monitor, rests while it is stopped", 2, stops, check});
}

int main(int argc, char **argv) {
    share_workers(1);
    weak_share(&s, sizeof s);
    weak_share((void *)&watched, sizeof watched);
    weak_share((void *)&weft__monitor_rests, sizeof weft__monitor_rests);
    weak_share((void *)&quits, sizeof quits);
    return weak_main(argc, argv, all_scenes);
}
