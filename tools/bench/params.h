/* SPDX-License-Identifier: MIT */
/*
 * The parameters of every measurement: what each means, and its allowed values. The tables of benchmarks (registry_*.c)
 * and the caller of `weft bench` choose values. tests/unit/bench_params.c checks that the values of the tables are
 * allowed.
 */
#ifndef BENCH_PARAMS_H
#define BENCH_PARAMS_H

#include "bench.h"

struct param {
    const char *key;
    const char *help;
    uint64_t least, most;
    const char *otherwise; /* the default if neither the caller nor the benchmark gives a value; NULL: a value is
                              required */
    const char *words;     /* the allowed words; NULL: a number */
};

/* Returns a list that ends with a NULL key. NULL: unknown measurement. */
const struct param *params_of(const char *measurement);
const struct param *param_find(const struct param *list, const char *key);

/* Policies of weft, which apply to every measurement. Other systems do not have them. */
extern const struct param policies[];

bool param_takes(const struct param *param, const char *value);
/* Writes the allowed values: "a number from 1 to 16", "one of near random round". */
char *param_range(const struct param *param, char *text, size_t size);

/* Finds a parameter of any variant of the benchmark, or a policy. NULL: there is none. */
const struct param *bench_param(const struct bench *bench, const char *key);

/* The measurement of a variant. */
static inline const char *variant_measurement(const struct bench *bench, const struct variant *variant) {
    return variant->measurement ? variant->measurement : bench->measurement;
}

/* Finds a key in words "a=1 b=2". Returns a pointer to the value in the words, and its length. NULL: not found. */
const char *words_find(const char *words, const char *key, size_t *length);

#endif
