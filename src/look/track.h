/* SPDX-License-Identifier: MIT */
/*
 * Fibers over time: the caller looks at a process again and again, and each look is compared with the last. If the
 * record of a fiber and the number of its wait are the same, the fiber has not run meanwhile, and its stack is not read
 * again. So a look at a million parked fibers reads only their records.
 *
 *   group     fibers with the same state, kind of wait, spawning line and stack
 *   track     all groups, and for each record the group in which its fiber was
 */
#ifndef WEFT_LOOK_TRACK_H
#define WEFT_LOOK_TRACK_H

#include "look/look.h"

struct weft__group {
    struct weft__group *next;  /* in its slot of the hash table */
    struct weft__group *other; /* in the list of all groups */
    uint64_t hash;
    uint64_t count;         /* fibers, at the last look */
    uint64_t arrivals;      /* of these, so many were not in that wait at the look before */
    uint64_t since;         /* when the longest wait of these was seen, or had begun already; ns */
    uint64_t longest;       /* the fiber of that wait */
    uint64_t waited;        /* ns, summed over fibers and looks */
    uint64_t waits;         /* waits that were seen to begin */
    uint32_t label;         /* the caller's own */
    struct weft__seen seen; /* a member; allocated with its frames only */
};

struct weft__track {
    struct weft__look *look;
    struct weft__group *groups; /* all of them */
    struct weft__group **table;
    size_t size, used;
    struct weft__tracked *fiber; /* by the number of the record */
    size_t fibers;
    uint64_t began, now, before;       /* the first look, the present look, the look before; ns */
    uint64_t states[WEFT_SEEN_STATES]; /* fibers, by state */
    uint64_t torn;                     /* fibers that could not be read in one piece, and are in no group */
    uint64_t left_out;                 /* fibers without a group, because the table is full */
    bool no_memory;
};

/* Looks; `now` is the time. -errno as weft__look_fibers. */
int weft__track_look(struct weft__track *t, struct weft__look *look, uint64_t now);
/* The group of such a fiber; NULL: out of memory, or there are too many. */
struct weft__group *weft__track_group(struct weft__track *t, const struct weft__seen *f);
/* The earliest time at which the fiber is known to have been in its present wait, from these looks. 0: unknown. */
uint64_t weft__track_since(const struct weft__track *t, const struct weft__seen *f);
/* The earlier of that time and f->waits_since. t may be NULL. */
uint64_t weft__waits_since(const struct weft__track *t, const struct weft__seen *f);
void weft__track_free(struct weft__track *t);

#endif
