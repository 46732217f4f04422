/* SPDX-License-Identifier: MIT */
#include "binary.h"

#include "auth.h"
#include "update.h"

#include <endian.h>
#include <stdlib.h>

#define HEAD 24u
#define ASK 0x80
#define ANSWER 0x81
#define FRAME_BESIDE 512u             /* the most bytes of a frame besides its value */
#define FRAME_MOST ((size_t)15 << 20) /* the largest frame that is collected; larger values need the text protocol */

enum {
    GET,
    SET,
    ADD,
    REPLACE,
    DELETE,
    INCR,
    DECR,
    QUIT,
    FLUSH,
    GETQ,
    NOOP,
    VERSION,
    GETK,
    GETKQ,
    APPEND,
    PREPEND,
    STAT,
    SETQ,
    ADDQ,
    REPLACEQ,
    DELETEQ,
    INCRQ,
    DECRQ,
    QUITQ,
    FLUSHQ,
    APPENDQ,
    PREPENDQ,
    TOUCH = 0x1c,
    GAT,
    GATQ,
    GATK = 0x23,
    GATKQ
};
enum { OK, NOT_FOUND, EXISTS, TOO_LARGE, INVALID, NOT_STORED, NOT_NUMERIC, AUTH = 0x20, UNKNOWN = 0x81, NO_MEMORY };

struct frame {
    uint8_t op;
    bool quiet; /* neither a success nor a miss is answered */
    uint8_t extra_size;
    uint16_t key_size;
    uint32_t body_size;
    uint64_t cas;
    const char *extra, *key, *value;
    size_t size; /* bytes of the value */
};

static uint32_t u32(const char *at) {
    uint32_t n;
    memcpy(&n, at, sizeof n);
    return be32toh(n);
}

static uint64_t u64(const char *at) {
    uint64_t n;
    memcpy(&n, at, sizeof n);
    return be64toh(n);
}

/* --- answers ------------------------------------------------------------------------------------------------- */

struct answer {
    unsigned status;
    uint64_t cas;
    const char *extra, *key, *value;
    size_t extra_size, key_size, size; /* size: bytes of the value. If `value` is NULL, the caller sends the value */
};

/* Writes an answer. It contains the value only if `value` is set. */
static void put_answer(struct mc_session *session, const struct frame *frame, const struct answer *a) {
    struct mc_reply *reply = &session->reply;
    mc_reply_room(reply, HEAD + a->extra_size + a->key_size + (a->value ? a->size : 0));
    uint16_t key = htobe16((uint16_t)a->key_size), status = htobe16((uint16_t)a->status);
    uint32_t body = htobe32((uint32_t)(a->extra_size + a->key_size + a->size));
    uint64_t cas = htobe64(a->cas);
    char head[HEAD] = {(char)ANSWER, (char)frame->op};
    memcpy(head + 2, &key, 2);
    head[4] = (char)a->extra_size;
    memcpy(head + 6, &status, 2);
    memcpy(head + 8, &body, 4);
    memcpy(head + 12, session->opaque, 4);
    memcpy(head + 16, &cas, 8);
    mc_put(reply, head, HEAD);
    if (a->extra_size) mc_put(reply, a->extra, a->extra_size);
    if (a->key_size) mc_put(reply, a->key, a->key_size);
    if (a->value) mc_put(reply, a->value, a->size);
}

static void say(struct mc_session *session, const struct frame *frame, unsigned status) {
    static const char *const words[] = {"",
                                        "Not found",
                                        "Data exists for key.",
                                        "Too large.",
                                        "Invalid arguments",
                                        "Not stored.",
                                        "Non-numeric server-side value for incr or decr"};
    const char *text = status < sizeof words / sizeof *words ? words[status]
                       : status == AUTH                      ? "Auth failure."
                       : status == UNKNOWN                   ? "Unknown command"
                                                             : "Out of memory";
    if (!status && frame->quiet) return;
    put_answer(session, frame, &(struct answer){.status = status, .value = text, .size = strlen(text)});
}

static void say_cas(struct mc_session *session, const struct frame *frame, uint64_t cas) {
    if (!frame->quiet) put_answer(session, frame, &(struct answer){.cas = cas});
}

