/* SPDX-License-Identifier: MIT */
/* The experiments of `weft report` as data. experiments.c is the only place that knows them. */
#ifndef LAB_EXPERIMENTS_H
#define LAB_EXPERIMENTS_H

#include <stdbool.h>
#include <stddef.h>

#define PANELS 9
#define SERIES 12

/* How the results of a panel are drawn. */
enum picture {
    SCALE,   /* over the number of workers, with the ideal line */
    SWEEP,   /* over the values of a parameter */
    GROUPS,  /* bars: the panels side by side, a bar for each system; for each number of workers a figure */
    CURVE,   /* a sample as it is */
    TAIL,    /* quantiles of times as the share that takes longer, both axes logarithmic */
    SERVICE, /* quantiles of what fibers got */
    BOX,     /* quantiles as boxes */
};

struct panel {
    const char *part;   /* its name */
    const char *bench;  /* the benchmark that gives entrants, metrics and the measurement */
    unsigned variant;   /* its metrics */
    const char *params; /* in place of the variant's; NULL: the variant's */
    const char *brief;  /* words that come first in a quick report; NULL: none */
    const char *sweep;  /* SWEEP: "key=list"; NULL: none */
};

struct ablation {
    const char *system, *params;
};

struct experiment {
    const char *id;
    const char *twins; /* figures and tables of the documents: "002 fig. 7.3, 002 fig. 7.4" */
    const char *title, *question, *method;
    enum picture figure;
    const char *systems;               /* of the entrants of the benchmark, those between spaces; NULL: all */
    struct ablation ablations[SERIES]; /* weft with other words, as systems of their own */
    unsigned workers[8];               /* as far as there are processors, unless `crowded` */
    bool crowded;
    bool relative;                 /* GROUPS: figures over weft's */
    unsigned metric;               /* which of the metrics is drawn */
    unsigned also;                 /* lines: a further metric, in figures of its own; 0: none */
    const char *sample;            /* CURVE, TAIL, SERVICE, BOX: which sample */
    const char *x_label, *y_label; /* NULL: of the metric */
    bool log_x, log_y;
    struct panel panels[PANELS];
    const char *note; /* what to keep in mind when reading it */
};

extern const struct experiment experiments[]; /* ends with a NULL id */

/* Does a document, or the name itself, select the experiment? NULL selects all. */
bool experiment_selected(const struct experiment *e, const char *only);

#endif
