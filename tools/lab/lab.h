/* SPDX-License-Identifier: MIT */
/* A report in progress, and the functions that make its parts. */
#ifndef LAB_LAB_H
#define LAB_LAB_H

#include "data.h"
#include "experiments.h"
#include "svg.h"

struct lab {
    const char *dir, *only;
    bool quick;
    unsigned runs, milliseconds;
    double load; /* the load of the machine, just before */
    struct data data;
};

/* Runs the missing cells. Returns whether all could be run. Wrong results are in the data. */
bool lab_run(struct lab *lab);

/* Divides the row's values by those of the other row, round by round. All 0: a row has no values. */
struct summary ratio_of(const struct row *row, const struct row *other);

/* Makes the plots of an experiment: calls draw for each. */
void figures_of(const struct experiment *e, const struct data *data,
                void (*draw)(const struct plot *plot, const char *id, void *arg), void *arg);

/* Writes the findings as paragraphs of HTML. */
void findings_write(FILE *f, const struct experiment *e, const struct data *data);

/* Writes report.html, claims.html, and figures/ID.svg into the directory. Returns false after printing the error if it
 * cannot. */
bool page_write(const struct lab *lab);
bool claims_write(const struct lab *lab);
void page_head(FILE *f, const char *title);

/* Writes latency.html into the directory, from files of percentiles. Returns the exit code. */
int lab_latency(char **files, int count, const char *dir);

/* Compares two reports: a table on standard output and DIR/compare.html. Returns the exit code. */
int lab_compare(const char *a, const char *b, const char *dir);

#endif
