/* SPDX-License-Identifier: MIT */
/* See report.h. */
#include "report.h"
#include "bench/params.h"

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

/* The counters of weft for each run. */
static const char *const counts[] = {"steals", "tried", "moved", "helps", "tasks", "parked"};
#define COUNTS (sizeof counts / sizeof *counts)

/* Returns the mean over the runs; -1 if the system does not count it. */
static double count_of(const struct outcome *o, const char *name) {
    double sum = 0;
    unsigned n = 0;
    for (const struct sample *s = o->samples.list; s < o->samples.list + o->samples.count; s++)
        if (!strncmp(s->name, "count.", 6) && !strcmp(s->name + 6, name)) sum += s->y, n++;
    return n ? sum / n : -1;
}

void report_heading(const struct bench *bench) { printf("\n%s: %s\n%s\n", bench->name, bench->summary, bench->does); }

void report_table(const struct bench *bench, const struct variant *variant, const struct setting *setting,
                  const struct outcome *outcomes, int count) {
    const struct metric *first = &variant->metrics[0];
    char name[SUITE_NAME];
    printf("\n%s: %s (%s is better)\n", bench->name, suite_metric_name(setting, variant, first->name, name),
           first->more_is_better ? "more" : "less");
    printf("%9s  %-13s%10s%10s%10s %-5s%9s", "workers", "system", "median", "min", "max", "unit", "ratio");
    if (bench->yardstick) printf("%8s%8s%10s%10s%8s", "least", "most", "/serial", "speed-up", "share");
    for (int m = 1; m < RESULT_VALUES; m++)
        if (variant->metrics[m].name) printf("%12s", variant->metrics[m].heading);
    for (size_t c = 0; setting->counts && c < COUNTS; c++) printf("%12s", counts[c]);
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
        for (size_t c = 0; setting->counts && c < COUNTS; c++) {
            double mean = count_of(o, counts[c]);
            print_figure(12, mean >= 0, mean);
        }
        printf("  %s\n", o->ok ? "yes" : "NO");
    }
    fflush(stdout);
}

static void print_words(const char *words) {
    char copy[SUITE_WORDS], seen[SUITE_WORDS] = "", *rest = copy;
    size_t length;
    bool first = true;
    snprintf(copy, sizeof copy, "%s", words);
    for (char *word; (word = strsep(&rest, " "));) {
        char *value = strchr(word, '=');
        if (!value) continue;
        *value++ = 0;
        bool known = words_find(seen, word, &length), number = value[strspn(value, "0123456789")] == 0;
        size_t n = strlen(seen);
        if (known || !strcmp(word, "workers")) continue;
        snprintf(seen + n, sizeof seen - n, " %s=", word);
        printf(number ? "%s\"%s\":%s" : "%s\"%s\":\"%s\"", first ? "" : ",", word, value);
        first = false;
    }
}

/* The members of the JSON object of a figure. */
struct object {
    const char *metric, *unit;
    double median, min, max;
    const double *values; /* of all rounds; NULL: none */
};

static void print_object(const struct bench *bench, const struct outcome *o, const char *words,
                         const struct object *object) {
    printf("{\"bench\":\"%s\",\"system\":\"%s\",\"workers\":%u,\"metric\":\"%s\",\"unit\":\"%s\","
           "\"median\":%.6g,\"min\":%.6g,\"max\":%.6g,\"runs\":%u,\"ok\":%s,\"params\":{",
           bench->name, o->entrant->system, o->workers, object->metric, object->unit, object->median, object->min,
           object->max, o->runs, o->ok ? "true" : "false");
    print_words(words);
    printf("}");
    if (object->values) {
        printf(",\"values\":[");
        for (unsigned i = 0; i < o->runs; i++) printf("%s%.6g", i ? "," : "", object->values[i]);
        printf("]");
    }
    printf("}\n");
}

/* Prints a comparison. Minimum and maximum are the ends of the interval. */
static void print_ratio_object(const struct bench *bench, const char *name, const struct outcome *o, const char *words,
                               const char *what, const struct ratio *ratio) {
    char metric[SUITE_NAME + 64];
    snprintf(metric, sizeof metric, "%s: %s", name, what);
    struct object object = {metric, "ratio", ratio->median, ratio->low, ratio->high, NULL};
    if (ratio->median > 0) print_object(bench, o, words, &object);
}

static void print_outcome(const struct bench *bench, const struct variant *variant, const struct setting *setting,
                          const struct outcome *o) {
    char words[SUITE_WORDS], name[SUITE_NAME];
    suite_words(setting, bench, variant, o->entrant, o->workers, words);
    for (int m = 0; m < RESULT_VALUES; m++) {
        const struct metric *metric = &variant->metrics[m];
        const struct figure *f = &o->figures[m];
        if (!metric->name) continue;
        struct object object = {suite_metric_name(setting, variant, metric->name, name),
                                metric->unit,
                                f->median,
                                f->min,
                                f->max,
                                o->values[m]};
        print_object(bench, o, words, &object);
    }
    for (size_t c = 0; setting->counts && c < COUNTS; c++) {
        double mean = count_of(o, counts[c]);
        struct object object = {counts[c], "a run", mean, mean, mean, NULL};
        if (mean >= 0) print_object(bench, o, words, &object);
    }
    if (!bench->yardstick) return;
    suite_metric_name(setting, variant, variant->metrics[0].name, name);
    print_ratio_object(bench, name, o, words, "over weft's", &o->to_weft);
    print_ratio_object(bench, name, o, words, "over that of as many serial processes", &o->to_serial);
    print_ratio_object(bench, name, o, words, "speed-up", &o->speedup);
    print_ratio_object(bench, name, o, words, "speed-up over that of serial processes", &o->share);
}

void report_json(const struct bench *bench, const struct variant *variant, const struct setting *setting,
                 const struct outcome *outcomes, int count) {
    for (int i = 0; i < count; i++) print_outcome(bench, variant, setting, &outcomes[i]);
    fflush(stdout);
}
