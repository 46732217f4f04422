/* SPDX-License-Identifier: MIT */
/*
 * weft bench: reads what is asked for, runs it variant by variant, prints each as soon as it is done.
 */
#include "command.h"
#include "program.h"
#include "report.h"
#include "weft.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define RUNS 7
#define RUNS_QUICK 3
#define RUNS_MAX 1000
#define MILLISECONDS 250
#define MILLISECONDS_QUICK 100

struct request {
    const char *name;
    unsigned workers; /* 0: as the benchmark says */
    bool json;
    struct setting setting;
};

static bool number(const char *text, unsigned max, unsigned *value) {
    char *end;
    errno = 0;
    unsigned long n = strtoul(text, &end, 10);
    if (text[0] < '0' || text[0] > '9' || *end || errno || n < 1 || n > max) return false;
    *value = (unsigned)n;
    return true;
}

static bool known_system(const char *system) {
    const struct bench *b;
    for (size_t i = 0; (b = bench_at(i)); i++)
        if (bench_entrant(b, system)) return true;
    return false;
}

static const char help[] =
    "weft bench list             the benchmarks, and the systems that take part\n"
    "weft bench NAME [options]   one of them, or all; each result is checked\n"
    "\n"
    "  --workers N   with N workers (else: with 1 and with 2)\n"
    "  --peer P      system P only; weft: alone; may be repeated (else: all that are installed)\n"
    "  --runs R      medians of R rounds (else: 7)\n"
    "  --quick       shorter where that is possible, 3 rounds\n"
    "  --json        one object a line\n"
    "\n"
    "`make peers` installs the others. Exit code: 0, 1 when a result was wrong, 2 for arguments that make no sense.\n";

/* Returns 0 or the exit code. */
static int read_arguments(int argc, char **argv, struct request *request) {
    struct setting *setting = &request->setting;
    int peers = 0;
    for (int i = 1; i < argc; i++) {
        const char *own = option_value(argv[i]), *option = argv[i],
                   *value = own            ? own
                            : i + 1 < argc ? argv[i + 1]
                                           : "";
        if (own && (!strcmp(option, "--json") || !strcmp(option, "--quick"))) {
            return usage("%s wants no value, not '%s'", option, own);
        } else if (!strcmp(option, "--json")) {
            request->json = true;
        } else if (!strcmp(option, "--quick")) {
            setting->quick = true;
        } else if (!strcmp(option, "--workers")) {
            if (!number(value, WEFT_WORKERS_MAX, &request->workers))
                return usage("--workers wants a number from 1 to %d, not '%s'", WEFT_WORKERS_MAX, value);
            i += !own;
        } else if (!strcmp(option, "--runs")) {
            if (!number(value, RUNS_MAX, &setting->runs))
                return usage("--runs wants a number from 1 to %d, not '%s'", RUNS_MAX, value);
            i += !own;
        } else if (!strcmp(option, "--peer")) {
            if (!known_system(value)) return usage("--peer wants a system of 'weft bench list', not '%s'", value);
            if (peers == SUITE_PEERS) return usage("too many peers");
            setting->peers[peers++] = value;
            i += !own;
        } else if (option[0] == '-') {
            return usage("no such option: %s; try: weft bench --help", option);
        } else if (request->name) {
            return usage("one benchmark at a time: %s or %s", request->name, option);
        } else {
            request->name = option;
        }
    }
    if (!request->name) return usage("which benchmark? try: weft bench list");
    if (strcmp(request->name, "all") && strcmp(request->name, "list") && !bench_find(request->name))
        return usage("no such benchmark: %s; try: weft bench list", request->name);
    if (!setting->runs) setting->runs = setting->quick ? RUNS_QUICK : RUNS;
    setting->milliseconds = setting->quick ? MILLISECONDS_QUICK : MILLISECONDS;
    return 0;
}

/* Why an entrant that is not there cannot take part. `counted` is weft itself, built to be counted. */
static const char *why_missing(const struct entrant *e) {
    if (e->program && !strcmp(e->program, "counted"))
        return "is measured by a build of weft that counts, which is not there; get it with: make peers";
    return "is not installed; get it with: make peers";
}

/* A peer that was asked for by name must be able to take part. */
static int check_peers(const struct setting *setting, const struct bench *bench) {
    for (int i = 0; i < SUITE_PEERS && setting->peers[i]; i++) {
        const struct entrant *e = bench_entrant(bench, setting->peers[i]);
        if (!e) return usage("%s has no figure for %s", setting->peers[i], bench->name);
        if (!program_installed(e)) return usage("%s %s", e->system, why_missing(e));
    }
    return 0;
}

static void say_missing(const struct request *request, const struct bench *bench) {
    for (const struct entrant *e = bench->entrants; e < bench->entrants + BENCH_ENTRANTS && e->system; e++)
        if (!program_installed(e) && suite_takes_part(&request->setting, &bench->variants[0], e))
            fprintf(request->json ? stderr : stdout, "%s %s\n", e->system, why_missing(e));
}

/* Whether all results were right. */
static bool run_bench(const struct request *request, const struct bench *bench) {
    unsigned cpus = suite_cpus();
    bool ok = true;
    if (!request->json) report_heading(bench);
    for (const struct variant *v = bench->variants; v < bench->variants + BENCH_VARIANTS && v->params; v++) {
        struct outcome outcomes[BENCH_WORKERS * BENCH_ENTRANTS];
        unsigned workers[BENCH_WORKERS + 1] = {request->workers};
        for (int w = 0, known = 0; w < BENCH_WORKERS && bench->workers[w] && !request->workers; w++) {
            unsigned n = bench->workers[w] < cpus ? bench->workers[w] : cpus;
            if (!known || workers[known - 1] != n) workers[known++] = n;
        }
        int count = suite_run(&request->setting, bench, v, workers, outcomes);
        (request->json ? report_json : report_table)(bench, v, outcomes, count);
        for (int i = 0; i < count; i++) ok &= outcomes[i].ok;
    }
    say_missing(request, bench);
    return ok;
}

static void list(void) {
    const struct bench *b;
    for (size_t i = 0; (b = bench_at(i)); i++) {
        printf("%-15s%s\n%-15s", b->name, b->summary, "");
        for (const struct entrant *e = b->entrants; e < b->entrants + BENCH_ENTRANTS && e->system; e++)
            printf("%s%s", e == b->entrants ? "[" : " ", e->system);
        printf("]\n");
    }
}

int command_bench(int argc, char **argv) {
    struct request request = {.name = NULL};
    if (argc > 1 && (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h"))) {
        fputs(help, stdout);
        return 0;
    }
    int code = read_arguments(argc, argv, &request);
    if (code) return code;
    if (!strcmp(request.name, "list")) {
        list();
        return 0;
    }
    const struct bench *one = bench_find(request.name);
    if (one && (code = check_peers(&request.setting, one))) return code;
    if (!request.json) report_machine();
    bool ok = true;
    if (one) ok = run_bench(&request, one);
    for (size_t i = 0; !one && bench_at(i); i++) ok &= run_bench(&request, bench_at(i));
    return ok ? 0 : EXIT_WRONG;
}
