/* SPDX-License-Identifier: MIT */
/*
 * A profile: CPU time by stack, and waiting time by stack. Samples come from outside (tools/look/profile.c) or from
 * signals in the process itself (sampler.c); the waits come from looks at all fibers, one after the other (track.h).
 *
 *   pprof.c    the format of pprof: protobuf in gzip
 *   folded.c   a line for each stack: "cpu;main;parse 120", the number is microseconds
 */
#ifndef WEFT_LOOK_PROFILE_H
#define WEFT_LOOK_PROFILE_H

#include "look/report.h"
#include "look/track.h"

struct weft__profile {
    struct weft__track cpu;  /* groups alone: `waited` is CPU time, `waits` the number of samples */
    struct weft__track wait; /* fibers over time */
    uint64_t began, ended;   /* ns of the monotonic clock */
    uint64_t began_at;       /* ns since 1970 */
    uint64_t period;         /* ns between two samples of a thread */
    uint64_t lost;           /* samples that could not be kept */
};

/* Adds a sample: a thread at these frames has used so much CPU time since its last sample. */
void weft__profile_sample(struct weft__profile *p, const struct weft__seen *f, uint64_t ns);
void weft__profile_free(struct weft__profile *p);

/* The writers; 0, -ENOMEM or -errno of a write. */
int weft__profile_pprof(const struct weft__profile *p, struct weft__names *names, int fd);
int weft__profile_folded(const struct weft__profile *p, struct weft__names *names, int fd);

/* Calls fn with each stack that has CPU time, and then with each stack that has waiting time. */
void weft__profile_each(const struct weft__profile *p, void (*fn)(const struct weft__group *g, bool waits, void *arg),
                        void *arg);

#endif
