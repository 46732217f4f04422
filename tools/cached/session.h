/* SPDX-License-Identifier: MIT */
/*
 * A session: the commands of one client and their answers, independent of the transport. The bytes are fed in as they
 * come, in pieces of any size. The answers go to the reply (reply.h), which sends them when it is full or on request.
 *
 * Between two feeds a session has nothing, or the beginning of a line, on the heap, or a value that is partly received,
 * or a number of bytes to drop. So a session that waits for its next command has no memory except this struct.
 */
#ifndef CACHED_SESSION_H
#define CACHED_SESSION_H

#include "cache.h"
#include "log.h"
#include "reply.h"

enum mc_mode { MC_SET, MC_ADD, MC_REPLACE, MC_APPEND, MC_PREPEND, MC_CAS };

#define MC_OPAQUE_MOST 32
#define MC_WANTS_MOST 3 /* the most words in an answer to ms: O, k and c */

/* A value that is being received, and how to store it and to answer then. */
struct mc_upload {
    struct mc_item *item; /* NULL: there is none */
    struct mc_cursor cursor;
    uint64_t cas; /* the stored CAS must be this, unless it is 0 */
    uint8_t mode;
    bool meta;  /* answer in the form of ms */
    bool stale; /* a lower CAS may store the value, which is then marked as stale */
    uint8_t opaque_size;
    char wants[MC_WANTS_MOST + 1];
    char opaque[MC_OPAQUE_MOST];
};

/* Text; text or frames, decided by the first byte; frames; a client that must authenticate itself first (auth.h). */
enum mc_special { MC_PLAIN, MC_NEGOTIATES, MC_BINARY_FRAMES, MC_UNKNOWN_CLIENT };

struct mc_session {
    struct mc_cache *cache;
    struct mc_reply reply;
    bool noreply;               /* the current command is not answered */
    bool closing;               /* the client sent quit, or an error ends the session */
    uint8_t special;            /* an mc_special */
    bool datagram;              /* the session is a datagram, and no bytes follow */
    bool alone;                 /* a dump or a watch must be the first command of the received bytes, as in memcached */
    uint8_t close;              /* why it is closing: an mc_close */
    int id;                     /* the number of the session in messages */
    unsigned turn;              /* commands left in this turn */
    char opaque[4];             /* the opaque of the current frame (binary.h) */
    uint32_t auth_value;        /* bytes of the name and password that must follow; 0: a line must follow */
    struct mc_watcher *watcher; /* the client watches, and sends no more commands */
    char *stash;
    size_t stashed, stash_room;
    size_t swallow;
    struct mc_upload upload;
};

void mc_session_begin(struct mc_session *session, struct mc_cache *cache, int id);
void mc_session_end(struct mc_session *session);

/* Takes all bytes, unless the session begins to close. */
void mc_session_feed(struct mc_session *session, const char *bytes, size_t n);

/*
 * A long value can be received directly into its item. mc_session_target returns how many bytes fit there, 0 if a feed
 * is better; mc_session_received tells how many came.
 */
static inline size_t mc_session_target(struct mc_session *session, char **where) {
    const struct mc_cursor *cursor = &session->upload.cursor;
    if (!session->upload.item || cursor->left < MC_COPY_MOST) return 0;
    *where = cursor->at;
    return cursor->here;
}
void mc_session_received(struct mc_session *session, size_t n);

/* --- for the commands ------------------------------------------------------------------------------------ */

/* Writes a line of an answer, unless the command wants no answer. */
void mc_say(struct mc_session *session, const char *line);
/* Writes a line of an answer, even if the command wants no answer. */
void mc_say_error(struct mc_session *session, const char *line);

/* Writes a line of stats. */
__attribute__((format(printf, 3, 4))) void mc_stat(struct mc_session *session, const char *name, const char *format,
                                                   ...);

/* Writes the last line of stats. */
void mc_stats_end(struct mc_session *session);

/* Does the line end with noreply? */
bool mc_noreply(struct mc_session *session, const struct mc_line *line);

/* Keeps the beginning of a line or frame on the heap. False: no memory, and the client was told. */
bool mc_stash_add(struct mc_session *session, const char *bytes, size_t n);
void mc_stash_drop(struct mc_session *session);

/* False: other answers are still unsent, and the client was told. */
bool mc_is_first(struct mc_session *session, const char *command);

/* Reports the lookup of a key to watchers. The shard is held; item is NULL if the key was not found. */
void mc_tell_find(struct mc_session *session, const struct mc_held *held, const struct mc_item *item);
static inline void mc_saw(struct mc_session *session, const struct mc_held *held, const struct mc_item *item) {
    if (mc_wanted(MC_LOG_FETCHERS)) mc_tell_find(session, held, item);
}
/* Reports to watchers that a value was refused: it was too large, or there was no memory. */
void mc_tell_refused(struct mc_session *session, const struct mc_word *key, enum mc_mode mode, size_t size,
                     bool allowed);

/* Counts a command by prefix, if stats detail is on. */
void mc_count_prefix(struct mc_session *session, const struct mc_word *key, enum mc_prefix_count what, bool hit);
static inline void mc_detail(struct mc_session *session, const struct mc_word *key, enum mc_prefix_count what,
                             bool hit) {
    if (mc_wanted(MC_COUNT_DETAIL)) mc_count_prefix(session, key, what, hit);
}

/* Runs one command. There is room for a line of an answer. */
void mc_command(struct mc_session *session, struct mc_line *line);

void mc_command_get(struct mc_session *session, struct mc_line *line, bool with_cas, bool touch);
void mc_command_update(struct mc_session *session, struct mc_line *line, enum mc_mode mode);
void mc_command_delete(struct mc_session *session, struct mc_line *line);
void mc_command_touch(struct mc_session *session, struct mc_line *line);
void mc_command_arithmetic(struct mc_session *session, struct mc_line *line, bool increment);
void mc_command_meta(struct mc_session *session, struct mc_line *line);
void mc_command_stats(struct mc_session *session, struct mc_line *line);
/* returns false if the line is none of these commands */
bool mc_command_admin(struct mc_session *session, struct mc_line *line);
void mc_command_crawler(struct mc_session *session, const struct mc_line *line);
void mc_command_lru(struct mc_session *session, const struct mc_line *line);
void mc_command_slabs(struct mc_session *session, const struct mc_line *line);
void mc_command_watch(struct mc_session *session, const struct mc_line *line);

/* Called when the upload has all its bytes. */
void mc_upload_complete(struct mc_session *session);
/* A key for the answer to ms, in the form in which it is stored. The CAS is 0 if nothing was stored. */
struct mc_meta_key {
    char bytes[MC_KEY_MOST];
    uint8_t size;
    bool binary;
};
void mc_meta_stored(struct mc_session *session, const char *code, const struct mc_meta_key *key, uint64_t cas);

/* Counts a value that was refused, and returns the line that reports it. If `remove`, also removes the stored item. */
const char *mc_upload_refused(struct mc_held *held, bool allowed, bool remove);

#endif
