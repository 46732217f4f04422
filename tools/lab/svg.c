/* SPDX-License-Identifier: MIT */
/* See svg.h. */
#include "svg.h"
#include "bench/measure.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define WIDTH 640.0
#define LEFT 68.0
#define RIGHT 16.0
#define HEIGHT 250.0 /* the height of the plot area */
#define TITLE 26.0
#define LINE 18.0 /* the height of a line of the legend */
#define BELOW 46.0

#define COLORS 10

/* Systems that never appear in the same plot may share a colour. */
static const struct {
    const char *name;
    unsigned color;
} usual[] = {{"weft", 0},      {"weft-nohelp", 1}, {"weft-continue", 1}, {"weft-nosteal", 1},
             {"weft-last", 1}, {"weft-nomail", 1}, {"weft-again", 1},    {"go", 2},
             {"tbb", 2},       {"memcached", 2},   {"nginx", 2},         {"chase-lev", 2},
             {"boost", 3},     {"libgomp", 3},     {"pthread", 4},       {"libomp", 5},
             {"serial", 6},    {"ideal", 6}};

static unsigned color_of(const struct plot *plot, const char *name) {
    bool taken[COLORS] = {false};
    for (size_t i = 0; i < sizeof usual / sizeof *usual; i++)
        if (!strcmp(usual[i].name, name)) return usual[i].color;
    for (size_t i = 0; i < plot->series_count; i++) taken[plot->series[i].color] = true;
    for (unsigned c = 0; c < COLORS; c++)
        if (!taken[c]) return c;
    return (unsigned)plot->series_count % COLORS;
}

struct series *plot_series(struct plot *plot, const char *name) {
    for (size_t i = 0; i < plot->series_count; i++)
        if (!strcmp(plot->series[i].name, name)) return &plot->series[i];
    if (plot->series_count == PLOT_SERIES) return NULL;
    unsigned color = color_of(plot, name);
    struct series *s = &plot->series[plot->series_count++];
    *s = (struct series){.color = color};
    snprintf(s->name, sizeof s->name, "%s", name);
    s->points = allocate(PLOT_POINTS, sizeof *s->points);
    return s;
}

void series_add(struct series *series, struct point point) {
    if (series && series->count < PLOT_POINTS) series->points[series->count++] = point;
}

void plot_free(struct plot *plot) {
    for (size_t i = 0; i < plot->series_count; i++) free(plot->series[i].points);
}

void text_write(FILE *f, const char *text) {
    for (; *text; text++) {
        if (*text == '<')
            fputs("&lt;", f);
        else if (*text == '>')
            fputs("&gt;", f);
        else if (*text == '&')
            fputs("&amp;", f);
        else if (*text == '"')
            fputs("&quot;", f);
        else
            fputc(*text, f);
    }
}

char *number_text(char *text, size_t size, double value) {
    double m = fabs(value);
    if (m >= 1e9)
        snprintf(text, size, "%.3gG", value / 1e9);
    else if (m >= 1e6)
        snprintf(text, size, "%.3gM", value / 1e6);
    else if (m >= 1e4)
        snprintf(text, size, "%.3gk", value / 1e3);
    else if (m >= 1000)
        snprintf(text, size, "%.0f", value);
    else
        snprintf(text, size, "%.3g", value);
    return text;
}

/* --- scales --------------------------------------------------------------------------------------- */

struct scale {
    double from, to, begin, end; /* the range of values, and of positions */
    bool log;
};

static double at(const struct scale *s, double v) {
    double part = s->log ? (log10(v > s->from ? v : s->from) - log10(s->from)) / (log10(s->to) - log10(s->from))
                         : (v - s->from) / (s->to - s->from);
    return s->begin + part * (s->end - s->begin);
}

static double nice_step(double span, int most) {
    double step = pow(10, floor(log10(span / most)));
    static const double factors[] = {1, 2, 5, 10};
    for (int i = 0; i < 4; i++)
        if (span / (step * factors[i]) <= most) return step * factors[i];
    return step * 10;
}

static void widen(struct scale *s, double v) {
    if (s->log && v <= 0) return;
    if (v < s->from) s->from = v;
    if (v > s->to) s->to = v;
}

