/* SPDX-License-Identifier: MIT */
/* A report in the making, and what its parts do with it. */
#ifndef LAB_LAB_H
#define LAB_LAB_H

#include "data.h"
#include "experiments.h"
#include "svg.h"

struct lab {
    const char *dir, *only;
    bool quick;
    unsigned runs, milliseconds;
    double load; /* of the machine, just before */
    struct data data;
};

/* Runs what is missing. Returns whether all of it could be run; wrong results are in the data. */
bool lab_run(struct lab *lab);

/* The row's values over those of the other, round by round; all 0: one of them has none. */
struct summary ratio_of(const struct row *row, const struct row *other);

/* The plots of an experiment: calls draw for each. */
void figures_of(const struct experiment *e, const struct data *data,
                void (*draw)(const struct plot *plot, const char *id, void *arg), void *arg);

/* What follows from the figures, as paragraphs of HTML. */
void findings_write(FILE *f, const struct experiment *e, const struct data *data);

/* report.html, claims.html, and figures/ID.svg in the directory. False, and said: they could not be written. */
bool page_write(const struct lab *lab);
bool claims_write(const struct lab *lab);
void page_head(FILE *f, const char *title);

/* latency.html in the directory, from files of percentiles. Returns the exit code. */
int lab_latency(char **files, int count, const char *dir);

/* Compares two reports: a table on standard output and DIR/compare.html. Returns the exit code. */
int lab_compare(const char *a, const char *b, const char *dir);

#endif
