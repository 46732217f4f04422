/* SPDX-License-Identifier: MIT */
/* See stress.h: arguments, the clock, the watchdog. */
#include "stress.h"

#include "../watchdog.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

unsigned workers = 2, shrink = 1;
uint64_t end_at;
static _Atomic uint64_t moves;
static const char *part_name = "?";
static uint64_t seed = 1;

void moved(void) { atomic_fetch_add_explicit(&moves, 1, memory_order_relaxed); }

void broken(const char *file, int line, const char *what, long long got, long long wanted) {
    fprintf(stderr, "%s:%d: %s is %lld, not %lld (stress %s --workers %u --seed %llu)\n", file, line, what, got, wanted,
            part_name, workers, (unsigned long long)seed);
    weft_stats_print();
    printf("stress %s, %u workers: 0 passed, 1 failed\n", part_name, workers);
    fflush(NULL);
    abort();
}

/* Long: it costs time only if the test hangs, and machines may be busy. */
#define WATCHED_SECONDS 60
static void *watchdog(void *unused) {
    (void)unused;
    watch_number(&moves, WATCHED_SECONDS);
    dump();
    broken(__FILE__, __LINE__, "seconds without progress", WATCHED_SECONDS, 0);
}

const struct part *const part_tables[] = {parts_of_fibers,     parts_of_waits,     parts_of_time,
                                          parts_of_races,      parts_of_cancels,   parts_of_locks,
                                          parts_of_conditions, parts_from_outside, parts_of_queues,
                                          parts_of_deques,     parts_alone,        parts_of_elastic,
                                          parts_of_lives,      parts_of_channels,  parts_of_scopes,
                                          parts_of_tasks,      parts_of_loops,     parts_of_the_kernel,
                                          parts_of_io,         parts_together,     NULL};

static const struct part *find(const char *name) {
    for (unsigned t = 0; part_tables[t]; t++)
        for (const struct part *p = part_tables[t]; p->name; p++)
            if (!strcmp(p->name, name)) return p;
    return NULL;
}

/* Prints the names, or compares them with n others: meson.build lists them again, and must list them all. */
static int list(int n, char **names) {
    int parts = 0, known = 0;
    for (unsigned t = 0; part_tables[t]; t++)
        for (const struct part *p = part_tables[t]; p->name; p++, parts++)
            if (!n) puts(p->name);
    for (int i = 0; i < n; i++) known += find(names[i]) != NULL;
    if (n) printf("stress list: %d passed, %d failed\n", known, parts > n ? parts - known : n - known);
    return n && (known != n || known != parts);
}

static int usage(void) {
    fprintf(stderr, "usage: stress list [PART...] | stress PART [--seconds S] [--workers N] [--seed X]\n");
    return 2;
}

int main(int argc, char **argv) {
    const char *time = getenv("WEFT_STRESS_SECONDS");
    double seconds = time ? atof(time) : 1;
    if (argc < 2) return usage();
    if (!strcmp(argv[1], "list")) return list(argc - 2, argv + 2);
    const struct part *part = find(argv[1]);
    if (!part) return usage();
    part_name = part->name;
    for (int i = 2; i + 1 < argc; i += 2) {
        if (!strcmp(argv[i], "--seconds"))
            seconds = atof(argv[i + 1]);
        else if (!strcmp(argv[i], "--workers"))
            workers = (unsigned)atoi(argv[i + 1]);
        else if (!strcmp(argv[i], "--seed"))
            seed = strtoull(argv[i + 1], NULL, 0);
        else
            return usage();
    }
    if (TEST_TSAN || TEST_ASAN) shrink = 10;
    pthread_t dog;
    pthread_create(&dog, NULL, watchdog, NULL);
    pthread_detach(dog);
    struct weft_config config = {.workers = workers};
    uint64_t random = seed * 0x9e3779b97f4a7c15ULL, rounds = 0;
    end_at = weft_now() + (uint64_t)(seconds * 1e9);
    if (!part->starts_itself) OK(weft_start(&config));
    do {
        part->round(roll(&random));
        rounds++;
        moved();
    } while (weft_now() < end_at);
    if (!part->starts_itself) {
        struct weft_stats s;
        OK(weft_stats_read(&s));
        OK(weft_stop());
    }
    if (resizes) printf("%llu resizes\n", (unsigned long long)resizes);
    if (lives) printf("%llu lives\n", (unsigned long long)lives);
    printf("stress %s, %u workers, %llu rounds: 1 passed, 0 failed\n", part_name, workers, (unsigned long long)rounds);
    return 0;
}
