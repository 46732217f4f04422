/* SPDX-License-Identifier: MIT */
/*
 * set, add, replace, append, prepend, cas; delete, touch, incr, decr.
 */
#include "update.h"

#include <limits.h>

static const char bad_format[] = "CLIENT_ERROR bad command line format";

/* --- storing ------------------------------------------------------------------------------------------- */

const char *mc_upload_refused(struct mc_held *held, bool allowed, bool remove) {
    if (allowed)
        held->shard->counts.store_no_memory++;
    else
        held->shard->counts.store_too_large++;
    /* After a refused set, the key must not keep its old value. */
    struct mc_item *old = remove ? mc_find(held) : NULL;
    if (old) mc_unlink(held, old);
    return allowed ? "SERVER_ERROR out of memory storing object" : "SERVER_ERROR object too large for cache";
}

void mc_command_update(struct mc_session *session, struct mc_line *line, enum mc_mode mode) {
    const struct mc_word *word = line->words;
    struct mc_upload *upload = &session->upload;
    uint32_t flags;
    int32_t given, size;
    mc_noreply(session, line);
    upload->cas = 0;
    if (word[1].size > MC_KEY_MOST || !mc_u32(&word[2], 0, &flags) || !mc_i32(&word[3], 0, &given) ||
        !mc_i32(&word[4], 0, &size) || (mode == MC_CAS && !mc_word_u64(&word[5], 0, &upload->cas)) || size < 0 ||
        size > INT_MAX - 2) {
        mc_say(session, bad_format);
        return;
    }
    struct mc_store *store = &session->cache->store;
    struct mc_held held;
    const char *refused = NULL;
    mc_detail(session, &word[1], MC_PREFIX_SET, false);
    bool allowed = mc_size_allowed(store, word[1].size, (size_t)size, flags);
    mc_hold(&held, store, word[1].at, word[1].size);
    upload->item = allowed ? mc_make(&held, (size_t)size, flags, mc_expires(given)) : NULL;
    if (!upload->item) refused = mc_upload_refused(&held, allowed, mode == MC_SET);
    mc_release(&held);
    if (refused) {
        if (mc_wanted(MC_LOG_MUTATIONS)) mc_tell_refused(session, &word[1], mode, (size_t)size, allowed);
        mc_say(session, refused);
        session->swallow = (size_t)size + 2;
        return;
    }
    upload->mode = (uint8_t)mode;
    upload->meta = upload->stale = false;
    mc_cursor_begin(&upload->cursor, upload->item);
}

/* Checks that a value ends with \r\n. The two bytes may be in different pieces. */
static bool ends_well(struct mc_item *item) {
    if (likely(!item->chained)) return !memcmp(mc_item_value(item) + item->size, "\r\n", 2);
    struct mc_cursor cursor;
    mc_cursor_begin(&cursor, item);
    while (cursor.left > 2) mc_cursor_advance(&cursor, cursor.here < cursor.left - 2 ? cursor.here : cursor.left - 2);
    char first = *cursor.at;
    mc_cursor_advance(&cursor, 1);
    return first == '\r' && *cursor.at == '\n';
}

static const char *const modes[] = {"set", "add", "replace", "append", "prepend", "cas"};

/* Stores while a client watches: both the lookup of the old item and the outcome are events. */
__attribute__((noinline, cold)) enum mc_outcome mc_update_observed(struct mc_session *session, struct mc_held *held,
                                                                   uint64_t *cas) {
    static const char *const names[] = {"stored", "not_stored", "exists", "not_found", "not_stored", "no_memory"};
    const struct mc_item *item = session->upload.item;
    char key[MC_KEY_MOST];
    memcpy(key, held->key, held->key_size); /* the item may be freed below */
    const struct mc_event event = {key, held->key_size, item->expires, item->size, item->cls, session->id};
    mc_saw(session, held, mc_find(held));
    enum mc_outcome outcome = mc_update(held, &session->upload, cas);
    if (mc_wanted(MC_LOG_MUTATIONS)) mc_log_store(&event, names[outcome], modes[session->upload.mode]);
    return outcome;
}

__attribute__((noinline, cold)) void mc_tell_refused(struct mc_session *session, const struct mc_word *key,
                                                     enum mc_mode mode, size_t size, bool allowed) {
    const struct mc_event event = {key->at, key->size, 0, (uint32_t)size, (unsigned)-1, session->id};
    mc_log_store(&event, allowed ? "no_memory" : "too_large", modes[mode]);
}

__attribute__((noinline, cold)) void mc_tell_find(struct mc_session *session, const struct mc_held *held,
                                                  const struct mc_item *item) {
    struct mc_event event = {held->key, held->key_size, 0, 0, 0, session->id};
    if (item) event.size = item->size, event.cls = item->cls;
    mc_log_get(&event, item ? MC_FOUND : (enum mc_found)held->buried);
}