void mc_binary_stat(struct mc_session *session, const char *name, const char *value, size_t size) {
    const struct frame frame = {.op = STAT};
    put_answer(session, &frame,
               &(struct answer){.key = name, .key_size = name ? strlen(name) : 0, .value = value, .size = size});
}

static void refuse(struct mc_session *session, const struct frame *frame, unsigned status) {
    say(session, frame, status);
    session->closing = true;
}

/* --- commands ------------------------------------------------------------------------------------------------ */

/* Sends a value without its \r\n directly from the item. */
static void send_value(struct mc_session *session, struct mc_item *item) {
    struct mc_cursor cursor;
    size_t left = item->size;
    for (mc_cursor_begin(&cursor, item); left && !session->reply.broken;) {
        size_t part = cursor.here < left ? cursor.here : left;
        if (part > MC_COPY_MOST) part = MC_COPY_MOST;
        mc_reply_room(&session->reply, part);
        mc_put(&session->reply, cursor.at, part);
        mc_cursor_advance(&cursor, part);
        left -= part;
    }
    mc_unrefer(&session->cache->store, item);
}

static void count_get(struct mc_held *held, const struct mc_item *item, bool touch) {
    struct mc_shard_counts *counts = &held->shard->counts;
    if (touch)
        counts->cmd_touch++;
    else
        counts->cmd_get++;
    if (item && touch) held->shard->classes[item->cls].touch_hits++;
    if (item && !touch) held->shard->classes[item->cls].get_hits++;
    if (!item && touch) counts->touch_misses++;
    if (!item && !touch) counts->get_misses++;
}

static void miss(struct mc_session *session, const struct frame *frame, bool with_key) {
    if (frame->quiet) return;
    if (with_key)
        put_answer(session, frame,
                   &(struct answer){.status = NOT_FOUND, .key = frame->key, .key_size = frame->key_size});
    else
        say(session, frame, NOT_FOUND);
}

static void get(struct mc_session *session, const struct frame *frame, bool touch, bool with_key) {
    struct mc_store *store = &session->cache->store;
    struct mc_held held;
    uint32_t flags = 0;
    mc_reply_room(&session->reply, MC_LINE_MOST);
    mc_hold(&held, store, frame->key, frame->key_size);
    struct mc_item *item = mc_find(&held);
    mc_saw(session, &held, item);
    mc_detail(session, &(struct mc_word){frame->key, frame->key_size}, MC_PREFIX_GET, item);
    count_get(&held, item, touch);
    if (item) {
        mc_bump(item);
        if (touch) mc_shard_expire(held.shard, item, mc_expires((int32_t)u32(frame->extra)));
        mc_refer(&held, item);
        flags = htobe32(item->flags);
    }
    uint64_t cas = item ? mc_cas(store, item) : 0;
    mc_release(&held);
    if (!item) {
        miss(session, frame, with_key);
        return;
    }
    bool valueless = frame->op == TOUCH;
    put_answer(session, frame,
               &(struct answer){.cas = cas,
                                .extra = (char *)&flags,
                                .extra_size = 4,
                                .key = frame->key,
                                .key_size = with_key && !valueless ? frame->key_size : 0,
                                .size = valueless ? 0 : item->size});
    if (valueless)
        mc_unrefer(store, item);
    else
        send_value(session, item);
}

static unsigned stored_status(enum mc_outcome outcome, enum mc_mode mode) {
    switch (outcome) {
    case MC_STORED: return OK;
    case MC_EXISTS: return EXISTS;
    case MC_NOT_FOUND: return NOT_FOUND;
    default: return mode == MC_ADD ? EXISTS : mode == MC_REPLACE ? NOT_FOUND : NOT_STORED;
    }
}

