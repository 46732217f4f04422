/* See suite.h. */
#include "suite.h"
#include "program.h"
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

static struct figure summarize(double *values, unsigned count) {
    struct figure f = {0, 0, 0};
    if (!count) return f;
    f.median = median(values, count);
    f.min = values[0];
    f.max = values[count - 1];
    return f;
}

int suite_run(const struct setting *setting, const struct bench *bench, const struct variant *variant, unsigned workers,
              struct outcome *outcomes) {
    const char *measurement = variant->measurement ? variant->measurement : bench->measurement;
    double *values[BENCH_ENTRANTS][RESULT_VALUES];
    int systems = 0;
    for (const struct entrant *e = bench->entrants; e < bench->entrants + BENCH_ENTRANTS && e->system; e++) {
        if (!suite_takes_part(setting, variant, e) || !program_installed(e)) continue;
        for (int m = 0; m < RESULT_VALUES; m++) values[systems][m] = allocate(setting->runs, sizeof(double));
        outcomes[systems++] = (struct outcome){.entrant = e, .workers = workers, .ok = true};
    }

    for (unsigned round = 0; round < setting->runs; round++) {
        for (int i = 0; i < systems; i++) {
            int s = (i + (int)round) % systems; /* nobody always follows the same one */
            struct outcome *o = &outcomes[s];
            if (o->runs < round) continue; /* it failed before, and would again */
            progress("%s, %s, %u worker%s: round %u of %u, %s", bench->name, variant->metrics[0].name, workers,
                     workers == 1 ? "" : "s", round + 1, setting->runs, o->entrant->system);
            char params[512];
            snprintf(params, sizeof params, "workers=%u ms=%u %s %s %s", workers, setting->milliseconds,
                     setting->quick && bench->quick ? bench->quick : "", o->entrant->params, variant->params);
            struct result r;
            bool ran = program_run(o->entrant, measurement, params, &r);
            o->ok &= ran && r.right;
            if (!ran) continue;
            for (int m = 0; m < RESULT_VALUES; m++) values[s][m][o->runs] = r.values[m];
            o->runs++;
        }
    }
    progress_end();

    for (int s = 0; s < systems; s++)
        for (int m = 0; m < RESULT_VALUES; m++) {
            outcomes[s].figures[m] = summarize(values[s][m], outcomes[s].runs);
            free(values[s][m]);
        }
    return systems;
}

unsigned suite_cpus(void) {
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set)) return 1;
    return (unsigned)CPU_COUNT(&set);
}
