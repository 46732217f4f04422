/* SPDX-License-Identifier: MIT */
/*
 * ms, md, ma, me, mn. (mg: meta_get.c.) Answers are lines of codes; q omits the ordinary answer.
 */
#include "meta.h"

#include <limits.h>
#include <stdio.h>

#define WORDS_MOST 19

static const char bad_format[] = "CLIENT_ERROR bad command line format";
static const char too_many[] = "CLIENT_ERROR options flags too long";
const char mc_opaque_too_long[] = "CLIENT_ERROR opaque token too long";

/* Checks the command and its key. The flags are read later. */
static bool line_fits(struct mc_session *session, const struct mc_line *line, const char *too_many_words) {
    const char *wrong = NULL;
    if (line->count < 2)
        wrong = "ERROR";
    else if (line->words[1].size > MC_KEY_MOST)
        wrong = bad_format;
    else if (line->count > WORDS_MOST)
        wrong = too_many_words;
    if (wrong) mc_say_error(session, wrong);
    return !wrong;
}

bool mc_meta_begin(struct mc_session *session, const struct mc_line *line, struct mc_flags *flags, unsigned first,
                   const char *too_many_words) {
    if (!line_fits(session, line, too_many_words)) return false;
    const char *wrong = mc_flags_read(flags, line, first);
    bool names_it = line->words[0].at[1] == 'g';
    if (wrong) mc_say_error(session, names_it ? wrong : "CLIENT_ERROR invalid or duplicate flag");
    return !wrong;
}

/* --- ms ------------------------------------------------------------------------------------------------ */

/* Keeps the words for the answer, because the line will be overwritten. */
static bool keep_wants(struct mc_upload *upload, const struct mc_line *line) {
    unsigned n = 0;
    upload->opaque_size = 0;
    for (unsigned i = 3; i < line->count; i++) {
        const struct mc_word *word = &line->words[i];
        char letter = word->at[0];
        if (letter != 'O' && letter != 'k' && letter != 'c') continue;
        if (letter == 'O') {
            if (word->size > MC_OPAQUE_MOST) return false;
            upload->opaque_size = (uint8_t)word->size;
            memcpy(upload->opaque, word->at, word->size);
        }
        upload->wants[n++] = letter;
    }
    upload->wants[n] = 0;
    return true;
}

static const char *choose_mode(struct mc_upload *upload, const struct mc_flags *flags) {
    switch (flags->mode) {
    case 0:
    case 'S': upload->mode = MC_SET; break;
    case 'E': upload->mode = MC_ADD; break;
    case 'A': upload->mode = MC_APPEND; break;
    case 'P': upload->mode = MC_PREPEND; break;
    case 'R': upload->mode = MC_REPLACE; break;
    default: return "CLIENT_ERROR invalid mode for ms M token";
    }
    if (flags->has_cas && (upload->mode == MC_SET || upload->mode == MC_REPLACE)) upload->mode = MC_CAS;
    upload->stale = flags->stale && upload->mode == MC_CAS;
    upload->cas = flags->cas;
    return NULL;
}

/* Returns NULL, or the error for which the value must be refused. */
static const char *begin_upload(struct mc_session *session, const struct mc_line *line, size_t size) {
    struct mc_upload *upload = &session->upload;
    struct mc_store *store = &session->cache->store;
    struct mc_flags flags;
    const char *wrong = mc_flags_read(&flags, line, 3);
    if (wrong) return wrong;
    session->noreply = flags.quiet;
    bool opaque_fits = keep_wants(upload, line);
    wrong = choose_mode(upload, &flags);
    if (wrong || !opaque_fits) return wrong ? wrong : mc_opaque_too_long;
    struct mc_held held;
    bool allowed = mc_size_allowed(store, flags.key.size, size, flags.client_flags);
    mc_hold(&held, store, flags.key.bytes, flags.key.size);
    struct mc_item *item = allowed ? mc_make(&held, size, flags.client_flags, flags.expires) : NULL;
    if (!item) wrong = mc_upload_refused(&held, allowed, true);
    mc_release(&held);
    if (wrong && mc_wanted(MC_LOG_MUTATIONS))
        mc_tell_refused(session, &(struct mc_word){flags.key.bytes, flags.key.size}, upload->mode, size, allowed);
    if (wrong) return wrong;
    if (flags.binary) item->bits |= MC_BINARY;
    upload->item = item;
    upload->meta = true;
    mc_cursor_begin(&upload->cursor, item);
    return NULL;
}

