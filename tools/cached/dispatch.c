/* SPDX-License-Identifier: MIT */
/*
 * Finds the command of a line. The order of the checks, of the name and of the number of words, decides the error for a
 * wrong line. It follows memcached.
 */
#include "session.h"

#include <stdio.h>

enum { GET, GETS, GAT, GATS, DELETE, INCR, DECR, TOUCH, STATS, UPDATE };

static const struct {
    const char *name;
    uint8_t size, what, mode;
    uint8_t least, most; /* the number of words, including the command */
} commands[] = {
    {"get", 3, GET, 0, 2, 255},
    {"set", 3, UPDATE, MC_SET, 5, 6},
    {"gets", 4, GETS, 0, 2, 255},
    {"cas", 3, UPDATE, MC_CAS, 6, 7},
    {"add", 3, UPDATE, MC_ADD, 5, 6},
    {"delete", 6, DELETE, 0, 2, 4},
    {"incr", 4, INCR, 0, 3, 4},
    {"decr", 4, DECR, 0, 3, 4},
    {"touch", 5, TOUCH, 0, 3, 4},
    {"gat", 3, GAT, 0, 2, 255},
    {"gats", 4, GATS, 0, 2, 255},
    {"replace", 7, UPDATE, MC_REPLACE, 5, 6},
    {"append", 6, UPDATE, MC_APPEND, 5, 6},
    {"prepend", 7, UPDATE, MC_PREPEND, 5, 6},
    {"stats", 5, STATS, 0, 1, 255},
    {"bget", 4, GET, 0, 2, 255},
};

static void run(struct mc_session *session, struct mc_line *line, int what, enum mc_mode mode) {
    switch (what) {
    case GET: mc_command_get(session, line, false, false); break;
    case GETS: mc_command_get(session, line, true, false); break;
    case GAT: mc_command_get(session, line, false, true); break;
    case GATS: mc_command_get(session, line, true, true); break;
    case DELETE: mc_command_delete(session, line); break;
    case INCR: mc_command_arithmetic(session, line, true); break;
    case DECR: mc_command_arithmetic(session, line, false); break;
    case TOUCH: mc_command_touch(session, line); break;
    case STATS: mc_command_stats(session, line); break;
    default: mc_command_update(session, line, mode);
    }
}

static __attribute__((noinline, cold)) void rare(struct mc_session *session, struct mc_line *line) {
    const struct mc_word *last = line->count ? &line->words[line->count - 1] : NULL;
    if (last && line->words[0].size >= 2 && mc_command_admin(session, line)) return;
    if (last && line->words[0].size >= 2 && last->size >= 5 && !memcmp(last->at, "HTTP/", 5))
        session->closing = true; /* a web browser, perhaps directed here by a page */
    else
        mc_say(session, "ERROR");
}

static __attribute__((noinline, cold)) void show(struct mc_session *session, const struct mc_line *line) {
    const char *begin = line->count ? line->words[0].at : line->end;
    fprintf(stderr, "<%d %.*s\n", session->id, (int)(line->end - begin), begin);
}

void mc_command(struct mc_session *session, struct mc_line *line) {
    const struct mc_word *name = &line->words[0];
    if (unlikely(load_rlx(&session->cache->settings.verbosity) > 1)) show(session, line);
    if (!line->count) {
        rare(session, line);
        return;
    }
    if (name->size == 2 && name->at[0] == 'm') {
        mc_command_meta(session, line);
        return;
    }
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++) {
        if (commands[i].size != name->size || memcmp(commands[i].name, name->at, name->size)) continue;
        if (line->count < commands[i].least || line->count > commands[i].most)
            mc_say(session, "ERROR");
        else
            run(session, line, commands[i].what, commands[i].mode);
        return;
    }
    rare(session, line);
}
