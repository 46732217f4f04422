/* SPDX-License-Identifier: MIT */
/*
 * The results of experiments: rows in a text file that grows while a report is made. An interrupted report continues
 * after the last complete cell. Two files can be compared.
 */
#ifndef LAB_DATA_H
#define LAB_DATA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

struct row {
    char *experiment, *part, *system, *metric, *unit;
    unsigned workers;
    double x;    /* the varying value; the number of workers if nothing else varies */
    bool ok;     /* the result was checked and is right */
    bool sample; /* the row has points (xs, values); otherwise values are those of the rounds */
    size_t count;
    double *xs, *values;
};

struct data {
    size_t count, room;
    struct row *rows;
    size_t cells, cell_room;
    char **cell; /* "experiment part x": the cells whose rows are complete */
};

/* Adds a row. Copies its texts and values. */
void data_add(struct data *data, const struct row *row);
void data_free(struct data *data);

/* Writes a row to the file. A cell is complete when data_complete was called after its rows. */
void data_write(FILE *f, const struct row *row);
void data_complete(FILE *f, struct data *data, const char *cell);
bool data_is_complete(const struct data *data, const char *cell);

/* Reads complete cells. The first line must be `head` (NULL: any). Returns false if there is no such file, or it has
 * another head. */
bool data_read(const char *path, const char *head, struct data *data);

/* Finds the first matching row. NULL matches any part, metric or system, 0 any number of workers. */
const struct row *data_find(const struct data *data, const char *experiment, const char *part, const char *system,
                            unsigned workers, const char *metric);

/* A summary of values. low and high are the ends of the interval of the median, see data_level(). */
struct summary {
    double median, min, max, low, high;
};
/* Returns the confidence of the interval, in %. With fewer than six rounds even the interval from the least to the
 * greatest value has less than 95 %. */
double data_level(size_t rounds);
struct summary data_summary(const struct row *row);
/* Returns the y of a sample at x, or at the nearest x. */
double data_at(const struct row *row, double x);

#endif
