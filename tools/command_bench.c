/* SPDX-License-Identifier: MIT */
/*
 * weft bench: reads the request, runs it variant by variant, and prints each result at once.
 */
#include "bench_options.h"
#include "command.h"
#include "report.h"

#include <stdio.h>
#include <string.h>

/* Returns why a missing entrant cannot take part. `counted` is weft itself, built with counters. */
static const char *why_missing(const struct entrant *e) {
    if (e->program && !strcmp(e->program, "counted"))
        return "is measured by a build of weft that counts, which is not there; get it with: make peers";
    return "is not installed; get it with: make peers";
}

/* Checks that the peers that the user has named can take part. */
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

/* Returns the benchmark's numbers of workers, up to the number of processors. */
static void usual_workers(const struct bench *bench, unsigned workers[BENCH_WORKERS + 1]) {
    unsigned cpus = suite_cpus();
    int known = 0;
    for (int w = 0; w < BENCH_WORKERS && bench->workers[w]; w++) {
        unsigned n = bench->workers[w] < cpus ? bench->workers[w] : cpus;
        if (!known || workers[known - 1] != n) workers[known++] = n;
    }
    workers[known] = 0;
}

/* Runs all variants with the parameters of the setting. Returns whether all results were right. */
static bool run_variants(const struct request *request, const struct setting *setting, const struct bench *bench) {
    unsigned usual[BENCH_WORKERS + 1];
    bool ok = true;
    usual_workers(bench, usual);
    for (const struct variant *v = bench->variants; v < bench->variants + BENCH_VARIANTS && v->params; v++) {
        struct outcome *outcomes;
        if (!bench_wants(request, v) || !suite_runs_variant(setting, bench, v)) continue;
        int count = suite_run(setting, bench, v, request->workers[0] ? request->workers : usual, &outcomes);
        (request->json ? report_json : report_table)(bench, v, setting, outcomes, count);
        for (int i = 0; i < count; i++) ok &= outcomes[i].ok;
        suite_free(outcomes, count);
    }
    return ok;
}

/* Runs every combination of the swept values, after the words of the caller. */
static bool run_sweeps(const struct request *request, const struct bench *bench) {
    size_t combinations = 1;
    bool ok = true;
    for (int i = 0; i < request->swept; i++) combinations *= request->sweeps[i].values.count;
    for (size_t c = 0; c < combinations; c++) {
        char words[SUITE_WORDS + SWEEPS * 64];
        struct setting setting = request->setting;
        size_t rest = c, n = (size_t)snprintf(words, sizeof words, "%s", request->given);
        for (int i = 0; i < request->swept; i++) {
            const struct values *values = &request->sweeps[i].values;
            n += (size_t)snprintf(words + n, sizeof words - n, "%s%s=%llu", n ? " " : "", request->sweeps[i].key,
                                  (unsigned long long)values->list[rest % values->count]);
            rest /= values->count;
        }
        setting.given = words;
        ok &= run_variants(request, &setting, bench);
    }
    return ok;
}

static bool run_bench(const struct request *request, const struct bench *bench) {
    if (!request->json) report_heading(bench);
    bool ok = run_sweeps(request, bench);
    say_missing(request, bench);
    return ok;
}

/* Checks that at least one variant fits these parameters, and --paper if it is given. */
static int check_variants(const struct request *request, const struct bench *bench) {
    bool papers = false;
    for (const struct variant *v = bench->variants; v < bench->variants + BENCH_VARIANTS && v->params; v++) {
        papers |= bench_wants(request, v);
        if (bench_wants(request, v) && suite_runs_variant(&request->setting, bench, v)) return 0;
    }
    if (!papers) return usage("%s has no parameters of a document", bench->name);
    return usage("no variant of %s takes all of '%s'", bench->name, request->given);
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
    static struct request request;
    int code = bench_options(argc, argv, &request);
    if (code) return code;
    const struct bench *one = request.name ? bench_find(request.name) : NULL;
    if (request.help) {
        if (one)
            bench_help_for(one);
        else
            bench_help();
        return 0;
    }
    if (!strcmp(request.name, "list")) {
        list();
        return 0;
    }
    if (one && ((code = check_variants(&request, one)) || (code = check_peers(&request.setting, one)))) return code;
    if (!request.json) report_machine();
    bool ok = true;
    if (one) ok = run_bench(&request, one);
    for (size_t i = 0; !one && bench_at(i); i++) ok &= run_bench(&request, bench_at(i));
    return ok ? 0 : EXIT_WRONG;
}
