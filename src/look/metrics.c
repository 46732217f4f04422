/* SPDX-License-Identifier: MIT */
/*
 * weft_metrics: the numbers of the runtime in the form that Prometheus reads. Each counter of a worker is a line with
 * the worker's number. The reader adds them up.
 */
#include "base/sys.h"
#include "look/report.h"
#include "sched/dispatch/priority.h"
#include "sched/wake/idle.h"

#include <fcntl.h>

static const struct {
    const char *name, *help;
} counters[] = {
    {"fibers_spawned", "Fibers that the worker has spawned."},
    {"fibers_completed", "Fibers that have ended on the worker."},
    {"switches", "Switches from one fiber to another."},
    {"parks", "Waits that gave the worker away."},
    {"unparks", "Fibers that the worker has made ready."},
    {"steals_tried", "Looks for work of others."},
    {"steals", "Looks that brought work."},
    {"helps", "Fibers taken from queues that waited longer."},
    {"moved", "Fibers that came from other workers."},
    {"sleeps", "Sleeps of the worker for lack of work."},
    {"wakeups", "Other workers that it has woken."},
    {"timers", "Timers that have expired."},
    {"tasks_stolen", "Forked calls that were taken from other workers."},
    {"joins_parked", "Joins of forked calls that had to wait."},
    {"cancelled_by_request", "Fibers and scopes cancelled by a call."},
    {"cancelled_by_failure", "Fibers and scopes cancelled by a failure."},
    {"cancelled_by_deadline", "Fibers and scopes cancelled by a deadline."},
    {"busy_seconds", "Time that the worker was awake."},
};
_Static_assert(sizeof counters / sizeof *counters == WEFT_STATS_NUMBERS, "a name for each number");

static void metric_head(struct weft__out *o, const char *name, const char *suffix, const char *type, const char *help) {
    weft__out(o, "# HELP weft_%s%s %s\n# TYPE weft_%s%s %s\n", name, suffix, help, name, suffix, type);
}

/* --- workers -------------------------------------------------------------------------------------------- */

struct number {
    struct weft__out *out;
    unsigned which;
    const char *name;
    uint64_t (*of)(struct weft__worker *w);
};

static unsigned number_of(const struct weft__cluster *c) { return c->placement >> WEFT_PLACEMENT_CLUSTER_SHIFT & 0x3f; }

static bool put_counter(struct weft__cluster *c, void *arg) {
    struct number *n = arg;
    for (unsigned i = 0; i < load_acq(&c->count); i++) { /* pairs with the making of a worker */
        uint64_t v = load_rlx(&c->workers[i]->numbers.number[n->which]);
        double value = n->which == WEFT_STATS_NUMBERS - 1 ? (double)v / 1e9 : (double)v; /* the last is a time, in ns */
        weft__out(n->out, "weft_%s_total{cluster=\"%u\",worker=\"%u\"} %.17g\n", n->name, number_of(c), i, value);
    }
    return true;
}

static bool put_gauge(struct weft__cluster *c, void *arg) {
    struct number *n = arg;
    for (unsigned i = 0; i < load_acq(&c->count); i++) /* pairs with the making of a worker */
        weft__out(n->out, "weft_%s{cluster=\"%u\",worker=\"%u\"} %llu\n", n->name, number_of(c), i,
                  (unsigned long long)n->of(c->workers[i]));
    return true;
}

static uint64_t metric_ready(struct weft__worker *w) { return weft__ready_length(&w->ready) + weft__aside_count(w); }
static uint64_t metric_armed(struct weft__worker *w) { return load_rlx(&w->wheel.armed); }
static uint64_t in_flight(struct weft__worker *w) { return load_rlx(&w->ring.in_flight); }
static uint64_t metric_busy(struct weft__worker *w) { return load_rlx(&w->progress.busy_since) != 0; }
static uint64_t metric_hogged(struct weft__worker *w) { return load_rlx(&w->hog.fiber) != NULL; }

