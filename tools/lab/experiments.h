/* SPDX-License-Identifier: MIT */
/* The experiments of `weft report` as data. experiments.c is the only place that knows them. */
#ifndef LAB_EXPERIMENTS_H
#define LAB_EXPERIMENTS_H

#include <stdbool.h>
#include <stddef.h>

#define PANELS 9
#define SERIES 12

/* The form of the picture of a panel. */
enum picture {
    SCALE,   /* over the number of workers, with the ideal line */
    SWEEP,   /* over the values of a parameter */
    GROUPS,  /* bars: the panels side by side, a bar for each system; a figure for each number of workers */
    CURVE,   /* a sample without change */
    TAIL,    /* quantiles of times as the share that takes longer, both axes logarithmic */
    SERVICE, /* quantiles of the turns that fibers got */
    BOX,     /* quantiles as boxes */
};

struct panel {
    const char *part;   /* the name of the panel */
    const char *bench;  /* the benchmark with entrants, metrics and the measurement */
    unsigned variant;   /* the variant with the metrics */
    const char *params; /* replaces the parameters of the variant; NULL: those of the variant */
    const char *brief;  /* further parameters for a brief report, which come first; NULL: none */
    const char *sweep;  /* SWEEP: "key=list"; NULL: none */
};

struct ablation {
    const char *system, *params;
};

struct experiment {
    const char *id;
    const char *twins; /* the corresponding figures and tables of the documents: "002 fig. 7.3, 002 fig. 7.4" */
    const char *title, *question, *method;
    enum picture figure;
    const char *systems;               /* the entrants of the benchmark that take part, separated by spaces; NULL:
                                          all */
    struct ablation ablations[SERIES]; /* weft with other parameters, as further systems */
    unsigned workers[8];               /* limited by the number of processors, unless `crowded` */
    bool crowded;
    bool relative;                 /* GROUPS: figures divided by weft's */
    unsigned metric;               /* the index of the metric */
    unsigned also;                 /* lines: a further metric with its own figures; 0: none */
    const char *sample;            /* CURVE, TAIL, SERVICE, BOX: the name of the sample */
    const char *x_label, *y_label; /* NULL: from the metric */
    bool log_x, log_y;
    struct panel panels[PANELS];
    const char *note; /* a remark for the reader */
};

extern const struct experiment experiments[]; /* ends with a NULL id */

/* Does `only` name the experiment or its document? NULL selects all. */
bool experiment_selected(const struct experiment *e, const char *only);

#endif