void mc_upload_complete(struct mc_session *session) {
    static const char *const classic[] = {"STORED", "NOT_STORED", "EXISTS", "NOT_FOUND"};
    static const char *const meta[] = {"HD", "NS", "EX", "NF"};
    struct mc_upload *upload = &session->upload;
    struct mc_item *item = upload->item;
    bool good = ends_well(item);
    struct mc_held held;
    enum mc_outcome outcome = MC_NOT_STORED;
    uint64_t cas = 0;
    struct mc_meta_key key;
    if (upload->meta) {
        key.size = item->key_size;
        key.binary = item->bits & MC_BINARY;
        memcpy(key.bytes, mc_item_key(item), item->key_size);
    }
    mc_hold(&held, &session->cache->store, mc_item_key(item), item->key_size);
    held.shard->classes[item->cls].cmd_set++;
    if (good && mc_wanted(MC_LOG_FETCHERS | MC_LOG_MUTATIONS))
        outcome = mc_update_observed(session, &held, &cas);
    else if (good)
        outcome = mc_update(&held, upload, &cas);
    else
        mc_shard_free(held.shard, item);
    upload->item = NULL;
    mc_release(&held);
    if (!good && upload->meta)
        mc_say_error(session, "CLIENT_ERROR bad data chunk");
    else if (!good)
        mc_say(session, "CLIENT_ERROR bad data chunk");
    else if (upload->meta)
        mc_meta_stored(session, meta[outcome], &key, cas);
    else
        mc_say(session, classic[outcome]);
}

/* --- the others ---------------------------------------------------------------------------------------- */

void mc_command_delete(struct mc_session *session, struct mc_line *line) {
    const struct mc_word *key = &line->words[1];
    if (line->count > 2) {
        bool zero = mc_word_is(&line->words[2], "0"), quiet = mc_noreply(session, line);
        if (!(line->count == 3 && (zero || quiet)) && !(line->count == 4 && zero && quiet)) {
            mc_say(session, "CLIENT_ERROR bad command line format.  Usage: delete <key> [noreply]");
            return;
        }
    }
    if (key->size > MC_KEY_MOST) {
        mc_say(session, bad_format);
        return;
    }
    struct mc_held held;
    mc_detail(session, key, MC_PREFIX_DELETE, false);
    mc_hold(&held, &session->cache->store, key->at, key->size);
    struct mc_item *item = mc_find(&held);
    mc_saw(session, &held, item);
    if (item) {
        held.shard->classes[item->cls].delete_hits++;
        mc_unlink(&held, item);
    } else {
        held.shard->counts.delete_misses++;
    }
    mc_release(&held);
    mc_say(session, item ? "DELETED" : "NOT_FOUND");
}

void mc_command_touch(struct mc_session *session, struct mc_line *line) {
    const struct mc_word *key = &line->words[1];
    int32_t given;
    mc_noreply(session, line);
    if (key->size > MC_KEY_MOST) {
        mc_say(session, bad_format);
        return;
    }
    if (!mc_i32(&line->words[2], 0, &given)) {
        mc_say(session, "CLIENT_ERROR invalid exptime argument");
        return;
    }
    struct mc_held held;
    mc_hold(&held, &session->cache->store, key->at, key->size);
    struct mc_item *item = mc_find(&held);
    mc_saw(session, &held, item);
    held.shard->counts.cmd_touch++;
    if (item) {
        mc_bump(item);
        mc_shard_expire(held.shard, item, mc_expires(given));
        held.shard->classes[item->cls].touch_hits++;
    } else {
        held.shard->counts.touch_misses++;
    }
    mc_release(&held);
    mc_say(session, item ? "TOUCHED" : "NOT_FOUND");
}

void mc_command_arithmetic(struct mc_session *session, struct mc_line *line, bool increment) {
    const struct mc_word *key = &line->words[1];
    struct mc_delta delta = {.increment = increment};
    mc_noreply(session, line);
    if (key->size > MC_KEY_MOST) {
        mc_say(session, bad_format);
        return;
    }
    if (!mc_word_u64(&line->words[2], 0, &delta.by)) {
        mc_say(session, "CLIENT_ERROR invalid numeric delta argument");
        return;
    }
    struct mc_held held;
    mc_hold(&held, &session->cache->store, key->at, key->size);
    if (mc_wanted(MC_LOG_FETCHERS)) mc_tell_find(session, &held, mc_find(&held));
    enum mc_outcome outcome = mc_delta(&held, &delta);
    if (outcome == MC_NOT_FOUND) (*(increment ? &held.shard->counts.incr_misses : &held.shard->counts.decr_misses))++;
    mc_release(&held);
    switch (outcome) {
    case MC_STORED:
        if (session->noreply) break;
        mc_put(&session->reply, delta.text, delta.size);
        mc_put_text(&session->reply, "\r\n");
        break;
    case MC_NOT_FOUND: mc_say(session, "NOT_FOUND"); break;
    case MC_NO_MEMORY: mc_say(session, "SERVER_ERROR out of memory"); break;
    default: mc_say(session, "CLIENT_ERROR cannot increment or decrement non-numeric value");
    }
}