static void put_workers(struct weft__out *o) {
    static const struct {
        const char *name, *help;
        uint64_t (*of)(struct weft__worker *w);
    } gauges[] = {{"worker_ready", "Fibers that are ready in the worker's queues.", metric_ready},
                  {"worker_timers", "Timers that are armed.", metric_armed},
                  {"worker_requests", "Requests to the kernel that are under way.", in_flight},
                  {"worker_busy", "1 while the worker is awake.", metric_busy},
                  {"worker_hogged", "1 while one fiber keeps the worker.", metric_hogged}};
    for (unsigned i = 0; i < WEFT_STATS_NUMBERS; i++) {
        struct number n = {.out = o, .which = i, .name = counters[i].name};
        metric_head(o, counters[i].name, "_total", "counter", counters[i].help);
        weft__each_cluster(put_counter, &n);
    }
    for (unsigned i = 0; i < sizeof gauges / sizeof *gauges; i++) {
        struct number n = {.out = o, .name = gauges[i].name, .of = gauges[i].of};
        metric_head(o, gauges[i].name, "", "gauge", gauges[i].help);
        weft__each_cluster(put_gauge, &n);
    }
}

/* --- the whole ------------------------------------------------------------------------------------------ */

struct sums {
    uint64_t configured, running, resting, injected;
    uint64_t delays[WEFT_DELAY_BUCKETS / 8];
};

static bool metric_add(struct weft__cluster *c, void *arg) {
    struct sums *s = arg;
    s->configured += load_rlx(&c->configured);
    s->running += load_rlx(&c->wanted);
    s->resting += weft__idle_resting(load_rlx(&c->idle.state));
    s->injected += load_rlx(&c->injector.length);
    for (unsigned i = 0; i < load_acq(&c->count); i++) /* pairs with the making of a worker */
        for (unsigned b = 0; b < WEFT_DELAY_BUCKETS; b++) s->delays[b / 8] += load_rlx(&c->workers[i]->delays.count[b]);
    return true;
}

/* Writes the histogram of delays. Eight buckets of delay.c make one bucket, up to a power of two of nanoseconds. The
 * workers keep no sum, so the sum is computed from the upper ends of the buckets. */
static void put_delays(struct weft__out *o, const struct sums *s) {
    enum { FIRST = 9, LAST = 34 }; /* a microsecond, half a minute */
    uint64_t below = 0;
    double sum = 0;
    metric_head(o, "ready_delay_seconds", "", "histogram", "From ready to running, of those fibers that were timed.");
    for (unsigned b = 0; b < WEFT_DELAY_BUCKETS / 8; b++) {
        double end = (double)(UINT64_C(1) << (b < 62 ? b + 1 : 63)) / 1e9;
        below += s->delays[b];
        sum += (double)s->delays[b] * end;
        if (b >= FIRST && b <= LAST)
            weft__out(o, "weft_ready_delay_seconds_bucket{le=\"%g\"} %llu\n", end, (unsigned long long)below);
    }
    weft__out(o, "weft_ready_delay_seconds_bucket{le=\"+Inf\"} %llu\n", (unsigned long long)below);
    weft__out(o, "weft_ready_delay_seconds_sum %g\nweft_ready_delay_seconds_count %llu\n", sum,
              (unsigned long long)below);
}

static void put_gauges(struct weft__out *o, const struct sums *s, const struct weft_stats *all) {
    const struct {
        const char *name, *help;
        uint64_t value;
    } gauges[] = {{"fibers", "Fibers that exist.", all->spawned > all->completed ? all->spawned - all->completed : 0},
                  {"workers_configured", "Workers that the program asked for.", s->configured},
                  {"workers_running", "Workers that run, with those in place of stuck ones.", s->running},
                  {"workers_asleep", "Workers that have nothing to do.", s->resting},
                  {"injected", "Fibers that wait to be taken in by a worker.", s->injected}};
    for (unsigned i = 0; i < sizeof gauges / sizeof *gauges; i++) {
        metric_head(o, gauges[i].name, "", "gauge", gauges[i].help);
        weft__out(o, "weft_%s %llu\n", gauges[i].name, (unsigned long long)gauges[i].value);
    }
}

WEFT_PUBLIC int weft_metrics(int fd) {
    struct weft_stats all;
    int err = weft_stats_read(&all);
    if (err) return err;
    if (fcntl(fd, F_GETFD) < 0) return -EBADF;
    struct weft__out *o = weft__alloc(sizeof *o);
    struct sums *s = weft__alloc(sizeof *s);
    if (o && s) {
        memset(o, 0, sizeof *o); /* a temporary copy would be too large for the stack */
        memset(s, 0, sizeof *s);
        o->fd = fd;
        weft__each_cluster(metric_add, s);
        put_gauges(o, s, &all);
        put_workers(o);
        put_delays(o, s);
        weft__out(o, "# EOF\n");
        err = weft__out_end(o);
    } else
        err = -ENOMEM;
    weft__free(o);
    weft__free(s);
    return err;
}
