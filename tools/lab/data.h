/* SPDX-License-Identifier: MIT */
/*
 * What experiments have found: rows, kept in a text file that grows while a report is made. A report that was
 * interrupted goes on behind the last cell that is complete; two files can be compared.
 */
#ifndef LAB_DATA_H
#define LAB_DATA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

struct row {
    char *experiment, *part, *system, *metric, *unit;
    unsigned workers;
    double x;    /* the value that varies; the number of workers, if nothing else does */
    bool ok;     /* the result was checked, and right */
    bool sample; /* points (xs, values); else values are those of the rounds */
    size_t count;
    double *xs, *values;
};

struct data {
    size_t count, room;
    struct row *rows;
    size_t cells, cell_room;
    char **cell; /* "experiment part x": all rows of these are there */
};

/* The row's texts and values are copied. */
void data_add(struct data *data, const struct row *row);
void data_free(struct data *data);

/* In the file; a cell is complete when data_complete has been written behind its rows. */
void data_write(FILE *f, const struct row *row);
void data_complete(FILE *f, struct data *data, const char *cell);
bool data_is_complete(const struct data *data, const char *cell);

/* Reads complete cells. The first line must be `head` (NULL: any). False: there is no such file, or it has another
 * head. */
bool data_read(const char *path, const char *head, struct data *data);

/* The first row that fits; NULL: any part, metric or system, 0: any number of workers. */
const struct row *data_find(const struct data *data, const char *experiment, const char *part, const char *system,
                            unsigned workers, const char *metric);

/* Of the values; low and high are the ends of the interval of the median, see data_level(). */
struct summary {
    double median, min, max, low, high;
};
/* With fewer than six rounds even the interval from the least to the greatest is less sure than 95 %: how sure, in
 * %. */
double data_level(size_t rounds);
struct summary data_summary(const struct row *row);
/* The y of a sample at x; the nearest, if there is none. */
double data_at(const struct row *row, double x);

#endif
