/* SPDX-License-Identifier: MIT */
/* See bench_options.h. */
#include "bench_options.h"
#include "bench/params.h"
#include "command.h"
#include "cpus.h"
#include "weft.h"

#include <stdio.h>
#include <string.h>

#define RUNS 7
#define RUNS_QUICK 3
#define RUNS_MAX 1000
#define MILLISECONDS 250
#define MILLISECONDS_QUICK 100
#define LIMIT_PAPER 3600
#define LIMIT_MAX 864000

static bool known_system(const char *system) {
    const struct bench *b;
    for (size_t i = 0; (b = bench_at(i)); i++)
        if (bench_entrant(b, system)) return true;
    return false;
}

static int take_workers(struct request *request, const char *value) {
    struct values values;
    const char *wrong = values_read(value, 1, WEFT_WORKERS_MAX, &values);
    if (wrong) return usage("--workers wants numbers from 1 to %d, not '%s': %s", WEFT_WORKERS_MAX, value, wrong);
    for (size_t i = 0; i < values.count; i++) request->workers[i] = (unsigned)values.list[i];
    request->workers[values.count] = 0;
    return 0;
}

static int take_number(const char *option, const char *value, unsigned least, unsigned most, unsigned *into) {
    uint64_t n;
    if (!value_read(value, least, most, &n))
        return usage("%s wants a number from %u to %u, not '%s'", option, least, most, value);
    *into = (unsigned)n;
    return 0;
}

static int take_peer(struct setting *setting, const char *value) {
    int peers = 0;
    while (peers < SUITE_PEERS && setting->peers[peers]) peers++;
    if (!known_system(value)) return usage("--peer wants a system of 'weft bench list', not '%s'", value);
    if (peers == SUITE_PEERS) return usage("too many peers");
    setting->peers[peers] = value;
    return 0;
}

/* Reads key=value of a parameter, after the benchmark is known. */
static int check_word(const struct bench *bench, const char *word, const char *value, const char *key) {
    const struct param *param = bench_param(bench, key);
    char range[128];
    if (!param) return usage("%s has no parameter '%s'; try: weft bench %s --help", bench->name, key, bench->name);
    if (!param_takes(param, value))
        return usage("%s: '%s' wants %s", bench->name, word, param_range(param, range, sizeof range));
    return 0;
}

static int check_given(const struct request *request, const struct bench *bench) {
    char copy[SUITE_WORDS], *rest = copy;
    snprintf(copy, sizeof copy, "%s", request->given);
    for (char *word; (word = strsep(&rest, " "));) {
        char key[64];
        if (!*word) continue;
        snprintf(key, sizeof key, "%.*s", (int)strcspn(word, "="), word);
        int code = check_word(bench, word, strchr(word, '=') + 1, key);
        if (code) return code;
    }
    return 0;
}

static int take_sweep(struct request *request, const char *value) {
    const char *list = strchr(value, '=');
    if (!list) return usage("--sweep wants KEY=LIST, not '%s'", value);
    if (request->swept == SWEEPS) return usage("at most %d sweeps", SWEEPS);
    struct sweep *sweep = &request->sweeps[request->swept++];
    snprintf(sweep->key, sizeof sweep->key, "%.*s", (int)(list - value), value);
    const char *wrong = values_read(list + 1, 0, UINT64_MAX, &sweep->values);
    return wrong ? usage("--sweep %s: %s", value, wrong) : 0;
}

static int check_sweeps(const struct request *request, const struct bench *bench) {
    for (int i = 0; i < request->swept; i++)
        for (size_t k = 0; k < request->sweeps[i].values.count; k++) {
            char word[64], number[24];
            snprintf(number, sizeof number, "%llu", (unsigned long long)request->sweeps[i].values.list[k]);
            snprintf(word, sizeof word, "%s=%s", request->sweeps[i].key, number);
            int code = check_word(bench, word, number, request->sweeps[i].key);
            if (code) return code;
        }
    return 0;
}

static int take_word(struct request *request, const char *word) {
    size_t n = strlen(request->given);
    if (strchr(word, '=') == word) return usage("'%s' has no key", word);
    if (strchr(word, ' ')) return usage("'%s' has a space in it", word);
    if (n + strlen(word) + 2 > sizeof request->given) return usage("too many parameters");
    snprintf(request->given + n, sizeof request->given - n, "%s%s", n ? " " : "", word);
    return 0;
}

