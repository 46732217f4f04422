/* SPDX-License-Identifier: MIT */
/* The parts of a measuring program that are not worth inlining. See measure.h. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "measure.h"
#include "system.h"

#include <dirent.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

void fail(const char *what, int error) {
    fprintf(stderr, "%s: %s\n", what, strerror(error));
    exit(1);
}

static const char *find(const struct args *args, const char *key) {
    size_t length = strlen(key);
    for (int i = 0; i < args->count; i++) {
        const char *word = args->values[i];
        if (!strncmp(word, key, length) && word[length] == '=') return word + length + 1;
    }
    return NULL;
}

uint64_t arg_or(const struct args *args, const char *key, uint64_t otherwise) {
    const char *text = find(args, key);
    if (!text) return otherwise;
    char *end;
    uint64_t value = strtoull(text, &end, 10);
    if (end == text || *end) fail(key, EINVAL);
    return value;
}

const char *arg_text(const struct args *args, const char *key, const char *otherwise) {
    const char *text = find(args, key);
    return text ? text : otherwise;
}

uint64_t arg(const struct args *args, const char *key) {
    if (!find(args, key)) {
        fprintf(stderr, "missing argument: %s=\n", key);
        exit(2);
    }
    return arg_or(args, key, 0);
}

static const struct measurement *lookup(const struct measurement *const *tables, const char *name) {
    for (; *tables; tables++)
        for (const struct measurement *m = *tables; m->name; m++)
            if (!strcmp(m->name, name)) return m;
    return NULL;
}

/* The samples of all calls, which are printed after the result. */
static struct {
    char *text;
    size_t length;
    FILE *file;
} samples;

void measure_sample(const char *name, double x, double y) {
    if (!samples.file) samples.file = open_memstream(&samples.text, &samples.length);
    if (!samples.file) fail("memory", ENOMEM);
    fprintf(samples.file, "%s %.9g %.9g\n", name, x, y);
}

int measure_main(int argc, char **argv, const struct measurement *const *tables) {
    const char *name = argc > 1 ? argv[1] : "";
    const struct measurement *found = lookup(tables, name);
    if (!found) {
        fprintf(stderr, "no such measurement: '%s'\n", name);
        return 2;
    }
    struct args args = {argc - 2, argv + 2};
    struct result result = {false, {0}};
    if (found->outside)
        found->run(&args, &result);
    else
        sys_run(&args, found->run, &result);
    printf("%s", result.right ? "right" : "wrong");
    for (int i = 0; i < RESULT_VALUES; i++) printf(" %.9g", result.values[i]);
    printf("\n");
    if (samples.file && !fclose(samples.file)) fputs(samples.text, stdout);
    free(samples.text);
    return fflush(stdout) || !result.right;
}

void *allocate(size_t count, size_t size) {
    size_t bytes = (count * size + 127) / 128 * 128;
    void *p = aligned_alloc(128, bytes);
    if (!p) fail("memory", ENOMEM);
    return memset(p, 0, bytes);
}

void scratch_name(char name[SCRATCH_SIZE]) {
    const char *dir = getenv("TMPDIR");
    snprintf(name, SCRATCH_SIZE, "%s/weft-bench-XXXXXX", dir ? dir : "/tmp");
}

uint64_t clock_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

void pause_ns(uint64_t nanoseconds) {
    struct timespec t;
    t.tv_sec = (time_t)(nanoseconds / 1000000000);
    t.tv_nsec = (long)(nanoseconds % 1000000000);
    while (clock_nanosleep(CLOCK_MONOTONIC, 0, &t, &t) == EINTR) {
    }
}

void keep_apart(void) {
    cpu_set_t all, last;
    if (sched_getaffinity(getpid(), sizeof all, &all)) fail("sched_getaffinity", errno);
    if (CPU_COUNT(&all) < 2) return;
    int cpu = CPU_SETSIZE - 1;
    while (!CPU_ISSET(cpu, &all)) cpu--;
    CPU_ZERO(&last);
    CPU_SET(cpu, &last);
    CPU_CLR(cpu, &all);
    DIR *tasks = opendir("/proc/self/task");
    if (!tasks) fail("/proc/self/task", errno);
    for (struct dirent *d; (d = readdir(tasks));)
        if (d->d_name[0] != '.') sched_setaffinity(atoi(d->d_name), sizeof all, &all);
    closedir(tasks);
    if (sched_setaffinity(0, sizeof last, &last)) fail("sched_setaffinity", errno);
}

static void *alarm_main(void *p) {
    struct alarm_clock *alarm = (struct alarm_clock *)p;
    pause_ns(alarm->milliseconds * 1000000);
    alarm->ended = clock_ns();
    __atomic_store_n(&alarm->rung, 1, __ATOMIC_RELAXED);
    return NULL;
}

void alarm_start(struct alarm_clock *alarm, uint64_t milliseconds) {
    alarm->milliseconds = milliseconds;
    alarm->rung = 0;
    alarm->began = clock_ns();
    must(-pthread_create(&alarm->thread, NULL, alarm_main, alarm), "pthread_create");
}

