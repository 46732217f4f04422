/* SPDX-License-Identifier: MIT */
/* Runs experiments cell by cell. A cell is a panel at one value of its sweep. */
#include "bench/params.h"
#include "lab.h"
#include "progress.h"
#include "simulated.h"
#include "suite.h"
#include "values.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <weft.h>

struct course {
    struct lab *lab;
    FILE *file;
    size_t done, total; /* processes of the current run */
    uint64_t began;
    bool counting; /* only counts the processes that would run */
    bool ok;
};

struct cell {
    const struct experiment *e;
    const struct panel *panel;
    double x; /* the value of the sweep; 0: no sweep */
    char words[256], name[256];
};

static bool among(const char *words, const char *word) {
    size_t n = strlen(word);
    for (const char *at = words; (at = strstr(at, word)); at += n)
        if ((at == words || at[-1] == ' ') && (at[n] == ' ' || !at[n])) return true;
    return false;
}

/* Makes a copy of the benchmark with the systems of the experiment. */
static void choose(const struct experiment *e, const struct bench *bench, struct bench *out) {
    size_t n = 0;
    *out = *bench;
    memset(out->entrants, 0, sizeof out->entrants);
    for (const struct entrant *s = bench->entrants; s < bench->entrants + BENCH_ENTRANTS && s->system; s++)
        if (!e->systems || among(e->systems, s->system)) out->entrants[n++] = *s;
    for (const struct ablation *a = e->ablations; a < e->ablations + SERIES && a->system && n < BENCH_ENTRANTS; a++)
        if (!bench_entrant(out, a->system)) {
            out->entrants[n] = bench->entrants[0];
            out->entrants[n].system = a->system;
            out->entrants[n++].params = a->params;
        }
}

static void note(struct course *c, const struct cell *cell, const struct outcome *o, const char *metric,
                 const char *unit, struct row row) {
    row.experiment = (char *)cell->e->id;
    row.part = (char *)cell->panel->part;
    row.system = (char *)o->entrant->system;
    row.workers = o->workers;
    row.x = cell->panel->sweep ? cell->x : o->workers;
    row.metric = (char *)metric;
    row.unit = (char *)unit;
    row.ok = o->ok;
    data_add(&c->lab->data, &row);
    data_write(c->file, &row);
}

static int by_x(const void *a, const void *b) {
    const struct sample *p = a, *q = b;
    int names = strcmp(p->name, q->name);
    return names ? names : (p->x > q->x) - (p->x < q->x);
}

/* Adds the samples. Points with the same name form a row. If the rounds gave several points at an x, takes their
 * median. Counts are values. */
static void note_samples(struct course *c, const struct cell *cell, const struct outcome *o) {
    size_t count = o->samples.count, i = 0;
    if (count) qsort(o->samples.list, count, sizeof *o->samples.list, by_x);
    while (i < count) {
        const char *name = o->samples.list[i].name;
        bool counted = !strncmp(name, "count.", 6);
        double *xs = allocate(count + 1, sizeof *xs), *ys = allocate(count + 1, sizeof *ys);
        double *same = allocate(count + 1, sizeof *same);
        size_t n = 0;
        while (i < count && !strcmp(o->samples.list[i].name, name)) {
            size_t k = 0;
            double x = o->samples.list[i].x;
            for (; i < count && !strcmp(o->samples.list[i].name, name) && o->samples.list[i].x == x; i++)
                same[k++] = o->samples.list[i].y;
            for (size_t j = 0; counted && j < k; j++) ys[n++] = same[j];
            if (!counted) xs[n] = x, ys[n++] = median(same, k);
        }
        note(c, cell, o, name, counted ? "a run" : "",
             (struct row){.sample = !counted, .count = n, .xs = xs, .values = ys});
        free(xs), free(ys), free(same);
    }
}

static void note_outcome(struct course *c, const struct cell *cell, const struct variant *v, const struct outcome *o) {
    for (int m = 0; m < RESULT_VALUES; m++)
        if (v->metrics[m].name)
            note(c, cell, o, v->metrics[m].name, v->metrics[m].unit,
                 (struct row){.count = o->runs, .values = o->values[m]});
    note_samples(c, cell, o);
}

static size_t count_entrants(const struct bench *bench) {
    size_t n = 0;
    for (const struct entrant *s = bench->entrants; s < bench->entrants + BENCH_ENTRANTS && s->system; s++)
        n += program_installed(s);
    return n;
}

static void say_progress(struct course *c, const struct cell *cell) {
    uint64_t spent = clock_ns() - c->began;
    double left = c->done ? (double)spent / (double)c->done * (double)(c->total - c->done) / 1e9 : 0;
    if (c->done)
        progress("%zu of %zu runs, about %.0f:%02.0f left: %s, %s", c->done, c->total, (double)((int)left / 60),
                 (double)((int)left % 60), cell->e->id, cell->panel->part);
    else
        progress("%zu of %zu runs: %s, %s", c->done, c->total, cell->e->id, cell->panel->part);
}

