/* SPDX-License-Identifier: MIT */
/*
 * Simulates many workers on a large machine: how long fibers behind a long computation wait, and how
 * far fibers are moved. Three rules: weft's; workers without work steal from any worker; workers help
 * any worker. Ends in "sim: N passed, N failed": the limits that weft's rule must keep.
 *
 *   sim [--quick] [--seed N]
 */
#include "model.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define US UINT64_C(1000)
#define MS (1000 * US)

static const struct rule rules[] = {
    {"weft", true, true},
    {"steal from any worker, no help", false, false},
    {"help any worker", true, false},
};
enum { WEFT, STEAL, ANYBODY, RULES };

static const struct load loads[] = {
    {"busy: every worker always has work, one in seven is stuck", .fibers = 32, .run = 1 * US, .stuck_every = 18 * MS,
     .stuck_for = 3 * MS},
    {"gone: the same, but four are stuck for ever, and no other", .fibers = 32, .run = 1 * US, .stuck_every = 5 * MS,
     .stuck_for = 3 * MS, .gone = 4},
    {"partly idle: workers run dry now and then", .fibers = 8, .run = 2 * US, .sleep = 16 * US, .stuck_every = 18 * MS,
     .stuck_for = 3 * MS},
};
enum { BUSY, GONE, IDLE, LOADS };

/* To see how work grows with workers: no worker is stuck. */
static const struct load grows[] = {
    {"busy: every worker always has work", .fibers = 32, .run = 1 * US},
    {"partly idle: workers run dry now and then", .fibers = 8, .run = 2 * US, .sleep = 16 * US},
};
static const struct machine sizes[] = {{1, 1, 2}, {1, 2, 8}, {1, 8, 8}, {2, 16, 8}, {4, 32, 8}};
enum { GROWS = 2, SIZES = 5 };

static const struct machine machines[] = {{2, 8, 8}, {2, 16, 8}};

static unsigned passed, failed;

static void check(bool so, const char *what) {
    if (so)
        passed++;
    else
        failed++;
    if (!so) printf("FAILED: %s\n", what);
}

/* The wait that n of a thousand fibers do not exceed; UINT64_MAX: some of these had not run at the end. */
static uint64_t quantile(const struct outcome *o, unsigned per_mille) {
    size_t all = o->waits + o->never, i = all * per_mille / 1000;
    if (i >= all && all) i = all - 1;
    return i < o->waits ? o->wait[i] : all ? UINT64_MAX : 0;
}

static void print_wait(uint64_t ns) {
    if (ns == UINT64_MAX)
        printf(" %8s", "never");
    else
        printf(" %8.1f", (double)ns / (double)US);
}

static void print_distances(const uint64_t n[WEFT_DISTANCES]) {
    printf(" |");
    for (unsigned d = WEFT_NEAR_CACHE; d < WEFT_DISTANCES; d++) printf(" %7" PRIu64, n[d]);
}

static void print(const struct rule *r, const struct outcome *o) {
    printf("%-28s %8zu", r->name, o->waits + o->never);
    static const unsigned wanted[] = {500, 990, 999, 1000};
    for (unsigned i = 0; i < 4; i++) print_wait(quantile(o, wanted[i]));
    print_distances(o->helps);
    print_distances(o->steals);
    printf(" | %5.1f\n", 100 * o->work);
}

static void print_head(void) {
    static const char *const near[] = {"cache", "node", "far"};
    printf("%-28s %8s %-35s | %-23s | %-23s | %5s\n%-28s %8s", "", "stranded", "wait, us", "helps", "steals", "work%",
           "", "");
    static const char *const waits[] = {"p50", "p99", "p99.9", "max"};
    for (unsigned i = 0; i < 4; i++) printf(" %8s", waits[i]);
    for (unsigned i = 0; i < 6; i++) printf("%s %7s", i % 3 ? "" : " |", near[i % 3]);
    printf(" |\n");
}

