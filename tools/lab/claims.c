/* SPDX-License-Identifier: MIT */
/* The companion page. For each claim of the documents it has the claim in our words, its figure, our figure, and
 * whether the claim is reproduced. */
#include "bench/measure.h"
#include "lab.h"

#include <string.h>

/* Selects one of our figures: the median of a row, or its ratio to another row. */
struct pick {
    const char *system;
    unsigned workers;
};

struct claim {
    const char *document, *claim, *theirs;
    const char *experiment, *part;
    struct pick over, under; /* the figure is over / under, or `over` alone if `under` is NULL */
    unsigned metric;         /* the index of the metric in the row */
    const char *unit;
    double least, most; /* the range that the claim allows */
    const char *why;
};

#define TIMES ""
/* The table has long lines, because rows are easier to compare than columns. */
/* clang-format off */
static const struct claim claims[] = {
    {"000", "A switch between fibers is many times cheaper than one between kernel threads.", "18.3 times",
     "switch", "switch", {"pthread", 1}, {"weft", 1}, 0, TIMES, 10, 1e6,
     "A futex hand-over stands for the switch of kernel threads."},
    {"000", "With stealing off, more workers give nothing: all work stays where it began.", "flat at any N",
     "balance", "balanced", {"weft-nosteal", 1}, {"weft-nosteal", 2}, 0, TIMES, 0.85, 1.15,
     "Speed-up of two workers without stealing."},
    {"000", "Two workers share imbalanced work almost perfectly.", "1.96 times",
     "balance", "imbalanced", {"weft", 1}, {"weft", 2}, 0, TIMES, 1.7, 2.2,
     "Two virtual processors may share one core: then two serial processes do not reach 2 either."},
    {"000", "fib with leaf work is near the bound T1/P.", "1.97 times on 2, 7.67 on 8",
     "fib", "leaf work", {"weft", 1}, {"weft", 2}, 0, TIMES, 1.7, 2.2,
     "As above."},
    {"000", "Heat diffusion gains nearly 2 with stealing.", "1.97 times on 2",
     "heat", "400 steps", {"weft", 1}, {"weft", 2}, 0, TIMES, 1.7, 2.2,
     "As above; the grid is also shared through the cache."},
    {"000", "Heat diffusion gains nothing without stealing.", "1.00 times on 2",
     "heat", "400 steps", {"weft-nosteal", 1}, {"weft-nosteal", 2}, 0, TIMES, 0.85, 1.15,
     ""},
    {"000", "Breadth-first search with one worker is slower than serial code.", "0.52 times as fast",
     "bfs", "a million nodes", {"serial", 1}, {"weft", 1}, 0, TIMES, 0.3, 0.95,
     "The document spawns a fiber for each piece; here pieces are forked calls."},
    {"000", "Queens cut at depth 2 scale well.", "7.22 times on 8",
     "nqueens", "depth 2", {"weft", 1}, {"weft", 2}, 0, TIMES, 1.7, 2.2,
     "Two workers here."},
    {"000", "A mergesort with a serial merge scales less than the others.", "1.86 times on 2, 3.88 on 8",
     "mergesort", "5 million", {"weft", 1}, {"weft", 2}, 0, TIMES, 1.3, 2.0,
     ""},
    {"000", "A stolen fiber takes about 1 % longer.", "1.0096",
     "migration", "stolen over stayed", {"weft", 2}, {NULL, 0}, 0, TIMES, 0.95, 1.2,
     "Their fibers run for 100 us; here the time is that of the memory alone, at the smallest size."},
    {"001", "One global queue behind a lock is worse than own queues with stealing.", "qualitative",
     "baselines", "cycle", {"weft", 2}, {"global queue", 2}, 0, TIMES, 1.1, 1e6,
     "With two workers the lock is contended by two only."},
    {"001", "Handing work out disturbs more than letting idle workers steal.", "qualitative",
     "baselines", "cycle", {"weft", 2}, {"work sharing", 2}, 0, TIMES, 1.1, 1e6,
     ""},
    {"002", "Fairness by helping costs next to nothing where it is not needed (cycle).", "equal to others",
     "cycle", "100 rings a worker", {"weft", 2}, {"weft-nohelp", 2}, 0, TIMES, 0.9, 10,
     "What helping costs here is not separated from what it moves; see the ablations."},
    {"002", "The runtimes are nearly equal in cycle.", "within a few ten per cent",
     "cycle", "100 rings a worker", {"weft", 2}, {"go", 2}, 0, TIMES, 0.7, 1.4,
     "The difference was not traced to a cause."},
    {"002",
     "Without help, a busy leader starves what is ready behind it: yield does not complete, or takes far longer.",
     "24.6 ms against 68 us",
     "transfer", "yield", {"go", 2}, {"weft", 2}, 0, TIMES, 5, 1e6,
     ""},
    {"002", "Transfer by yielding takes tens of microseconds with helping.", "68.4 us, 78.8 us",
     "transfer", "yield", {"weft", 2}, {NULL, 0}, 0, "us", 10, 700,
     "The same order of magnitude counts as equal, as in the document."},
    {"002", "A memcached on fibers keeps up with the original.", "equal up to saturation",
     "updates", "3 %", {"weft", 1}, {"memcached", 1}, 1, TIMES, 0.9, 10,
     ""},
    {"002", "The share of updates hardly changes the rate.", "nearly equal at 3 to 50 %",
     "updates", "50 %", {"weft", 1}, {NULL, 0}, 1, "k/s", 1, 1e6,
     "To be read beside the figure of 3 %."},
    {"002", "A web server of fibers degrades as gracefully as nginx past saturation.", "equal within a few per cent",
     "web", "150 %", {"weft", 1}, {"nginx", 1}, 0, TIMES, 0.9, 10,
     ""},
    {"003", "The hybrid scheduler is on par with oneTBB or faster (fib).", "faster",
     "problems", "fib", {"tbb", 2}, {"weft", 2}, 0, TIMES, 0.95, 1e6,
     ""},
    {"003", "The same in the matrix product.", "faster",
     "problems", "matmul", {"tbb", 2}, {"weft", 2}, 0, TIMES, 0.95, 1e6,
     ""},
    {"003", "The same in N-queens.", "on par",
     "problems", "nqueens", {"tbb", 2}, {"weft", 2}, 0, TIMES, 0.95, 1e6,
     ""},
    {"003", "With mail, tasks begin earlier than by stealing alone.", "under 1 us up to task 14 of 16",
     "starts", "cold", {"weft-nomail", 2}, {"weft", 2}, 1, TIMES, 1.0, 1e6,
     "Until the last has begun. With two workers there is one to send mail to."},
    {"003", "A deque with a private part needs hardly any fences.", "a tenth",
     "fences", "fib", {"chase-lev", 2}, {"weft", 2}, 0, TIMES, 5, 1e9,
     ""},
    {"004", "fib scales linearly up to 64 threads, with either policy.", "64 times on 64",
     "fib", "50 cut at 30", {"weft", 1}, {"weft", 2}, 0, TIMES, 1.7, 2.2,
     "Two workers here."},
    {"004", "Child stealing is as good as continuation stealing, or better (fib).", "better beyond 64",
     "fib", "50 cut at 30", {"weft-continue", 2}, {"weft", 2}, 0, TIMES, 0.95, 10,
     ""},
    {"004", "Matrix product scales nearly linearly.", "nearly 8 times on 8",
     "matmul", "1024 lines", {"weft", 1}, {"weft", 2}, 0, TIMES, 1.6, 2.2,
     ""},
    {"004", "Quicksort scales less: its first steps are serial.", "below linear",
     "quicksort", "10 million", {"weft", 1}, {"weft", 2}, 0, TIMES, 1.2, 2.0,
     ""},
};
/* clang-format on */
#define CLAIMS (sizeof claims / sizeof *claims)