/* Extends the scale to round numbers. */
static void round_scale(struct scale *s) {
    if (s->from > s->to) s->from = s->log ? 1 : 0, s->to = s->log ? 10 : 1;
    if (s->log) {
        s->from = pow(10, floor(log10(s->from) + 1e-9));
        s->to = pow(10, ceil(log10(s->to) - 1e-9));
        if (s->to <= s->from) s->to = 10 * s->from;
        return;
    }
    if (s->to <= s->from) s->to = s->from + (s->from > 0 ? s->from : 1);
    double step = nice_step(s->to - s->from, 6);
    s->from = floor(s->from / step + 1e-9) * step;
    s->to = ceil(s->to / step - 1e-9) * step;
}

/* Do the points have so few x values that each value can have its own tick? */
static bool has_few_positions(const struct plot *p) {
    for (size_t i = 0; i < p->series_count; i++)
        if (p->series[i].count > 10 || p->tail) return false;
    return true;
}

static void find_scales(const struct plot *p, struct scale *x, struct scale *y) {
    *x = (struct scale){INFINITY, -INFINITY, 0, 0, p->log_x};
    *y = (struct scale){p->from_zero && !p->log_y ? 0 : INFINITY, -INFINITY, 0, 0, p->log_y};
    for (size_t i = 0; i < p->series_count; i++)
        for (size_t k = 0; k < p->series[i].count; k++) {
            const struct point *q = &p->series[i].points[k];
            widen(x, q->x);
            widen(y, q->y);
            if (q->low < q->high) widen(y, q->low), widen(y, q->high);
        }
    if (p->form != PLOT_LINES) x->from = -0.5, x->to = (double)p->category_count - 0.5;
    if (p->form == PLOT_LINES && !has_few_positions(p)) round_scale(x);
    if (p->form == PLOT_LINES && has_few_positions(p)) {
        double room = x->log ? pow(x->to / x->from, 0.05) : (x->to - x->from) * 0.05;
        if (x->to <= x->from) room = x->log ? 2 : 1;
        x->from = x->log ? x->from / room : x->from - room;
        x->to = x->log ? x->to * room : x->to + room;
    }
    round_scale(y);
}

/* --- what is drawn -------------------------------------------------------------------------------- */

static void write_style(FILE *f) {
    static const char *const light[] = {"#1f5fd0", "#d55e00", "#00876a", "#b0179a", "#8a6a00",
                                        "#3d9bd1", "#666666", "#a0522d", "#5a3fb5", "#c2255c"};
    static const char *const dark[] = {"#74a9ff", "#ff9a57", "#4fd1a5", "#f288dd", "#e0c04f",
                                       "#9ad8ff", "#b5b5b5", "#dda078", "#b6a3ff", "#ff8fb1"};
    fputs("<style>text{font:12px system-ui,-apple-system,'Segoe "
          "UI',sans-serif;fill:#333}.h{font-weight:600;font-size:13px}.g{stroke:#8884;stroke-width:1}.a{stroke:#777;"
          "stroke-width:1}",
          f);
    for (int i = 0; i < 10; i++)
        fprintf(f, ".l%d{stroke:%s;fill:none;stroke-width:2}.f%d{fill:%s}", i, light[i], i, light[i]);
    fputs(".b{opacity:.16}.w{stroke-width:1.3}@media screen and "
          "(prefers-color-scheme:dark){text{fill:#ddd}.a{stroke:#999}",
          f);
    for (int i = 0; i < 10; i++) fprintf(f, ".l%d{stroke:%s}.f%d{fill:%s}", i, dark[i], i, dark[i]);
    fputs("}</style>", f);
}

static void write_text(FILE *f, double x, double y, const char *anchor, const char *class, const char *text) {
    fprintf(f, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\"%s%s%s>", x, y, anchor, *class ? " class=\"" : "", class,
            *class ? "\"" : "");
    text_write(f, text);
    fputs("</text>", f);
}

static void write_mark(FILE *f, unsigned c, double x, double y) {
    if (c % 3 == 0)
        fprintf(f, "<circle class=\"f%u\" cx=\"%.1f\" cy=\"%.1f\" r=\"3.4\"/>", c, x, y);
    else if (c % 3 == 1)
        fprintf(f, "<rect class=\"f%u\" x=\"%.1f\" y=\"%.1f\" width=\"6.4\" height=\"6.4\"/>", c, x - 3.2, y - 3.2);
    else
        fprintf(f, "<path class=\"f%u\" d=\"M%.1f %.1fl4 7h-8z\"/>", c, x, y - 4.2);
}

