/*
 * stats. The names are memcached's; those of machinery that is not there (slab mover, crawler thread, loggers) are
 * left out.
 */
#include "dump.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

void mc_stat(struct mc_session *session, const char *name, const char *format, ...) {
    struct mc_reply *reply = &session->reply;
    mc_reply_room(reply, MC_LINE_MOST);
    reply->at += sprintf(reply->at, "STAT %s ", name);
    va_list list;
    va_start(list, format);
    int n = vsnprintf(reply->at, MC_LINE_MOST / 2, format, list);
    va_end(list);
    reply->at += n < (int)MC_LINE_MOST / 2 ? n : (int)MC_LINE_MOST / 2 - 1;
    mc_put_text(reply, "\r\n");
}

static void number(struct mc_session *session, const char *name, uint64_t value) {
    mc_stat(session, name, "%llu", (unsigned long long)value);
}

static void end(struct mc_session *session) {
    mc_reply_room(&session->reply, MC_LINE_MOST);
    mc_put_text(&session->reply, "END\r\n");
}

static void process_stats(struct mc_session *session) {
    struct mc_cache *cache = session->cache;
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    number(session, "pid", (uint64_t)getpid());
    number(session, "uptime", mc_now() - MC_FIRST_SECOND);
    number(session, "time", (uint64_t)(mc_clock_zero + mc_now()));
    mc_stat(session, "version", "%s", MC_VERSION);
    number(session, "pointer_size", 8 * sizeof(void *));
    mc_stat(session, "rusage_user", "%ld.%06ld", (long)usage.ru_utime.tv_sec, (long)usage.ru_utime.tv_usec);
    mc_stat(session, "rusage_system", "%ld.%06ld", (long)usage.ru_stime.tv_sec, (long)usage.ru_stime.tv_usec);
    number(session, "max_connections", cache->settings.connections);
    number(session, "curr_connections", load_rlx(&cache->current_connections));
    number(session, "total_connections", load_rlx(&cache->total_connections));
    number(session, "rejected_connections", load_rlx(&cache->rejected_connections));
    number(session, "connection_structures", load_rlx(&cache->connections_most));
    if (cache->settings.idle_timeout) number(session, "idle_kicks", load_rlx(&cache->idle_kicks));
}

static void command_stats(struct mc_session *session, const struct mc_totals *t) {
    const struct mc_cache *cache = session->cache;
    const struct {
        const char *name;
        uint64_t value;
    } counts[] = {
        {"cmd_get", t->counts.cmd_get},
        {"cmd_set", t->all.cmd_set},
        {"cmd_flush", mc_counted(cache, MC_CMD_FLUSH)},
        {"cmd_touch", t->counts.cmd_touch},
        {"cmd_meta", mc_counted(cache, MC_CMD_META)},
        {"get_hits", t->all.get_hits},
        {"get_misses", t->counts.get_misses},
        {"get_expired", t->counts.get_expired},
        {"get_flushed", t->counts.get_flushed},
        {"delete_misses", t->counts.delete_misses},
        {"delete_hits", t->all.delete_hits},
        {"incr_misses", t->counts.incr_misses},
        {"incr_hits", t->all.incr_hits},
        {"decr_misses", t->counts.decr_misses},
        {"decr_hits", t->all.decr_hits},
        {"cas_misses", t->counts.cas_misses},
        {"cas_hits", t->all.cas_hits},
        {"cas_badval", t->all.cas_badval},
        {"touch_hits", t->all.touch_hits},
        {"touch_misses", t->counts.touch_misses},
        {"store_too_large", t->counts.store_too_large},
        {"store_no_memory", t->counts.store_no_memory},
        {"auth_cmds", 0},
        {"auth_errors", 0},
        {"bytes_read", mc_counted(cache, MC_BYTES_READ)},
        {"bytes_written", mc_counted(cache, MC_BYTES_WRITTEN)},
        {"limit_maxbytes", cache->store.memory},
        {"accepting_conns", load_rlx(&cache->accepting)},
        {"listen_disabled_num", load_rlx(&cache->listen_disabled)},
        {"threads", cache->settings.limits.workers},
        {"hash_power_level", (uint64_t)(63 - __builtin_clzll(t->buckets))},
        {"hash_bytes", t->buckets * sizeof(void *)},
        {"hash_is_expanding", t->growing},
        {"slabs_moved", t->counts.pages_moved},
        {"bytes", t->bytes},
        {"curr_items", t->current},
        {"total_items", t->counts.total_items},
        {"slab_global_page_pool", 0},
        {"expired_unfetched", t->all.expired_unfetched},
        {"evicted_unfetched", t->all.evicted_unfetched},
        {"evicted_active", t->all.evicted_active},
        {"evictions", t->all.evicted},
        {"reclaimed", t->all.reclaimed},
        {"crawler_reclaimed", t->counts.crawler_reclaimed},
        {"crawler_items_checked", t->counts.crawler_items_checked},
        {"direct_reclaims", t->all.direct_reclaims},
    };
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) number(session, counts[i].name, counts[i].value);
}

