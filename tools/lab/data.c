/* SPDX-License-Identifier: MIT */
/* See data.h. Each row is a line with fields separated by tabs. "#cell" ends a cell. */
#include "data.h"
#include "bench/measure.h"

#include <stdlib.h>
#include <string.h>

#define FIELDS 11

static void *grow(void *list, size_t count, size_t *room, size_t size) {
    if (count < *room) return list;
    *room = *room ? 2 * *room : 64;
    list = realloc(list, *room * size);
    if (!list) fail("memory", ENOMEM);
    return list;
}

static char *copy(const char *text) {
    char *s = strdup(text);
    if (!s) fail("memory", ENOMEM);
    return s;
}

static double *copy_numbers(const double *values, size_t count) {
    double *list = allocate(count + 1, sizeof *list);
    if (count) memcpy(list, values, count * sizeof *list);
    return list;
}

void data_add(struct data *data, const struct row *row) {
    data->rows = grow(data->rows, data->count, &data->room, sizeof *row);
    struct row *r = &data->rows[data->count++];
    *r = *row;
    r->experiment = copy(row->experiment);
    r->part = copy(row->part);
    r->system = copy(row->system);
    r->metric = copy(row->metric);
    r->unit = copy(row->unit);
    r->values = copy_numbers(row->values, row->count);
    r->xs = row->sample ? copy_numbers(row->xs, row->count) : NULL;
}

static void free_row(struct row *r) {
    free(r->experiment), free(r->part), free(r->system), free(r->metric), free(r->unit);
    free(r->values), free(r->xs);
}

void data_free(struct data *data) {
    for (size_t i = 0; i < data->count; i++) free_row(&data->rows[i]);
    for (size_t i = 0; i < data->cells; i++) free(data->cell[i]);
    free(data->rows);
    free(data->cell);
    *data = (struct data){0};
}

void data_write(FILE *f, const struct row *r) {
    fprintf(f, "%s\t%s\t%s\t%u\t%.9g\t%s\t%s\t%d\t%d\t%zu\t", r->experiment, r->part, r->system, r->workers, r->x,
            r->metric, r->unit, r->ok, r->sample, r->count);
    for (size_t i = 0; i < r->count; i++) {
        if (r->sample) fprintf(f, "%.9g:", r->xs[i]);
        fprintf(f, "%.9g ", r->values[i]);
    }
    fprintf(f, "\n");
}

static void add_cell(struct data *data, const char *cell) {
    data->cell = grow(data->cell, data->cells, &data->cell_room, sizeof *data->cell);
    data->cell[data->cells++] = copy(cell);
}

void data_complete(FILE *f, struct data *data, const char *cell) {
    fprintf(f, "#cell\t%s\n", cell);
    fflush(f);
    add_cell(data, cell);
}

bool data_is_complete(const struct data *data, const char *cell) {
    for (size_t i = 0; i < data->cells; i++)
        if (!strcmp(data->cell[i], cell)) return true;
    return false;
}

/* Reads the fields of a line. Returns false if it is not a row. */
static bool read_row(char *line, struct data *data) {
    char *field[FIELDS];
    for (int i = 0; i < FIELDS; i++)
        if (!(field[i] = strsep(&line, "\t"))) return false;
    size_t count = strtoul(field[9], NULL, 10), n = 0;
    double *xs = allocate(count + 1, sizeof *xs), *values = allocate(count + 1, sizeof *values);
    bool sample = field[8][0] == '1';
    for (char *rest = field[10], *word; n < count && (word = strsep(&rest, " ")) && *word; n++) {
        char *colon = strchr(word, ':');
        if (sample && colon) xs[n] = strtod(word, NULL), word = colon + 1;
        values[n] = strtod(word, NULL);
    }
    struct row row = {field[0],
                      field[1],
                      field[2],
                      field[5],
                      field[6],
                      (unsigned)strtoul(field[3], NULL, 10),
                      strtod(field[4], NULL),
                      field[7][0] == '1',
                      sample,
                      n,
                      xs,
                      values};
    if (n == count) data_add(data, &row);
    free(xs);
    free(values);
    return n == count;
}

bool data_read(const char *path, const char *head, struct data *data) {
    char *line = NULL;
    size_t room = 0, whole = 0;
    FILE *f = fopen(path, "r");
    *data = (struct data){0};
    bool fits = f && getline(&line, &room, f) > 0 && (!head || !strcmp(line, head));
    while (fits && getline(&line, &room, f) > 0) {
        size_t length = strcspn(line, "\n");
        if (!line[length]) break; /* the line has no end: the writer was interrupted */
        line[length] = 0;
        if (strncmp(line, "#cell\t", 6)) {
            read_row(line, data);
        } else {
            add_cell(data, line + 6);
            whole = data->count;
        }
    }
    while (data->count > whole) free_row(&data->rows[--data->count]);
    free(line);
    if (f) fclose(f);
    return fits;
}

const struct row *data_find(const struct data *data, const char *experiment, const char *part, const char *system,
                            unsigned workers, const char *metric) {
    for (const struct row *r = data->rows; r < data->rows + data->count; r++)
        if (!strcmp(r->experiment, experiment) && (!part || !strcmp(r->part, part)) &&
            (!system || !strcmp(r->system, system)) && (!workers || r->workers == workers) &&
            (!metric || !strcmp(r->metric, metric)))
            return r;
    return NULL;
}

/* Returns how many of the least and of the greatest values lie outside the 95 % interval of the median. */
static size_t outside(size_t count) {
    double chance = 1, sum = 0;
    for (size_t i = 0; i < count; i++) chance /= 2;
    for (size_t k = 0;; k++) {
        sum += chance;
        if (sum > 0.025) return k ? k - 1 : 0;
        chance = chance * (double)(count - k) / (double)(k + 1);
    }
}

double data_level(size_t rounds) {
    double outside = 200;
    for (size_t i = 0; i < rounds && i < 6; i++) outside /= 2;
    return rounds > 5 ? 95 : outside < 100 ? 100 - outside : 0;
}

struct summary data_summary(const struct row *row) {
    struct summary s = {0, 0, 0, 0, 0};
    if (!row->count) return s;
    double *v = copy_numbers(row->values, row->count);
    size_t k = outside(row->count);
    s.median = median(v, row->count);
    s.min = v[0];
    s.max = v[row->count - 1];
    s.low = v[k];
    s.high = v[row->count - 1 - k];
    free(v);
    return s;
}

double data_at(const struct row *row, double x) {
    double best = 0, distance = -1;
    for (size_t i = 0; i < row->count; i++) {
        double d = row->xs[i] > x ? row->xs[i] - x : x - row->xs[i];
        if (distance < 0 || d < distance) distance = d, best = row->values[i];
    }
    return best;
}
