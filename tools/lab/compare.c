/* SPDX-License-Identifier: MIT */
/*
 * Compares two reports. Their rounds do not correspond, so their values are compared by rank (Mann and Whitney). There
 * are many comparisons, so a difference counts only if its probability by chance is below 5 % divided by the number of
 * remaining comparisons (Holm).
 */
#include "bench/measure.h"
#include "command.h"
#include "lab.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define LEVEL 0.05

struct change {
    const struct row *a, *b;
    double ratio, chance; /* chance: the probability of such a difference between equal distributions */
    bool certain;
};

/* Returns the two-sided probability by the normal approximation with continuity correction. For few values it
 * overestimates the probability. */
static double chance_of(const struct row *a, const struct row *b) {
    double u = 0, n = (double)a->count, m = (double)b->count;
    for (size_t i = 0; i < a->count; i++)
        for (size_t k = 0; k < b->count; k++)
            u += a->values[i] > b->values[k] ? 1 : a->values[i] == b->values[k] ? 0.5 : 0;
    double mean = n * m / 2, deviation = sqrt(n * m * (n + m + 1) / 12), off = fabs(u - mean) - 0.5;
    return off <= 0 ? 1 : erfc(off / deviation / sqrt(2));
}

static int by_chance(const void *a, const void *b) {
    double x = ((const struct change *)a)->chance, y = ((const struct change *)b)->chance;
    return (x > y) - (x < y);
}

static const struct row *same_row(const struct data *data, const struct row *r) {
    for (const struct row *o = data->rows; o < data->rows + data->count; o++)
        if (o->workers == r->workers && o->x == r->x && !o->sample && !strcmp(o->experiment, r->experiment) &&
            !strcmp(o->part, r->part) && !strcmp(o->system, r->system) && !strcmp(o->metric, r->metric))
            return o;
    return NULL;
}

static size_t find_changes(const struct data *a, const struct data *b, struct change *changes) {
    size_t n = 0;
    for (const struct row *r = a->rows; r < a->rows + a->count; r++) {
        const struct row *o = r->sample || !strncmp(r->metric, "count.", 6) ? NULL : same_row(b, r);
        double before = o ? data_summary(r).median : 0;
        if (!o || r->count < 3 || o->count < 3 || before <= 0) continue;
        changes[n++] = (struct change){r, o, data_summary(o).median / before, chance_of(r, o), false};
    }
    if (n) qsort(changes, n, sizeof *changes, by_chance);
    for (size_t i = 0; i < n && changes[i].chance < LEVEL / (double)(n - i); i++) changes[i].certain = true;
    return n;
}

/* Is more better in this unit? */
static bool more_is_better(const char *unit) {
    return strstr(unit, "/s") || !strcmp(unit, "%") || !strcmp(unit, "ratio");
}

static const char *verdict(const struct change *c) {
    if (!c->certain) return "no certain difference";
    return (c->ratio > 1) == more_is_better(c->a->unit) ? "better" : "worse";
}

static void write_change(FILE *f, const struct change *c) {
    char before[32], after[32];
    fprintf(f, "<tr><td>%s, ", c->a->experiment);
    text_write(f, c->a->part);
    fprintf(f, "<td>%s<td>%u<td class=\"t\">", c->a->system, c->a->workers);
    text_write(f, c->a->metric);
    fprintf(f, "<td>%s<td>%s<td>%s<td>%+.1f&nbsp;%%<td>%.2g<td class=\"%s\">%s",
            number_text(before, sizeof before, data_summary(c->a).median),
            number_text(after, sizeof after, data_summary(c->b).median), c->a->unit, 100 * (c->ratio - 1), c->chance,
            !c->certain                     ? "un"
            : !strcmp(verdict(c), "better") ? "yes"
                                            : "no",
            verdict(c));
}

static bool write_page(const char *dir, const char *a, const char *b, const struct change *changes, size_t n) {
    char path[512];
    snprintf(path, sizeof path, "%s/compare.html", dir);
    mkdir(dir, 0777);
    FILE *f = fopen(path, "w");
    if (!f) {
        fprintf(stderr, "weft: %s: %s\n", path, strerror(errno));
        return false;
    }
    page_head(f, "weft: two reports compared");
    fputs("<p>From ", f);
    text_write(f, a);
    fputs(" to ", f);
    text_write(f, b);
    fprintf(f,
            ". %zu figures are in both. Compared by rank; certain means: less than 5&nbsp;%% that any of all these "
            "differences came by chance (Holm).</p><section><div "
            "class=\"scroll\"><table><tr><th>figure<th>system<th>workers<th>metric<th>before<th>after<th>unit<th>"
            "change<th>p<th>verdict",
            n);
    for (size_t i = 0; i < n; i++) write_change(f, &changes[i]);
    fputs("</table></div></section></main></html>\n", f);
    if (fclose(f)) return false;
    printf("%s\n", path);
    return true;
}

int lab_compare(const char *a, const char *b, const char *dir) {
    struct data data[2];
    const char *const names[] = {a, b};
    for (int i = 0; i < 2; i++) {
        char path[512];
        snprintf(path, sizeof path, "%s/data.tsv", names[i]);
        if (!data_read(path, NULL, &data[i])) return usage("%s: no report is there", names[i]);
    }
    struct change *changes = allocate(data[0].count + 1, sizeof *changes);
    size_t n = find_changes(&data[0], &data[1], changes), better = 0, worse = 0;
    for (size_t i = 0; i < n && changes[i].certain; i++) {
        const struct change *c = &changes[i];
        *(*verdict(c) == 'b' ? &better : &worse) += 1;
        printf("%-6s  %s, %s, %s, %u workers: %s: %+.1f %% (p %.2g)\n", verdict(c), c->a->experiment, c->a->part,
               c->a->system, c->a->workers, c->a->metric, 100 * (c->ratio - 1), c->chance);
    }
    printf("%zu figures: %zu better, %zu worse, %zu without a certain difference\n", n, better, worse,
           n - better - worse);
    bool written = write_page(dir, a, b, changes, n);
    free(changes);
    data_free(&data[0]);
    data_free(&data[1]);
    return written && !worse ? 0 : EXIT_WRONG;
}