/* Writes the legend. Returns its height. If f is NULL, draws nothing. */
static double write_legend(FILE *f, const struct plot *p) {
    double x = LEFT, y = TITLE + 12;
    for (size_t i = 0; i < p->series_count; i++) {
        double width = 34 + 6.8 * (double)strlen(p->series[i].name);
        if (x > LEFT && x + width > WIDTH - RIGHT) x = LEFT, y += LINE;
        if (f) {
            if (p->form == PLOT_LINES)
                fprintf(f, "<path class=\"l%u\"%s d=\"M%.1f %.1fh20\"/>", p->series[i].color,
                        p->series[i].dashed ? " stroke-dasharray=\"5 4\"" : "", x, y - 4);
            else
                fprintf(f, "<rect class=\"f%u\" x=\"%.1f\" y=\"%.1f\" width=\"14\" height=\"10\"/>", p->series[i].color,
                        x + 3, y - 9);
            if (p->form == PLOT_LINES && !p->series[i].plain) write_mark(f, p->series[i].color, x + 10, y - 4);
            write_text(f, x + 25, y, "start", "k", p->series[i].name);
        }
        x += width;
    }
    return y + 12;
}

static void tick(FILE *f, const struct scale *s, bool across, const struct scale *other, double v, bool label) {
    char text[32];
    double p = at(s, v);
    number_text(text, sizeof text, v);
    if (across) {
        fprintf(f, "<path class=\"g\" d=\"M%.1f %.1fV%.1f\"/>", p, other->begin, other->end);
        if (label) write_text(f, p, other->begin + 16, "middle", "t", text);
    } else {
        fprintf(f, "<path class=\"g\" d=\"M%.1f %.1fH%.1f\"/>", other->begin, p, other->end);
        if (label) write_text(f, other->begin - 7, p + 4, "end", "t", text);
    }
}

static void write_ticks(FILE *f, const struct scale *s, bool across, const struct scale *other) {
    if (!s->log) {
        double step = nice_step(s->to - s->from, across ? 8 : 6);
        for (double v = s->from; v <= s->to + step / 1000; v += step)
            tick(f, s, across, other, fabs(v) < step / 1000 ? 0 : v, true);
        return;
    }
    bool few = s->to / s->from < 150;
    for (double decade = s->from; decade <= s->to * 1.001; decade *= 10)
        for (int i = 1; i < 10 && decade * i <= s->to * 1.001; i++)
            if (i == 1 || (few && (i == 2 || i == 5))) tick(f, s, across, other, decade * i, true);
}

/* Writes a tick for each x value of the series with the most points. Skips labels that would overlap. */
static void write_positions(FILE *f, const struct plot *p, const struct scale *x, const struct scale *y) {
    const struct series *s = &p->series[0];
    double last = -1000;
    for (size_t i = 1; i < p->series_count; i++)
        if (p->series[i].count > s->count) s = &p->series[i];
    for (size_t k = 0; k < s->count; k++) {
        bool apart = fabs(at(x, s->points[k].x) - last) > 40;
        tick(f, x, true, y, s->points[k].x, apart);
        if (apart) last = at(x, s->points[k].x);
    }
}

/* Are the names along x too long to stand side by side? */
static bool is_tilted(const struct plot *p) {
    size_t most = 0;
    for (size_t i = 0; i < p->category_count; i++)
        if (strlen(p->categories[i]) > most) most = strlen(p->categories[i]);
    return p->category_count && (double)most * 6.6 > (WIDTH - LEFT - RIGHT) / (double)p->category_count;
}

static void write_categories(FILE *f, const struct plot *p, const struct scale *x, const struct scale *y) {
    bool tilted = is_tilted(p);
    for (size_t i = 0; i < p->category_count; i++) {
        double px = at(x, (double)i);
        if (!tilted) {
            write_text(f, px, y->begin + 16, "middle", "t", p->categories[i]);
            continue;
        }
        fprintf(f, "<text class=\"t\" text-anchor=\"end\" transform=\"translate(%.1f %.1f) rotate(-28)\">", px + 4,
                y->begin + 14);
        text_write(f, p->categories[i]);
        fputs("</text>", f);
    }
}

static void write_band(FILE *f, const struct series *s, const struct scale *x, const struct scale *y) {
    bool any = false;
    for (size_t k = 0; k < s->count; k++) any |= s->points[k].low < s->points[k].high;
    if (!any || s->count < 2) return;
    fprintf(f, "<path class=\"f%u b\" d=\"M", s->color);
    for (size_t k = 0; k < s->count; k++) fprintf(f, "%.1f %.1f ", at(x, s->points[k].x), at(y, s->points[k].high));
    for (size_t k = s->count; k-- > 0;) fprintf(f, "%.1f %.1f ", at(x, s->points[k].x), at(y, s->points[k].low));
    fputs("z\"/>", f);
}

