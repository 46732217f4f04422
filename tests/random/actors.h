/* SPDX-License-Identifier: MIT */
/* How operations of several files make fibers. */
#ifndef WEFT_TESTS_RANDOM_ACTORS_H
#define WEFT_TESTS_RANDOM_ACTORS_H

#include "random.h"

/* In make: what can be chosen before the run. */
void choose_attributes(struct program *p, struct actor *a);

/* In run: completes the attributes of the operation's actor, and notes where it will run. */
struct weft_attr attributes(struct party *p, struct weft_counter *counter);

/* Has a spawn failed because the cluster now has fewer workers? Then this removes the pin from *attr. */
bool unpinned(struct party *p, int err, struct weft_attr *attr);

#endif
