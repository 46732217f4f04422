/* The configuration: what was given, then the environment, then defaults. See config.c. */
#ifndef WEFT_SCHED_CONFIG_H
#define WEFT_SCHED_CONFIG_H

#include "weft.h"

#include <stdbool.h>

#define WEFT_STACK_SIZE_DEFAULT (128 * 1024)

/* Slots of a new ready queue; test builds start small, to grow often. */
#ifndef WEFT_READY_FIRST
#define WEFT_READY_FIRST 256
#endif

/* Fills in what is zero. *automatic: the number of workers was left to us. -EINVAL: out of range. */
int weft__config_complete(struct weft_config *c, bool *automatic);

#endif
