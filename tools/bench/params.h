/* SPDX-License-Identifier: MIT */
/*
 * The parameters of every measurement: what each means, and what it may be. The tables of benchmarks (registry_*.c)
 * choose values, and so may the caller of `weft bench`. tests/unit/bench_params.c checks that the tables keep to this.
 */
#ifndef BENCH_PARAMS_H
#define BENCH_PARAMS_H

#include "bench.h"

struct param {
    const char *key;
    const char *help;
    uint64_t least, most;
    const char *otherwise; /* when neither the caller nor the benchmark says a value; NULL: one of them does */
    const char *words;     /* one of these, in place of a number; NULL: a number */
};

/* Each list ends with a NULL key. NULL: no such measurement. */
const struct param *params_of(const char *measurement);
const struct param *param_find(const struct param *list, const char *key);

/* What weft can be told to do otherwise, whatever is measured. The other systems do not know them. */
extern const struct param policies[];

bool param_takes(const struct param *param, const char *value);
/* "a number from 1 to 16", "one of near random round". */
char *param_range(const struct param *param, char *text, size_t size);

/* The parameter that some variant of the benchmark has, or a policy. NULL: there is none. */
const struct param *bench_param(const struct bench *bench, const char *key);

/* The measurement of a variant. */
static inline const char *variant_measurement(const struct bench *bench, const struct variant *variant) {
    return variant->measurement ? variant->measurement : bench->measurement;
}

/* The value of a key in words "a=1 b=2": a pointer into them, and its length. NULL: it is not there. */
const char *words_find(const char *words, const char *key, size_t *length);

#endif
