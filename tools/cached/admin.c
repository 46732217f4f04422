/* SPDX-License-Identifier: MIT */
/*
 * Commands for the cache as a whole. tune.c has the commands for memcached's internals.
 */
#include "session.h"

#include <stdio.h>

#define VERBOSITY_MOST 2

static void flush_all(struct mc_session *session, const struct mc_line *line) {
    int32_t given = 0;
    mc_noreply(session, line);
    mc_count(session->cache, MC_CMD_FLUSH, 1);
    if (session->cache->settings.no_flush) {
        mc_say(session, "CLIENT_ERROR flush_all not allowed");
        return;
    }
    if (line->count != (session->noreply ? 2 : 1) && !mc_i32(&line->words[1], 0, &given)) {
        mc_say(session, "CLIENT_ERROR invalid exptime argument");
        return;
    }
    uint32_t at = given > 0 ? mc_expires(given) : 0;
    mc_flush(&session->cache->store, at > mc_now() ? at : 0);
    mc_say(session, "OK");
}

static void verbosity(struct mc_session *session, const struct mc_line *line) {
    uint32_t level;
    mc_noreply(session, line);
    if (!mc_u32(&line->words[1], 0, &level)) {
        mc_say(session, "CLIENT_ERROR bad command line format");
        return;
    }
    store_rlx(&session->cache->settings.verbosity, level > VERBOSITY_MOST ? VERBOSITY_MOST : level);
    mc_say(session, "OK");
}

static void memory_limit(struct mc_session *session, const struct mc_line *line) {
    uint32_t megabytes;
    mc_noreply(session, line);
    if (!mc_u32(&line->words[1], 0, &megabytes)) {
        mc_say(session, "ERROR");
    } else if (megabytes < 8) {
        mc_say(session, "MEMLIMIT_TOO_SMALL cannot set maxbytes to less than 8m");
    } else if (megabytes > 1000000000) {
        mc_say(session, "MEMLIMIT_ADJUST_FAILED input value is megabytes not bytes");
    } else {
        mc_store_limit(&session->cache->store, (size_t)megabytes << 20);
        mc_say(session, "OK");
    }
}

static void shut_down(struct mc_session *session, const struct mc_line *line) {
    struct mc_cache *cache = session->cache;
    if (!cache->settings.shutdown_allowed) {
        mc_say(session, "ERROR: shutdown not enabled");
    } else if (line->count > 2 || (line->count == 2 && !mc_word_is(&line->words[1], "graceful"))) {
        mc_say(session, "CLIENT_ERROR invalid shutdown mode");
    } else {
        session->closing = true;
        session->close = MC_CLOSE_SHUTDOWN;
        if (cache->shut_down) cache->shut_down(cache, line->count == 2);
    }
}

static void version(struct mc_session *session, const struct mc_line *line) {
    (void)line;
    mc_say(session, "VERSION " MC_VERSION);
}

static void quit(struct mc_session *session, const struct mc_line *line) {
    (void)line;
    session->closing = true;
    session->close = MC_CLOSE_NORMAL;
}

static void refresh_certs(struct mc_session *session, const struct mc_line *line) {
    (void)line;
    const char *wrong = session->cache->refresh_certs ? session->cache->refresh_certs() : "TLS not enabled";
    char text[256];
    if (wrong) snprintf(text, sizeof text, "Error %s", wrong);
    mc_say(session, wrong ? text : "OK");
}

/* For tests: advances the clock. */
static void debug_time(struct mc_session *session, const struct mc_line *line) {
    int32_t seconds;
    if (!mc_debug_commands || !mc_i32(&line->words[1], 0, &seconds)) {
        mc_say(session, "ERROR");
        return;
    }
    mc_clock_move(seconds);
    mc_say(session, "OK");
}

static const struct {
    const char *name;
    void (*run)(struct mc_session *session, const struct mc_line *line);
    unsigned least, most; /* The number of words in the line. */
} commands[] = {
    {"version", version, 1, 255},
    {"quit", quit, 1, 255},
    {"flush_all", flush_all, 1, 3},
    {"verbosity", verbosity, 2, 3},
    {"watch", mc_command_watch, 1, 255},
    {"cache_memlimit", memory_limit, 2, 3},
    {"shutdown", shut_down, 1, 255},
    {"slabs", mc_command_slabs, 1, 255},
    {"lru_crawler", mc_command_crawler, 1, 255},
    {"refresh_certs", refresh_certs, 1, 255},
    {"lru", mc_command_lru, 1, 255},
    {"debugtime", debug_time, 2, 2},
};

bool mc_command_admin(struct mc_session *session, struct mc_line *line) {
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++) {
        if (!mc_word_is(&line->words[0], commands[i].name)) continue;
        if (line->count < commands[i].least || line->count > commands[i].most)
            mc_say(session, "ERROR");
        else
            commands[i].run(session, line);
        return true;
    }
    return false;
}
