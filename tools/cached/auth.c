/* SPDX-License-Identifier: MIT */
#include "auth.h"

#include "base/lock.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#define ENTRIES_MOST 8
#define ENTRY_MOST 256 /* the longest line of the file, in bytes */
#define LINE_MOST 2048 /* the most bytes that a client may send before it has authenticated itself */

struct entry {
    size_t name_size, word_size;
    char text[ENTRY_MOST]; /* the entry: name, ':' and password */
};

struct entries {
    unsigned count;
    struct entry list[ENTRIES_MOST];
};

static struct weft__lock lock;
static struct entries entries;

/* --- the file ---------------------------------------------------------------------------------------------- */

static bool read_entry(struct entry *entry, const char *line) {
    const char *colon = strchr(line, ':');
    if (!colon || strlen(line) >= sizeof entry->text) return false;
    entry->name_size = (size_t)(colon - line);
    entry->word_size = strcspn(colon + 1, "\r\n");
    memcpy(entry->text, line, entry->name_size + 1 + entry->word_size);
    return true;
}

static const char *read_entries(FILE *file, struct entries *read) {
    char line[ENTRY_MOST + 2];
    while (read->count < ENTRIES_MOST && fgets(line, sizeof line, file))
        if (!read_entry(&read->list[read->count++], line)) return "a line is not NAME:PASSWORD";
    if (ferror(file)) return strerror(errno);
    return read->count ? NULL : "there is no NAME:PASSWORD in it";
}

const char *mc_auth_load(const char *name) {
    struct entries read = {.count = 0};
    FILE *file = fopen(name, "re");
    if (!file) return strerror(errno);
    const char *wrong = read_entries(file, &read);
    fclose(file);
    if (wrong) return wrong;
    weft__lock(&lock);
    entries = read;
    weft__unlock(&lock);
    return NULL;
}

/* --- a session --------------------------------------------------------------------------------------------- */

/* Compares all bytes even if early bytes differ, so that the time does not reveal the password. */
static bool same(const char *a, const char *b, size_t n) {
    unsigned char difference = 0;
    for (size_t i = 0; i < n; i++) difference |= (unsigned char)(a[i] ^ b[i]);
    return !difference;
}

static bool is_known(const struct mc_word *name, const struct mc_word *word) {
    bool known = false;
    weft__lock(&lock);
    for (unsigned i = 0; i < entries.count; i++) {
        const struct entry *e = &entries.list[i];
        known |= name->size == e->name_size && word->size == e->word_size && same(name->at, e->text, name->size) &&
                 same(word->at, e->text + e->name_size + 1, word->size);
    }
    weft__unlock(&lock);
    return known;
}

/* Reads the line of the command. Sets session->auth_value if the password must follow. */
static void take_command(struct mc_session *session, const char *text, size_t size) {
    struct mc_line line;
    uint32_t value;
    if (size && text[size - 1] == '\r') size--;
    mc_line_split(&line, text, size);
    if (line.count < 5 || !mc_word_is(&line.words[0], "set") || !mc_u32(&line.words[4], 0, &value) ||
        value > LINE_MOST - 2)
        mc_say_error(session, "CLIENT_ERROR unauthenticated");
    else
        session->auth_value = value + 2;
}

static void take_password(struct mc_session *session, const char *text, size_t size) {
    struct mc_line line;
    session->auth_value = 0;
    if (memcmp(text + size - 2, "\r\n", 2)) {
        mc_say_error(session, "CLIENT_ERROR bad command line termination");
        return;
    }
    mc_line_split(&line, text, size - 2);
    if (line.count < 2) {
        mc_say_error(session, "CLIENT_ERROR bad authentication token format");
        return;
    }
    bool known = is_known(&line.words[0], &line.words[1]);
    mc_count(session->cache, MC_AUTH_CMDS, 1);
    if (!known) mc_count(session->cache, MC_AUTH_ERRORS, 1);
    if (known) session->special = MC_PLAIN;
    mc_say_error(session, known ? "STORED" : "CLIENT_ERROR authentication failure");
}

/* How many of these bytes belong to the incomplete line or value. */
static size_t part(const struct mc_session *session, const char *bytes, size_t n) {
    if (session->auth_value) {
        size_t left = session->auth_value - session->stashed;
        return n < left ? n : left;
    }
    const char *newline = memchr(bytes, '\n', n);
    return newline ? (size_t)(newline - bytes) + 1 : n;
}

size_t mc_auth_feed(struct mc_session *session, const char *bytes, size_t n) {
    size_t used = part(session, bytes, n);
    if (!mc_stash_add(session, bytes, used)) return used;
    size_t size = session->stashed;
    bool whole = session->auth_value ? size == session->auth_value : session->stash[size - 1] == '\n';
    if (!whole) {
        session->closing = size > LINE_MOST;
        return used;
    }
    mc_reply_room(&session->reply, MC_LINE_MOST);
    if (session->auth_value)
        take_password(session, session->stash, size);
    else
        take_command(session, session->stash, size - 1);
    mc_stash_drop(session);
    return used;
}
