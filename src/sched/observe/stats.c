/* SPDX-License-Identifier: MIT */
/*
 * Statistics: each worker counts for itself. This file adds up the numbers and prints them.
 */
#include "sched/observe/stats.h"
#include "sched/elastic/monitor.h"
#include "sched/wait/cancel_log.h"

#include <stdio.h>
#include <string.h>

_Atomic(const char *) weft__io_name;

static const char *const names[WEFT_STATS_NUMBERS] = {
    "spawned",      "completed",    "switches",   "parks",      "unparks",     "steals tried",
    "steals",       "helps",        "moved",      "sleeps",     "wakeups",     "timers",
    "tasks stolen", "joins parked", "by request", "by failure", "by deadline", "busy ms"};

static void stats_add_worker(struct weft__worker *w, uint64_t *to) {
    for (unsigned i = 0; i < WEFT_STATS_NUMBERS; i++) to[i] += load_rlx(&w->numbers.number[i]);
    uint64_t since = load_rlx(&w->progress.busy_since), now = weft__clock();
    if (since && now > since) to[WEFT_STATS_NUMBERS - 1] += now - since;
}

void weft__stats_add(struct weft__cluster *c, struct weft_stats *to) {
    to->spawned += load_rlx(&c->injector.spawned);
    for (unsigned i = 0; i < c->count; i++) stats_add_worker(c->workers[i], (uint64_t *)to);
}

static bool add_running(struct weft__cluster *c, void *to) {
    weft__stats_add(c, to);
    return true;
}

/* Copies as many bytes as the program's struct has room for, and sets the rest to zero. The program may have been
 * compiled with an older or newer header. */
static int stats_hand_out(void *to, size_t size, const void *own, size_t known) {
    memset(to, 0, size);
    memcpy(to, own, size < known ? size : known);
    return 0;
}

WEFT_PUBLIC int weft__stats_read(struct weft_stats *stats, size_t size) {
    if (!stats) return -EINVAL;
    if (!load_acq(&weft__cluster.running)) return -ESRCH; /* pairs with the start */
    pthread_mutex_lock(&weft__clusters_change);
    struct weft_stats own = weft__past;
    weft__cancel_log_add_threads(&own);
    weft__each_cluster(add_running, &own);
    pthread_mutex_unlock(&weft__clusters_change);
    return stats_hand_out(stats, size, &own, sizeof own);
}

WEFT_PUBLIC int weft__stats_worker(unsigned worker, struct weft_stats *stats, size_t size) {
    if (!stats) return -EINVAL;
    struct weft__cluster *c = weft__cluster_find((struct weft_cluster){0});
    if (!c) return -ESRCH;
    if (worker >= load_acq(&c->count)) return -EINVAL; /* pairs with the making of a worker */
    struct weft_stats own = {0};
    stats_add_worker(c->workers[worker], (uint64_t *)&own);
    return stats_hand_out(stats, size, &own, sizeof own);
}

/* --- delays and hogs ---------------------------------------------------------------------------- */

/* The upper end of a bucket, in ns; see bucket_of in delay.c. */
static uint64_t end_of(unsigned bucket) {
    if (bucket < 8) return bucket;
    return (UINT64_C(8) + bucket % 8 + 1) << (bucket / 8 - 3);
}

/* How many delays the workers have counted in this bucket, all together. */
static uint64_t delays_in(struct weft__cluster *c, unsigned bucket) {
    uint64_t n = 0;
    for (unsigned i = 0; i < c->count; i++) n += load_rlx(&c->workers[i]->delays.count[bucket]);
    return n;
}

static void delays_of(struct weft__cluster *c, struct weft_delays *d) {
    static const unsigned thousandths[] = {500, 990, 999};
    uint64_t *percentiles[] = {&d->p50, &d->p99, &d->p999};
    *d = (struct weft_delays){0};
    for (unsigned i = 0; i < c->count; i++) {
        struct weft__worker *w = c->workers[i];
        uint64_t exact = load_rlx(&w->delays.max), coarse = load_rlx(&w->hog.waited);
        if (exact > d->max) d->max = exact;
        if (coarse > d->max) d->max = coarse;
        d->late += load_rlx(&w->delays.late);
    }
    for (unsigned b = 0; b < WEFT_DELAY_BUCKETS; b++) d->timed += delays_in(c, b);
    uint64_t below = 0;
    for (unsigned b = 0, k = 0; b < WEFT_DELAY_BUCKETS && k < 3; b++) {
        uint64_t n = delays_in(c, b);
        for (below += n; k < 3 && n && below * 1000 >= d->timed * thousandths[k]; k++) *percentiles[k] = end_of(b);
    }
}

WEFT_PUBLIC int weft__delays_read(struct weft_cluster cluster, struct weft_delays *delays, size_t size) {
    if (!delays) return -EINVAL;
    struct weft__cluster *c = weft__cluster_find(cluster);
    if (!c) return -ESRCH;
    struct weft_delays own;
    delays_of(c, &own);
    return stats_hand_out(delays, size, &own, sizeof own);
}

