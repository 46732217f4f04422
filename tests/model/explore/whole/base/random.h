/* Stands in for src/base/random.h: every number that may be drawn is. See whole.h. */
#ifndef WEFT_BASE_RANDOM_H
#define WEFT_BASE_RANDOM_H

#include <stdint.h>

uint32_t whole_choice(uint32_t n);
static inline uint32_t weft__random_below(uint64_t *state, uint32_t n) { return (void)state, whole_choice(n); }

#endif