static void store(struct mc_session *session, const struct frame *frame, enum mc_mode mode) {
    struct mc_store *store = &session->cache->store;
    struct mc_upload *upload = &session->upload;
    bool joins = mode == MC_APPEND || mode == MC_PREPEND;
    uint32_t flags = joins ? 0 : u32(frame->extra), expires = joins ? 0 : mc_expires((int32_t)u32(frame->extra + 4));
    struct mc_held held;
    uint64_t cas = 0;
    unsigned status;
    bool allowed = mc_size_allowed(store, frame->key_size, frame->size, flags);
    mc_detail(session, &(struct mc_word){frame->key, frame->key_size}, MC_PREFIX_SET, false);
    *upload = (struct mc_upload){.cas = frame->cas, .mode = (uint8_t)(frame->cas && !joins ? MC_CAS : mode)};
    mc_hold(&held, store, frame->key, frame->key_size);
    struct mc_item *item = upload->item = allowed ? mc_make(&held, frame->size, flags, expires) : NULL;
    if (item) {
        mc_cursor_begin(&upload->cursor, item);
        mc_cursor_put(&upload->cursor, frame->value, frame->size);
        mc_cursor_put(&upload->cursor, "\r\n", 2);
        held.shard->classes[item->cls].cmd_set++;
        status = stored_status(mc_update_observed(session, &held, &cas), mode);
    } else {
        mc_upload_refused(&held, allowed, mode == MC_SET);
        status = allowed ? NO_MEMORY : TOO_LARGE;
    }
    mc_release(&held);
    if (status)
        say(session, frame, status);
    else
        say_cas(session, frame, cas);
}

static void delete (struct mc_session *session, const struct frame *frame) {
    struct mc_store *store = &session->cache->store;
    struct mc_held held;
    unsigned status = OK;
    mc_detail(session, &(struct mc_word){frame->key, frame->key_size}, MC_PREFIX_DELETE, false);
    mc_hold(&held, store, frame->key, frame->key_size);
    struct mc_item *item = mc_find(&held);
    mc_saw(session, &held, item);
    if (!item) {
        held.shard->counts.delete_misses++;
        status = NOT_FOUND;
    } else if (frame->cas && frame->cas != mc_cas(store, item)) {
        status = EXISTS;
    } else {
        held.shard->classes[item->cls].delete_hits++;
        mc_unlink(&held, item);
    }
    mc_release(&held);
    say(session, frame, status);
}

/* The item does not exist. Makes it if the client wants that. */
static enum mc_outcome begin_number(const struct frame *frame, struct mc_held *held, struct mc_delta *delta) {
    if (u32(frame->extra + 16) == UINT32_MAX) {
        (*(delta->increment ? &held->shard->counts.incr_misses : &held->shard->counts.decr_misses))++;
        return MC_NOT_FOUND;
    }
    delta->size = (uint8_t)(mc_put_u64(delta->text, u64(frame->extra + 8)) - delta->text);
    delta->item = mc_make(held, delta->size, 0, mc_expires((int32_t)u32(frame->extra + 16)));
    if (!delta->item) return MC_NO_MEMORY;
    memcpy(mc_item_value(delta->item), delta->text, delta->size);
    memcpy(mc_item_value(delta->item) + delta->size, "\r\n", 2);
    mc_link(held, delta->item);
    return MC_STORED;
}

static void count(struct mc_session *session, const struct frame *frame, bool increment) {
    static const uint8_t statuses[] = {OK, NOT_STORED, EXISTS, NOT_FOUND, NOT_NUMERIC, NO_MEMORY};
    struct mc_delta delta = {.increment = increment, .by = u64(frame->extra), .cas = frame->cas};
    struct mc_held held;
    uint64_t value = 0, cas = 0;
    mc_hold(&held, &session->cache->store, frame->key, frame->key_size);
    if (mc_wanted(MC_LOG_FETCHERS)) mc_tell_find(session, &held, mc_find(&held));
    enum mc_outcome outcome = mc_delta(&held, &delta);
    if (outcome == MC_NOT_FOUND) outcome = begin_number(frame, &held, &delta);
    if (outcome == MC_STORED) {
        mc_u64(delta.text, delta.size, &value);
        cas = mc_cas(held.store, delta.item);
    }
    mc_release(&held);
    value = htobe64(value);
    if (outcome != MC_STORED)
        say(session, frame, statuses[outcome]);
    else if (!frame->quiet)
        put_answer(session, frame, &(struct answer){.cas = cas, .value = (char *)&value, .size = sizeof value});
}

