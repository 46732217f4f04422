/*
 * The monitor: a thread that looks at all workers once in a tick, while any of them runs, and helps
 * those who wait behind a fiber that does not come back, be it that it computes or that it sits in a
 * blocking call.
 *
 * A worker whose count of switches has not moved since the last tick has one fiber all the time. If
 * that computes, or sits in a blocking call, it is a hog, and noted, for the statistics; if its
 * carrier merely has no processor, nothing is wrong with it.
 *
 * If somebody waits for a worker with a hog, it is declared stuck: others may take its mail and its
 * pinned fibers as they take from its queue and its timers anyway; and if there is nobody else to do
 * so, or the hog does not even use its processor, one more worker is wanted (elastic.c). One that
 * blocks is also replaced if nobody waits for it, but others have more than they can run, and a
 * processor is free. When the hog has come back, one less is wanted: the last one finishes what it
 * runs, gives its queue away and sleeps.
 *
 * So others wait for two ticks at most, and there are more running carriers than workers for one. Where many that
 * block stand one behind the other, each is met by the worker that stands in for the one before it; so after a
 * rescue the ticks are short for a while, and each costs a millisecond.
 *
 * When all workers have been idle for a few ticks the monitor rests, and the first to find work wakes it.
 */
#include "base/say.h"
#include "sched/cluster.h"
#include "sched/cpus.h"
#include "sched/dispatch.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define WEFT_TICK (4 * WEFT_MILLISECOND)
#define WEFT_QUICK_TICK (WEFT_TICK / 8) /* after a rescue: who stands in may run into the next that blocks */
#define WEFT_QUICK_TICKS 8
#define WEFT_IDLE_TICKS 3
#define WEFT_QUOTA_EVERY 256 /* ticks: about a second */

static pthread_t thread;
static _Atomic uint32_t quits;
static unsigned quick;      /* so many ticks to come are */
static unsigned processors; /* that there are for us */
_Atomic uint32_t weft__monitor_rests;

