/* SPDX-License-Identifier: MIT */
/* Conditions that a request makes: RFC 9110, 13.2.2. */
#ifndef SERVE_CONDITION_H
#define SERVE_CONDITION_H

#include "parse.h"

#include <time.h>

/* The fields of which at least one must be given for any of this to matter, and for ranges. */
#define CONDITION_FIELDS \
    (1u << FIELD_IF_MATCH | 1u << FIELD_IF_NONE_MATCH | 1u << FIELD_IF_MODIFIED_SINCE | \
     1u << FIELD_IF_UNMODIFIED_SINCE | 1u << FIELD_RANGE)

/* For a file with that tag and time: 200: go on. 304, 412. */
int condition_check(const struct request *r, struct text tag, time_t modified);

/* Is the range to be looked at? Not if If-Range names another state of the file. */
bool condition_range(const struct request *r, struct text tag, time_t modified);

#endif
