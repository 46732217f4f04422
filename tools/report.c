/* SPDX-License-Identifier: MIT */
/* See report.h. */
#include "report.h"

#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>

#define NUMBER 32

void report_machine(void) {
    char line[256], model[256] = "";
    FILE *f = fopen("/proc/cpuinfo", "r");
    while (f && !model[0] && fgets(line, sizeof line, f))
        if (!strncmp(line, "model name", 10)) sscanf(line, "%*[^:]: %255[^\n]", model);
    if (f) fclose(f);
    struct utsname u;
    if (uname(&u)) return;
    unsigned cpus = suite_cpus();
    printf("%s, %u cpu%s, %s %s\n", model[0] ? model : u.machine, cpus, cpus == 1 ? "" : "s", u.sysname, u.release);
}

char *report_number(char *text, size_t size, double value) {
    double magnitude = value < 0 ? -value : value;
    int digits = magnitude >= 1000 ? 0 : magnitude >= 10 ? 1 : magnitude >= 1 || magnitude == 0 ? 2 : 3;
    snprintf(text, size, "%.*f", digits, value);
    return text;
}

static void print_figure(int width, bool there, double value) {
    char text[NUMBER];
    printf("%*s", width, there ? report_number(text, sizeof text, value) : "-");
}

/* 0 is no ratio. */
static void print_ratio(int width, double ratio) {
    if (ratio > 0)
        printf("%*.*f", width, ratio < 10 ? 3 : 1, ratio);
    else
        printf("%*s", width, "-");
}

void report_heading(const struct bench *bench) { printf("\n%s: %s\n%s\n", bench->name, bench->summary, bench->does); }

void report_table(const struct bench *bench, const struct variant *variant, const struct outcome *outcomes, int count) {
    const struct metric *first = &variant->metrics[0];
    printf("\n%s: %s (%s is better)\n", bench->name, first->name, first->more_is_better ? "more" : "less");
    printf("%9s  %-13s%10s%10s%10s %-5s%9s", "workers", "system", "median", "min", "max", "unit", "ratio");
    if (bench->yardstick) printf("%8s%8s%10s%10s%8s", "least", "most", "/serial", "speed-up", "share");
    for (int m = 1; m < RESULT_VALUES; m++)
        if (variant->metrics[m].name) printf("%12s", variant->metrics[m].heading);
    printf("  ok\n");
    for (int i = 0; i < count; i++) {
        const struct outcome *o = &outcomes[i];
        const struct figure *f = &o->figures[0];
        printf("%9u  %-13s", o->workers, o->entrant->system);
        print_figure(10, o->runs, f->median);
        print_figure(10, o->runs, f->min);
        print_figure(10, o->runs, f->max);
        printf(" %-5s", first->unit);
        print_ratio(9, o->to_weft.median);
        if (bench->yardstick) {
            print_ratio(8, o->to_weft.low);
            print_ratio(8, o->to_weft.high);
            print_ratio(10, o->to_serial.median);
            print_ratio(10, o->speedup.median);
            print_ratio(8, o->share.median);
        }
        for (int m = 1; m < RESULT_VALUES; m++)
            if (variant->metrics[m].name) print_figure(12, o->runs, o->figures[m].median);
        printf("  %s\n", o->ok ? "yes" : "NO");
    }
    fflush(stdout);
}

static void print_object(const struct bench *bench, const struct outcome *o, const char *metric, const char *unit,
                         double median, double min, double max) {
    printf("{\"bench\":\"%s\",\"system\":\"%s\",\"workers\":%u,\"metric\":\"%s\",\"unit\":\"%s\","
           "\"median\":%.6g,\"min\":%.6g,\"max\":%.6g,\"runs\":%u,\"ok\":%s}\n",
           bench->name, o->entrant->system, o->workers, metric, unit, median, min, max, o->runs,
           o->ok ? "true" : "false");
}

/* What compares: minimum and maximum are the ends of the interval. */
static void print_ratio_object(const struct bench *bench, const struct variant *variant, const struct outcome *o,
                               const char *what, const struct ratio *ratio) {
    char metric[256];
    snprintf(metric, sizeof metric, "%s: %s", variant->metrics[0].name, what);
    if (ratio->median > 0) print_object(bench, o, metric, "ratio", ratio->median, ratio->low, ratio->high);
}

void report_json(const struct bench *bench, const struct variant *variant, const struct outcome *outcomes, int count) {
    for (int i = 0; i < count; i++) {
        const struct outcome *o = &outcomes[i];
        for (int m = 0; m < RESULT_VALUES; m++) {
            const struct metric *metric = &variant->metrics[m];
            const struct figure *f = &o->figures[m];
            if (metric->name) print_object(bench, o, metric->name, metric->unit, f->median, f->min, f->max);
        }
        if (!bench->yardstick) continue;
        print_ratio_object(bench, variant, o, "over weft's", &o->to_weft);
        print_ratio_object(bench, variant, o, "over that of as many serial processes", &o->to_serial);
        print_ratio_object(bench, variant, o, "speed-up", &o->speedup);
        print_ratio_object(bench, variant, o, "speed-up over that of serial processes", &o->share);
    }
    fflush(stdout);
}