static unsigned *workers_of(const struct experiment *e, unsigned list[9]) {
    size_t n = 0;
    unsigned cpus = suite_cpus();
    for (size_t i = 0; i < 8 && e->workers[i]; i++)
        if (e->crowded || e->workers[i] <= cpus || !n) list[n++] = e->workers[i];
    list[n] = 0;
    return list;
}

static void run_cell(struct course *c, const struct cell *cell) {
    const struct bench *bench = bench_find(cell->panel->bench);
    struct bench mine;
    unsigned workers[9], numbers = 0;
    if (data_is_complete(&c->lab->data, cell->name)) return;
    if (!bench) fail(cell->panel->bench, ENOENT);
    choose(cell->e, bench, &mine);
    workers_of(cell->e, workers);
    while (workers[numbers]) numbers++;
    size_t processes = count_entrants(&mine) * numbers * c->lab->runs;
    if (c->counting) {
        c->total += processes;
        return;
    }
    say_progress(c, cell);
    struct variant v = bench->variants[cell->panel->variant];
    if (cell->panel->params) v.params = cell->panel->params;
    v.without = NULL;
    struct setting setting = {
        .runs = c->lab->runs, .milliseconds = c->lab->milliseconds, .given = cell->words, .silent = true};
    struct outcome *outcomes;
    int count = suite_run(&setting, &mine, &v, workers, &outcomes);
    for (int i = 0; i < count; i++) note_outcome(c, cell, &v, &outcomes[i]);
    suite_free(outcomes, count);
    data_complete(c->file, &c->lab->data, cell->name);
    c->done += processes;
}

static void simulate_all(struct course *c, const struct cell *cell) {
    static const struct entrant busy = {.system = "simulated, busy"}, dry = {.system = "simulated, partly idle"};
    if (data_is_complete(&c->lab->data, cell->name) || c->counting) return;
    say_progress(c, cell);
    for (unsigned i = 0; i < SIMULATED_SIZES; i++)
        for (int idle = 0; idle < 2; idle++) {
            double work = 100 * simulated_work(i, idle, c->lab->quick ? 3 : 30);
            struct outcome o = {.entrant = idle ? &dry : &busy, .workers = simulated_workers[i], .ok = true};
            note(c, cell, &o, "work of a worker", "%", (struct row){.count = 1, .values = &work});
        }
    data_complete(c->file, &c->lab->data, cell->name);
}

static void run_panel(struct course *c, const struct experiment *e, const struct panel *p) {
    struct cell cell = {.e = e, .panel = p};
    const char *brief = c->lab->quick && p->brief ? p->brief : "";
    struct values values = {1, {0}};
    if (p->sweep && values_read(strchr(p->sweep, '=') + 1, 0, UINT64_MAX, &values)) fail(p->sweep, EINVAL);
    for (size_t i = 0; i < values.count; i++) {
        cell.x = (double)values.list[i];
        snprintf(cell.words, sizeof cell.words, "%s", brief);
        if (p->sweep)
            snprintf(cell.words, sizeof cell.words, "%s%s%.*s=%.0f", brief, *brief ? " " : "",
                     (int)strcspn(p->sweep, "="), p->sweep, cell.x);
        snprintf(cell.name, sizeof cell.name, "%s/%s/%.9g", e->id, p->part, cell.x);
        if (p->bench)
            run_cell(c, &cell);
        else
            simulate_all(c, &cell);
    }
}

static void run_all(struct course *c) {
    for (const struct experiment *e = experiments; e->id; e++)
        for (const struct panel *p = e->panels; p < e->panels + PANELS && p->part; p++)
            if (experiment_selected(e, c->lab->only)) run_panel(c, e, p);
}

static double load_now(void) {
    double load = 0;
    FILE *f = fopen("/proc/loadavg", "r");
    if (f && fscanf(f, "%lf", &load) != 1) load = 0;
    if (f) fclose(f);
    return load;
}

/* Continues a report if it is the same report. */
bool lab_run(struct lab *lab) {
    char path[512], head[128];
    struct course c = {.lab = lab, .began = clock_ns(), .ok = true};
    snprintf(path, sizeof path, "%s/data.tsv", lab->dir);
    snprintf(head, sizeof head, "weft %s, %u runs of %u ms%s\n", weft_version(), lab->runs, lab->milliseconds,
             lab->quick ? ", quick" : "");
    if (mkdir(lab->dir, 0777) && errno != EEXIST) {
        fprintf(stderr, "weft: %s: %s\n", lab->dir, strerror(errno));
        return false;
    }
    bool again = data_read(path, head, &lab->data);
    if (!again) data_free(&lab->data);
    lab->load = load_now();
    c.file = fopen(path, "w");
    if (!c.file) {
        fprintf(stderr, "weft: %s: %s\n", path, strerror(errno));
        return false;
    }
    fputs(head, c.file);
    for (size_t i = 0; i < lab->data.count; i++) data_write(c.file, &lab->data.rows[i]);
    for (size_t i = 0; i < lab->data.cells; i++) fprintf(c.file, "#cell\t%s\n", lab->data.cell[i]);
    fflush(c.file);
    c.counting = true;
    run_all(&c);
    c.counting = false;
    run_all(&c);
    progress_end();
    fclose(c.file);
    return true;
}
