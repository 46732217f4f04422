/* SPDX-License-Identifier: MIT */
/*
 * mg: the parts of an item for which the flags ask. It can make a missing item (N), and tell the client to store a new
 * value (W).
 */
#include "meta.h"

void mc_put_ttl(struct mc_reply *reply, const struct mc_item *item) {
    mc_put_text(reply, " t");
    if (item->expires)
        mc_put_number(reply, item->expires - mc_now());
    else
        mc_put_text(reply, "-1");
}

static void put_tagged(struct mc_reply *reply, char tag, uint64_t value) {
    mc_put_char(reply, ' ');
    mc_put_char(reply, tag);
    mc_put_number(reply, value);
}

struct fetch {
    struct mc_held held;
    struct mc_flags flags;
    struct mc_item *item;
    bool created, won;
};

/* Adds a word of the command to the answer. Returns false if it is too long. */
static bool answer_word(struct mc_reply *reply, struct fetch *fetch, const struct mc_word *word) {
    struct mc_item *item = fetch->item;
    switch (word->at[0]) {
    case 'T': mc_shard_expire(fetch->held.shard, item, fetch->flags.expires); break;
    case 'N':
        if (!fetch->created) break;
        mc_shard_expire(fetch->held.shard, item, fetch->flags.vivify_expires);
        fetch->won = true;
        break;
    case 'R':
        if (!(item->bits & MC_TOKEN_SENT) && !fetch->created && item->expires && item->expires < fetch->flags.recache)
            fetch->won = true;
        break;
    case 's': put_tagged(reply, 's', item->size); break;
    case 't': mc_put_ttl(reply, item); break;
    case 'c': put_tagged(reply, 'c', mc_cas(fetch->held.store, item)); break;
    case 'f': put_tagged(reply, 'f', item->flags); break;
    case 'l': put_tagged(reply, 'l', mc_now() - item->last); break;
    case 'h': put_tagged(reply, 'h', (item->bits & MC_FETCHED) != 0); break;
    case 'O': return mc_put_opaque(reply, word);
    case 'k': mc_put_key(reply, mc_item_key(item), item->key_size, item->bits & MC_BINARY); break;
    default: break;
    }
    return true;
}

/* Writes whether this client must store a new value, and the state of the item. */
static void answer_state(struct mc_reply *reply, struct fetch *fetch) {
    struct mc_item *item = fetch->item;
    bool sent = item->bits & MC_TOKEN_SENT;
    if (sent) mc_put_text(reply, " Z");
    if (item->bits & MC_STALE) {
        mc_put_text(reply, " X");
        if (!sent) fetch->won = true;
    }
    if (!fetch->won) return;
    mc_put_text(reply, " W");
    item->bits |= MC_TOKEN_SENT;
}

/* Returns 0 if all is written, 1 if all but the value is written and the value has a reference, -1 if a word is too
 * long. */
static int answer_hit(struct mc_reply *reply, struct fetch *fetch, const struct mc_line *line) {
    struct mc_item *item = fetch->item;
    if (fetch->flags.value) {
        mc_put_text(reply, "VA ");
        mc_put_number(reply, item->size);
    } else {
        mc_put_text(reply, "HD");
    }
    for (unsigned i = 2; i < line->count; i++)
        if (!answer_word(reply, fetch, &line->words[i])) return -1;
    answer_state(reply, fetch);
    mc_put_text(reply, "\r\n");
    if (!fetch->flags.no_update) mc_bump(item);
    struct mc_shard *shard = fetch->held.shard;
    if (fetch->flags.new_ttl) {
        shard->counts.cmd_touch++;
        shard->classes[item->cls].touch_hits++;
    } else {
        shard->counts.cmd_get++;
        shard->classes[item->cls].get_hits++;
    }
    if (!fetch->flags.value) return 0;
    if (item->size > MC_COPY_MOST) {
        mc_refer(&fetch->held, item);
        return 1;
    }
    mc_put(reply, mc_item_value(item), (size_t)item->size + 2);
    return 0;
}

static int answer_miss(struct mc_reply *reply, struct fetch *fetch, const struct mc_line *line) {
    fetch->held.shard->counts.cmd_get++;
    fetch->held.shard->counts.get_misses++;
    char *begin = reply->at;
    mc_put_text(reply, "EN");
    if (!mc_put_echo(reply, line, &fetch->flags.key)) return -1;
    mc_put_text(reply, "\r\n");
    if (fetch->flags.quiet) reply->at = begin;
    return 0;
}

static struct mc_item *vivify(struct fetch *fetch) {
    struct mc_item *item = mc_make(&fetch->held, 0, 0, 0);
    if (!item) return NULL;
    memcpy(mc_item_value(item), "\r\n", 2);
    if (fetch->flags.binary) item->bits |= MC_BINARY;
    mc_link(&fetch->held, item);
    fetch->created = true;
    return item;
}

void mc_meta_get(struct mc_session *session, struct mc_line *line) {
    struct mc_reply *reply = &session->reply;
    struct fetch fetch = {.created = false};
    if (!mc_meta_begin(session, line, &fetch.flags, 2, "CLIENT_ERROR options flags are too long")) return;
    mc_reply_room(reply, MC_LINE_MOST + MC_COPY_MOST);
    char *begin = reply->at;
    mc_hold(&fetch.held, &session->cache->store, fetch.flags.key.bytes, fetch.flags.key.size);
    fetch.item = mc_find(&fetch.held);
    mc_saw(session, &fetch.held, fetch.item);
    if (!fetch.item && fetch.flags.vivify) fetch.item = vivify(&fetch);
    int left = fetch.item ? answer_hit(reply, &fetch, line) : answer_miss(reply, &fetch, line);
    mc_release(&fetch.held);
    if (left > 0) mc_reply_value(reply, &session->cache->store, fetch.item);
    if (left >= 0) return;
    reply->at = begin;
    mc_say_error(session, mc_opaque_too_long);
}
