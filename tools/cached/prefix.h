/* SPDX-License-Identifier: MIT */
/*
 * Counts by prefix, the part of a key before the first ':' (-D: another character), while stats detail is on. Like
 * memcached it counts get, gets, gat and gats with their hits, all storing commands, and delete; not the meta commands.
 * Keys without a prefix are not counted, and at most MC_PREFIXES_MOST prefixes are.
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

/* Initialised with zeros. */
struct mc_prefixes {
    struct weft__lock lock;
    unsigned count;
    struct mc_prefix *chains[MC_PREFIX_CHAINS];
};

void mc_prefixes_clear(struct mc_prefixes *prefixes);

/* Adds one to `what`. A successful get counts as both get and hit. */
void mc_prefix_add(struct mc_prefixes *prefixes, char delimiter, const char *key, size_t size,
                   enum mc_prefix_count what, bool hit);

/* Returns one line for each prefix, in memory that the caller frees. NULL: there are no prefixes, or no memory. */
char *mc_prefixes_text(struct mc_prefixes *prefixes, size_t *size);

#endif
