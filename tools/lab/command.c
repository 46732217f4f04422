/* SPDX-License-Identifier: MIT */
/* weft report: runs the experiments, and writes them down with pictures. */
#include "command.h"
#include "lab.h"
#include "values.h"

#include <stdio.h>
#include <string.h>

static const char help[] =
    "weft report [options]              runs the experiments; writes DIR/report.html and DIR/claims.html\n"
    "weft report --compare A B [-o DIR] says what changed significantly between two reports; writes DIR/compare.html\n"
    "weft report [-o DIR] --latency FILE...   draws files that `weft load --hdr FILE` wrote; writes DIR/latency.html\n"
    "weft report --list                 lists the experiments, and the figures that they reproduce\n"
    "\n"
    "  --quick        smaller sizes and 3 rounds: under five minutes (default: 15 rounds, under two hours)\n"
    "  --only WHAT    runs one experiment, or those of one document: 000 to 004\n"
    "  -o DIR         the directory to write to (weft-report); an interrupted report continues there\n"
    "  --runs R       the number of rounds\n"
    "  --ms M         the length of a measurement in ms, where it can be chosen\n"
    "  --again        only writes the pages again, from the data in DIR\n"
    "\n"
    "The page offers the data of every figure as CSV and JSON. docs/REPORT.md lists the figures.\n"
    "Exit status: 0 on success, 1 if an experiment failed, a page could not be written or --compare found something\n"
    "worse, 2 if the arguments are invalid.\n";

struct request {
    struct lab lab;
    const char *compare[2];
    bool list, again;
};

static int list(void) {
    for (const struct experiment *e = experiments; e->id; e++)
        printf("%-18s%s%s%s%s\n", e->id, e->title, *e->twins ? " [" : "", e->twins, *e->twins ? "]" : "");
    return 0;
}

static bool known(const char *only) {
    for (const struct experiment *e = experiments; e->id; e++)
        if (experiment_selected(e, only)) return true;
    return false;
}

static int take_number(const char *option, const char *value, unsigned most, unsigned *into) {
    uint64_t n;
    if (!value_read(value, 1, most, &n)) return usage("%s wants a number from 1 to %u, not '%s'", option, most, value);
    *into = (unsigned)n;
    return 0;
}

/* Takes an option. Returns 0, or the exit code. *used: how many of the next arguments it took. */
static int take(struct request *r, const char *option, char **next, int left, int *used) {
    const char *value = left > 0 ? next[0] : "";
    *used = 0;
    if (!strcmp(option, "--quick")) return r->lab.quick = true, 0;
    if (!strcmp(option, "--list")) return r->list = true, 0;
    if (!strcmp(option, "--again")) return r->again = true, 0;
    *used = 1;
    if (!strcmp(option, "--runs")) return take_number(option, value, 1000, &r->lab.runs);
    if (!strcmp(option, "--ms")) return take_number(option, value, 60000, &r->lab.milliseconds);
    if (!strcmp(option, "-o")) return *value ? (r->lab.dir = value, 0) : usage("-o wants a directory");
    if (!strcmp(option, "--only")) {
        r->lab.only = value;
        return known(value)
                   ? 0
                   : usage("--only wants an experiment of 'weft report --list', or 000 to 004, not '%s'", value);
    }
    if (!strcmp(option, "--compare")) {
        if (left < 2) return usage("--compare wants two directories with reports");
        *used = 2;
        r->compare[0] = next[0], r->compare[1] = next[1];
        return 0;
    }
    return usage("no such option: %s; try: weft report --help", option);
}

int command_report(int argc, char **argv) {
    struct request r = {.lab = {.dir = "weft-report"}};
    for (int i = 1, used; i < argc; i += 1 + used) {
        if (!strcmp(argv[i], "--help") || !strcmp(argv[i], "-h")) {
            fputs(help, stdout);
            return 0;
        }
        if (!strcmp(argv[i], "--latency")) {
            if (i + 1 == argc || argc - i - 1 > PLOT_SERIES) return usage("--latency wants 1 to %d files", PLOT_SERIES);
            return lab_latency(argv + i + 1, argc - i - 1, r.lab.dir);
        }
        int code = take(&r, argv[i], argv + i + 1, argc - i - 1, &used);
        if (code) return code;
    }
    if (r.list) return list();
    if (r.compare[0]) return lab_compare(r.compare[0], r.compare[1], r.lab.dir);
    if (!r.lab.runs) r.lab.runs = r.lab.quick ? 3 : 15;
    if (!r.lab.milliseconds) r.lab.milliseconds = r.lab.quick ? 60 : 200;
    char path[512];
    snprintf(path, sizeof path, "%s/data.tsv", r.lab.dir);
    if (r.again && !data_read(path, NULL, &r.lab.data)) return usage("%s: no report is there", r.lab.dir);
    bool ok = (r.again || lab_run(&r.lab)) && page_write(&r.lab) && claims_write(&r.lab);
    if (ok) printf("%s/report.html\n", r.lab.dir);
    data_free(&r.lab.data);
    return ok ? 0 : EXIT_WRONG;
}
