/*
 * Statistics: each worker counts for itself; here they are summed and printed.
 */
#include "sched/sched.h"

#include <stdio.h>

static const char *const names[WEFT_STATS_NUMBERS] = {"spawned",      "completed", "switches", "parks", "unparks",
                                                      "steals tried", "steals",    "helps",    "moved", "sleeps",
                                                      "wakeups",      "timers",    "busy ms"};

static void add_worker(struct weft__worker *w, uint64_t *to) {
    for (unsigned i = 0; i < WEFT_STATS_NUMBERS; i++) to[i] += load_rlx(&w->numbers.number[i]);
    uint64_t since = load_rlx(&w->busy_since), now = weft__clock();
    if (since && now > since) to[WEFT_STATS_NUMBERS - 1] += now - since;
}

static void sum(struct weft__cluster *c, struct weft_stats *stats) {
    *stats = (struct weft_stats){.spawned = load_rlx(&c->injector.spawned)};
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
}

WEFT_PUBLIC int weft_stats_print(void) {
    if (!load_acq(&weft__cluster.running)) return -ESRCH;
    weft__stats_print(&weft__cluster);
    return 0;
}