static void flush(struct mc_session *session, const struct frame *frame) {
    mc_count(session->cache, MC_CMD_FLUSH, 1);
    if (session->cache->settings.no_flush) {
        say(session, frame, AUTH);
        return;
    }
    int32_t given = frame->extra_size ? (int32_t)u32(frame->extra) : 0;
    uint32_t at = given > 0 ? mc_expires(given) : 0;
    mc_flush(&session->cache->store, at > mc_now() ? at : 0);
    say(session, frame, OK);
}

/* Counts by prefix: all lines as a single value, in several parts if necessary. */
static void dump_detail(struct mc_session *session) {
    size_t size, some;
    char *text = mc_prefixes_text(&session->cache->prefixes, &size);
    for (const char *at = text; at && size; at += some, size -= some) {
        some = size < MC_COPY_MOST ? size : MC_COPY_MOST;
        mc_binary_stat(session, "detailed", at, some);
    }
    free(text);
}

static bool detail(struct mc_session *session, const struct mc_word *key) {
    bool on = mc_word_is(key, "detail on");
    if (mc_word_is(key, "detail dump"))
        dump_detail(session);
    else if (on || mc_word_is(key, "detail off"))
        store_rlx(&session->cache->settings.detail, on), mc_count_detail(on);
    else
        return false;
    mc_binary_stat(session, NULL, NULL, 0);
    return true;
}

/* Sends the statistics that the key of the frame names. */
static void stat(struct mc_session *session, const struct frame *frame) {
    static const char *const known[] = {"items", "slabs", "settings", "conns", "sizes"};
    char text[64] = "stats ";
    struct mc_line line;
    const struct mc_word key = {frame->key, frame->key_size};
    bool found = !key.size;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) found |= mc_word_is(&key, known[i]);
    if (mc_word_is(&key, "reset")) {
        mc_reset_counts(session->cache);
        mc_binary_stat(session, NULL, NULL, 0);
    } else if (!found) {
        if (!detail(session, &key)) say(session, frame, NOT_FOUND);
    } else {
        memcpy(text + 6, key.at, key.size);
        mc_line_split(&line, text, 6 + key.size);
        mc_command_stats(session, &line);
    }
}

/* --- frames -------------------------------------------------------------------------------------------------- */

/* Returns the ordinary command that corresponds to a quiet command. */
static uint8_t aloud(uint8_t op) {
    if (op >= SETQ && op <= DECRQ) return (uint8_t)(op - SETQ + SET);
    switch (op) {
    case GETQ: return GET;
    case GETKQ: return GETK;
    case QUITQ: return QUIT;
    case FLUSHQ: return FLUSH;
    case APPENDQ: return APPEND;
    case PREPENDQ: return PREPEND;
    case GATQ: return GAT;
    case GATKQ: return GATK;
    default: return op;
    }
}

static bool is_well_formed(uint8_t op, const struct frame *f) {
    bool bare = !f->extra_size && !f->key_size && !f->size;
    switch (op) {
    case VERSION:
    case NOOP:
    case QUIT: return bare;
    case FLUSH: return !f->key_size && !f->size && (!f->extra_size || f->extra_size == 4);
    case SET:
    case ADD:
    case REPLACE: return f->extra_size == 8 && f->key_size;
    case GET:
    case GETK:
    case DELETE: return !f->extra_size && !f->size && f->key_size;
    case INCR:
    case DECR: return f->extra_size == 20 && !f->size && f->key_size;
    case APPEND:
    case PREPEND: return !f->extra_size && f->key_size;
    case STAT: return !f->extra_size;
    case TOUCH:
    case GAT:
    case GATK: return f->extra_size == 4 && f->key_size;
    default: return true;
    }
}

static void run(struct mc_session *session, uint8_t op, struct frame *f) {
    switch (op) {
    case GET:
    case GETK: get(session, f, false, op == GETK); break;
    case TOUCH:
    case GAT:
    case GATK: get(session, f, true, op == GATK); break;
    case SET: store(session, f, MC_SET); break;
    case ADD: store(session, f, MC_ADD); break;
    case REPLACE: store(session, f, MC_REPLACE); break;
    case APPEND: store(session, f, MC_APPEND); break;
    case PREPEND: store(session, f, MC_PREPEND); break;
    case DELETE: delete (session, f); break;
    case INCR:
    case DECR: count(session, f, op == INCR); break;
    case FLUSH: flush(session, f); break;
    case STAT: stat(session, f); break;
    case NOOP: say(session, f, OK); break;
    case VERSION: put_answer(session, f, &(struct answer){.value = MC_VERSION, .size = sizeof MC_VERSION - 1}); break;
    case QUIT:
        say(session, f, OK);
        session->closing = true;
        session->close = MC_CLOSE_NORMAL;
        break;
    default: f->quiet = false; say(session, f, UNKNOWN);
    }
}

