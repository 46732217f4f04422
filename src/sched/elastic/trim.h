/* SPDX-License-Identifier: MIT */
/*
 * The thread that gives memory back. See trim.c.
 */
#ifndef WEFT_SCHED_ELASTIC_TRIM_H
#define WEFT_SCHED_ELASTIC_TRIM_H

int weft__trimmer_start(void);
void weft__trimmer_stop(void);
void weft__trimmer_after_fork(void);

#endif
