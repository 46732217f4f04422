/* SPDX-License-Identifier: MIT */
/*
 * weft tour: shows the library step by step, each beside the same work on kernel threads and on installed peers. The
 * figures come from the benchmarks, with fewer and shorter rounds.
 */
#include "command.h"
#include "report.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define BAR 32
#define MILLISECONDS 120

struct stop {
    const char *title;
    const char *text;
    const char *bench;
    int variant;
    unsigned workers; /* 0: the number of processors, at most 2 */
    unsigned runs;
    bool quick;
};

static const struct stop stops[] = {
    {"Switching", "From one flow of control to another, on one kernel thread. Kernel threads hand over by futex.",
     "switch", 0, 1, 3, false},
    {"Spawn and join", "A fiber is made, runs, ends and is joined.", "create", 0, 1, 3, false},
    {"Waking each other",
     "A hundred rings of five for each worker: every fiber wakes the next and parks. Speed could be had by "
     "letting most rings starve, so the least served ring stands beside it: 1 is fair.",
     "cycle", 0, 0, 3, false},
    {"A million fibers",
     "All parked at once, each with a guarded stack of its own, then each woken exactly once. "
     "Kernel threads: ten thousand, and the kernel's own memory for them is not counted.",
     "memory", 0, 0, 1, false},
    {"Sleeping", "A hundred thousand fibers sleep for 500 ms at once (ten thousand kernel threads).", "sleepers", 0, 0,
     1, false},
    {"Semaphores", "Two fibers, each posts for the other and waits: a round trip.", "pingpong", 0, 0, 3, false},
    {"Channels", "A number goes to another fiber through a channel, and comes back.", "chan", 0, 0, 3, false},
    {"Forking and joining",
     "fib(35), a fork for every second call: 15 million tasks, of a few instructions each. generic is the form "
     "with a function pointer, serial plain calls.",
     "fib", 0, 1, 1, false},
    {"Sharing uneven work",
     "1024 pieces of work made by one fiber, a tenth of them a hundred times as long as the others. Idle workers "
     "take work from busy workers; nosteal is weft without that, serial a plain loop.",
     "imbalanced", 0, 0, 3, false},
    {"Waking a sleeping worker", "Everything sleeps; a thread from outside wakes a fiber.", "wake", 0, 0, 3, false},
    {"Idling", "Two seconds with nothing to do: the CPU time of the whole process.", "idle", 0, 0, 1, true},
};

static const char *bold(bool on) {
    if (!isatty(STDOUT_FILENO)) return "";
    return on ? "\033[1m" : "\033[0m";
}

/* Breaks the text into lines of a readable length. */
static void print_text(const char *text) {
    int column = 0;
    while (*text) {
        int word = (int)strcspn(text, " ");
        if (column && column + 1 + word > 84) {
            printf("\n");
            column = 0;
        }
        column += printf(column ? " %.*s" : "   %.*s", word, text);
        text += word + (text[word] == ' ');
    }
    printf("\n");
}

static void print_ratio(double ratio) {
    if (ratio < 0.4)
        printf("  1/%.*f of weft's", ratio > 0.1, 1 / ratio);
    else
        printf("  %.*f times weft's", ratio >= 100 ? 0 : ratio >= 10 ? 1 : 2, ratio);
}

static void print_second(const struct metric *metric, double value) {
    if (strcmp(metric->unit, "ratio"))
        printf("  %.2f %s", value, metric->unit);
    else
        printf("  %s %.2f", metric->heading, value);
}

static void print_outcomes(const struct variant *variant, const struct outcome *outcomes, int count) {
    const struct metric *first = &variant->metrics[0], *second = &variant->metrics[1];
    double most = 0;
    for (int i = 0; i < count; i++)
        if (outcomes[i].figures[0].median > most) most = outcomes[i].figures[0].median;
    for (int i = 0; i < count; i++) {
        const struct outcome *o = &outcomes[i];
        double value = o->figures[0].median, weft = outcomes[0].figures[0].median;
        char text[32];
        printf("   %s%-13s", i ? "" : bold(true), o->entrant->system);
        if (!o->runs) {
            printf("  no result\n");
            continue;
        }
        printf("%9s %-4s ", report_number(text, sizeof text, value), first->unit);
        int length = most > 0 ? (int)(value / most * BAR + 0.5) : 0;
        bool more = i || second->name; /* is there more text after the bar? */
        putchar('#');
        for (int c = 1; c < (more ? BAR : length); c++) putchar(c < length ? '#' : ' ');
        if (i && weft > 0 && value > 0) print_ratio(value / weft);
        if (second->name) print_second(second, o->figures[1].median);
        printf("%s%s\n", o->ok ? "" : "  WRONG RESULT", i ? "" : bold(false));
    }
}

/* Is there enough memory? A million parked fibers take close to 5 GB; on a smaller machine the step shows fewer. */
static bool enough_memory(void) {
    long pages = sysconf(_SC_AVPHYS_PAGES), size = sysconf(_SC_PAGESIZE);
    return (double)pages * (double)size > 8e9;
}

static bool visit(const struct stop *stop, int number, int of) {
    const struct bench *bench = bench_find(stop->bench);
    const struct variant *variant = &bench->variants[stop->variant];
    unsigned cpus = suite_cpus() < 2 ? 1 : 2;
    unsigned workers[] = {stop->workers ? stop->workers : cpus, 0};
    struct setting setting = {.runs = stop->runs, .milliseconds = MILLISECONDS, .quick = stop->quick, .given = ""};
    struct outcome *outcomes;
    if (!strcmp(stop->bench, "memory") && !enough_memory()) setting.quick = true;

    printf("\n%s%d/%d  %s%s\n", bold(true), number, of, stop->title, bold(false));
    print_text(stop->text);
    if (setting.quick != stop->quick) printf("   (This machine has little memory: ten thousand of each.)\n");
    fflush(stdout);
    int count = suite_run(&setting, bench, variant, workers, &outcomes);
    printf("   %s, %u worker%s\n", variant->metrics[0].name, workers[0], workers[0] == 1 ? "" : "s");
    print_outcomes(variant, outcomes, count);
    fflush(stdout);

    bool ok = true;
    for (int i = 0; i < count; i++) ok &= outcomes[i].ok;
    suite_free(outcomes, count);
    return ok;
}

int command_tour(int argc, char **argv) {
    if (argc == 2 && (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h"))) {
        puts("weft tour: shows what weft can do, beside kernel threads, in under a minute. It takes no arguments.");
        return 0;
    }
    if (argc > 1) return usage("tour takes no arguments, not '%s'", argv[1]);
    uint64_t began = clock_ns();
    int of = (int)(sizeof stops / sizeof *stops);
    bool ok = true;
    printf("%sA tour of weft%s: fibers you may block, on a few kernel threads.\n", bold(true), bold(false));
    report_machine();
    for (int i = 0; i < of; i++) ok &= visit(&stops[i], i + 1, of);
    printf("\n%d stops in %.0f s%s. More: weft bench list\n", of, (double)(clock_ns() - began) / 1e9,
           ok ? ", all results right" : ", SOME RESULTS WERE WRONG");
    return ok ? 0 : EXIT_WRONG;
}
