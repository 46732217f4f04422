/* SPDX-License-Identifier: MIT */
/* The parameters of benchmarks: the tables use only these, and lists of values are read correctly. */
#include "../test.h"
#include "params.h"
#include "values.h"

#include <stdio.h>
#include <string.h>

/* Every word is a parameter of the measurement, or a policy, with a value that it may have. */
static bool known(const char *bench, const char *measurement, const char *words) {
    char copy[512], *rest = copy;
    snprintf(copy, sizeof copy, "%s", words);
    for (char *word; (word = strsep(&rest, " "));) {
        char *value = strchr(word, '=');
        if (!value) continue;
        *value++ = 0;
        const struct param *p = param_find(params_of(measurement), word);
        if (!p) p = param_find(policies, word);
        if (!p || !param_takes(p, value)) {
            printf("%s, %s: %s=%s\n", bench, measurement, word, value);
            return false;
        }
    }
    return true;
}

TEST(all_tables_keep_to_the_parameters) {
    const struct bench *b;
    for (size_t i = 0; (b = bench_at(i)); i++)
        for (const struct variant *v = b->variants; v < b->variants + BENCH_VARIANTS && v->params; v++) {
            CHECK(params_of(variant_measurement(b, v)) != NULL);
            CHECK(known(b->name, variant_measurement(b, v), v->params));
        }
}

TEST(every_parameter_is_explained) {
    const struct bench *b;
    for (size_t i = 0; (b = bench_at(i)); i++)
        for (const struct variant *v = b->variants; v < b->variants + BENCH_VARIANTS && v->params; v++)
            for (const struct param *p = params_of(variant_measurement(b, v)); p->key; p++) {
                CHECK(p->help && *p->help);
                CHECK(p->words || p->most >= p->least);
                CHECK(!p->otherwise || param_takes(p, p->otherwise));
            }
    for (const struct param *p = policies; p->key; p++) CHECK(p->help && p->otherwise && param_takes(p, p->otherwise));
}

static bool reads(const char *text, const char *wanted) {
    struct values v;
    char got[512] = "";
    if (values_read(text, 0, 1000, &v)) return false;
    for (size_t i = 0; i < v.count; i++)
        snprintf(got + strlen(got), sizeof got - strlen(got), "%s%lu", i ? " " : "", (unsigned long)v.list[i]);
    return !strcmp(got, wanted);
}

TEST(lists_and_ranges_are_read) {
    CHECK(reads("7", "7"));
    CHECK(reads("1,2,8", "1 2 8"));
    CHECK(reads("1..4", "1 2 3 4"));
    CHECK(reads("1..16*2", "1 2 4 8 16"));
    CHECK(reads("1..15*2", "1 2 4 8"));
    CHECK(reads("2..10+4", "2 6 10"));
    CHECK(reads("1..2,9", "1 2 9"));
}

TEST(other_lists_are_refused) {
    static const char *const wrong[] = {"",       ",",      "1,",  "x",   "1x",   "-1",      "4..1",   "0..8*2",
                                        "1..8*1", "1..8+0", "1..", "..4", "1001", "1..2000", "0..100", "1 2"};
    struct values v;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) CHECK(values_read(wrong[i], 0, 1000, &v) != NULL);
    CHECK(values_read("18446744073709551616", 0, UINT64_MAX, &v) != NULL);
    CHECK(!values_read("18446744073709551614..18446744073709551615", 0, UINT64_MAX, &v) && v.count == 2);
}