static const struct {
    const char *name;
    bool wants_value;
} options[] = {{"--json", false}, {"--quick", false},  {"--paper", false}, {"--bind", false}, {"--counts", false},
               {"--help", false}, {"--workers", true}, {"--sweep", true},  {"--runs", true},  {"--peer", true},
               {"--smt", true},   {"--node", true},    {"--limit", true}};

static int take_switch(struct request *request, const char *option) {
    struct setting *setting = &request->setting;
    request->json |= !strcmp(option, "--json");
    setting->quick |= !strcmp(option, "--quick");
    request->paper |= !strcmp(option, "--paper");
    setting->place.bind |= !strcmp(option, "--bind");
    setting->counts |= !strcmp(option, "--counts");
    request->help |= !strcmp(option, "--help");
    return 0;
}

static int take_place(struct request *request, const char *option, const char *value, int *node, bool *smt) {
    if (!strcmp(option, "--smt")) {
        *smt = strcmp(value, "no");
        if (*smt && strcmp(value, "yes")) return usage("--smt wants yes or no, not '%s'", value);
    } else if (take_number(option, value, 0, 1023, (unsigned *)node)) {
        return EXIT_USAGE;
    }
    if (!cpus_choose(*node, *smt, &request->cpus))
        return usage("%s %s: no processor of this process is there", option, value);
    request->setting.place.cpus = &request->cpus;
    return 0;
}

static int take_option(struct request *request, const char *option, const char *value, int *node, bool *smt) {
    struct setting *setting = &request->setting;
    if (!strcmp(option, "--workers")) return take_workers(request, value);
    if (!strcmp(option, "--sweep")) return take_sweep(request, value);
    if (!strcmp(option, "--runs")) return take_number(option, value, 1, RUNS_MAX, &setting->runs);
    if (!strcmp(option, "--limit")) return take_number(option, value, 1, LIMIT_MAX, &setting->place.limit);
    if (!strcmp(option, "--peer")) return take_peer(setting, value);
    if (!strcmp(option, "--smt") || !strcmp(option, "--node")) return take_place(request, option, value, node, smt);
    return take_switch(request, option);
}

/* The index of the option in the table; -1: unknown. */
static int find_option(const char *option) {
    for (size_t i = 0; i < sizeof options / sizeof *options; i++)
        if (!strcmp(options[i].name, option)) return (int)i;
    return -1;
}

/* Checks that need all arguments. */
static int complete(struct request *request) {
    struct setting *setting = &request->setting;
    const struct bench *bench = request->name ? bench_find(request->name) : NULL;
    bool all = request->name && (!strcmp(request->name, "all") || !strcmp(request->name, "list"));
    if (!request->name) return request->help ? 0 : usage("which benchmark? try: weft bench list");
    if (!bench && !all) return usage("no such benchmark: %s; try: weft bench list", request->name);
    if (all && (*request->given || request->swept)) return usage("parameters are for one benchmark at a time");
    if (!setting->runs) setting->runs = setting->quick ? RUNS_QUICK : RUNS;
    if (!setting->place.limit && request->paper) setting->place.limit = LIMIT_PAPER;
    setting->milliseconds = setting->quick ? MILLISECONDS_QUICK : MILLISECONDS;
    int code = bench ? check_given(request, bench) : 0;
    return code || !bench ? code : check_sweeps(request, bench);
}

int bench_options(int argc, char **argv, struct request *request) {
    int node = -1, code = 0;
    bool smt = true;
    request->setting.given = request->given;
    for (int i = 1; i < argc && !code; i++) {
        char *own = option_value(argv[i]), *option = !strcmp(argv[i], "-h") ? "--help" : argv[i];
        int known = find_option(option);
        if (option[0] == '-' && known < 0) return usage("no such option: %s; try: weft bench --help", option);
        if (known >= 0 && own && !options[known].wants_value) return usage("%s wants no value, not '%s'", option, own);
        if (known >= 0)
            code = take_option(request, option,
                               own                                          ? own
                               : options[known].wants_value && i + 1 < argc ? argv[i + 1]
                                                                            : "",
                               &node, &smt);
        else if (strchr(option, '='))
            code = take_word(request, option);
        else if (request->name)
            return usage("one benchmark at a time: %s or %s", request->name, option);
        else
            request->name = option;
        i += known >= 0 && options[known].wants_value && !own;
    }
    return code ? code : complete(request);
}
