/* SPDX-License-Identifier: MIT */
/* The report as one HTML file that needs nothing else, and its figures as files. See lab.h. */
#include "bench/measure.h"
#include "lab.h"
#include "suite.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <time.h>
#include <weft.h>

static const char style[] =
    ":root{color-scheme:light "
    "dark;--bg:#fbfbfa;--fg:#1c1c1e;--soft:#5b5b62;--line:#d9d9dd;--card:#fff;--link:#1f5fd0}@media(prefers-color-"
    "scheme:dark){:root{--bg:#141416;--fg:#e8e8ea;--soft:#a0a0a8;--line:#34343a;--card:#1c1c20;--link:#74a9ff}}*{box-"
    "sizing:border-box}body{margin:0;background:var(--bg);color:var(--fg);font:16px/1.55 "
    "system-ui,-apple-system,'Segoe UI',sans-serif}main{max-width:1180px;margin:0 auto;padding:24px 20px "
    "80px}h1{font-size:1.9rem;line-height:1.2;margin:.3em 0}h2{font-size:1.35rem;margin:0 0 "
    ".3em}a{color:var(--link)}.soft,.note,footer{color:var(--soft)}section{background:var(--card);border:1px solid "
    "var(--line);border-radius:12px;padding:20px 22px;margin:22px "
    "0}.tags{float:right;font-size:.78rem;color:var(--soft);margin-left:1em;text-align:right;max-width:45%}.q{font-"
    "size:1.05rem;margin:.2em 0 "
    ".6em}.figures{display:grid;grid-template-columns:repeat(auto-fill,minmax(min(100%,460px),1fr));gap:18px}figure{"
    "margin:0}svg{width:100%;height:auto;display:block}figcaption{font-size:.8rem;color:var(--soft)}table{border-"
    "collapse:collapse;font-size:.84rem;width:100%;font-variant-numeric:tabular-nums}th,td{padding:3px "
    "9px;text-align:right;border-bottom:1px solid "
    "var(--line);white-space:nowrap}th:first-child,td:first-child,.t{text-align:left;white-space:normal}.scroll{"
    "overflow-x:auto}nav{columns:3 240px;font-size:.9rem}nav a{display:block}summary{cursor:pointer;margin:.6em "
    "0;color:var(--link)}ul{margin:.3em 0;padding-left:1.2em}p{margin:.5em "
    "0}.yes{color:#0a7d4f}.no{color:#c0392b}.un{color:var(--soft)}@media(prefers-color-scheme:dark){.yes{color:#4fd1a5}"
    ".no{color:#ff8a7a}}@media(max-width:560px){main{padding:14px 10px 60px}section{padding:14px "
    "12px}.tags{float:none;max-width:none;text-align:left;margin:0}}@media "
    "print{body{background:#fff;color:#000}section{break-inside:avoid;border:none;padding:0}nav,summary,.get{display:"
    "none}}";

void page_head(FILE *f, const char *title) {
    fputs("<!doctype html><html lang=\"en\"><meta charset=\"utf-8\"><meta name=\"viewport\" "
          "content=\"width=device-width,initial-scale=1\"><title>",
          f);
    text_write(f, title);
    fprintf(f, "</title><style>%s</style><main><h1>", style);
    text_write(f, title);
    fputs("</h1>", f);
}

static void write_machine(FILE *f) {
    char line[256], model[256] = "";
    struct utsname u;
    FILE *info = fopen("/proc/cpuinfo", "r");
    while (info && !model[0] && fgets(line, sizeof line, info))
        if (!strncmp(line, "model name", 10)) sscanf(line, "%*[^:]: %255[^\n]", model);
    if (info) fclose(info);
    if (uname(&u)) return;
    text_write(f, model[0] ? model : u.machine);
    fprintf(f, ", %u processors, %s %s", suite_cpus(), u.sysname, u.release);
}

/* --- downloads ------------------------------------------------------------------------------------ */

