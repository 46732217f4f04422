/* SPDX-License-Identifier: MIT */
/* The text of `weft bench --help`. See bench_options.h. */
#include "bench/params.h"
#include "bench_options.h"

#include <stdio.h>
#include <string.h>

void bench_help(void) {
    fputs("weft bench list                       lists the benchmarks, and which systems take part\n"
          "weft bench NAME [key=value ...] [options]   runs one benchmark, or all; checks every result\n"
          "weft bench NAME --help                lists the benchmark's parameters and their ranges\n"
          "\n"
          "  --workers LIST   the numbers of workers (default: 1 and 2); 4 or 1,2,8 or 1..16 or 1..16*2 or 2..10+4\n"
          "  --sweep KEY=LIST runs with each of these values; if repeated, with every combination\n"
          "  --paper          uses the parameters of the document that the benchmark comes from\n"
          "  --peer P         runs only system P, for example weft; may be repeated (default: all that are installed)\n"
          "  --runs R         the number of rounds; figures are their medians (7)\n"
          "  --quick          3 rounds, shorter where possible\n"
          "  --counts         also counts steals, moved fibers and stolen calls in a run of weft\n"
          "  --bind           binds each worker to a processor of its own (weft, OpenMP)\n"
          "  --smt no         uses one hardware thread of each core, for all systems\n"
          "  --node N         uses the processors of this memory node, for all systems\n"
          "  --limit S        how many seconds a run may take (60; with --paper 3600)\n"
          "  --json           prints one JSON object on each line\n"
          "\n"
          "`make peers` installs the other systems.\n"
          "Exit status: 0 on success, 1 if a result was wrong, 2 if the arguments are invalid.\n",
          stdout);
}

/* Prints the value of the parameter in each variant that has it. */
static void print_defaults(const struct bench *bench, const struct param *param) {
    const char *between = "";
    size_t length;
    printf(" (");
    for (const struct variant *v = bench->variants; v < bench->variants + BENCH_VARIANTS && v->params; v++) {
        const char *value = words_find(v->params, param->key, &length);
        if (!value || v->paper) continue;
        printf("%s%.*s", between, (int)length, value);
        between = ", ";
    }
    printf("%s)\n", *between ? "" : param->otherwise ? param->otherwise : "");
}

static void print_param(const struct bench *bench, const struct param *param) {
    char range[128];
    printf("  %-14s %s: %s", param->key, param->help, param_range(param, range, sizeof range));
    if (bench)
        print_defaults(bench, param);
    else
        printf(" (%s)\n", param->otherwise);
}

/* Does an earlier variant have the same list? */
static bool known(const struct bench *bench, const struct variant *variant) {
    const struct param *list = params_of(variant_measurement(bench, variant));
    for (const struct variant *v = bench->variants; v < variant; v++)
        if (params_of(variant_measurement(bench, v)) == list) return true;
    return false;
}

void bench_help_for(const struct bench *bench) {
    printf("%s: %s\n%s\n\nparameters (and what the variants have):\n", bench->name, bench->summary, bench->does);
    for (const struct variant *v = bench->variants; v < bench->variants + BENCH_VARIANTS && v->params; v++)
        for (const struct param *p = params_of(variant_measurement(bench, v)); !known(bench, v) && p->key; p++)
            print_param(bench, p);
    printf("\npolicies of weft, for all that is called weft (and the default):\n");
    for (const struct param *p = policies; p->key; p++) print_param(NULL, p);
    for (const struct variant *v = bench->variants; v < bench->variants + BENCH_VARIANTS && v->params; v++)
        if (v->paper) printf("\n--paper, document %s: %s", v->paper, v->params);
    printf("\n");
}
