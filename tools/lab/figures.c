/* SPDX-License-Identifier: MIT */
/* From rows to plots. See lab.h. */
#include "bench/measure.h"
#include "lab.h"

#include <stdlib.h>
#include <string.h>

#define CATEGORIES 16

struct summary ratio_of(const struct row *row, const struct row *other) {
    struct row ratio = {.count = 0};
    if (!row || !other) return (struct summary){0, 0, 0, 0, 0};
    size_t n = row->count < other->count ? row->count : other->count;
    ratio.values = allocate(n + 1, sizeof(double));
    for (size_t i = 0; i < n; i++)
        if (other->values[i] > 0 && row->values[i] > 0) ratio.values[ratio.count++] = row->values[i] / other->values[i];
    struct summary s = data_summary(&ratio);
    free(ratio.values);
    return s;
}

/* Does the experiment draw this row in this panel? */
static bool is_drawn(const struct experiment *e, const struct panel *p, const struct row *r, const char *metric) {
    if (strcmp(r->experiment, e->id) || strcmp(r->part, p->part) || !r->ok || !r->count) return false;
    return !strcmp(r->metric, e->sample ? e->sample : metric);
}

/* Finds the row of a metric. The number is an index into the panel's values. */
static const struct row *find_metric(const struct experiment *e, const struct panel *p, const struct data *data,
                                     unsigned number) {
    const char *last = NULL;
    unsigned n = 0;
    for (const struct row *r = data->rows; r < data->rows + data->count; r++) {
        if (strcmp(r->experiment, e->id) || strcmp(r->part, p->part) || r->sample || !strncmp(r->metric, "count.", 6))
            continue;
        if (last && !strcmp(last, r->metric)) continue;
        if (n++ == number) return r;
        last = r->metric;
    }
    return NULL;
}

/* Makes the label of an axis: the metric without the words that distinguish variants, and the unit unless the metric
 * begins with it. */
static void label_of(const struct row *r, char *label, size_t size) {
    int stem = (int)strcspn(r->metric, ",");
    bool named = !*r->unit || !strncmp(r->metric, r->unit, strlen(r->unit));
    snprintf(label, size, "%.*s%s%s", stem, r->metric, named ? "" : ", ", named ? "" : r->unit);
}

static struct point of_values(double x, struct summary s) { return (struct point){x, s.median, s.min, s.max, 0, 0}; }

/* Adds the ideal line: the figure of the first system if all workers were as good as the first. With ms the time falls,
 * with M/s the rate rises, with ns nothing changes. */
static void add_ideal(struct plot *plot, const char *unit) {
    if (!plot->series_count || plot->series[0].count < 2) return;
    struct series *weft = &plot->series[0], *ideal = plot_series(plot, "ideal");
    if (!ideal) return;
    ideal->dashed = ideal->plain = true;
    for (size_t i = 0; i < weft->count; i++) {
        double times = weft->points[i].x / weft->points[0].x, y = weft->points[0].y;
        y = !strcmp(unit, "ms") ? y / times : !strcmp(unit, "ns") || !strcmp(unit, "%") ? y : y * times;
        series_add(ideal, (struct point){weft->points[i].x, y, 0, 0, 0, 0});
    }
}

/* Adds measured values to the picture of the simulation: in `cycle`, the work of each worker in percent of that of a
 * single worker. */
static void add_measured(struct plot *plot, const struct data *data) {
    const struct row *one = data_find(data, "cycle", NULL, "weft", 1, NULL);
    if (!one) return;
    for (const struct row *r = data->rows; r < data->rows + data->count; r++) {
        if (strcmp(r->experiment, "cycle") || strcmp(r->part, one->part) || strcmp(r->system, "weft")) continue;
        if (r->sample || strcmp(r->metric, one->metric)) continue;
        struct summary s = ratio_of(r, one);
        double scale = 100 / (double)r->workers;
        series_add(plot_series(plot, "measured, cycle"),
                   (struct point){r->x, scale * s.median, scale * s.min, scale * s.max, 0, 0});
    }
}

static void add_points(struct series *s, enum picture figure, const struct row *r) {
    if (figure == SCALE || figure == SWEEP) {
        series_add(s, of_values(r->x, data_summary(r)));
        return;
    }
    for (size_t i = 0; i < r->count; i++) {
        double x = r->xs[i], y = r->values[i];
        if (figure == TAIL && (x >= 100 || y <= 0)) continue; /* no time is longer than the longest */
        series_add(s,
                   figure == TAIL ? (struct point){y, (100 - x) / 100, 0, 0, 0, 0} : (struct point){x, y, 0, 0, 0, 0});
    }
    if (s) s->plain = r->count > 24;
}

