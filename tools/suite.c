/* SPDX-License-Identifier: MIT */
/* See suite.h. */
#include "suite.h"
#include "bench/params.h"
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

static struct figure summarize(const double *rounds, unsigned count) {
    double *values = allocate(count + 1, sizeof *values);
    memcpy(values, rounds, count * sizeof *values);
    struct figure f = {0, 0, 0};
    if (count) {
        f.median = median(values, count);
        f.min = values[0];
        f.max = values[count - 1];
    }
    free(values);
    return f;
}

/* How many of the least and of the greatest values lie outside the 95 % interval of a median: the largest k for which
 * at most k heads in `count` throws of a fair coin have a probability below 2.5 %. Fewer than six values give no
 * interval. */
static unsigned outside(unsigned count) {
    double chance = 1, sum = 0;
    for (unsigned i = 0; i < count; i++) chance /= 2;
    for (unsigned k = 0;; k++) {
        sum += chance;
        if (sum > 0.025) return k ? k - 1 : 0;
        chance = chance * (count - k) / (k + 1);
    }
}

/* Returns the median of a / b, or of (a / b) / (c / d), round by round. */
static struct ratio compare(unsigned rounds, const struct outcome *a, const struct outcome *b, const struct outcome *c,
                            const struct outcome *d) {
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

static const char *measurement_of(const struct bench *bench, const struct variant *variant,
                                  const struct entrant *entrant) {
    return entrant->measurement ? entrant->measurement : variant_measurement(bench, variant);
}

void suite_words(const struct setting *setting, const struct bench *bench, const struct variant *variant,
                 const struct entrant *entrant, unsigned workers, char words[SUITE_WORDS]) {
    int n = snprintf(words, SUITE_WORDS, "workers=%u", workers);
    /* The words that define the entrant come first. The caller's sizes apply to all entrants. */
    for (const struct param *p = policies; p->key; p++) {
        size_t length;
        const char *value = words_find(entrant->params, p->key, &length);
        if (value) n += snprintf(words + n, (size_t)(SUITE_WORDS - n), " %s=%.*s", p->key, (int)length, value);
    }
    snprintf(words + n, (size_t)(SUITE_WORDS - n), " %s%s ms=%u %s %s %s", setting->place.bind ? "bind=1 " : "",
             setting->given, setting->milliseconds, entrant->params, setting->quick && bench->quick ? bench->quick : "",
             variant->params);
}

/* Adds the words whose key the caller has not given. Returns whether it left any out. */
static bool not_given(const struct setting *setting, const char *words, char *out, size_t size) {
    bool less = false;
    char copy[SUITE_WORDS], *rest = copy;
    size_t length, n = strlen(out);
    snprintf(copy, sizeof copy, "%s", words);
    for (char *word; (word = strsep(&rest, " "));) {
        char *end = strchr(word, '=');
        if (!end) continue;
        *end = 0;
        bool given = words_find(setting->given, word, &length);
        *end = '=';
        less |= given;
        if (!given && n < size) n += (size_t)snprintf(out + n, size - n, "%s%s", n ? " " : "", word);
    }
    return less;
}

char *suite_metric_name(const struct setting *setting, const struct variant *variant, const char *metric,
                        char name[SUITE_NAME]) {
    char words[SUITE_NAME / 2] = "";
    snprintf(words, sizeof words, "%s", setting->given);
    bool changed = not_given(setting, variant->params, words, sizeof words);
    int stem = changed ? (int)strcspn(metric, ",") : (int)strlen(metric);
    snprintf(name, SUITE_NAME, "%.*s%s%s", stem, metric, *setting->given ? ", " : "", changed ? words : setting->given);
    return name;
}

bool suite_runs_variant(const struct setting *setting, const struct bench *bench, const struct variant *variant) {
    char mine[SUITE_WORDS] = "", theirs[SUITE_WORDS], copy[SUITE_WORDS], *rest = copy;
    const char *measurement = variant_measurement(bench, variant);
    snprintf(copy, sizeof copy, "%s", setting->given);
    for (char *word; (word = strsep(&rest, " "));) {
        if (!strchr(word, '=')) continue;
        *strchr(word, '=') = 0;
        if (!param_find(params_of(measurement), word) && !param_find(policies, word)) return false;
    }
    if (!not_given(setting, variant->params, mine, sizeof mine)) return true;
    for (const struct variant *v = bench->variants; v < variant; v++) {
        theirs[0] = 0;
        not_given(setting, v->params, theirs, sizeof theirs);
        if (!v->paper == !variant->paper && !strcmp(variant_measurement(bench, v), measurement) &&
            !strcmp(mine, theirs))
            return false;
    }
    return true;
}

static void measure(const struct setting *setting, const struct bench *bench, const struct variant *variant,
                    unsigned round, struct outcome *o) {
    char words[SUITE_WORDS], name[SUITE_NAME];
    if (o->runs < round) return; /* a system that has failed would fail again */
    if (!setting->silent)
        progress("%s, %s, %u worker%s: round %u of %u, %s", bench->name,
                 suite_metric_name(setting, variant, variant->metrics[0].name, name), o->workers,
                 o->workers == 1 ? "" : "s", round + 1, setting->runs, o->entrant->system);
    suite_words(setting, bench, variant, o->entrant, o->workers, words);
    struct result r;
    bool ran = program_run(o->entrant, bench->reference, measurement_of(bench, variant, o->entrant), words,
                           &setting->place, &r, &o->samples);
    o->ok &= ran && r.right;
    if (!ran) return;
    for (int m = 0; m < RESULT_VALUES; m++) o->values[m][round] = r.values[m];
    o->runs++;
}

/* The outcome of `system` with this many workers, or NULL. */
static const struct outcome *outcome_of(const char *system, unsigned workers, const struct outcome *outcomes,
                                        int count) {
    for (int i = 0; i < count; i++)
        if (outcomes[i].workers == workers && !strcmp(outcomes[i].entrant->system, system)) return &outcomes[i];
    return NULL;
}

static void relate(unsigned rounds, struct outcome *outcomes, int count) {
    unsigned first = count ? outcomes[0].workers : 0;
    for (int i = 0; i < count; i++) {
        struct outcome *o = &outcomes[i];
        const struct outcome *own_first = outcome_of(o->entrant->system, first, outcomes, count);
        const struct outcome *weft = outcome_of("weft", o->workers, outcomes, count);
        const struct outcome *serial = outcome_of("serial", o->workers, outcomes, count);
        const struct outcome *serial_first = outcome_of("serial", first, outcomes, count);
        o->to_weft = compare(rounds, o, weft, NULL, NULL);
        o->to_serial = compare(rounds, o, serial, NULL, NULL);
        if (o->workers == first) continue;
        o->speedup = compare(rounds, own_first, o, NULL, NULL);
        o->share = serial ? compare(rounds, own_first, o, serial_first, serial) : (struct ratio){0, 0, 0};
    }
}

int suite_run(const struct setting *setting, const struct bench *bench, const struct variant *variant,
              const unsigned *workers, struct outcome **result) {
    int systems = 0, count = 0, numbers = 0;
    while (workers[numbers]) numbers++;
    struct outcome *outcomes = allocate((size_t)numbers * BENCH_ENTRANTS + 1, sizeof *outcomes);
    for (; *workers; workers++) {
        systems = 0;
        for (const struct entrant *e = bench->entrants; e < bench->entrants + BENCH_ENTRANTS && e->system; e++) {
            if (!suite_takes_part(setting, variant, e) || !program_installed(e)) continue;
            struct outcome *o = &outcomes[count++];
            *o = (struct outcome){.entrant = e, .workers = *workers, .ok = true};
            for (int m = 0; m < RESULT_VALUES; m++) o->values[m] = allocate(setting->runs, sizeof(double));
            systems++;
        }
    }

    for (unsigned round = 0; round < setting->runs; round++)
        for (int s = 0; s < systems; s++) /* alternates the order, so that no system always follows the same system */
            for (int i = (s + (int)round) % systems; i < count; i += systems)
                measure(setting, bench, variant, round, &outcomes[i]);
    if (!setting->silent) progress_end();

    relate(setting->runs, outcomes, count);
    for (int i = 0; i < count; i++)
        for (int m = 0; m < RESULT_VALUES; m++)
            outcomes[i].figures[m] = summarize(outcomes[i].values[m], outcomes[i].runs);
    *result = outcomes;
    return count;
}

void suite_free(struct outcome *outcomes, int count) {
    for (int i = 0; i < count; i++) {
        for (int m = 0; m < RESULT_VALUES; m++) free(outcomes[i].values[m]);
        free(outcomes[i].samples.list);
    }
    free(outcomes);
}

unsigned suite_cpus(void) {
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set)) return 1;
    return (unsigned)CPU_COUNT(&set);
}
