/* SPDX-License-Identifier: MIT */
/*
 * Plots as SVG. Each is a separate picture with axes, units and a legend: lines with bands, bars with whiskers, boxes.
 * The colours follow the reader's screen, light or dark, and paper. Series also differ by dashes and marks.
 */
#ifndef LAB_SVG_H
#define LAB_SVG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#define PLOT_SERIES 14
#define PLOT_POINTS 1100

enum plot_form { PLOT_LINES, PLOT_BARS, PLOT_BOXES };

struct point {
    double x, y, low, high; /* lines and bars: low and high are the whisker or the band; none if they are equal */
    double q1, q3;          /* boxes: y is the median, low and high the ends of the whiskers */
};

struct series {
    char name[48];
    bool dashed;    /* simulated, or ideal */
    bool plain;     /* no marks */
    unsigned color; /* the same for a system in every plot */
    size_t count;
    struct point *points;
};

struct plot {
    enum plot_form form;
    const char *title, *x_label, *y_label;
    bool log_x, log_y, from_zero, tail; /* tail: y is the share of values greater than x, from 1 down, on a log scale */
    size_t series_count;
    struct series series[PLOT_SERIES];
    const char *const *categories; /* bars and boxes: the names along x, at 0, 1, 2 ... */
    size_t category_count;
};

/* Returns the series of this name, or makes it. NULL: there are too many. */
struct series *plot_series(struct plot *plot, const char *name);
void series_add(struct series *series, struct point point);
void plot_free(struct plot *plot);

void svg_write(FILE *f, const struct plot *plot, const char *id);

/* Writes text, escaped for HTML and XML. */
void text_write(FILE *f, const char *text);
/* Writes a number with a sensible number of digits: 12.3, 4,500, 1.2M. Returns text. */
char *number_text(char *text, size_t size, double value);

#endif