/* The limits of weft's rule: see docs/SIMULATION.md. */
static void judge(unsigned load, const struct outcome o[RULES]) {
    const struct outcome *weft = &o[WEFT], *steal = &o[STEAL];
    check(weft->waits + weft->never > (load == BUSY ? 1000 : 100), "enough were stranded to say something");
    check(!weft->never, "with help, everybody runs");
    check(quantile(weft, 999) <= 1 * MS, "all but one in a thousand of the stranded run within a millisecond");
    if (load == GONE) check(steal->never > 0, "without help, some wait for ever");
    if (load == BUSY) check(quantile(weft, 999) < quantile(steal, 500), "without help, they wait for the stuck one");
    if (load == IDLE) {
        check(steal->steals[WEFT_FAR] > 1000, "enough was stolen to say something");
        check(weft->steals[WEFT_FAR] + weft->helps[WEFT_FAR] <= steal->steals[WEFT_FAR] / 4,
              "at most a quarter as much comes from the other socket as by stealing from any worker");
        check(weft->work >= steal->work, "no less work is done");
    }
}

static unsigned workers_of(const struct machine *m) { return m->sockets * m->caches * m->cores; }

/* From 2 workers to 1,024: the work of each worker hardly falls. */
static void grow(uint64_t duration, uint64_t seed) {
    for (unsigned l = 0; l < GROWS; l++) {
        double first = 0, least = 1;
        printf("\nwork%% of a worker, %s:", grows[l].name);
        for (unsigned i = 0; i < SIZES; i++) {
            struct outcome o;
            simulate(&sizes[i], &grows[l], &rules[WEFT], duration, seed, &o);
            free(o.wait);
            printf(" %u: %.1f", workers_of(&sizes[i]), 100 * o.work);
            fflush(stdout);
            if (!i) first = o.work;
            if (o.work < least) least = o.work;
        }
        printf("\n");
        check(least >= 0.94 * first, "each of 1,024 workers does nearly as much as each of two");
    }
}

static void print_costs(void) {
    printf("costs, ns: dispatch %" PRIu64 "; look at a queue of the same cache, node, or further", cost.dispatch);
    for (unsigned d = WEFT_NEAR_CACHE; d < WEFT_DISTANCES; d++) printf(" %" PRIu64, cost.look[d]);
    printf("; move a fiber");
    for (unsigned d = WEFT_NEAR_CACHE; d < WEFT_DISTANCES; d++) printf(" %" PRIu64, cost.move[d]);
    printf("\n");
}

int main(int argc, char **argv) {
    uint64_t seed = 1, duration = 200 * MS;
    for (int i = 1; i < argc; i++) {
        if (!strcmp(argv[i], "--quick"))
            duration = 30 * MS;
        else if (!strcmp(argv[i], "--seed") && i + 1 < argc)
            seed = strtoull(argv[++i], NULL, 0);
        else {
            fprintf(stderr, "usage: sim [--quick] [--seed N]\n");
            return 2;
        }
    }
    if (!seed) seed = 1;
    print_costs();
    for (unsigned m = 0; m < 2; m++)
        for (unsigned l = 0; l < LOADS; l++) {
            struct outcome o[RULES];
            printf("\n%u workers, %u sockets, %u caches. %s. %.0f ms\n", workers_of(&machines[m]), machines[m].sockets,
                   machines[m].sockets * machines[m].caches, loads[l].name, (double)duration / MS);
            print_head();
            for (unsigned r = 0; r < RULES; r++) {
                simulate(&machines[m], &loads[l], &rules[r], duration, seed, &o[r]);
                print(&rules[r], &o[r]);
                fflush(stdout);
            }
            judge(l, o);
            for (unsigned r = 0; r < RULES; r++) free(o[r].wait);
        }
    grow(duration / 30, seed);
    printf("sim: %u passed, %u failed\n", passed, failed);
    return failed != 0;
}