static void write_csv(FILE *f, const struct experiment *e, const struct data *data) {
    fputs("experiment,part,system,workers,x,metric,unit,ok,point,value\n", f);
    for (const struct row *r = data->rows; r < data->rows + data->count; r++) {
        if (strcmp(r->experiment, e->id)) continue;
        for (size_t i = 0; i < r->count; i++)
            fprintf(f, "%s,\"%s\",%s,%u,%.9g,\"%s\",%s,%d,%.9g,%.9g\n", r->experiment, r->part, r->system, r->workers,
                    r->x, r->metric, r->unit, r->ok, r->sample ? r->xs[i] : (double)i + 1, r->values[i]);
    }
}

static void write_numbers(FILE *f, const char *name, const double *list, size_t count) {
    fprintf(f, ",\"%s\":[", name);
    for (size_t i = 0; i < count; i++) fprintf(f, "%s%.9g", i ? "," : "", list[i]);
    fputs("]", f);
}

static void write_json(FILE *f, const struct experiment *e, const struct data *data) {
    const char *between = "[";
    for (const struct row *r = data->rows; r < data->rows + data->count; r++) {
        if (strcmp(r->experiment, e->id)) continue;
        fprintf(f,
                "%s\n{\"experiment\":\"%s\",\"part\":\"%s\",\"system\":\"%s\",\"workers\":%u,\"x\":%.9g,\"metric\":\"%"
                "s\",\"unit\":\"%s\",\"ok\":%s",
                between, r->experiment, r->part, r->system, r->workers, r->x, r->metric, r->unit,
                r->ok ? "true" : "false");
        if (r->sample) write_numbers(f, "points", r->xs, r->count);
        write_numbers(f, "values", r->values, r->count);
        fputs("}", f);
        between = ",";
    }
    fputs(*between == '[' ? "[]\n" : "\n]\n", f);
}

/* Writes a link that contains the data to download. */
static void write_link(FILE *f, const struct experiment *e, const struct data *data, const char *type, const char *mime,
                       void (*write)(FILE *, const struct experiment *, const struct data *)) {
    char *text;
    size_t length;
    FILE *memory = open_memstream(&text, &length);
    if (!memory) fail("memory", ENOMEM);
    write(memory, e, data);
    fclose(memory);
    fprintf(f, "<a class=\"get\" download=\"%s.%s\" href=\"data:%s;charset=utf-8,", e->id, type, mime);
    for (const unsigned char *c = (unsigned char *)text; *c; c++)
        if (strchr("%\"#<>&\n {}[]", *c))
            fprintf(f, "%%%02X", *c);
        else
            fputc(*c, f);
    fprintf(f, "\">%s</a> ", type);
    free(text);
}

/* --- an experiment -------------------------------------------------------------------------------- */

static void write_row(FILE *f, const struct data *data, const struct row *r) {
    char text[4][32];
    struct summary s = data_summary(r);
    const struct row *weft = NULL;
    for (const struct row *w = data->rows; w < data->rows + data->count && !weft; w++)
        if (!strcmp(w->experiment, r->experiment) && !strcmp(w->part, r->part) && !strcmp(w->system, "weft") &&
            w->workers == r->workers && w->x == r->x && !strcmp(w->metric, r->metric))
            weft = w;
    struct summary ratio = ratio_of(r, weft);
    fputs("<tr><td>", f);
    text_write(f, r->part);
    fprintf(f, "<td>%s<td>%u<td>%s<td class=\"t\">", number_text(text[0], 32, r->x), r->workers, r->system);
    text_write(f, r->metric);
    fprintf(f, "<td>%s<td>%s<td>%s<td>%s", number_text(text[1], 32, s.median), number_text(text[2], 32, s.min),
            number_text(text[3], 32, s.max), r->unit);
    if (ratio.median > 0)
        fprintf(f, "<td>%.3f<td>%.3f to %.3f", ratio.median, ratio.low, ratio.high);
    else
        fputs("<td>-<td>-", f);
    fprintf(f, "<td>%zu<td>%s", r->count, r->ok ? "yes" : "NO");
}

