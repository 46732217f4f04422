/* SPDX-License-Identifier: MIT */
/*
 * lru_crawler, lru, slabs, watch: memcached's commands for its internals. The crawler and the moving of pages exist
 * here in another form. Settings for the segments of memcached's lists are stored and reported, and have no effect.
 */
#include "dump.h"

#include <errno.h>
#include <stdlib.h>

static const char bad_format[] = "CLIENT_ERROR bad command line format";

/* --- lru_crawler ------------------------------------------------------------------------------------------- */

/* Reads a list of classes: "all", "hash", or numbers from 1 to 63 with commas. Returns a bit for each class; 0: the
 * list is wrong. */
static uint64_t classes_of(const struct mc_word *list) {
    const char *at = list->at, *end = at + list->size;
    uint64_t classes = 0;
    if (mc_word_is(list, "all") || mc_word_is(list, "hash")) return UINT64_MAX;
    for (; at < end; at++) {
        unsigned n = 0;
        if (*at == ',') continue;
        for (; at < end && *at >= '0' && *at <= '9' && n < 64; at++) n = n * 10 + (unsigned)(*at - '0');
        if (n < 1 || n > 63 || (at < end && *at != ',')) return 0;
        classes |= UINT64_C(1) << n;
    }
    return classes;
}

static void dump(struct mc_session *session, const struct mc_word *list, bool as_gets) {
    uint64_t classes = classes_of(list);
    if (load_rlx(&session->cache->settings.tuning.no_crawler))
        mc_say(session, "CLIENT_ERROR lru crawler disabled");
    else if (session->cache->settings.no_dump)
        mc_say(session, as_gets ? "ERROR key dump not allowed" : "ERROR metadump not allowed");
    else if (!mc_is_first(session, as_gets ? "mgdump" : "metadump"))
        return;
    else if (!classes)
        mc_say(session, "BADCLASS invalid class id");
    else
        mc_dump_all(session, classes, as_gets);
}

static void crawl(struct mc_session *session, const struct mc_word *list) {
    struct mc_cache *cache = session->cache;
    uint64_t classes = classes_of(list), none = 0;
    if (load_rlx(&cache->settings.tuning.no_crawler)) {
        mc_say(session, "CLIENT_ERROR lru crawler disabled");
    } else if (!classes) {
        mc_say(session, "BADCLASS invalid class id");
    } else if (!cas_ar(&cache->crawl, &none, classes == UINT64_MAX ? classes : classes >> 1)) {
        mc_say(session, "BUSY currently processing crawler request");
    } else {
        add_rlx(&cache->crawl_starts, 1);
        if (cache->wake_crawler)
            cache->wake_crawler(cache);
        else
            mc_cache_crawl(cache);
        mc_say(session, "OK");
    }
}

static void set_crawler(struct mc_session *session, const struct mc_word *what, const struct mc_word *word) {
    struct mc_tuning *tuning = &session->cache->settings.tuning;
    bool pause = mc_word_is(what, "sleep");
    uint32_t n;
    if (!mc_u32(word, 0, &n)) {
        mc_say(session, bad_format);
    } else if (pause && n > 1000000) {
        mc_say(session, "CLIENT_ERROR sleep must be one second or less");
    } else {
        store_rlx(pause ? &tuning->crawler_sleep : &tuning->crawler_most, n);
        mc_say(session, "OK");
    }
}

static void enable_crawler(struct mc_session *session, bool on) {
    store_rlx(&session->cache->settings.tuning.no_crawler, !on);
    store_rlx(&session->cache->store.at_rest, !on);
    mc_say(session, "OK");
}

void mc_command_crawler(struct mc_session *session, const struct mc_line *line) {
    const struct mc_word *what = &line->words[1], *word = &line->words[2];
    if (line->count == 3 && mc_word_is(what, "crawl"))
        crawl(session, word);
    else if (line->count == 3 && (mc_word_is(what, "metadump") || mc_word_is(what, "mgdump")))
        dump(session, word, mc_word_is(what, "mgdump"));
    else if (line->count == 3 && (mc_word_is(what, "sleep") || mc_word_is(what, "tocrawl")))
        set_crawler(session, what, word);
    else if (line->count == 2 && (mc_word_is(what, "enable") || mc_word_is(what, "disable")))
        enable_crawler(session, mc_word_is(what, "enable"));
    else
        mc_say(session, "ERROR");
}

/* --- lru ---------------------------------------------------------------------------------------------------- */

static bool fraction(const struct mc_word *word, double *value) {
    char text[32], *end;
    if (word->size >= sizeof text) return false;
    memcpy(text, word->at, word->size);
    text[word->size] = 0;
    *value = strtod(text, &end);
    return end != text && !*end;
}

static void tune_lists(struct mc_session *session, const struct mc_word *words) {
    struct mc_tuning *tuning = &session->cache->settings.tuning;
    uint32_t hot, warm;
    double hot_factor, warm_factor;
    if (!mc_u32(&words[0], 0, &hot) || !mc_u32(&words[1], 0, &warm) || !fraction(&words[2], &hot_factor) ||
        !fraction(&words[3], &warm_factor)) {
        mc_say(session, "ERROR");
    } else if (hot + warm > 80) {
        mc_say(session, "ERROR hot and warm pcts must not exceed 80");
    } else if (!(hot_factor > 0 && warm_factor > 0)) {
        mc_say(session, "ERROR hot/warm age factors must be greater than 0");
    } else {
        store_rlx(&tuning->hot_percent, hot);
        store_rlx(&tuning->warm_percent, warm);
        store_rlx(&tuning->hot_factor, hot_factor);
        store_rlx(&tuning->warm_factor, warm_factor);
        mc_say(session, "OK");
    }
}

