/* SPDX-License-Identifier: MIT */
/* The profile that WEFT_PROFILE asks for, from the start of the runtime to its end. See sampler.c. */
#ifndef WEFT_LOOK_SAMPLER_H
#define WEFT_LOOK_SAMPLER_H

void weft__profile_watch(void);

#endif