static void settings_stats(struct mc_session *session) {
    const struct mc_settings *s = &session->cache->settings;
    number(session, "maxbytes", session->cache->store.memory);
    number(session, "maxconns", s->connections);
    number(session, "tcpport", s->port);
    number(session, "udpport", 0);
    mc_stat(session, "inter", "%s", s->listen ? s->listen : "NULL");
    number(session, "verbosity", load_rlx(&s->verbosity));
    number(session, "oldest", load_rlx(&session->cache->store.flush_at));
    mc_stat(session, "evictions", "%s", s->limits.keeps ? "off" : "on");
    mc_stat(session, "domain_socket", "%s", s->socket_path ? s->socket_path : "NULL");
    mc_stat(session, "umask", "%o", s->socket_mask);
    mc_stat(session, "shutdown_command", "%s", s->shutdown_allowed ? "yes" : "no");
    number(session, "num_threads", s->limits.workers);
    mc_stat(session, "stat_key_prefix", "%c", s->delimiter);
    mc_stat(session, "detail_enabled", "%s", load_rlx(&s->detail) ? "yes" : "no");
    mc_stat(session, "cas_enabled", "%s", s->limits.no_cas ? "no" : "yes");
    number(session, "tcp_backlog", s->backlog);
    mc_stat(session, "binding_protocol", "ascii");
    mc_stat(session, "auth_enabled_sasl", "no");
    mc_stat(session, "auth_enabled_ascii", "no");
    number(session, "item_size_max", s->limits.item_most);
    mc_stat(session, "maxconns_fast", "%s", s->wait_when_full ? "no" : "yes");
    number(session, "hashpower_init", s->limits.hash_power);
    mc_stat(session, "flush_enabled", "%s", s->no_flush ? "no" : "yes");
    mc_stat(session, "dump_enabled", "%s", s->no_dump ? "no" : "yes");
    mc_stat(session, "hash_algorithm", "fold");
    number(session, "idle_timeout", s->idle_timeout);
    mc_stat(session, "track_sizes", "%s", load_rlx(&session->cache->sizes_enabled) ? "yes" : "no");
}

static void class_stat(struct mc_session *session, const char *prefix, unsigned cls, const char *name, uint64_t value) {
    char full[64];
    snprintf(full, sizeof full, "%s%u:%s", prefix, cls + 1, name);
    number(session, full, value);
}

static void item_stats(struct mc_session *session, const struct mc_totals *t) {
    for (unsigned c = 0; c < mc_classes(); c++) {
        if (!t->items[c]) continue;
        const struct mc_class_counts *n = &t->classes[c];
        class_stat(session, "items:", c, "number", t->items[c]);
        class_stat(session, "items:", c, "age", t->age[c]);
        class_stat(session, "items:", c, "evicted", n->evicted);
        class_stat(session, "items:", c, "evicted_nonzero", n->evicted_nonzero);
        class_stat(session, "items:", c, "evicted_time", t->evicted_time[c]);
        class_stat(session, "items:", c, "outofmemory", n->outofmemory);
        class_stat(session, "items:", c, "tailrepairs", 0);
        class_stat(session, "items:", c, "reclaimed", n->reclaimed);
        class_stat(session, "items:", c, "expired_unfetched", n->expired_unfetched);
        class_stat(session, "items:", c, "evicted_unfetched", n->evicted_unfetched);
        class_stat(session, "items:", c, "evicted_active", n->evicted_active);
        class_stat(session, "items:", c, "direct_reclaims", n->direct_reclaims);
    }
}

static void slab_stats(struct mc_session *session, const struct mc_totals *t) {
    unsigned active = 0;
    for (unsigned c = 0; c < mc_classes(); c++) {
        if (!t->pages[c]) continue;
        const struct mc_class_counts *n = &t->classes[c];
        unsigned chunks = (MC_PAGE - MC_PAGE_HEAD) / mc_class_size(c);
        active++;
        class_stat(session, "", c, "chunk_size", mc_class_size(c));
        class_stat(session, "", c, "chunks_per_page", chunks);
        class_stat(session, "", c, "total_pages", t->pages[c]);
        class_stat(session, "", c, "total_chunks", t->pages[c] * chunks);
        class_stat(session, "", c, "used_chunks", t->used[c]);
        class_stat(session, "", c, "free_chunks", t->pages[c] * chunks - t->used[c]);
        class_stat(session, "", c, "free_chunks_end", 0);
        class_stat(session, "", c, "get_hits", n->get_hits);
        class_stat(session, "", c, "cmd_set", n->cmd_set);
        class_stat(session, "", c, "delete_hits", n->delete_hits);
        class_stat(session, "", c, "incr_hits", n->incr_hits);
        class_stat(session, "", c, "decr_hits", n->decr_hits);
        class_stat(session, "", c, "cas_hits", n->cas_hits);
        class_stat(session, "", c, "cas_badval", n->cas_badval);
        class_stat(session, "", c, "touch_hits", n->touch_hits);
    }
    number(session, "active_slabs", active);
    number(session, "total_malloced", t->page_count * MC_PAGE);
}

