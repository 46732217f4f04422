/* SPDX-License-Identifier: MIT */
/*
 * get, gets, gat, gats. The first words of a line are split in advance, the others only when they are needed. So a get
 * may have any number of keys.
 */
#include "session.h"

/* Writes "VALUE key flags size [cas]", and the value if it is short. A long value is sent separately. */
static bool put_item(struct mc_session *session, struct mc_item *item, bool with_cas) {
    struct mc_reply *reply = &session->reply;
    mc_put_text(reply, "VALUE ");
    mc_put(reply, mc_item_key(item), item->key_size);
    mc_put_char(reply, ' ');
    mc_put_number(reply, item->flags);
    mc_put_char(reply, ' ');
    mc_put_number(reply, item->size);
    if (with_cas) {
        mc_put_char(reply, ' ');
        mc_put_number(reply, mc_cas(&session->cache->store, item));
    }
    mc_put_text(reply, "\r\n");
    if (unlikely(item->size > MC_COPY_MOST)) return false;
    mc_put(reply, mc_item_value(item), (size_t)item->size + 2);
    return true;
}

struct wanted {
    bool with_cas, touch;
    uint32_t expires;
};

static __attribute__((noinline, cold)) void observe(struct mc_session *session, const struct mc_held *held,
                                                    const struct mc_item *item) {
    const struct mc_word key = {held->key, held->key_size};
    mc_saw(session, held, item);
    mc_detail(session, &key, MC_PREFIX_GET, item);
}

static void get_one(struct mc_session *session, const struct mc_word *key, const struct wanted *wanted) {
    struct mc_held held;
    mc_reply_room(&session->reply, MC_LINE_MOST + MC_COPY_MOST);
    mc_hold(&held, &session->cache->store, key->at, key->size);
    struct mc_item *item = mc_find(&held), *later = NULL;
    struct mc_shard_counts *counts = &held.shard->counts;
    if (item) {
        mc_bump(item);
        if (wanted->touch) {
            mc_shard_expire(held.shard, item, wanted->expires);
            counts->cmd_touch++;
            held.shard->classes[item->cls].touch_hits++;
        } else {
            counts->cmd_get++;
            held.shard->classes[item->cls].get_hits++;
        }
        if (!put_item(session, item, wanted->with_cas)) mc_refer(&held, later = item);
    } else if (wanted->touch) {
        counts->cmd_touch++;
        counts->touch_misses++;
    } else {
        counts->cmd_get++;
        counts->get_misses++;
    }
    if (unlikely(load_rlx(&mc_observed))) observe(session, &held, item);
    mc_release(&held);
    if (later) mc_reply_value(&session->reply, &session->cache->store, later);
}

/* Checks all keys before the first answer, because an answer cannot be revoked. */
static bool keys_fit(const struct mc_line *line, unsigned first) {
    const char *end = line->end;
    if ((size_t)(end - line->words[0].at) <= MC_KEY_MOST) return true;
    for (const char *at = line->words[first].at; at < end; at++) {
        const char *space = memchr(at, ' ', (size_t)(end - at)), *stop = space ? space : end;
        if (stop - at > MC_KEY_MOST) return false;
        at = stop;
    }
    return true;
}

void mc_command_get(struct mc_session *session, struct mc_line *line, bool with_cas, bool touch) {
    struct wanted wanted = {with_cas, touch, 0};
    unsigned word = 1;
    if (touch) {
        int32_t given;
        if (!mc_i32(&line->words[1], 0, &given)) {
            mc_say(session, "CLIENT_ERROR invalid exptime argument");
            return;
        }
        wanted.expires = mc_expires(given);
        word++;
    }
    if (word < line->count && !keys_fit(line, word)) {
        mc_say(session, "CLIENT_ERROR bad command line format");
        return;
    }
    for (;;) {
        while (word < line->count) get_one(session, &line->words[word++], &wanted);
        if (line->rest == line->end) break;
        mc_line_split(line, line->rest, (size_t)(line->end - line->rest));
        word = 0;
    }
    mc_reply_room(&session->reply, MC_LINE_MOST);
    mc_put_text(&session->reply, "END\r\n");
}