static void write_line(FILE *f, const struct series *s, const struct scale *x, const struct scale *y) {
    write_band(f, s, x, y);
    fprintf(f, "<path class=\"l%u d\"%s d=\"", s->color, s->dashed ? " stroke-dasharray=\"6 4\"" : "");
    for (size_t k = 0; k < s->count; k++)
        fprintf(f, "%c%.1f %.1f", k ? 'L' : 'M', at(x, s->points[k].x), at(y, s->points[k].y));
    fputs("\"/>", f);
    for (size_t k = 0; k < s->count && !s->plain && s->count <= 40; k++)
        write_mark(f, s->color, at(x, s->points[k].x), at(y, s->points[k].y));
}

static void whisker(FILE *f, size_t i, double x, double low, double high) {
    fprintf(f, "<path class=\"a w d%zu\" d=\"M%.1f %.1fV%.1fM%.1f %.1fh6M%.1f %.1fh6\"/>", i, x, low, high, x - 3, low,
            x - 3, high);
}

static void write_bar(FILE *f, const struct plot *p, size_t i, const struct scale *x, const struct scale *y) {
    double slot = (x->end - x->begin) / (double)p->category_count, width = slot * 0.82 / (double)p->series_count;
    if (width > 46) width = 46;
    for (size_t k = 0; k < p->series[i].count; k++) {
        const struct point *q = &p->series[i].points[k];
        double left = at(x, q->x) + ((double)i - (double)p->series_count / 2) * width, top = at(y, q->y);
        if (p->form == PLOT_BARS) {
            fprintf(f, "<rect class=\"f%u d\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\"/>",
                    p->series[i].color, left + 1, top, width - 2, y->begin - top > 0.5 ? y->begin - top : 0.5);
            if (q->low < q->high) whisker(f, i, left + width / 2, at(y, q->low), at(y, q->high));
            continue;
        }
        whisker(f, i, left + width / 2, at(y, q->low), at(y, q->high));
        fprintf(f,
                "<rect class=\"f%u d\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" opacity=\".55\"/><path "
                "class=\"l%u\" d=\"M%.1f %.1fh%.1f\"/>",
                p->series[i].color, left + 2, at(y, q->q3), width - 4, at(y, q->q1) - at(y, q->q3) + 0.5,
                p->series[i].color, left + 2, top, width - 4);
    }
}

void svg_write(FILE *f, const struct plot *p, const char *id) {
    struct scale x, y;
    find_scales(p, &x, &y);
    double top = write_legend(NULL, p), bottom = top + HEIGHT, tall = bottom + BELOW + (is_tilted(p) ? 24 : 0);
    x.begin = LEFT, x.end = WIDTH - RIGHT, y.begin = bottom, y.end = top;
    fprintf(f,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %.0f %.0f\" role=\"img\" id=\"%s\" "
            "data-series=\"%zu\"><title>",
            WIDTH, tall, id, p->series_count);
    text_write(f, p->title);
    fputs("</title>", f);
    write_style(f);
    write_text(f, LEFT, 16, "start", "h", p->title);
    fputs("<g class=\"legend\">", f);
    write_legend(f, p);
    fputs("</g><g class=\"axes\">", f);
    write_ticks(f, &y, false, &x);
    if (p->form == PLOT_LINES && has_few_positions(p))
        write_positions(f, p, &x, &y);
    else if (p->form == PLOT_LINES)
        write_ticks(f, &x, true, &y);
    else
        write_categories(f, p, &x, &y);
    fprintf(f, "<path class=\"a\" fill=\"none\" d=\"M%.1f %.1fV%.1fH%.1f\"/>", x.begin, y.end, y.begin, x.end);
    write_text(f, (x.begin + x.end) / 2, tall - 8, "middle", "x", p->x_label);
    fprintf(f, "<text class=\"y\" text-anchor=\"middle\" transform=\"translate(14 %.1f) rotate(-90)\">",
            (y.begin + y.end) / 2);
    text_write(f, p->y_label);
    fputs("</text></g><g class=\"data\">", f);
    for (size_t i = p->series_count; i-- > 0;) {
        if (p->form == PLOT_LINES)
            write_line(f, &p->series[i], &x, &y);
        else
            write_bar(f, p, i, &x, &y);
    }
    fputs("</g></svg>\n", f);
}
