/*
 * Statistics: each worker counts for itself; here they are summed and printed.
 */
#include "sched/cluster.h"

#include <stdio.h>
#include <string.h>

_Atomic(const char *) weft__io_name;

static const char *const names[WEFT_STATS_NUMBERS] = {
    "spawned",      "completed",    "switches",   "parks",      "unparks",     "steals tried",
    "steals",       "helps",        "moved",      "sleeps",     "wakeups",     "timers",
    "tasks stolen", "joins parked", "by request", "by failure", "by deadline", "busy ms"};

static void add_worker(struct weft__worker *w, uint64_t *to) {
    for (unsigned i = 0; i < WEFT_STATS_NUMBERS; i++) to[i] += load_rlx(&w->numbers.number[i]);
    uint64_t since = load_rlx(&w->busy_since), now = weft__clock();
    if (since && now > since) to[WEFT_STATS_NUMBERS - 1] += now - since;
}

static void sum(struct weft__cluster *c, struct weft_stats *stats) {
    *stats = (struct weft_stats){.spawned = load_rlx(&c->injector.spawned)};
    if (c == &weft__cluster) weft__told_by_threads(stats);
    for (unsigned i = 0; i < c->count; i++) add_worker(c->workers[i], (uint64_t *)stats);
}

WEFT_PUBLIC int weft_stats(struct weft_stats *stats) {
    if (!stats) return -EINVAL;
    if (!load_acq(&weft__cluster.running)) return -ESRCH; /* pairs with the start */
    sum(&weft__cluster, stats);
    return 0;
}

WEFT_PUBLIC int weft_stats_worker(unsigned worker, struct weft_stats *stats) {
    if (!stats) return -EINVAL;
    if (!load_acq(&weft__cluster.running)) return -ESRCH;
    if (worker >= weft__cluster.count) return -EINVAL;
    *stats = (struct weft_stats){0};
    add_worker(weft__cluster.workers[worker], (uint64_t *)stats);
    return 0;
}

/* --- delays and hogs ---------------------------------------------------------------------------- */

/* The upper end of what a bucket holds; see bucket_of in age.c. */
static uint64_t end_of(unsigned bucket) {
    if (bucket < 8) return bucket;
    return (UINT64_C(8) + bucket % 8 + 1) << (bucket / 8 - 3);
}

static void delays_of(struct weft__cluster *c, struct weft_delays *d) {
    static const unsigned thousandths[] = {500, 990, 999};
    uint64_t all[WEFT_DELAY_BUCKETS] = {0}, *percentiles[] = {&d->p50, &d->p99, &d->p999};
    *d = (struct weft_delays){0};
    for (unsigned i = 0; i < c->count; i++) {
        struct weft__worker *w = c->workers[i];
        uint64_t exact = load_rlx(&w->delay_max), coarse = load_rlx(&w->hog.waited);
        if (exact > d->max) d->max = exact;
        if (coarse > d->max) d->max = coarse;
        for (unsigned b = 0; b < WEFT_DELAY_BUCKETS; b++) all[b] += load_rlx(&w->delays[b]);
    }
    for (unsigned b = 0; b < WEFT_DELAY_BUCKETS; b++) d->timed += all[b];
    uint64_t below = 0;
    for (unsigned b = 0, k = 0; b < WEFT_DELAY_BUCKETS; b++)
        for (below += all[b]; k < 3 && all[b] && below * 1000 >= d->timed * thousandths[k]; k++)
            *percentiles[k] = end_of(b);
}

WEFT_PUBLIC int weft_delays(struct weft_cluster cluster, struct weft_delays *delays) {
    if (!delays) return -EINVAL;
    struct weft__cluster *c = weft__cluster_find(cluster);
    if (!c) return -ESRCH;
    delays_of(c, delays);
    return 0;
}

/* The record may be another fiber's by now; then the handle says so to whoever uses it. */
static WEFT_MAY_RACE void describe(struct weft__worker *w, struct weft__fiber *f, struct weft_hog *to) {
    to->fiber = weft__handle(f);
    to->since = load_rlx(&w->hog.since);
    to->where = f->where;
    memcpy(to->name, f->name, sizeof to->name);
    to->worker = w->index;
}

WEFT_PUBLIC int weft_hogs(struct weft_cluster cluster, struct weft_hog *hogs, unsigned n) {
    if (!hogs && n) return -EINVAL;
    struct weft__cluster *c = weft__cluster_find(cluster);
    if (!c) return -ESRCH;
    unsigned found = 0;
    for (unsigned i = 0; i < c->count; i++) {
        struct weft__fiber *f = load_acq(&c->workers[i]->hog.fiber); /* pairs with the monitor */
        if (f && found++ < n) describe(c->workers[i], f, &hogs[found - 1]);
    }
    return (int)found;
}

static void print_delays(struct weft__cluster *c) {
    struct weft_delays d;
    delays_of(c, &d);
    fprintf(stderr, "weft: ready to running: p50 %.1f us, p99 %.1f us, p99.9 %.1f us, max %.1f us (%llu timed)\n",
            (double)d.p50 / 1e3, (double)d.p99 / 1e3, (double)d.p999 / 1e3, (double)d.max / 1e3,
            (unsigned long long)d.timed);
}

static void print_hogs(struct weft__cluster *c) {
    for (unsigned i = 0; i < c->count; i++) {
        struct weft__fiber *f = load_acq(&c->workers[i]->hog.fiber); /* pairs with the monitor */
        struct weft__text text;
        if (f)
            fprintf(stderr, "weft: worker %u: runs since %llu ms: %s\n", i,
                    (unsigned long long)((weft__clock() - load_rlx(&c->workers[i]->hog.since)) / WEFT_MILLISECOND),
                    weft__describe(f, &text));
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

/* In blocks of seven columns, so that a line fits a terminal. */
void weft__stats_print(struct weft__cluster *c) {
    struct weft_stats total;
    sum(c, &total);
    enum { COLUMNS = 7, NUMBERS = WEFT_STATS_NUMBERS };
    for (unsigned first = 0; first < NUMBERS; first += COLUMNS) {
        unsigned last = first + COLUMNS < NUMBERS ? first + COLUMNS : NUMBERS;
        fprintf(stderr, "weft: %-10s", "");
        for (unsigned i = first; i < last; i++) fprintf(stderr, " %12s", names[i]);
        fputc('\n', stderr);
        for (unsigned w = 0; w < c->count; w++) {
            struct weft_stats one = {0};
            char name[24];
            add_worker(c->workers[w], (uint64_t *)&one);
            snprintf(name, sizeof name, "worker %u", w);
            print_row(name, (uint64_t *)&one, first, last);
        }
        print_row("all", (uint64_t *)&total, first, last);
    }
    print_delays(c);
    print_hogs(c);
    if (load_rlx(&weft__io_name)) fprintf(stderr, "weft: I/O by %s\n", load_rlx(&weft__io_name));
    if (c == &weft__cluster) weft__told_print();
}

WEFT_PUBLIC int weft_stats_print(void) {
    if (!load_acq(&weft__cluster.running)) return -ESRCH;
    weft__stats_print(&weft__cluster);
    return 0;
}
