/* SPDX-License-Identifier: MIT */
/* Conditions of a request: RFC 9110, 13.2.2. */
#ifndef SERVE_CONDITION_H
#define SERVE_CONDITION_H

#include "parse.h"

#include <time.h>

/* Without any of these fields there are no conditions and no ranges. */
#define CONDITION_FIELDS \
    (1u << FIELD_IF_MATCH | 1u << FIELD_IF_NONE_MATCH | 1u << FIELD_IF_MODIFIED_SINCE | \
     1u << FIELD_IF_UNMODIFIED_SINCE | 1u << FIELD_RANGE)

/* The status for a file with that tag and time: 200 (continue), 304 or 412. */
int condition_check(const struct request *r, struct text tag, time_t modified);

/* Does the range apply? Not if If-Range names another state of the file. */
bool condition_range(const struct request *r, struct text tag, time_t modified);

#endif
