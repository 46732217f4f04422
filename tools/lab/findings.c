/* SPDX-License-Identifier: MIT */
/* Writes sentences that follow from the figures. They are made from the data, so they are true on every machine. */
#include "lab.h"

#include <math.h>
#include <string.h>

static bool is_value(const struct row *r, const struct experiment *e) {
    return !strcmp(r->experiment, e->id) && !r->sample && r->count && strncmp(r->metric, "count.", 6);
}

/* Returns the first metric of the part. */
static const char *metric_of(const struct data *data, const struct experiment *e, const char *part) {
    unsigned n = 0;
    const char *last = "";
    for (const struct row *r = data->rows; r < data->rows + data->count; r++)
        if (is_value(r, e) && !strcmp(r->part, part) && strcmp(last, r->metric)) {
            if (n++ == e->metric) return r->metric;
            last = r->metric;
        }
    return NULL;
}

static void say_scaling(FILE *f, const struct experiment *e, const struct panel *p, const struct data *data,
                        const char *metric) {
    const struct row *one = data_find(data, e->id, p->part, "weft", 1, metric);
    for (unsigned w = 8; one && w > 1; w--) {
        const struct row *many = data_find(data, e->id, p->part, "weft", w, metric);
        if (!many || !many->count) continue;
        bool time = !strcmp(many->unit, "ms"), each = !strcmp(many->unit, "ns");
        struct summary s = time ? ratio_of(one, many) : ratio_of(many, one);
        double growth = each ? w / s.median : s.median, low = each ? w / s.high : s.low,
               high = each ? w / s.low : s.high;
        fprintf(f,
                "<li>With %u workers in place of one, weft does %.2f times as much (%.0f&nbsp;%%: %.2f to %.2f; ideal: "
                "%u).</li>",
                w, growth, data_level(many->count), low, high, w);
        return;
    }
}

static void say_pair(FILE *f, const struct row *r, const struct row *weft) {
    char mine[32], theirs[32];
    struct summary ratio = ratio_of(r, weft);
    if (ratio.median <= 0) return;
    const char *verdict = ratio.low > 1    ? "certainly more"
                          : ratio.high < 1 ? "certainly less"
                                           : "no certain difference";
    fprintf(f, "<li>%s, %u worker%s: ", r->system, r->workers, r->workers == 1 ? "" : "s");
    fprintf(f, "%s %s, %.2f times weft's %s (%.0f&nbsp;%%: %.2f to %.2f): %s.</li>",
            number_text(theirs, sizeof theirs, data_summary(r).median), r->unit, ratio.median,
            number_text(mine, sizeof mine, data_summary(weft).median), data_level(r->count), ratio.low, ratio.high,
            verdict);
}

/* Writes at which values of the sweep another system is better than weft. */
static void say_sweep(FILE *f, const struct experiment *e, const struct panel *p, const struct data *data,
                      const char *metric, const char *system) {
    bool any = false;
    char text[32];
    fprintf(f, "<li>%s is certainly ahead of weft at:", system);
    for (const struct row *r = data->rows; r < data->rows + data->count; r++) {
        if (!is_value(r, e) || strcmp(r->part, p->part) || strcmp(r->metric, metric) || strcmp(r->system, system))
            continue;
        for (const struct row *w = data->rows; w < data->rows + data->count; w++) {
            if (!is_value(w, e) || strcmp(w->part, p->part) || strcmp(w->metric, metric) || strcmp(w->system, "weft"))
                continue;
            struct summary s = ratio_of(r, w);
            if (w->x != r->x || w->workers != r->workers || s.low <= 1) continue;
            fprintf(f, "%s %s", any ? "," : "", number_text(text, sizeof text, r->x));
            any = true;
        }
    }
    fprintf(f, "%s.</li>", any ? "" : " no value");
}

static void say_sweeps(FILE *f, const struct experiment *e, const struct panel *p, const struct data *data,
                       const char *metric) {
    const char *last = "weft";
    for (const struct row *r = data->rows; r < data->rows + data->count; r++) {
        if (!is_value(r, e) || strcmp(r->part, p->part) || strcmp(r->metric, metric) || !strcmp(r->system, "weft"))
            continue;
        const struct row *first = data_find(data, e->id, p->part, r->system, 0, metric);
        if (first == r && strcmp(last, r->system)) say_sweep(f, e, p, data, metric, r->system);
        last = r->system;
    }
}

static void say_panel(FILE *f, const struct experiment *e, const struct panel *p, const struct data *data) {
    const char *metric = metric_of(data, e, p->part);
    unsigned most = 0;
    if (!metric) return;
    for (const struct row *r = data->rows; r < data->rows + data->count; r++)
        if (is_value(r, e) && r->workers > most) most = r->workers;
    fprintf(f, "<p><b>%s.</b></p><ul>", p->part);
    if (p->sweep) say_sweeps(f, e, p, data, metric);
    if (e->figure == SCALE && p->bench) say_scaling(f, e, p, data, metric);
    for (const struct row *r = data->rows; r < data->rows + data->count; r++) {
        if (!is_value(r, e) || strcmp(r->part, p->part) || strcmp(r->metric, metric) || r->workers != most) continue;
        if (!r->ok)
            fprintf(f, "<li>%s did not give a right result in time.</li>", r->system);
        else if (strcmp(r->system, "weft") && !p->sweep)
            say_pair(f, r, data_find(data, e->id, p->part, "weft", r->workers, metric));
    }
    fputs("</ul>", f);
}

/* Writes about two identical systems: any significant difference between them is an error of the interval. */
static void say_noise(FILE *f, const struct experiment *e, const struct data *data) {
    unsigned pairs = 0, wrong = 0;
    double sum = 0, worst = 0, level = 0;
    for (const struct row *r = data->rows; r < data->rows + data->count; r++) {
        if (!is_value(r, e) || strcmp(r->system, "weft-again")) continue;
        struct summary s = ratio_of(r, data_find(data, e->id, r->part, "weft", r->workers, r->metric));
        if (s.median <= 0) continue;
        double off = fabs(s.median - 1);
        level = data_level(r->count);
        pairs++;
        wrong += s.low > 1 || s.high < 1;
        sum += off;
        if (off > worst) worst = off;
    }
    if (pairs)
        fprintf(f,
                "<p>%u pairs of identical systems. Their medians differ by %.2f&nbsp;%% on average, by %.1f&nbsp;%% at "
                "most. The %.0f&nbsp;%% interval of their ratio excluded 1, which is wrong, in %u of %u: %.0f&nbsp;%%, "
                "where %.0f are to be expected.</p>",
                pairs, 100 * sum / pairs, 100 * worst, level, wrong, pairs, 100.0 * wrong / pairs, 100 - level);
}

void findings_write(FILE *f, const struct experiment *e, const struct data *data) {
    if (!strcmp(e->id, "noise"))
        say_noise(f, e, data);
    else if (!e->sample)
        for (const struct panel *p = e->panels; p < e->panels + PANELS && p->part; p++) say_panel(f, e, p, data);
    if (!e->note) return;
    fputs("<p class=\"note\">", f);
    text_write(f, e->note);
    fputs("</p>", f);
}