static void set_mode(struct mc_session *session, const struct mc_word *word) {
    bool flat = mc_word_is(word, "flat");
    if (flat || mc_word_is(word, "segmented")) store_rlx(&session->cache->settings.tuning.flat, flat);
    mc_say(session, flat || mc_word_is(word, "segmented") ? "OK" : "ERROR");
}

static void set_temporary(struct mc_session *session, const struct mc_word *word) {
    struct mc_tuning *tuning = &session->cache->settings.tuning;
    int32_t ttl;
    if (!mc_i32(word, 0, &ttl)) {
        mc_say(session, "ERROR");
        return;
    }
    store_rlx(&tuning->temporary, ttl >= 0);
    if (ttl >= 0) store_rlx(&tuning->temporary_ttl, ttl);
    mc_say(session, "OK");
}

void mc_command_lru(struct mc_session *session, const struct mc_line *line) {
    bool maintained = !session->cache->settings.tuning.no_maintainer;
    mc_noreply(session, line);
    if (line->count >= 6 && mc_word_is(&line->words[1], "tune"))
        tune_lists(session, &line->words[2]);
    else if (line->count >= 3 && maintained && mc_word_is(&line->words[1], "mode"))
        set_mode(session, &line->words[2]);
    else if (line->count >= 3 && maintained && mc_word_is(&line->words[1], "temp_ttl"))
        set_temporary(session, &line->words[2]);
    else
        mc_say(session, "ERROR");
}

/* --- slabs -------------------------------------------------------------------------------------------------- */

/* Empties the page. The next class that needs a page takes it: most likely the named class. */
static void reassign(struct mc_session *session, const struct mc_line *line) {
    int32_t from, to, classes = (int32_t)mc_classes();
    if (load_rlx(&session->cache->settings.tuning.no_reassign)) {
        mc_say(session, "CLIENT_ERROR slab reassignment disabled");
    } else if (!mc_i32(&line->words[2], 0, &from) || !mc_i32(&line->words[3], 0, &to)) {
        mc_say(session, bad_format);
    } else if (from == to) {
        mc_say(session, "SAME src and dst class are identical");
    } else if (from < 1 || from > classes || to < 0 || to > classes) {
        mc_say(session, "BADCLASS invalid src or dst class id");
    } else {
        int err = mc_store_move_page(&session->cache->store, (unsigned)from - 1);
        mc_say(session, !err            ? "OK"
                        : err == -EBUSY ? "BUSY currently processing reassign request"
                                        : "NOSPARE source class has no spare pages");
    }
}

static void automove(struct mc_session *session, const struct mc_line *line) {
    struct mc_tuning *tuning = &session->cache->settings.tuning;
    uint32_t level;
    double ratio;
    mc_noreply(session, line);
    if (mc_word_is(&line->words[2], "ratio")) {
        bool good = line->count >= 4 && fraction(&line->words[3], &ratio);
        if (good) store_rlx(&tuning->automove_ratio, ratio);
        mc_say(session, good ? "OK" : "ERROR");
    } else if (!mc_u32(&line->words[2], 0, &level)) {
        mc_say(session, bad_format);
    } else {
        if (level <= 2) store_rlx(&tuning->automove, level);
        mc_say(session, level <= 2 ? "OK" : "ERROR");
    }
}

void mc_command_slabs(struct mc_session *session, const struct mc_line *line) {
    if (line->count == 4 && mc_word_is(&line->words[1], "reassign"))
        reassign(session, line);
    else if (line->count >= 3 && mc_word_is(&line->words[1], "automove"))
        automove(session, line);
    else
        mc_say(session, "ERROR");
}

/* --- watch -------------------------------------------------------------------------------------------------- */

static unsigned event_of(const struct mc_word *word) {
    static const struct {
        const char *name;
        unsigned event;
    } events[] = {
        {"fetchers", MC_LOG_FETCHERS},      {"mutations", MC_LOG_MUTATIONS}, {"evictions", MC_LOG_EVICTIONS},
        {"connevents", MC_LOG_CONNECTIONS}, {"rawcmds", MC_LOG_NEVER},       {"sysevents", MC_LOG_NEVER},
        {"proxyreqs", MC_LOG_NEVER},        {"proxyevents", MC_LOG_NEVER},   {"proxyuser", MC_LOG_NEVER},
    };
    for (size_t i = 0; i < sizeof events / sizeof *events; i++)
        if (mc_word_is(word, events[i].name)) return events[i].event;
    return 0;
}

/* The session accepts no more commands; its connection continues as a watcher (watcher.c). */
void mc_command_watch(struct mc_session *session, const struct mc_line *line) {
    unsigned events = line->count > 1 ? 0 : MC_LOG_FETCHERS;
    mc_noreply(session, line);
    if (session->cache->settings.no_watch || session->datagram) {
        mc_say(session, "CLIENT_ERROR watch commands not allowed");
        return;
    }
    if (!mc_is_first(session, "watch")) return;
    for (unsigned i = 1; i < line->count; i++) {
        unsigned event = event_of(&line->words[i]);
        events |= event;
        if (event) continue;
        mc_say(session, "ERROR");
        return;
    }
    size_t room = session->cache->settings.watcher_room;
    session->watcher = mc_watcher_begin(events, room ? room : 256 << 10);
    if (session->watcher) {
        session->closing = true;
        mc_say(session, "OK");
    } else {
        mc_say(session, errno == EUSERS ? "WATCHER_TOO_MANY log watcher limit reached"
                                        : "WATCHER_FAILED failed to add log watcher");
    }
}
