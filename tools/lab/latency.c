/* SPDX-License-Identifier: MIT */
/* Draws percentiles of latency side by side, from files that `weft load --hdr` or any other HdrHistogram has
 * written. */
#include "bench/measure.h"
#include "command.h"
#include "lab.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define STEPS 700

/* Reads a file. Returns false if it is missing, or has no percentiles. */
static bool read_file(const char *path, struct plot *plot) {
    char line[256];
    double ms, share;
    FILE *f = fopen(path, "r");
    const char *slash = strrchr(path, '/');
    struct series *s = f ? plot_series(plot, slash ? slash + 1 : path) : NULL;
    while (s && s->count < STEPS && fgets(line, sizeof line, f))
        if (line[0] != '#' && sscanf(line, "%lf %lf", &ms, &share) == 2 && share < 1 && ms > 0)
            series_add(s, (struct point){ms, 1 - share, 0, 0, 0, 0});
    if (s) s->plain = true;
    if (f) fclose(f);
    return s && s->count;
}

static void write_row(FILE *f, const struct series *s) {
    static const double shares[] = {0.5, 0.1, 0.01, 0.001, 0.0001};
    char text[32];
    fputs("<tr><td>", f);
    text_write(f, s->name);
    for (size_t k = 0; k < sizeof shares / sizeof *shares; k++) {
        size_t i = 0;
        while (i < s->count && s->points[i].y > shares[k]) i++;
        fprintf(f, "<td>%s", i < s->count ? number_text(text, sizeof text, s->points[i].x) : "-");
    }
}

int lab_latency(char **files, int count, const char *dir) {
    char path[512];
    struct plot plot = {.form = PLOT_LINES,
                        .title = "Latency",
                        .x_label = "ms until the answer",
                        .y_label = "share that takes longer",
                        .log_x = true,
                        .log_y = true};
    for (int i = 0; i < count; i++)
        if (!read_file(files[i], &plot)) return usage("%s: no percentiles of HdrHistogram are there", files[i]);
    mkdir(dir, 0777);
    snprintf(path, sizeof path, "%s/latency.html", dir);
    FILE *f = fopen(path, "w");
    if (!f) return usage("%s: %s", path, strerror(errno));
    page_head(f, "Latency");
    fputs("<section><figure>", f);
    svg_write(f, &plot, "latency");
    fputs("</figure><div class=\"scroll\"><table><tr><th>ms<th>p50<th>p90<th>p99<th>p99.9<th>p99.99", f);
    for (size_t i = 0; i < plot.series_count; i++) write_row(f, &plot.series[i]);
    fputs("</table></div></section></main></html>\n", f);
    plot_free(&plot);
    printf("%s\n", path);
    return fclose(f) ? EXIT_WRONG : 0;
}
