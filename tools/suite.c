/* SPDX-License-Identifier: MIT */
/* See suite.h. */
#include "suite.h"
#include "program.h"
#include "progress.h"
#include "report.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool suite_takes_part(const struct setting *setting, const struct variant *variant, const struct entrant *entrant) {
    if (variant->without && !strcmp(variant->without, entrant->system)) return false;
    if (!strcmp(entrant->system, "weft") || !setting->peers[0]) return true;
    for (int i = 0; i < SUITE_PEERS && setting->peers[i]; i++)
        if (!strcmp(setting->peers[i], entrant->system)) return true;
    return false;
}

/* What one system gave with one number of workers, round by round; 0 where it gave nothing. */
struct series {
    double *values[RESULT_VALUES];
};

static struct figure summarize(double *values, unsigned count) {
    struct figure f = {0, 0, 0};
    if (!count) return f;
    f.median = median(values, count);
    f.min = values[0];
    f.max = values[count - 1];
    return f;
}

/* How many of the least and of the greatest values lie outside the 95 % interval of a median: as many as
 * a fair coin shows heads in `count` throws with less than 2.5 %. Fewer than six tell nothing. */
static unsigned outside(unsigned count) {
    double chance = 1, sum = 0;
    for (unsigned i = 0; i < count; i++) chance /= 2;
    for (unsigned k = 0;; k++) {
        sum += chance;
        if (sum > 0.025) return k ? k - 1 : 0;
        chance = chance * (count - k) / (k + 1);
    }
}

/* Of a / b, or of (a / b) / (c / d), round by round. */
static struct ratio compare(unsigned rounds, const struct series *a, const struct series *b, const struct series *c,
                            const struct series *d) {
    struct ratio r = {0, 0, 0};
    if (!a || !b || (c && !d)) return r;
    double *values = allocate(rounds, sizeof *values);
    unsigned count = 0;
    for (unsigned i = 0; i < rounds; i++) {
        double over = a->values[0][i], under = b->values[0][i];
        if (c) {
            over *= d->values[0][i];
            under *= c->values[0][i];
        }
        if (over > 0 && under > 0) values[count++] = over / under;
    }
    if (count) {
        unsigned k = outside(count);
        r.median = median(values, count);
        r.low = values[k];
        r.high = values[count - 1 - k];
    }
    free(values);
    return r;
}

static void measure(const struct setting *setting, const struct bench *bench, const struct variant *variant,
                    unsigned round, struct outcome *o, struct series *series) {
    const char *measurement = variant->measurement ? variant->measurement : bench->measurement;
    if (o->entrant->measurement) measurement = o->entrant->measurement;
    if (o->runs < round) return; /* it failed before, and would again */
    progress("%s, %s, %u worker%s: round %u of %u, %s", bench->name, variant->metrics[0].name, o->workers,
             o->workers == 1 ? "" : "s", round + 1, setting->runs, o->entrant->system);
    char params[512];
    snprintf(params, sizeof params, "workers=%u ms=%u %s %s %s", o->workers, setting->milliseconds,
             setting->quick && bench->quick ? bench->quick : "", o->entrant->params, variant->params);
    struct result r;
    bool ran = program_run(o->entrant, bench->reference, measurement, params, &r);
    o->ok &= ran && r.right;
    if (!ran) return;
    for (int m = 0; m < RESULT_VALUES; m++) series->values[m][round] = r.values[m];
    o->runs++;
}

/* The series that belongs to `system` with the same workers as outcome i, or with the first number of workers. */
static const struct series *series_of(const char *system, unsigned workers, const struct outcome *outcomes,
                                      const struct series *series, int count) {
    for (int i = 0; i < count; i++)
        if (outcomes[i].workers == workers && !strcmp(outcomes[i].entrant->system, system)) return &series[i];
    return NULL;
}

static void relate(unsigned rounds, struct outcome *outcomes, const struct series *series, int count) {
    unsigned first = count ? outcomes[0].workers : 0;
    for (int i = 0; i < count; i++) {
        struct outcome *o = &outcomes[i];
        const struct series *own = &series[i];
        const struct series *own_first = series_of(o->entrant->system, first, outcomes, series, count);
        const struct series *weft = series_of("weft", o->workers, outcomes, series, count);
        const struct series *serial = series_of("serial", o->workers, outcomes, series, count);
        const struct series *serial_first = series_of("serial", first, outcomes, series, count);
        o->to_weft = compare(rounds, own, weft, NULL, NULL);
        o->to_serial = compare(rounds, own, serial, NULL, NULL);
        if (o->workers == first) continue;
        o->speedup = compare(rounds, own_first, own, NULL, NULL);
        o->share = serial ? compare(rounds, own_first, own, serial_first, serial) : (struct ratio){0, 0, 0};
    }
}

int suite_run(const struct setting *setting, const struct bench *bench, const struct variant *variant,
              const unsigned *workers, struct outcome *outcomes) {
    struct series series[BENCH_ENTRANTS * BENCH_WORKERS];
    int systems = 0, count = 0;
    for (; *workers; workers++) {
        systems = 0;
        for (const struct entrant *e = bench->entrants; e < bench->entrants + BENCH_ENTRANTS && e->system; e++) {
            if (!suite_takes_part(setting, variant, e) || !program_installed(e)) continue;
            for (int m = 0; m < RESULT_VALUES; m++) series[count].values[m] = allocate(setting->runs, sizeof(double));
            outcomes[count++] = (struct outcome){.entrant = e, .workers = *workers, .ok = true};
            systems++;
        }
    }

    for (unsigned round = 0; round < setting->runs; round++)
        for (int s = 0; s < systems; s++) /* no system always follows the same system; a system with 1 and 2 workers in a row */
            for (int i = (s + (int)round) % systems; i < count; i += systems)
                measure(setting, bench, variant, round, &outcomes[i], &series[i]);
    progress_end();

    relate(setting->runs, outcomes, series, count);
    for (int i = 0; i < count; i++)
        for (int m = 0; m < RESULT_VALUES; m++) {
            outcomes[i].figures[m] = summarize(series[i].values[m], outcomes[i].runs);
            free(series[i].values[m]);
        }
    return count;
}

unsigned suite_cpus(void) {
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set)) return 1;
    return (unsigned)CPU_COUNT(&set);
}