static void read_head(struct frame *f, const char *at) {
    uint16_t key_size;
    memcpy(&key_size, at + 2, 2);
    *f = (struct frame){.op = (uint8_t)at[1],
                        .key_size = be16toh(key_size),
                        .extra_size = (uint8_t)at[4],
                        .body_size = u32(at + 8),
                        .cas = u64(at + 16)};
}

/* Runs a complete frame. */
static void run_frame(struct mc_session *session, const char *at) {
    struct frame f;
    read_head(&f, at);
    memcpy(session->opaque, at + 12, 4);
    uint8_t op = aloud(f.op);
    f.quiet = op != f.op;
    if ((uint32_t)f.key_size + f.extra_size > f.body_size) {
        refuse(session, &f, UNKNOWN);
        return;
    }
    f.extra = at + HEAD;
    f.key = f.extra + f.extra_size;
    f.value = f.key + f.key_size;
    f.size = f.body_size - f.extra_size - f.key_size;
    if (f.key_size > MC_KEY_MOST || !is_well_formed(op, &f))
        refuse(session, &f, INVALID);
    else
        run(session, op, &f);
}

/* A frame that is too large: removes the old value, and drops the rest of the frame. */
static void skip_frame(struct mc_session *session, const struct frame *f, const char *at) {
    memcpy(session->opaque, at + 12, 4);
    session->swallow = f->body_size;
    say(session, f, TOO_LARGE);
}

/* The size of the frame that begins here, of which `n` bytes have come. */
static size_t frame_size(struct mc_session *session, const char *at, size_t n) {
    struct frame f;
    if (n < HEAD) return HEAD;
    read_head(&f, at);
    size_t most = session->cache->store.item_most + FRAME_BESIDE;
    if (most > FRAME_MOST) most = FRAME_MOST;
    if (f.body_size <= most) return HEAD + f.body_size;
    skip_frame(session, &f, at);
    return HEAD;
}

static size_t feed_binary(struct mc_session *session, const char *bytes, size_t n) {
    mc_reply_room(&session->reply, MC_LINE_MOST);
    if (session->swallow) {
        size_t some = n < session->swallow ? n : session->swallow;
        session->swallow -= some;
        return some;
    }
    if (!session->stash) {
        if ((unsigned char)bytes[0] != ASK) {
            session->closing = true;
            return n;
        }
        size_t whole = frame_size(session, bytes, n);
        if (session->swallow) return HEAD;
        if (n >= HEAD && n >= whole) {
            run_frame(session, bytes);
            return whole;
        }
    }
    size_t have = session->stashed, wanted = have < HEAD ? HEAD : frame_size(session, session->stash, have);
    size_t some = n < wanted - have ? n : wanted - have;
    if (!mc_stash_add(session, bytes, some)) return some;
    have += some;
    if (have < HEAD) return some;
    bool ends = frame_size(session, session->stash, have) == have;
    if (ends && !session->swallow) run_frame(session, session->stash);
    if (ends) mc_stash_drop(session);
    return some;
}

/* --- which protocol ------------------------------------------------------------------------------------------- */

static size_t negotiate(struct mc_session *session, char first) {
    bool binary = (unsigned char)first == ASK;
    session->special = binary ? MC_BINARY_FRAMES : MC_PLAIN;
    if (!binary && !strcmp(session->cache->settings.binding, "binary")) session->closing = true;
    return 0;
}

__attribute__((noinline, cold)) size_t mc_special_feed(struct mc_session *session, const char *bytes, size_t n) {
    switch (session->special) {
    case MC_NEGOTIATES: return negotiate(session, bytes[0]);
    case MC_BINARY_FRAMES: return feed_binary(session, bytes, n);
    default: return mc_auth_feed(session, bytes, n);
    }
}
