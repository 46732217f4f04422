/* SPDX-License-Identifier: MIT */
/*
 * What is counted by prefix, the part of a key before the first ':' (-D: another character), while it is wanted: stats
 * detail on. As memcached has it: get, gets, gat and gats with their hits, all that store, and delete; not the meta
 * commands. Keys without a prefix are not counted, nor are more prefixes than MC_PREFIXES_MOST.
 */
#ifndef CACHED_PREFIX_H
#define CACHED_PREFIX_H

#include "base/lock.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MC_PREFIXES_MOST 4096
#define MC_PREFIX_CHAINS 256

enum mc_prefix_count { MC_PREFIX_GET, MC_PREFIX_HIT, MC_PREFIX_SET, MC_PREFIX_DELETE, MC_PREFIX_COUNTS };

struct mc_prefix {
    struct mc_prefix *next;
    uint64_t counts[MC_PREFIX_COUNTS];
    uint8_t size;
    char text[];
};

/* Zeros are the beginning. */
struct mc_prefixes {
    struct weft__lock lock;
    unsigned count;
    struct mc_prefix *chains[MC_PREFIX_CHAINS];
};

void mc_prefixes_clear(struct mc_prefixes *prefixes);

/* One more of `what`; a get that found something is both. */
void mc_prefix_add(struct mc_prefixes *prefixes, char delimiter, const char *key, size_t size,
                   enum mc_prefix_count what, bool hit);

/* A line for each, in memory that is to be freed; NULL: there is none of these, or of that. */
char *mc_prefixes_text(struct mc_prefixes *prefixes, size_t *size);

#endif
