/* SPDX-License-Identifier: MIT */
/* Stands in for src/base/random.h: every number that may be drawn is. */
#ifndef WEFT_BASE_RANDOM_H
#define WEFT_BASE_RANDOM_H

#include "weak.h"

static inline uint32_t weft__random_below(uint64_t *state, uint32_t n) { return (void)state, weak_choice(n); }

#endif
