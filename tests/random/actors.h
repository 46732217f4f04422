/* SPDX-License-Identifier: MIT */
/* How fibers are made: what operations of several files use. */
#ifndef WEFT_TESTS_RANDOM_ACTORS_H
#define WEFT_TESTS_RANDOM_ACTORS_H

#include "random.h"

/* In make: what can be chosen before the run. */
void choose_attributes(struct program *p, struct actor *a);

/* In run: completes the attributes of the operation's actor, and notes where it will run. */
struct weft_attr attributes(struct party *p, struct weft_counter *counter);

/* A spawn failed because the cluster has fewer workers meanwhile: then *attr is without a pin. */
bool unpinned(struct party *p, int err, struct weft_attr *attr);

#endif
