/* SPDX-License-Identifier: MIT */
/*
 * Visits all items, some chains at a time, so that commands wait only briefly. An item that is stored or moved
 * meanwhile may be missed or seen twice.
 */
#ifndef CACHED_DUMP_H
#define CACHED_DUMP_H

#include "session.h"

/* `before` may wait; `each` is called with the shard held, for live items, until it returns false. */
struct mc_visitor {
    void (*before)(struct mc_session *session);
    bool (*each)(struct mc_session *session, const struct mc_item *item, void *arg);
    void *arg;
};
void mc_visit(struct mc_session *session, const struct mc_visitor *visitor);

void mc_dump_class(struct mc_session *session, unsigned cls, uint32_t most); /* stats cachedump */
/* lru_crawler metadump, or mgdump; of class n, counted from 1, if bit n is set. */
void mc_dump_all(struct mc_session *session, uint64_t classes, bool as_gets);
void mc_dump_sizes(struct mc_session *session); /* stats sizes */

#endif
