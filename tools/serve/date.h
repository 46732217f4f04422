/* SPDX-License-Identifier: MIT */
/* Dates in the forms of HTTP. */
#ifndef SERVE_DATE_H
#define SERVE_DATE_H

#include "text.h"

#include <time.h>

#define DATE_SIZE 29 /* "Sun, 06 Nov 1994 08:49:37 GMT" */

/* Writes DATE_SIZE bytes without a final zero. */
void date_write(char *result, time_t time);

/* Reads a date in any of HTTP's three forms. Returns -1 if it is not a date. */
time_t date_read(struct text value);

#endif