/* Those that need everything added up. */
static void total_stats(struct mc_session *session, const struct mc_word *which) {
    struct mc_totals *totals = malloc(sizeof *totals);
    if (!totals) {
        mc_say(session, "SERVER_ERROR out of memory writing stats");
        return;
    }
    mc_store_totals(&session->cache->store, totals);
    if (!which) {
        process_stats(session);
        command_stats(session, totals);
    } else if (mc_word_is(which, "items")) {
        item_stats(session, totals);
    } else {
        slab_stats(session, totals);
    }
    free(totals);
    end(session);
}

static void dump_class(struct mc_session *session, const struct mc_line *line) {
    uint32_t cls, most;
    if (session->cache->settings.no_dump)
        mc_say(session, "CLIENT_ERROR stats cachedump not allowed");
    else if (line->count < 4)
        mc_say(session, "CLIENT_ERROR bad command line");
    else if (!mc_u32(&line->words[2], 0, &cls) || !mc_u32(&line->words[3], 0, &most))
        mc_say(session, "CLIENT_ERROR bad command line format");
    else if (cls >= 64)
        mc_say(session, "CLIENT_ERROR Illegal slab id");
    else
        mc_dump_class(session, cls - 1, most);
}

static void sizes_stats(struct mc_session *session, bool change, bool enable) {
    if (change) store_rlx(&session->cache->sizes_enabled, enable);
    if (!change && load_rlx(&session->cache->sizes_enabled)) {
        mc_dump_sizes(session);
        return;
    }
    mc_stat(session, "sizes_status", enable ? "enabled" : "disabled");
    if (!change) end(session);
}

__attribute__((noinline, cold)) void mc_count_prefix(struct mc_session *session, const struct mc_word *key,
                                                     enum mc_prefix_count what, bool hit) {
    mc_prefix_add(&session->cache->prefixes, session->cache->settings.delimiter, key->at, key->size, what, hit);
}

static void dump_prefixes(struct mc_session *session) {
    struct mc_reply *reply = &session->reply;
    size_t size, some;
    char *text = mc_prefixes_text(&session->cache->prefixes, &size);
    for (const char *at = text; at && size; at += some, size -= some) {
        some = size < MC_COPY_MOST ? size : MC_COPY_MOST;
        mc_reply_room(reply, some);
        mc_put(reply, at, some);
    }
    free(text);
    end(session);
}

static void detail(struct mc_session *session, const struct mc_line *line) {
    const struct mc_word *what = line->count > 2 ? &line->words[2] : NULL;
    bool on = what && mc_word_is(what, "on");
    if (on || (what && mc_word_is(what, "off"))) {
        store_rlx(&session->cache->settings.detail, on);
        mc_say(session, "OK");
    } else if (what && mc_word_is(what, "dump")) {
        dump_prefixes(session);
    } else {
        mc_say(session, "CLIENT_ERROR usage: stats detail on|off|dump");
    }
}

void mc_command_stats(struct mc_session *session, struct mc_line *line) {
    const struct mc_word *which = line->count > 1 ? &line->words[1] : NULL;
    if (!which || mc_word_is(which, "items") || mc_word_is(which, "slabs")) {
        total_stats(session, which);
    } else if (mc_word_is(which, "settings")) {
        settings_stats(session);
        end(session);
    } else if (mc_word_is(which, "sizes")) {
        sizes_stats(session, false, false);
    } else if (mc_word_is(which, "sizes_enable") || mc_word_is(which, "sizes_disable")) {
        sizes_stats(session, true, mc_word_is(which, "sizes_enable"));
    } else if (mc_word_is(which, "cachedump")) {
        dump_class(session, line);
    } else if (mc_word_is(which, "conns")) {
        if (session->cache->tell_connections) session->cache->tell_connections(session);
        end(session);
    } else if (mc_word_is(which, "detail")) {
        detail(session, line);
    } else if (mc_word_is(which, "reset")) {
        mc_reset_counts(session->cache);
        mc_say(session, "RESET");
    } else {
        mc_say(session, "ERROR");
    }
}