/* Draws lines. Times of a further metric have a logarithmic axis, because the long times matter. */
static void draw_lines(const struct experiment *e, const struct panel *p, const struct data *data, unsigned number,
                       void (*draw)(const struct plot *, const char *, void *), void *arg) {
    const struct row *metric = find_metric(e, p, data, number);
    bool further = number != e->metric;
    char title[160], y_label[200], id[96];
    if (!metric) return;
    snprintf(title, sizeof title, "%s: %s", e->title, p->part);
    label_of(metric, y_label, sizeof y_label);
    struct plot plot = {.form = PLOT_LINES, .title = title, .log_x = e->log_x || e->figure == TAIL};
    plot.log_y = e->figure == TAIL || (further ? strcmp(metric->unit, "%") != 0 : e->log_y);
    plot.from_zero = e->figure != BOX;
    plot.x_label = e->x_label && *e->x_label ? e->x_label : "workers";
    plot.y_label = e->y_label && !further ? e->y_label : y_label;
    for (const struct row *r = data->rows; r < data->rows + data->count; r++) {
        if (!is_drawn(e, p, r, metric->metric)) continue;
        struct series *s = plot_series(&plot, r->system);
        if (s && !strncmp(r->system, "simulated", 9)) s->dashed = true;
        add_points(s, e->figure, r);
    }
    if (!p->bench) add_measured(&plot, data);
    if (e->figure == SCALE) add_ideal(&plot, metric->unit);
    snprintf(id, sizeof id, "%s%s-%d", e->id, further ? "-also" : "", (int)(p - e->panels) + 1);
    if (plot.series_count) draw(&plot, id, arg);
    plot_free(&plot);
}

static struct point box_of(double x, const struct row *r) {
    return (struct point){x, data_at(r, 50), data_at(r, 5), data_at(r, 95), data_at(r, 25), data_at(r, 75)};
}

/* Draws the panels side by side. */
static void draw_groups(const struct experiment *e, const struct data *data, unsigned workers,
                        void (*draw)(const struct plot *, const char *, void *), void *arg) {
    const char *categories[CATEGORIES];
    char title[160], y_label[200] = "", id[96];
    struct plot plot = {.form = e->figure == BOX ? PLOT_BOXES : PLOT_BARS, .title = title, .categories = categories};
    plot.log_y = e->log_y;
    plot.from_zero = true;
    for (const struct panel *p = e->panels; p < e->panels + PANELS && p->part; p++) {
        const struct row *metric = find_metric(e, p, data, e->metric);
        if (!metric) continue;
        double x = (double)plot.category_count;
        categories[plot.category_count++] = p->part;
        if (!*y_label) label_of(metric, y_label, sizeof y_label);
        for (const struct row *r = data->rows; r < data->rows + data->count; r++) {
            if (!is_drawn(e, p, r, metric->metric) || r->workers != workers) continue;
            const struct row *weft = data_find(data, e->id, p->part, "weft", workers, metric->metric);
            struct summary s = e->relative ? ratio_of(r, weft) : data_summary(r);
            if (e->relative) s.min = s.low, s.max = s.high;
            series_add(plot_series(&plot, r->system), e->figure == BOX ? box_of(x, r) : of_values(x, s));
        }
    }
    snprintf(title, sizeof title, "%s: %u worker%s", e->title, workers, workers == 1 ? "" : "s");
    snprintf(id, sizeof id, "%s-w%u", e->id, workers);
    plot.x_label = e->x_label ? e->x_label : "";
    plot.y_label = e->relative ? "over weft's" : e->y_label ? e->y_label : y_label;
    if (!*plot.x_label) plot.x_label = "workload";
    if (plot.series_count) draw(&plot, id, arg);
    plot_free(&plot);
}

void figures_of(const struct experiment *e, const struct data *data,
                void (*draw)(const struct plot *, const char *, void *), void *arg) {
    if (e->figure != GROUPS && e->figure != BOX) {
        for (const struct panel *p = e->panels; p < e->panels + PANELS && p->part; p++)
            draw_lines(e, p, data, e->metric, draw, arg);
        for (const struct panel *p = e->panels; e->also && p < e->panels + PANELS && p->part; p++)
            draw_lines(e, p, data, e->also, draw, arg);
        return;
    }
    for (size_t i = 0; i < 8 && e->workers[i]; i++) draw_groups(e, data, e->workers[i], draw, arg);
}
