/* SPDX-License-Identifier: MIT */
/* Why nothing happens, or too little. See explain.c. */
#ifndef WEFT_LOOK_EXPLAIN_H
#define WEFT_LOOK_EXPLAIN_H

#include "look/report.h"

/* Writes what it finds. How many findings, or -errno. alone: it is known that no thread besides weft's can do
 * anything. */
int weft__explain(struct weft__report *report, bool alone);

#endif
