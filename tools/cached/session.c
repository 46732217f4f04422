/* SPDX-License-Identifier: MIT */
#include "session.h"

#include "binary.h"
#include "weft.h"

#include <stdlib.h>

#define LINE_ORDINARY 2048 /* only the keys of a get may be longer */
#define LINE_MOST ((size_t)16 << 20)

void mc_session_begin(struct mc_session *session, struct mc_cache *cache, int id) {
    memset(session, 0, sizeof *session);
    session->cache = cache;
    session->id = id;
    session->turn = cache->settings.turn;
    const struct mc_settings *settings = &cache->settings;
    if (settings->auth_file)
        session->special = MC_UNKNOWN_CLIENT;
    else if (settings->binding && strcmp(settings->binding, "ascii"))
        session->special = MC_NEGOTIATES;
}

void mc_session_end(struct mc_session *session) {
    if (session->upload.item) mc_drop(&session->cache->store, session->upload.item);
    session->upload.item = NULL;
    if (session->watcher) mc_watcher_end(session->watcher);
    session->watcher = NULL;
    mc_stash_drop(session);
}

static void say(struct mc_session *session, const char *line) {
    size_t size = strlen(line);
    mc_put(&session->reply, line, size);
    mc_put_text(&session->reply, "\r\n");
}

void mc_say(struct mc_session *session, const char *line) {
    if (!session->noreply) say(session, line);
}

void mc_say_error(struct mc_session *session, const char *line) {
    session->noreply = false;
    say(session, line);
}

bool mc_noreply(struct mc_session *session, const struct mc_line *line) {
    if (mc_word_is(&line->words[line->count - 1], "noreply")) session->noreply = true;
    return session->noreply;
}

bool mc_is_first(struct mc_session *session, const char *command) {
    if (!session->alone || session->reply.at == session->reply.begin) return true;
    mc_put_text(&session->reply, "ERROR cannot pipeline other commands before ");
    mc_say_error(session, command);
    return false;
}

/* -R: after this many commands of one client, other clients have their turn. */
static __attribute__((noinline, cold)) void let_others(struct mc_session *session) {
    unsigned turn = session->cache->settings.turn;
    if (!turn) return;
    session->turn = turn - 1; /* this command is the first of the next turn */
    mc_count(session->cache, MC_YIELDS, 1);
    weft_yield();
}

static void run_line(struct mc_session *session, const char *text, size_t size) {
    if (unlikely(!session->turn--)) let_others(session);
    if (size > 1 && text[size - 1] == '\r') size--;
    session->noreply = false;
    mc_reply_room(&session->reply, MC_LINE_MOST);
    struct mc_line line;
    mc_line_split(&line, text, size);
    mc_command(session, &line);
}

/* Can this long line without an end be a get? Only such lines may be long. */
static bool is_long_get(const char *text, size_t size) {
    size_t skip = 0;
    while (skip < size && text[skip] == ' ') skip++;
    if (skip > 100) return false;
    text += skip;
    return !strncmp(text, "get ", 4) || !strncmp(text, "gets ", 5);
}

void mc_stash_drop(struct mc_session *session) {
    free(session->stash);
    session->stash = NULL;
    session->stashed = session->stash_room = 0;
}

bool mc_stash_add(struct mc_session *session, const char *bytes, size_t n) {
    size_t wanted = session->stashed + n;
    if (wanted > session->stash_room) {
        size_t room = wanted < 256 ? 256 : wanted * 2;
        char *more = wanted > LINE_MOST ? NULL : realloc(session->stash, room);
        if (!more) {
            mc_reply_room(&session->reply, MC_LINE_MOST);
            mc_say_error(session, "SERVER_ERROR out of memory reading request");
            session->closing = true;
            return false;
        }
        session->stash = more;
        session->stash_room = room;
    }
    memcpy(session->stash + session->stashed, bytes, n);
    session->stashed = wanted;
    return true;
}

/* Keeps the beginning of a line, which continues in the next feed. */
static void keep_begun(struct mc_session *session, const char *bytes, size_t n) {
    if (!mc_stash_add(session, bytes, n)) return;
    if (session->stashed > LINE_ORDINARY && !is_long_get(session->stash, session->stashed)) session->closing = true;
}

/* Completes a line that began in an earlier feed. */
static void run_stashed(struct mc_session *session, const char *bytes, size_t n) {
    if (!mc_stash_add(session, bytes, n)) return;
    run_line(session, session->stash, session->stashed);
    mc_stash_drop(session);
}

static void complete(struct mc_session *session) {
    mc_reply_room(&session->reply, MC_LINE_MOST);
    mc_upload_complete(session);
}

void mc_session_received(struct mc_session *session, size_t n) {
    mc_cursor_advance(&session->upload.cursor, n);
    if (!session->upload.cursor.left) complete(session);
}

static size_t feed_upload(struct mc_session *session, const char *bytes, size_t n) {
    struct mc_cursor *cursor = &session->upload.cursor;
    size_t some = n < cursor->left ? n : cursor->left;
    mc_cursor_put(cursor, bytes, some);
    if (!cursor->left) complete(session);
    return some;
}

void mc_session_feed(struct mc_session *session, const char *bytes, size_t n) {
    while (n && !session->closing && !session->reply.broken) {
        size_t used;
        const char *newline;
        if (unlikely(session->special)) {
            used = mc_special_feed(session, bytes, n);
        } else if (session->upload.item) {
            used = feed_upload(session, bytes, n);
        } else if (session->swallow) {
            used = n < session->swallow ? n : session->swallow;
            session->swallow -= used;
        } else if (!(newline = memchr(bytes, '\n', n))) {
            keep_begun(session, bytes, n);
            return;
        } else {
            used = (size_t)(newline - bytes) + 1;
            if (session->stash)
                run_stashed(session, bytes, used - 1);
            else
                run_line(session, bytes, used - 1);
        }
        bytes += used;
        n -= used;
    }
}
