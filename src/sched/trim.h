/* Memory that goes back. See trim.c. */
#ifndef WEFT_SCHED_TRIM_H
#define WEFT_SCHED_TRIM_H

#include "sched/sched.h"

/* At home: returns what the worker keeps for itself to the pools, most of it. */
void weft__worker_flush(struct weft__worker *w, uint64_t now);

int weft__trimmer_start(void);
void weft__trimmer_stop(void);
/* Something has come that may grow old; or, at_once, fibers wait for stacks. */
void weft__trimmer_wake(bool at_once);
void weft__trimmer_forked(void);

#endif
