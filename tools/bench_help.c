/* SPDX-License-Identifier: MIT */
/* The text of `weft bench --help`. See bench_options.h. */
#include "bench/params.h"
#include "bench_options.h"

#include <stdio.h>
#include <string.h>

void bench_help(void) {
    fputs("weft bench list                       the benchmarks, and the systems that take part\n"
          "weft bench NAME [key=value ...] [options]   one of them, or all; each result is checked\n"
          "weft bench NAME --help                its parameters, with what they may be\n"
          "\n"
          "  --workers LIST   with so many workers (else: with 1 and with 2); 4, 1,2,8, 1..16, 1..16*2, 2..10+4\n"
          "  --sweep KEY=LIST each of these values in turn; may be repeated, and then every combination runs\n"
          "  --paper          the parameters of the document that the benchmark comes from\n"
          "  --peer P         system P only; weft: alone; may be repeated (else: all that are installed)\n"
          "  --runs R         medians of R rounds (else: 7)\n"
          "  --quick          shorter where that is possible, 3 rounds\n"
          "  --counts         steals, moved fibers and stolen calls, a run of weft\n"
          "  --bind           each worker stays on a processor of its own (weft, OpenMP)\n"
          "  --smt no         one hardware thread of each core, for all systems\n"
          "  --node N         the processors of this memory node, for all systems\n"
          "  --limit S        seconds that a run may take (60; with --paper 3600)\n"
          "  --json           one object a line\n"
          "\n"
          "`make peers` installs the others. Exit code: 0, 1 when a result was wrong, 2 for arguments that make no "
          "sense.\n",
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