static void write_table(FILE *f, const struct experiment *e, const struct data *data) {
    fputs("<details><summary>Table</summary><div "
          "class=\"scroll\"><table><tr><th>part<th>x<th>workers<th>system<th>metric<th>median<th>min<th>max<th>unit<th>"
          "over weft's<th>interval<th>rounds<th>right",
          f);
    for (const struct row *r = data->rows; r < data->rows + data->count; r++)
        if (!strcmp(r->experiment, e->id) && !r->sample) write_row(f, data, r);
    fputs("</table></div></details>", f);
}

struct drawing {
    FILE *page;
    const char *dir;
};

static void draw(const struct plot *plot, const char *id, void *arg) {
    struct drawing *d = arg;
    char path[640];
    snprintf(path, sizeof path, "%s/figures/%s.svg", d->dir, id);
    FILE *f = fopen(path, "w");
    if (f) svg_write(f, plot, id), fclose(f);
    fputs("<figure>", d->page);
    svg_write(d->page, plot, id);
    fputs("</figure>", d->page);
}

static void write_experiment(FILE *f, const struct lab *lab, const struct experiment *e) {
    struct drawing d = {f, lab->dir};
    fprintf(f, "<section id=\"%s\"><div class=\"tags\">", e->id);
    text_write(f, e->twins);
    fputs("</div><h2>", f);
    text_write(f, e->title);
    fputs("</h2><p class=\"q\">", f);
    text_write(f, e->question);
    fputs("</p><p class=\"soft\">", f);
    text_write(f, e->method);
    fprintf(f,
            " %u rounds; lines are medians, bands and whiskers go from the least to the most (over weft's: the "
            "%.0f&nbsp;%% interval).</p><div class=\"figures\">",
            lab->runs, data_level(lab->runs));
    figures_of(e, &lab->data, draw, &d);
    fputs("</div>", f);
    findings_write(f, e, &lab->data);
    write_table(f, e, &lab->data);
    fputs("<p class=\"get\">Data: ", f);
    write_link(f, e, &lab->data, "csv", "text/csv", write_csv);
    write_link(f, e, &lab->data, "json", "application/json", write_json);
    fputs("</p></section>\n", f);
}

/* Is the experiment selected, and does it have data? */
static bool is_shown(const struct lab *lab, const struct experiment *e) {
    return experiment_selected(e, lab->only) && data_find(&lab->data, e->id, NULL, NULL, 0, NULL);
}

bool page_write(const struct lab *lab) {
    char path[512], when[32];
    time_t now = time(NULL);
    snprintf(path, sizeof path, "%s/figures", lab->dir);
    mkdir(path, 0777);
    snprintf(path, sizeof path, "%s/report.html", lab->dir);
    FILE *f = fopen(path, "w");
    if (!f) {
        fprintf(stderr, "weft: %s: %s\n", path, strerror(errno));
        return false;
    }
    strftime(when, sizeof when, "%Y-%m-%d", gmtime(&now));
    page_head(f, "weft: experiments");
    fprintf(f, "<p class=\"soft\">weft %s, %s. ", weft_version(), when);
    write_machine(f);
    fprintf(f,
            ". %s, %u rounds, %u ms a measurement.</p><p>Each figure answers one question. Every system gets the same "
            "work through the same primitive, in a fresh process, one after the other in rounds; every result is "
            "checked. <a href=\"claims.html\">What the documents claim</a>, and what is found here.</p>",
            lab->quick ? "Quick report" : "Full report", lab->runs, lab->milliseconds);
    if (lab->load > 0.5)
        fprintf(f,
                "<p class=\"no\">The load of the machine was %.1f when this began: other programs ran, and times say "
                "little.</p>",
                lab->load);
    fputs("<nav>", f);
    for (const struct experiment *e = experiments; e->id; e++)
        if (is_shown(lab, e)) fprintf(f, "<a href=\"#%s\">%s</a>", e->id, e->title);
    fputs("</nav>\n", f);
    for (const struct experiment *e = experiments; e->id; e++)
        if (is_shown(lab, e)) write_experiment(f, lab, e);
    fputs("<footer>Made by <code>weft report</code>.</footer></main></html>\n", f);
    return !fclose(f);
}
