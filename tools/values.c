/* SPDX-License-Identifier: MIT */
/* See values.h. */
#include "values.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool digits(const char **text, uint64_t *value) {
    char *end;
    if (**text < '0' || **text > '9') return false;
    errno = 0;
    *value = strtoull(*text, &end, 10);
    *text = end;
    return !errno;
}

bool value_read(const char *text, uint64_t least, uint64_t most, uint64_t *value) {
    uint64_t n;
    if (!digits(&text, &n) || *text || n < least || n > most) return false;
    *value = n;
    return true;
}

static const char *add(struct values *values, uint64_t n, uint64_t least, uint64_t most) {
    static char wrong[128];
    if (n < least || n > most) {
        snprintf(wrong, sizeof wrong, "%llu is not from %llu to %llu", (unsigned long long)n, (unsigned long long)least,
                 (unsigned long long)most);
        return wrong;
    }
    if (values->count == VALUES_MOST) return "there are more than 64 values";
    values->list[values->count++] = n;
    return NULL;
}

/* Reads an element of the list: a number or a range. */
static const char *element(const char **text, uint64_t least, uint64_t most, struct values *values) {
    uint64_t from, to, step = 1;
    char by = '+';
    const char *wrong;
    if (!digits(text, &from)) return "a number is missing";
    if (strncmp(*text, "..", 2)) return add(values, from, least, most);
    *text += 2;
    if (!digits(text, &to)) return "the end of a range is missing";
    if (to < from) return "a range goes downwards";
    if (**text == '*' || **text == '+') {
        by = *(*text)++;
        if (!digits(text, &step)) return "the step of a range is missing";
        if (step < (by == '*' ? 2 : 1) || (by == '*' && !from)) return "a range does not grow";
    }
    for (uint64_t n = from;; n = by == '*' ? n * step : n + step) {
        if ((wrong = add(values, n, least, most))) return wrong;
        if (by == '*' ? n > to / step : to - n < step) return NULL; /* the next value would exceed the end */
    }
}

const char *values_read(const char *text, uint64_t least, uint64_t most, struct values *values) {
    values->count = 0;
    for (;;) {
        const char *wrong = element(&text, least, most, values);
        if (wrong) return wrong;
        if (!*text) return NULL;
        if (*text++ != ',') return "that is no list of numbers";
    }
}