void mc_meta_set(struct mc_session *session, struct mc_line *line) {
    int32_t size;
    if (line->count == 2 && line->words[1].size <= MC_KEY_MOST) {
        mc_say_error(session, bad_format);
        return;
    }
    if (!line_fits(session, line, too_many)) return;
    if (!mc_i32(&line->words[2], 0, &size) || size < 0 || size > INT_MAX - 2) {
        mc_say_error(session, bad_format);
        return;
    }
    const char *wrong = begin_upload(session, line, (size_t)size);
    if (!wrong) return;
    session->swallow = (size_t)size + 2;
    mc_say_error(session, wrong);
}

void mc_meta_stored(struct mc_session *session, const char *code, const struct mc_meta_key *key, uint64_t cas) {
    const struct mc_upload *upload = &session->upload;
    struct mc_reply *reply = &session->reply;
    if (session->noreply && !memcmp(code, "HD", 2)) return;
    mc_put(reply, code, 2);
    for (const char *want = upload->wants; *want; want++) {
        if (*want == 'k') mc_put_key(reply, key->bytes, key->size, key->binary);
        if (*want == 'O') mc_put_opaque(reply, &(struct mc_word){upload->opaque, upload->opaque_size});
        if (*want != 'c') continue;
        mc_put_text(reply, " c");
        mc_put_number(reply, cas);
    }
    mc_put_text(reply, "\r\n");
}

/* --- md ------------------------------------------------------------------------------------------------ */

static const char *delete_or_mark(struct mc_session *session, struct mc_held *held, const struct mc_flags *flags) {
    struct mc_item *item = mc_find(held);
    mc_saw(session, held, item);
    if (!item || (flags->has_cas && mc_cas(held->store, item) != flags->cas)) {
        held->shard->counts.delete_misses++;
        return item ? "EX" : "NF";
    }
    if (flags->stale) {
        if (flags->new_ttl) mc_shard_expire(held->shard, item, flags->expires);
        item->bits = (uint8_t)((item->bits | MC_STALE) & ~MC_TOKEN_SENT);
        mc_new_cas(held, item);
    } else {
        held->shard->classes[item->cls].delete_hits++;
        mc_unlink(held, item);
    }
    return "HD";
}

/* Writes a code, and the flags that every answer repeats. */
static void answer(struct mc_session *session, const struct mc_line *line, const struct mc_flags *flags,
                   const char *code) {
    mc_put(&session->reply, code, 2);
    mc_put_echo(&session->reply, line, &flags->key);
    mc_put_text(&session->reply, "\r\n");
}

static bool opaque_fits(struct mc_session *session, const struct mc_line *line) {
    for (unsigned i = 2; i < line->count; i++) {
        if (line->words[i].at[0] != 'O' || line->words[i].size <= MC_OPAQUE_MOST) continue;
        mc_say_error(session, mc_opaque_too_long);
        return false;
    }
    return true;
}

void mc_meta_delete(struct mc_session *session, struct mc_line *line) {
    struct mc_flags flags;
    struct mc_held held;
    if (!mc_meta_begin(session, line, &flags, 2, too_many) || !opaque_fits(session, line)) return;
    mc_hold(&held, &session->cache->store, flags.key.bytes, flags.key.size);
    const char *code = delete_or_mark(session, &held, &flags);
    mc_release(&held);
    if (!flags.quiet || memcmp(code, "HD", 2)) answer(session, line, &flags, code);
}

/* --- ma ------------------------------------------------------------------------------------------------ */

static enum mc_outcome make_number(struct mc_held *held, struct mc_delta *delta, const struct mc_flags *flags) {
    delta->size = (uint8_t)(mc_put_u64(delta->text, flags->initial) - delta->text);
    struct mc_item *item = mc_make(held, delta->size, 0, flags->vivify_expires);
    if (!item) return MC_NO_MEMORY;
    memcpy(mc_item_value(item), delta->text, delta->size);
    memcpy(mc_item_value(item) + delta->size, "\r\n", 2);
    if (flags->binary) item->bits |= MC_BINARY;
    mc_link(held, item);
    delta->item = item;
    return MC_STORED;
}

static void answer_number(struct mc_session *session, const struct mc_line *line, const struct mc_flags *flags,
                          struct mc_held *held, const struct mc_delta *delta) {
    struct mc_reply *reply = &session->reply;
    if (flags->value) {
        mc_put_text(reply, "VA ");
        mc_put_number(reply, delta->size);
    } else {
        mc_put_text(reply, "HD");
    }
    for (unsigned i = 2; i < line->count; i++) {
        switch (line->words[i].at[0]) {
        case 'c':
            mc_put_text(reply, " c");
            mc_put_number(reply, mc_cas(held->store, delta->item));
            break;
        case 't': mc_put_ttl(reply, delta->item); break;
        case 'T': mc_shard_expire(held->shard, delta->item, flags->expires); break;
        case 'O': mc_put_opaque(reply, &line->words[i]); break;
        case 'k': mc_put_key(reply, flags->key.bytes, flags->key.size, flags->key.binary); break;
        default: break;
        }
    }
    mc_put_text(reply, "\r\n");
    if (!flags->value) return;
    mc_put(reply, delta->text, delta->size);
    mc_put_text(reply, "\r\n");
}

