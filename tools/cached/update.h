/* SPDX-License-Identifier: MIT */
/*
 * Changes of an item: the six storing commands, incr and decr. Called with the shard held.
 */
#ifndef CACHED_UPDATE_H
#define CACHED_UPDATE_H

#include "session.h"

enum mc_outcome { MC_STORED, MC_NOT_STORED, MC_EXISTS, MC_NOT_FOUND, MC_NOT_NUMERIC, MC_NO_MEMORY };

/* Stores the upload's item, or an item made from it; otherwise frees it. *cas: the new CAS, if it was stored. */
enum mc_outcome mc_update(struct mc_held *held, struct mc_upload *upload, uint64_t *cas);
/* Stores the session's upload like mc_update, and reports the events to watchers. */
enum mc_outcome mc_update_observed(struct mc_session *session, struct mc_held *held, uint64_t *cas);

#define MC_NUMBER_MOST 20 /* digits */
struct mc_delta {
    bool increment;
    uint64_t by;
    uint64_t cas; /* the stored CAS must be this, unless it is 0 */
    char text[MC_NUMBER_MOST];
    uint8_t size;         /* the length of the new number */
    struct mc_item *item; /* the item that has the number */
};
enum mc_outcome mc_delta(struct mc_held *held, struct mc_delta *delta);

#endif
