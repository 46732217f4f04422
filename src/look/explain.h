/* SPDX-License-Identifier: MIT */
/* Why a program makes no progress. See explain.c. */
#ifndef WEFT_LOOK_EXPLAIN_H
#define WEFT_LOOK_EXPLAIN_H

#include "look/report.h"

/* Writes the findings. Returns how many there are, or -errno. alone: the caller knows that no thread of the program can
 * wake a fiber. */
int weft__explain(struct weft__report *report, bool alone);

#endif