/* Finds the row of a metric. In a sweep, finds the first value. */
static const struct row *find(const struct data *data, const struct claim *c, const struct pick *pick) {
    const char *last = "";
    unsigned n = 0;
    for (const struct row *r = data->rows; r < data->rows + data->count; r++) {
        if (r->sample || !strncmp(r->metric, "count.", 6) || strcmp(r->experiment, c->experiment) ||
            strcmp(r->part, c->part) || strcmp(r->system, pick->system) || r->workers != pick->workers)
            continue;
        if (strcmp(last, r->metric) && n++ == c->metric) return r;
        last = r->metric;
    }
    return NULL;
}

static void write_ours(FILE *f, const struct data *data, const struct claim *c) {
    char text[3][32];
    const struct row *over = find(data, c, &c->over), *under = c->under.system ? find(data, c, &c->under) : NULL;
    bool measured = over && over->count && (!c->under.system || (under && under->count));
    struct summary s = {0, 0, 0, 0, 0};
    if (measured) s = under ? ratio_of(over, under) : data_summary(over);
    if (!measured || s.median <= 0) {
        fputs("<td>-<td class=\"un\">not measured<td class=\"t\">", f);
        text_write(f, measured ? c->why : "A system is not installed, or the experiment was not selected.");
        return;
    }
    bool late = !over->ok || (under && !under->ok);
    bool yes = !late && s.low >= c->least && s.high <= c->most, no = late || s.high < c->least || s.low > c->most;
    fprintf(f, "<td>%s %s (%s to %s)<td class=\"%s\">%s<td class=\"t\">", number_text(text[0], 32, s.median), c->unit,
            number_text(text[1], 32, s.low), number_text(text[2], 32, s.high),
            yes  ? "yes"
            : no ? "no"
                 : "un",
            yes  ? "reproduced"
            : no ? "not reproduced"
                 : "undecided");
    text_write(f, late ? "A run did not complete. " : "");
    text_write(f, c->why);
}

bool claims_write(const struct lab *lab) {
    char path[512];
    snprintf(path, sizeof path, "%s/claims.html", lab->dir);
    FILE *f = fopen(path, "w");
    if (!f) {
        fprintf(stderr, "weft: %s: %s\n", path, strerror(errno));
        return false;
    }
    page_head(f, "What the documents claim");
    fputs("<p>Claims in our words. A ratio is of two medians, round by round, with its interval. <a "
          "href=\"report.html\">The experiments</a>.</p><section><div class=\"scroll\"><table><tr><th>document<th "
          "class=\"t\">claim<th class=\"t\">their figure<th>ours<th>verdict<th class=\"t\">why, or what to keep in "
          "mind<th>experiment",
          f);
    for (const struct claim *c = claims; c < claims + CLAIMS; c++) {
        fprintf(f, "<tr><td>%s<td class=\"t\">", c->document);
        text_write(f, c->claim);
        fputs("<td class=\"t\">", f);
        text_write(f, c->theirs);
        write_ours(f, &lab->data, c);
        fprintf(f, "<td><a href=\"report.html#%s\">%s</a>", c->experiment, c->experiment);
    }
    fputs("</table></div></section></main></html>\n", f);
    return !fclose(f);
}
