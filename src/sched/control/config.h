/* SPDX-License-Identifier: MIT */
/* The configuration: the program's values, else the environment's, else defaults. See config.c. */
#ifndef WEFT_SCHED_CONFIG_H
#define WEFT_SCHED_CONFIG_H

#include "sched/core/policy.h"
#include "weft.h"

#include <stdbool.h>

#define WEFT_STACK_SIZE_DEFAULT (128 * 1024)

/* Copies the caller's configuration, of which the caller knows `size` bytes. NULL: zeros. -E2BIG: see struct_size.h. */
int weft__config_take(struct weft_config *c, const struct weft_config *given, size_t size);

/* Fills in fields that are zero. *automatic: the caller did not say how many workers. -EINVAL: out of range. */
int weft__config_complete(struct weft_config *c, bool *automatic);

/* Reads WEFT_VICTIMS, WEFT_AMOUNT, WEFT_QUEUE and WEFT_BACKOFF. */
void weft__policy_read(struct weft__policy *p);

#endif