/* CPU time that the worker's carrier has used, ns. */
static uint64_t cpu_time(struct weft__worker *w) {
    clockid_t clock;
    struct timespec t;
    if (pthread_getcpuclockid(w->thread, &clock) || clock_gettime(clock, &t)) return 0;
    return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static bool others_can(struct weft__cluster *c, struct weft__worker *w) {
    unsigned wanted = load_rlx(&c->wanted);
    for (unsigned i = 0; i < wanted && i < load_acq(&c->count); i++)
        if (c->workers[i] != w && !load_rlx(&c->workers[i]->hog.fiber)) return true;
    return false;
}

/* Another worker runs in its stead. */
static void spare(struct weft__worker *w) {
    static bool said;
    int err = weft__spare(w->cluster, 1);
    w->hog.spared = !err;
    quick = WEFT_QUICK_TICKS;
    if (err != -ENOSPC || said) return;
    weft__say("%z workers of a cluster are stuck: no more are started in their stead", (size_t)WEFT_SPARES_MAX);
    said = true;
}

/* Does anybody wait for this worker, that only it, or that anybody could run? Calls that its fiber has
 * forked, only if that does not compute: else it will run them itself. */
static bool is_waited_for(struct weft__worker *w, uint64_t now) {
    return weft__ready_length(&w->ready) || load_rlx(&w->aside.count) || !weft__mailbox_empty(&w->mailbox) ||
           weft__wheel_next(&w->wheel) <= now || weft__ring_waits(&w->ring) ||
           (w->hog.blocks && weft__tasks_wait_at(w));
}

/* Does anything wait in the cluster that no worker comes to? */
static bool something_waits(struct weft__cluster *c, uint64_t now) {
    bool waits = load_rlx(&c->injector.length) != 0;
    for (unsigned i = 0; !waits && i < load_acq(&c->count); i++)
        waits = load_rlx(&c->workers[i]->hog.fiber) && is_waited_for(c->workers[i], now);
    return waits;
}

/* As many as there are processors for run, or would if they had work. One that sleeps in a system call does not. */
static bool enough_run(struct weft__cluster *c) {
    unsigned enough = load_rlx(&c->configured), running = 0;
    if (enough > processors) enough = processors;
    for (unsigned i = 0; i < load_rlx(&c->wanted) && i < load_acq(&c->count); i++) {
        struct weft__hog *h = &c->workers[i]->hog;
        running += !load_rlx(&h->fiber) || !h->blocks;
    }
    return running >= enough;
}

/*
 * Nobody waits for this worker, but for another that has more than it can run; this one would have stolen some, and
 * while its fiber sleeps in a system call a processor has nothing to do. Only then: where many sleep at one lock, more
 * of them would only sleep there, too.
 */
static bool is_missed(struct weft__worker *w) {
    struct weft__cluster *c = w->cluster;
    if (w->hog.spared || !w->hog.blocks || enough_run(c)) return false;
    for (unsigned i = 0; i < load_acq(&c->count); i++)
        if (weft__ready_length(&c->workers[i]->ready) + load_rlx(&c->workers[i]->aside.loose) >= 2) return true;
    return false;
}

/* If all workers hog, and something waits behind any of them, a new one must come, whoever it is for. */
static void rescue(struct weft__worker *w, uint64_t now) {
    struct weft__cluster *c = w->cluster;
    bool nobody_else = !others_can(c, w);
    bool waited_for = something_waits(c, now) && (nobody_else || is_waited_for(w, now));
    if (!c->rescues || !(waited_for || is_missed(w))) return;
    if (!weft__share_by_force(w)) return; /* it has come back, or will be met inside the fiber next time */
    store_rel(&w->stuck, true);           /* pairs with weft__serve_stuck */
    if (!w->hog.spared && (w->hog.blocks || nobody_else)) spare(w);
    fence_sc(); /* pairs with the fence of a worker that announces its sleep */
    weft__idle_wake_one(c);
}

static void came_back(struct weft__worker *w) {
    store_rel(&w->stuck, false);
    if (w->hog.spared) weft__spare(w->cluster, -1);
    w->hog.spared = false;
}

static uint64_t larger(uint64_t a, uint64_t b) { return a > b ? a : b; }

/* How long the oldest in the queue has waited: at least since it was first seen there, and was the oldest. */
static uint64_t waited_in_queue(struct weft__worker *w, uint64_t now) {
    struct weft__hog *h = &w->hog;
    uint64_t head = load_rlx(&w->ready.head);
    if (!weft__ready_length(&w->ready))
        h->head_at = 0;
    else if (!h->head_at || h->head != head) {
        h->head = head;
        h->head_at = now;
    }
    return larger(weft__age_of(w, now), weft__since(h->head_at, now));
}

/* In the lists of this worker, or handed in to all of them. */
static uint64_t waited_aside(struct weft__worker *w, uint64_t now) {
    uint64_t waited = weft__since(load_rlx(&w->cluster->injector.timed.since), now);
    for (unsigned i = 0; i < WEFT_ASIDES; i++)
        waited = larger(waited, weft__since(load_rlx(&w->aside.timed[i].since), now));
    return waited;
}

/* Is the carrier asleep in the kernel? One that is not, but does not get on either, has no processor:
 * there is nothing to rescue from, and one more thread would only make it worse. */
static bool is_blocked(struct weft__worker *w) {
    char path[48], stat[128];
    snprintf(path, sizeof path, "/proc/self/task/%d/stat", load_rlx(&w->tid));
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return true; /* no /proc: then whoever uses no CPU time is taken for blocked */
    ssize_t n = read(fd, stat, sizeof stat - 1);
    close(fd);
    stat[n > 0 ? n : 0] = 0;
    const char *end = strrchr(stat, ')'); /* of the name; the state comes next */
    return !end || (end[1] && end[2] != 'R');
}

/* The longest of all is remembered, for the statistics. */
static void remember(struct weft__worker *w, struct weft__fiber *f, uint64_t now) {
    struct weft__hog *h = &w->hog;
    uint64_t kept = now - load_rlx(&h->since);
    if (kept <= h->kept) return;
    weft__lock(&h->lock);
    h->kept = kept;
    weft__hog_describe(w, f, &h->longest);
    weft__unlock(&h->lock);
}

/* One fiber since the last look. Does it block, or has it computed for long enough? Whoever has computed may block
 * later; and on a busy machine it takes many ticks to compute for half of one. */
static void suspect(struct weft__worker *w, struct weft__fiber *f, uint64_t cpu, uint64_t waited, uint64_t now) {
    struct weft__hog *h = &w->hog;
    bool blocks = cpu - h->cpu_seen < WEFT_TICK / 8 && is_blocked(w), computes = cpu - h->cpu >= WEFT_TICK / 2;
    h->cpu_seen = cpu;
    if (!blocks && !computes) return;
    h->blocks = blocks;
    if (!load_rlx(&h->fiber)) store_rlx(&h->since, now - WEFT_TICK);
    store_rel(&h->fiber, f); /* pairs with whoever asks for hogs */
    remember(w, f, now);
    if (unlikely(w->cluster->late_after && waited > w->cluster->late_after))
        weft__report_late(w, weft__ready_peek(&w->ready), f, waited, now);
    rescue(w, now);
}

static void look_at(struct weft__worker *w, uint64_t now) {
    struct weft__hog *h = &w->hog;
    uint64_t switches = load_rlx(&w->numbers.switches), cpu = cpu_time(w);
    uint64_t waited = waited_in_queue(w, now), longest = larger(waited, waited_aside(w, now));
    struct weft__fiber *f = load_acq(&w->current); /* pairs with weft__choose: its record is looked at */
    if (longest > load_rlx(&h->waited)) store_rlx(&h->waited, longest);
    if (f && switches == h->switches) {
        suspect(w, f, cpu, waited, now);
        return;
    }
    h->switches = switches;
    h->cpu = h->cpu_seen = cpu;
    store_rlx(&h->fiber, NULL);
    if (load_rlx(&w->stuck)) came_back(w);
}

struct look {
    uint64_t now;
    bool busy;
};

static bool look_at_all(struct weft__cluster *c, void *p) {
    struct look *look = p;
    if (!load_acq(&c->running)) return true; /* it is ending, its carriers are joined */
    for (unsigned i = 0; i < load_acq(&c->count); i++) {
        struct weft__worker *w = c->workers[i];
        bool runs = load_rlx(&w->busy_since) != 0;
        if (runs || load_rlx(&w->hog.fiber)) look_at(w, look->now);
        look->busy |= runs;
    }
    return true;
}

static bool tick(uint64_t now) {
    struct look look = {now, false};
    pthread_mutex_lock(&weft__clusters_change);
    weft__each_cluster(look_at_all, &look);
    pthread_mutex_unlock(&weft__clusters_change);
    return look.busy;
}

/* Nothing has run for a while: until somebody finds work. */
static void rest(void) {
    store_rlx(&weft__monitor_rests, 1);
    weft__fence_heavy(); /* pairs with a worker that becomes busy: it sees that we rest, or we that it is busy */
    while (!load_acq(&quits) && load_acq(&weft__monitor_rests) && !tick(weft__clock()))
        weft__futex_wait(&weft__monitor_rests, 1, WEFT_FOREVER);
    store_rlx(&weft__monitor_rests, 0);
}

WEFT_COLD void weft__monitor_wake(void) {
    if (xchg_ar(&weft__monitor_rests, 0)) weft__futex_wake(&weft__monitor_rests, 1);
}

static void *monitor_main(void *unused) {
    (void)unused;
    unsigned idle = 0;
    for (unsigned n = 1; !load_acq(&quits); n++) {
        weft__futex_wait(&quits, 0, weft__clock() + (quick ? WEFT_QUICK_TICK : WEFT_TICK));
        if (quick) quick--;
        idle = tick(weft__clock()) ? 0 : idle + 1;
        if (n % WEFT_QUOTA_EVERY == 0) processors = weft__follow_quota();
        if (idle >= WEFT_IDLE_TICKS) rest();
    }
    return NULL;
}

int weft__monitor_start(void) {
    store_rlx(&quits, 0);
    store_rlx(&weft__monitor_rests, 0);
    processors = weft__default_workers();
    return weft__thread_create(&thread, monitor_main,
                               NULL); /* carriers that it makes inherit its mask: that of the start */
}

void weft__monitor_stop(void) {
    store_rel(&quits, 1);
    weft__futex_wake(&quits, 1);
    weft__monitor_wake();
    pthread_join(thread, NULL);
}