WEFT_PUBLIC int weft_hogs(struct weft_cluster cluster, struct weft_hog *hogs, unsigned n) {
    if (!hogs && n) return -EINVAL;
    struct weft__cluster *c = weft__cluster_find(cluster);
    if (!c) return -ESRCH;
    unsigned found = 0;
    for (unsigned i = 0; i < c->count; i++) {
        struct weft__fiber *f = load_acq(&c->workers[i]->hog.fiber); /* pairs with the monitor */
        if (f && found++ < n) weft__hog_describe(c->workers[i], f, &hogs[found - 1]);
    }
    return (int)found;
}

static void print_delays(struct weft__cluster *c) {
    struct weft_delays d;
    delays_of(c, &d);
    fprintf(stderr, "weft: ready to running: p50 %.1f us, p99 %.1f us, p99.9 %.1f us, max %.1f us (%llu timed",
            (double)d.p50 / 1e3, (double)d.p99 / 1e3, (double)d.p999 / 1e3, (double)d.max / 1e3,
            (unsigned long long)d.timed);
    if (load_rlx(&c->late_after)) fprintf(stderr, ", %llu beyond the limit", (unsigned long long)d.late);
    fputs(")\n", stderr);
}

static void print_hog(unsigned worker, const char *what, uint64_t kept, const struct weft_hog *h) {
    struct weft__text text;
    fprintf(stderr, "weft: worker %u: %s %llu ms: %s\n", worker, what, (unsigned long long)(kept / WEFT_MILLISECOND),
            weft__describe_as(h->fiber, h->name, h->where, &text));
}

/* The fiber that keeps the worker, and the fiber that has kept it longest. */
static void print_hogs(struct weft__cluster *c) {
    for (unsigned i = 0; i < c->count; i++) {
        struct weft__worker *w = c->workers[i];
        struct weft__fiber *f = load_acq(&w->hog.fiber); /* pairs with the monitor */
        struct weft_hog h;
        if (f) {
            weft__hog_describe(w, f, &h);
            print_hog(i, "has been kept for", weft__clock() - h.since, &h);
        }
        weft__lock(&w->hog.lock);
        uint64_t kept = w->hog.kept;
        h = w->hog.longest;
        weft__unlock(&w->hog.lock);
        if (kept) print_hog(i, "was once kept for", kept, &h);
    }
}

/* --- printing ----------------------------------------------------------------------------------- */

static void print_row(const char *name, const uint64_t *numbers, unsigned first, unsigned last) {
    fprintf(stderr, "weft: %-10s", name);
    for (unsigned i = first; i < last; i++)
        fprintf(stderr, " %12llu",
                (unsigned long long)(i == WEFT_STATS_NUMBERS - 1 ? numbers[i] / 1000000 : numbers[i]));
    fputc('\n', stderr);
}

/* The numbers of a cluster at one moment, copied because printing may take long. If there is no memory for `worker`,
 * only the sum is printed. */
struct table {
    struct weft_stats total, *worker;
    unsigned workers;
};

static void take_down(struct weft__cluster *c, struct table *t) {
    *t = (struct table){.workers = load_acq(&c->count)}; /* pairs with the making of a worker */
    weft__stats_add(c, &t->total);
    if (c == &weft__cluster) weft__cancel_log_add_threads(&t->total);
    if (!t->workers || !(t->worker = weft__alloc(t->workers * sizeof *t->worker))) t->workers = 0;
    for (unsigned i = 0; i < t->workers; i++) stats_add_worker(c->workers[i], (uint64_t *)&t->worker[i]);
}

/* Prints blocks of seven columns, so that a line fits into a terminal. */
static void print_table(const struct table *t) {
    enum { COLUMNS = 7, NUMBERS = WEFT_STATS_NUMBERS };
    for (unsigned first = 0; first < NUMBERS; first += COLUMNS) {
        unsigned last = first + COLUMNS < NUMBERS ? first + COLUMNS : NUMBERS;
        fprintf(stderr, "weft: %-10s", "");
        for (unsigned i = first; i < last; i++) fprintf(stderr, " %12s", names[i]);
        fputc('\n', stderr);
        for (unsigned w = 0; w < t->workers; w++) {
            char name[24];
            snprintf(name, sizeof name, "worker %u", w);
            print_row(name, (const uint64_t *)&t->worker[w], first, last);
        }
        print_row("all", (const uint64_t *)&t->total, first, last);
    }
}

static bool print_cluster(struct weft__cluster *c, void *unused) {
    struct table t;
    (void)unused;
    if (c != &weft__cluster) fprintf(stderr, "weft: cluster %u\n", c->placement >> WEFT_PLACEMENT_CLUSTER_SHIFT);
    take_down(c, &t);
    print_table(&t);
    weft__free(t.worker);
    print_delays(c);
    print_hogs(c);
    return true;
}

/* Takes no lock: a write may block, and clusters must be able to begin and end meanwhile. That is safe because their
 * records are kept for ever. */
void weft__stats_print(void) {
    weft__each_cluster(print_cluster, NULL);
    const char *io = load_acq(&weft__io_name); /* pairs with decide in io/engine.c */
    if (io) fprintf(stderr, "weft: I/O by %s\n", io);
    weft__cancel_log_print();
}

WEFT_PUBLIC int weft_stats_print(void) {
    if (!load_acq(&weft__cluster.running)) return -ESRCH;
    weft__stats_print();
    return 0;
}
