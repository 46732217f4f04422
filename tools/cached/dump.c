/* SPDX-License-Identifier: MIT */
#include "dump.h"

#include <stdio.h>
#include <stdlib.h>

#define CHAINS 64 /* visited under one lock */

/* Visits the chains from `at` on. False: the visit ends. */
static bool visit_some(struct mc_session *session, struct mc_shard *shard, size_t at, const struct mc_visitor *visitor,
                       bool *ends) {
    bool goes_on = true;
    weft__lock(&shard->lock);
    size_t chains = shard->table.size + shard->table.old_size;
    for (size_t i = at; i < at + CHAINS && i < chains && goes_on; i++)
        for (struct mc_item *item = mc_table_chain(&shard->table, i); item && goes_on; item = item->next)
            if (!mc_item_dead(shard, item)) goes_on = visitor->each(session, item, visitor->arg);
    *ends = at + CHAINS >= chains;
    weft__unlock(&shard->lock);
    return goes_on;
}

void mc_visit(struct mc_session *session, const struct mc_visitor *visitor) {
    struct mc_store *store = &session->cache->store;
    for (unsigned s = 0; s < store->count; s++) {
        bool ends = false;
        for (size_t at = 0; !ends; at += CHAINS) {
            if (visitor->before) visitor->before(session);
            if (!visit_some(session, &store->shards[s], at, visitor, &ends) || session->reply.broken) return;
        }
    }
}

/* --- stats cachedump ----------------------------------------------------------------------------------- */

struct dump {
    unsigned cls;
    uint32_t left;
};

/* Lines are written while the shard is held. A line that does not fit into an empty buffer is left out. */
static void send_before(struct mc_session *session) { mc_reply_send(&session->reply); }
static bool fits(struct mc_session *session) {
    return session->reply.end - session->reply.at >= (ptrdiff_t)MC_LINE_MOST;
}

static bool dump_item(struct mc_session *session, const struct mc_item *item, void *arg) {
    struct dump *dump = arg;
    if (item->cls != dump->cls || !fits(session)) return true;
    session->reply.at += sprintf(session->reply.at, "ITEM %.*s [%u b; %lld s]\r\n", item->key_size, mc_item_key(item),
                                 item->size, item->expires ? (long long)item->expires + mc_clock_zero : 0);
    return --dump->left;
}

void mc_dump_class(struct mc_session *session, unsigned cls, uint32_t most) {
    struct dump dump = {cls, most ? most : UINT32_MAX};
    mc_visit(session, &(struct mc_visitor){send_before, dump_item, &dump});
    mc_reply_room(&session->reply, MC_LINE_MOST);
    mc_say(session, "END");
}

/* --- lru_crawler metadump ------------------------------------------------------------------------------ */

static bool metadump_item(struct mc_session *session, const struct mc_item *item, void *arg) {
    const uint64_t *classes = arg;
    if (!(*classes >> (item->cls + 1) & 1) || !fits(session)) return true;
    mc_put_text(&session->reply, "key=");
    session->reply.at = mc_put_uri(session->reply.at, mc_item_key(item), item->key_size);
    session->reply.at +=
        sprintf(session->reply.at, " exp=%lld la=%lld cas=%llu fetch=%s cls=%u size=%zu\n",
                item->expires ? (long long)item->expires + mc_clock_zero : -1, (long long)item->last + mc_clock_zero,
                (unsigned long long)mc_cas(&session->cache->store, item), item->bits & MC_FETCHED ? "yes" : "no",
                item->cls + 1u, mc_item_total(item->key_size, item->size));
    return true;
}

/* Writes an item of mgdump: a command that would fetch the item. */
static bool mgdump_item(struct mc_session *session, const struct mc_item *item, void *arg) {
    const uint64_t *classes = arg;
    struct mc_reply *reply = &session->reply;
    if (!(*classes >> (item->cls + 1) & 1) || !fits(session)) return true;
    mc_put_text(reply, "mg ");
    if (item->bits & MC_BINARY) {
        reply->at += mc_base64_encode(reply->at, mc_item_key(item), item->key_size);
        mc_put_text(reply, " b");
    } else {
        mc_put(reply, mc_item_key(item), item->key_size);
    }
    mc_put_text(reply, "\r\n");
    return true;
}

void mc_dump_all(struct mc_session *session, uint64_t classes, bool as_gets) {
    mc_visit(session, &(struct mc_visitor){send_before, as_gets ? mgdump_item : metadump_item, &classes});
    mc_reply_room(&session->reply, MC_LINE_MOST);
    mc_say(session, as_gets ? "EN" : "END");
}

/* --- stats sizes --------------------------------------------------------------------------------------- */

#define SIZE_STEP 32u

struct histogram {
    size_t steps;
    uint32_t *counts;
};

static bool count_size(struct mc_session *session, const struct mc_item *item, void *arg) {
    (void)session;
    struct histogram *histogram = arg;
    size_t step = (mc_item_total(item->key_size, item->size) + SIZE_STEP - 1) / SIZE_STEP;
    histogram->counts[step < histogram->steps ? step : histogram->steps - 1]++;
    return true;
}

void mc_dump_sizes(struct mc_session *session) {
    struct histogram histogram = {.steps = session->cache->store.item_most / SIZE_STEP + 2};
    histogram.counts = calloc(histogram.steps, sizeof *histogram.counts);
    if (!histogram.counts) {
        mc_say(session, "SERVER_ERROR out of memory writing stats");
        return;
    }
    mc_visit(session, &(struct mc_visitor){NULL, count_size, &histogram});
    for (size_t i = 0; i < histogram.steps; i++) {
        if (!histogram.counts[i]) continue;
        char size[24];
        sprintf(size, "%zu", i * SIZE_STEP);
        mc_stat(session, size, "%u", histogram.counts[i]);
    }
    free(histogram.counts);
    mc_stats_end(session);
}