void alarm_join(struct alarm_clock *alarm) { pthread_join(alarm->thread, NULL); }

#define CONTROL_SLEEP UINT64_C(100000)

static void *control_main(void *p) {
    struct control *control = (struct control *)p;
    prctl(PR_SET_TIMERSLACK, 1, 0, 0, 0);
    while (!__atomic_load_n(&control->over, __ATOMIC_RELAXED)) {
        uint64_t due = clock_ns() + CONTROL_SLEEP;
        pause_ns(CONTROL_SLEEP);
        uint64_t now = clock_ns();
        if (now > due && now - due > control->worst) control->worst = now - due;
    }
    return NULL;
}

void control_start(struct control *control) {
    control->over = 0;
    control->worst = 0;
    must(-pthread_create(&control->thread, NULL, control_main, control), "pthread_create");
}

uint64_t control_stop(struct control *control) {
    __atomic_store_n(&control->over, 1, __ATOMIC_RELAXED);
    pthread_join(control->thread, NULL);
    return control->worst;
}

static int compare(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

double median(double *values, size_t count) {
    if (!count) return 0;
    qsort(values, count, sizeof *values, compare);
    return count % 2 ? values[count / 2] : (values[count / 2 - 1] + values[count / 2]) / 2;
}

double percentile(double *values, size_t count, unsigned p) {
    if (!count) return 0;
    qsort(values, count, sizeof *values, compare);
    size_t rank = (count * p + 99) / 100;
    return values[rank ? rank - 1 : 0];
}

void measure_quantiles(const char *name, double *values, size_t count) {
    static const double at[] = {0,  5,  10, 20, 25, 30,   40,   50,    60,    70,
                                75, 80, 90, 95, 99, 99.5, 99.9, 99.95, 99.99, 100};
    if (!count) return;
    qsort(values, count, sizeof *values, compare);
    for (size_t i = 0; i < sizeof at / sizeof *at; i++) {
        double rank = at[i] / 100 * (double)(count - 1);
        measure_sample(name, at[i], values[(size_t)(rank + 0.5)]);
    }
}

void measure_served(const char *name, const uint64_t *counts, size_t count) {
    double *shares = (double *)allocate(count + 1, sizeof *shares), sum = 0;
    for (size_t i = 0; i < count; i++) sum += (double)counts[i];
    for (size_t i = 0; i < count && sum > 0; i++) shares[i] = (double)counts[i] * (double)count / sum;
    measure_quantiles(name, shares, count);
    free(shares);
}

double least_over_mean(const uint64_t *counts, size_t count) {
    uint64_t least = UINT64_MAX, sum = 0;
    for (size_t i = 0; i < count; i++) {
        if (counts[i] < least) least = counts[i];
        sum += counts[i];
    }
    return sum ? (double)least * (double)count / (double)sum : 0;
}

double most_over_least(const uint64_t *counts, size_t count) {
    uint64_t least = UINT64_MAX, most = 0;
    for (size_t i = 0; i < count; i++) {
        if (counts[i] < least) least = counts[i];
        if (counts[i] > most) most = counts[i];
    }
    return least ? (double)most / (double)least : 1e9;
}

void memory_check(uint64_t bytes) {
    uint64_t kib = 0;
    char line[128];
    FILE *f = fopen("/proc/meminfo", "r");
    while (f && fgets(line, sizeof line, f))
        if (!strncmp(line, "MemAvailable:", 13)) kib = strtoull(line + 13, NULL, 10);
    if (f) fclose(f);
    if (!kib || bytes / 1024 < kib - kib / 8) return; /* an eighth is left for the rest of the machine */
    fprintf(stderr, "this needs %.1f GiB of memory, and %.1f are available\n", (double)bytes / 1073741824,
            (double)kib / 1048576);
    exit(1);
}

uint64_t memory_now(void) {
    uint64_t kib = 0;
    char line[128];
    FILE *f = fopen("/proc/self/status", "r");
    if (!f) fail("/proc/self/status", errno);
    while (fgets(line, sizeof line, f))
        if (!strncmp(line, "VmRSS:", 6) || !strncmp(line, "VmPTE:", 6)) kib += strtoull(line + 6, NULL, 10);
    fclose(f);
    return kib * 1024;
}

#define FACTOR UINT64_C(6364136223846793005)
#define TERM UINT64_C(1442695040888963407)

NOINLINE uint64_t work_done(uint64_t seed, uint64_t steps) {
    uint64_t x = seed;
    for (uint64_t i = 0; i < steps; i++) {
        x = x * FACTOR + TERM;
        __asm__ volatile("" : "+r"(x)); /* keeps clang from combining several steps */
    }
    return x;
}

uint64_t work_expected(uint64_t seed, uint64_t steps) {
    uint64_t factor = FACTOR, term = TERM; /* the constants of 2^k combined steps */
    uint64_t x = seed;
    for (; steps; steps >>= 1) {
        if (steps & 1) x = x * factor + term;
        term = (factor + 1) * term;
        factor *= factor;
    }
    return x;
}