static const char *calculate(struct mc_session *session, const struct mc_line *line, const struct mc_flags *flags,
                             struct mc_held *held, struct mc_delta *delta) {
    char *begin = session->reply.at;
    bool created = false;
    if (mc_wanted(MC_LOG_FETCHERS)) mc_tell_find(session, held, mc_find(held));
    enum mc_outcome outcome = mc_delta(held, delta);
    if (outcome == MC_NOT_FOUND && flags->vivify) {
        outcome = make_number(held, delta, flags);
        created = true;
    }
    switch (outcome) {
    case MC_STORED:
        answer_number(session, line, flags, held, delta);
        if (flags->quiet && !created) session->reply.at = begin;
        return NULL;
    case MC_NOT_FOUND:
        (*(delta->increment ? &held->shard->counts.incr_misses : &held->shard->counts.decr_misses))++;
        answer(session, line, flags, "NF");
        return NULL;
    case MC_EXISTS: answer(session, line, flags, "EX"); return NULL;
    case MC_NO_MEMORY: return "SERVER_ERROR out of memory";
    default: return "CLIENT_ERROR cannot increment or decrement non-numeric value";
    }
}

void mc_meta_arithmetic(struct mc_session *session, struct mc_line *line) {
    struct mc_flags flags;
    struct mc_held held;
    if (!mc_meta_begin(session, line, &flags, 2, too_many)) return;
    if (flags.mode && !memchr("I+D-", flags.mode, 4)) {
        mc_say_error(session, "CLIENT_ERROR invalid mode for ma M token");
        return;
    }
    if (!opaque_fits(session, line)) return;
    bool down = flags.mode == 'D' || flags.mode == '-';
    struct mc_delta delta = {.increment = !down, .by = flags.delta, .cas = flags.cas};
    mc_hold(&held, &session->cache->store, flags.key.bytes, flags.key.size);
    const char *wrong = calculate(session, line, &flags, &held, &delta);
    mc_release(&held);
    if (wrong) mc_say_error(session, wrong);
}

/* --- me, mn -------------------------------------------------------------------------------------------- */

static void meta_debug(struct mc_session *session, struct mc_line *line) {
    struct mc_reply *reply = &session->reply;
    struct mc_flags flags;
    struct mc_held held;
    unsigned first = line->count; /* only the flag b counts, and only as the third word */
    if (line->count > 2 && mc_word_is(&line->words[2], "b")) first = 2, line->count = 3;
    mc_count(session->cache, MC_CMD_META, 1);
    if (line->count < 2 || line->words[1].size > MC_KEY_MOST || mc_flags_read(&flags, line, first)) {
        mc_say(session, bad_format);
        return;
    }
    mc_hold(&held, &session->cache->store, flags.key.bytes, flags.key.size);
    const struct mc_item *item = mc_find(&held);
    if (item) {
        mc_put_text(reply, "ME ");
        if (item->bits & MC_BINARY)
            reply->at += mc_base64_encode(reply->at, mc_item_key(item), item->key_size);
        else
            mc_put(reply, mc_item_key(item), item->key_size);
        reply->at += sprintf(reply->at, " exp=%d la=%u cas=%llu fetch=%s cls=%u size=%zu\r\n",
                             item->expires ? (int)(mc_now() - item->expires) : -1, mc_now() - item->last,
                             (unsigned long long)mc_cas(held.store, item), item->bits & MC_FETCHED ? "yes" : "no",
                             item->cls + 1u, mc_item_total(item->key_size, item->size));
    }
    mc_release(&held);
    if (!item) mc_say(session, "EN");
}

void mc_command_meta(struct mc_session *session, struct mc_line *line) {
    switch (line->words[0].at[1]) {
    case 'g': mc_meta_get(session, line); break;
    case 's': mc_meta_set(session, line); break;
    case 'd': mc_meta_delete(session, line); break;
    case 'a': mc_meta_arithmetic(session, line); break;
    case 'e': meta_debug(session, line); break;
    case 'n': mc_say(session, "MN"); break;
    default: mc_say(session, "ERROR");
    }
}
