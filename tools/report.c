/* See report.h. */
#include "report.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

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

/* The weft that ran with as many workers, or NULL when it has no figure. */
static const struct outcome *weft_of(const struct outcome *outcomes, int count, unsigned workers) {
    for (int i = 0; i < count; i++)
        if (outcomes[i].workers == workers && !strcmp(outcomes[i].entrant->system, "weft"))
            return outcomes[i].runs && outcomes[i].figures[0].median ? &outcomes[i] : NULL;
    return NULL;
}

void report_table(const struct bench *bench, const struct variant *variant, const struct outcome *outcomes, int count) {
    const struct metric *first = &variant->metrics[0];
    printf("\n%s: %s (%s is better)\n", bench->name, first->name, first->more_is_better ? "more" : "less");
    printf("%9s  %-13s%10s%10s%10s %-5s%9s", "workers", "system", "median", "min", "max", "unit", "ratio");
    for (int m = 1; m < RESULT_VALUES; m++)
        if (variant->metrics[m].name) printf("%12s", variant->metrics[m].heading);
    printf("  ok\n");
    for (int i = 0; i < count; i++) {
        const struct outcome *o = &outcomes[i];
        const struct outcome *weft = weft_of(outcomes, count, o->workers);
        const struct figure *f = &o->figures[0];
        char a[NUMBER], b[NUMBER], c[NUMBER];
        printf("%9u  %-13s", o->workers, o->entrant->system);
        if (o->runs)
            printf("%10s%10s%10s %-5s", report_number(a, sizeof a, f->median), report_number(b, sizeof b, f->min),
                   report_number(c, sizeof c, f->max), first->unit);
        else
            printf("%10s%10s%10s %-5s", "-", "-", "-", first->unit);
        printf("%9s", o->runs && weft ? report_number(a, sizeof a, f->median / weft->figures[0].median) : "-");
        for (int m = 1; m < RESULT_VALUES; m++)
            if (variant->metrics[m].name)
                printf("%12s", o->runs ? report_number(a, sizeof a, o->figures[m].median) : "-");
        printf("  %s\n", o->ok ? "yes" : "NO");
    }
    fflush(stdout);
}

void report_json(const struct bench *bench, const struct variant *variant, const struct outcome *outcomes, int count) {
    for (int i = 0; i < count; i++) {
        const struct outcome *o = &outcomes[i];
        for (int m = 0; m < RESULT_VALUES; m++) {
            const struct metric *metric = &variant->metrics[m];
            const struct figure *f = &o->figures[m];
            if (!metric->name) continue;
            printf("{\"bench\":\"%s\",\"system\":\"%s\",\"workers\":%u,\"metric\":\"%s\",\"unit\":\"%s\","
                   "\"median\":%.6g,\"min\":%.6g,\"max\":%.6g,\"runs\":%u,\"ok\":%s}\n",
                   bench->name, o->entrant->system, o->workers, metric->name, metric->unit, f->median, f->min, f->max,
                   o->runs, o->ok ? "true" : "false");
        }
    }
    fflush(stdout);
}

void progress(const char *format, ...) {
    va_list list;
    bool terminal = isatty(STDERR_FILENO);
    if (terminal) fputs("\r\033[K", stderr);
    va_start(list, format);
    vfprintf(stderr, format, list);
    va_end(list);
    if (!terminal) fputs("\n", stderr);
    fflush(stderr);
}

void progress_end(void) {
    if (isatty(STDERR_FILENO)) fputs("\r\033[K", stderr);
    fflush(stderr);
}
