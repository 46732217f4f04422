/* SPDX-License-Identifier: MIT */
/*
 * stats. The names and their order are memcached's. If a number describes something that works differently here, it is
 * the number of the most similar part. Without a similar part it is 0, as in a memcached that does not use that part.
 */
#include "binary.h"
#include "buffers.h"
#include "dump.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

void mc_stat(struct mc_session *session, const char *name, const char *format, ...) {
    struct mc_reply *reply = &session->reply;
    char value[MC_LINE_MOST / 2];
    va_list list;
    va_start(list, format);
    int n = vsnprintf(value, sizeof value, format, list);
    va_end(list);
    size_t size = n < (int)sizeof value ? (size_t)n : sizeof value - 1;
    if (session->special == MC_BINARY_FRAMES) {
        mc_binary_stat(session, name, value, size);
        return;
    }
    mc_reply_room(reply, MC_LINE_MOST);
    reply->at += sprintf(reply->at, "STAT %s ", name);
    mc_put(reply, value, size);
    mc_put_text(reply, "\r\n");
}

static void number(struct mc_session *session, const char *name, uint64_t value) {
    mc_stat(session, name, "%llu", (unsigned long long)value);
}

struct stat {
    const char *name;
    uint64_t value;
};

static void numbers(struct mc_session *session, const struct stat *stats, size_t n) {
    for (size_t i = 0; i < n; i++) number(session, stats[i].name, stats[i].value);
}

static const char *yes(bool b) { return b ? "yes" : "no"; }

void mc_stats_end(struct mc_session *session) {
    if (session->special == MC_BINARY_FRAMES) {
        mc_binary_stat(session, NULL, NULL, 0);
        return;
    }
    mc_reply_room(&session->reply, MC_LINE_MOST);
    mc_put_text(&session->reply, "END\r\n");
}

static void process_stats(struct mc_session *session) {
    struct mc_cache *cache = session->cache;
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    number(session, "pid", (uint64_t)getpid());
    number(session, "uptime", mc_uptime());
    number(session, "time", (uint64_t)(mc_clock_zero + mc_now()));
    mc_stat(session, "version", "%s", MC_VERSION);
    mc_stat(session, "libevent", "none");
    number(session, "pointer_size", 8 * sizeof(void *));
    mc_stat(session, "rusage_user", "%ld.%06ld", (long)usage.ru_utime.tv_sec, (long)usage.ru_utime.tv_usec);
    mc_stat(session, "rusage_system", "%ld.%06ld", (long)usage.ru_stime.tv_sec, (long)usage.ru_stime.tv_usec);
    number(session, "max_connections", cache->settings.connections);
    number(session, "curr_connections", load_rlx(&cache->current_connections));
    number(session, "total_connections", load_rlx(&cache->total_connections));
    number(session, "rejected_connections", load_rlx(&cache->rejected_connections));
    number(session, "connection_structures", load_rlx(&cache->connections_most));
    size_t spare, buffers = mc_buffers(&spare);
    number(session, "response_obj_oom", 0);
    number(session, "response_obj_count", buffers - spare);
    number(session, "response_obj_bytes", (buffers - spare) * MC_BUFFER);
    number(session, "read_buf_count", buffers);
    number(session, "read_buf_bytes", buffers * MC_BUFFER);
    number(session, "read_buf_bytes_free", spare * MC_BUFFER);
    number(session, "read_buf_oom", 0);
    number(session, "reserved_fds", MC_FILES_BESIDE);
    if (cache->settings.idle_timeout) number(session, "idle_kicks", load_rlx(&cache->idle_kicks));
}

static void command_stats(struct mc_session *session, const struct mc_totals *t) {
    const struct mc_cache *cache = session->cache;
    const struct stat counts[] = {
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
        {"auth_cmds", mc_counted(cache, MC_AUTH_CMDS)},
        {"auth_errors", mc_counted(cache, MC_AUTH_ERRORS)},
        {"bytes_read", mc_counted(cache, MC_BYTES_READ)},
        {"bytes_written", mc_counted(cache, MC_BYTES_WRITTEN)},
        {"limit_maxbytes", cache->store.memory},
        {"accepting_conns", load_rlx(&cache->accepting)},
        {"listen_disabled_num", load_rlx(&cache->listen_disabled)},
        {"time_in_listen_disabled_us", load_rlx(&cache->not_accepting_us)},
        {"threads", cache->settings.limits.workers},
        {"conn_yields", mc_counted(cache, MC_YIELDS)},
        {"hash_power_level", (uint64_t)(63 - __builtin_clzll(t->buckets))},
        {"hash_bytes", t->buckets * sizeof(void *)},
        {"hash_is_expanding", t->growing},
    };
    numbers(session, counts, sizeof counts / sizeof *counts);
}

static void memory_stats(struct mc_session *session, const struct mc_totals *t) {
    struct mc_log_counts logged;
    mc_log_counts(&logged);
    const struct stat moves[] = {
        {"slab_reassign_rescues", 0},
        {"slab_reassign_chunk_rescues", 0},
        {"slab_reassign_evictions_nomem", t->counts.moved_evicted},
        {"slab_reassign_inline_reclaim", 0},
        {"slab_reassign_busy_items", t->counts.moved_busy},
        {"slab_reassign_busy_deletes", 0},
        {"slab_reassign_running", 0},
        {"slabs_moved", t->counts.pages_moved},
    };
    const struct stat crawls[] = {
        {"lru_crawler_running", load_rlx(&session->cache->crawl) != 0},
        {"lru_crawler_starts", load_rlx(&session->cache->crawl_starts)},
    };
    const struct stat counts[] = {
        {"malloc_fails", 0},
        {"log_worker_dropped", 0},
        {"log_worker_written", logged.written},
        {"log_watcher_skipped", logged.skipped},
        {"log_watcher_sent", logged.sent},
        {"log_watchers", logged.watchers},
        {"unexpected_napi_ids", 0},
        {"round_robin_fallback", 0},
        {"bytes", t->bytes},
        {"curr_items", t->current},
        {"total_items", t->counts.total_items},
        {"slab_global_page_pool", t->spares},
        {"expired_unfetched", t->all.expired_unfetched},
        {"evicted_unfetched", t->all.evicted_unfetched},
        {"evictions", t->all.evicted},
        {"reclaimed", t->all.reclaimed},
        {"crawler_reclaimed", t->all.crawler_reclaimed},
        {"crawler_items_checked", t->all.crawler_items_checked},
        {"lrutail_reflocked", t->all.reflocked},
    };
    const struct stat maintained[] = {
        {"evicted_active", t->all.evicted_active},
        {"direct_reclaims", t->all.direct_reclaims},
    };
    const struct mc_tuning *tuning = &session->cache->settings.tuning;
    numbers(session, moves, sizeof moves / sizeof *moves);
    if (!load_rlx(&tuning->no_crawler)) numbers(session, crawls, sizeof crawls / sizeof *crawls);
    numbers(session, counts, sizeof counts / sizeof *counts);
    if (!tuning->no_maintainer) numbers(session, maintained, sizeof maintained / sizeof *maintained);
}

static void tuning_settings(struct mc_session *session, const struct mc_tuning *t) {
    mc_stat(session, "slab_reassign", "%s", yes(!load_rlx(&t->no_reassign)));
    number(session, "slab_automove", load_rlx(&t->automove));
    mc_stat(session, "slab_automove_ratio", "%.2f", load_rlx(&t->automove_ratio));
    number(session, "slab_automove_window", t->automove_window);
    number(session, "slab_chunk_max", t->chunk_most);
    mc_stat(session, "lru_crawler", "%s", yes(!load_rlx(&t->no_crawler)));
    number(session, "lru_crawler_sleep", load_rlx(&t->crawler_sleep));
    number(session, "lru_crawler_tocrawl", load_rlx(&t->crawler_most));
    number(session, "tail_repair_time", 0);
}

static void list_settings(struct mc_session *session, const struct mc_tuning *t) {
    mc_stat(session, "lru_maintainer_thread", "%s", yes(!t->no_maintainer));
    mc_stat(session, "lru_segmented", "%s", yes(!load_rlx(&t->flat)));
    number(session, "hot_lru_pct", load_rlx(&t->hot_percent));
    number(session, "warm_lru_pct", load_rlx(&t->warm_percent));
    mc_stat(session, "hot_max_factor", "%.2f", load_rlx(&t->hot_factor));
    mc_stat(session, "warm_max_factor", "%.2f", load_rlx(&t->warm_factor));
    mc_stat(session, "temp_lru", "%s", yes(load_rlx(&t->temporary)));
    number(session, "temporary_ttl", (uint64_t)load_rlx(&t->temporary_ttl));
}

static void settings_stats(struct mc_session *session) {
    const struct mc_settings *s = &session->cache->settings;
    number(session, "maxbytes", session->cache->store.memory);
    number(session, "maxconns", s->connections);
    mc_stat(session, "tcpport", "%d", s->port);
    mc_stat(session, "udpport", "%d", s->udp_port);
    mc_stat(session, "inter", "%s", s->listen ? s->listen : "NULL");
    number(session, "verbosity", load_rlx(&s->verbosity));
    number(session, "oldest", load_rlx(&session->cache->store.flush_at));
    mc_stat(session, "evictions", "%s", s->limits.keeps ? "off" : "on");
    mc_stat(session, "domain_socket", "%s", s->socket_path ? s->socket_path : "NULL");
    mc_stat(session, "umask", "%o", s->socket_mask);
    mc_stat(session, "shutdown_command", "%s", s->shutdown_allowed ? "yes" : "no");
    number(session, "num_threads", s->limits.workers);
    number(session, "num_threads_per_udp", s->limits.workers);
    mc_stat(session, "stat_key_prefix", "%c", s->delimiter);
    mc_stat(session, "detail_enabled", "%s", yes(load_rlx(&s->detail)));
    number(session, "reqs_per_event", s->turn);
    mc_stat(session, "cas_enabled", "%s", yes(!s->limits.no_cas));
    number(session, "tcp_backlog", s->backlog);
    mc_stat(session, "binding_protocol", "%s", s->binding ? s->binding : "ascii");
    mc_stat(session, "auth_enabled_sasl", "no");
    mc_stat(session, "auth_enabled_ascii", "%s", s->auth_file ? s->auth_file : "no");
    number(session, "item_size_max", s->limits.item_most);
    mc_stat(session, "maxconns_fast", "%s", yes(!s->wait_when_full));
    number(session, "hashpower_init", s->limits.hash_power);
    tuning_settings(session, &s->tuning);
    mc_stat(session, "flush_enabled", "%s", yes(!s->no_flush));
    mc_stat(session, "dump_enabled", "%s", yes(!s->no_dump));
    mc_stat(session, "hash_algorithm", "fold");
    list_settings(session, &s->tuning);
    number(session, "idle_timeout", s->idle_timeout);
    mc_stat(session, "ssl_enabled", "%s", yes(s->tls.on));
    if (s->tls.on) {
        mc_stat(session, "ssl_chain_cert", "%s", s->tls.chain);
        mc_stat(session, "ssl_key", "%s", s->tls.key ? s->tls.key : "NULL");
        number(session, "ssl_verify_mode", s->tls.verify);
        mc_stat(session, "ssl_keyformat", "1");
        mc_stat(session, "ssl_ciphers", "%s", s->tls.ciphers ? s->tls.ciphers : "NULL");
        mc_stat(session, "ssl_ca_cert", "%s", s->tls.issuers ? s->tls.issuers : "NULL");
        mc_stat(session, "ssl_session_cache", "%s", yes(s->tls.sessions));
        mc_stat(session, "ssl_kernel_tls", "%s", yes(s->tls.kernel));
        mc_stat(session, "ssl_min_version", "%s", s->tls.only_newest ? "tlsv1.3" : "tlsv1.2");
    }
    number(session, "watcher_logbuf_size", s->watcher_room);
    number(session, "worker_logbuf_size", s->worker_room);
    mc_stat(session, "track_sizes", "%s", yes(load_rlx(&session->cache->sizes_enabled)));
    mc_stat(session, "memory_file", "%s", s->memory_file ? s->memory_file : "(null)");
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
        class_stat(session, "items:", c, "mem_requested", t->requested[c]);
        class_stat(session, "items:", c, "evicted", n->evicted);
        class_stat(session, "items:", c, "evicted_nonzero", n->evicted_nonzero);
        class_stat(session, "items:", c, "evicted_time", t->evicted_time[c]);
        class_stat(session, "items:", c, "outofmemory", n->outofmemory);
        class_stat(session, "items:", c, "tailrepairs", 0);
        class_stat(session, "items:", c, "reclaimed", n->reclaimed);
        class_stat(session, "items:", c, "expired_unfetched", n->expired_unfetched);
        class_stat(session, "items:", c, "evicted_unfetched", n->evicted_unfetched);
        class_stat(session, "items:", c, "evicted_active", n->evicted_active);
        class_stat(session, "items:", c, "crawler_reclaimed", n->crawler_reclaimed);
        class_stat(session, "items:", c, "crawler_items_checked", n->crawler_items_checked);
        class_stat(session, "items:", c, "lrutail_reflocked", n->reflocked);
        class_stat(session, "items:", c, "direct_reclaims", n->direct_reclaims);
    }
}

static void slab_stats(struct mc_session *session, const struct mc_totals *t) {
    unsigned active = 0;
    for (unsigned c = 0; c < mc_classes(); c++) {
        const struct mc_class_counts *n = &t->classes[c];
        if (!t->pages[c] && !n->cmd_set) continue; /* an empty class may still have counts */
        unsigned chunks = (MC_PAGE - MC_PAGE_HEAD) / mc_class_size(c);
        active += t->pages[c] != 0;
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

/* Writes the statistics that need the sums of all shards. */
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
        memory_stats(session, totals);
        if (session->cache->tell_tls) session->cache->tell_tls(session);
    } else if (mc_word_is(which, "items")) {
        item_stats(session, totals);
    } else {
        slab_stats(session, totals);
    }
    free(totals);
    mc_stats_end(session);
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
    if (!change) mc_stats_end(session);
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
    mc_stats_end(session);
}

static void detail(struct mc_session *session, const struct mc_line *line) {
    const struct mc_word *what = line->count > 2 ? &line->words[2] : NULL;
    bool on = what && mc_word_is(what, "on");
    if (on || (what && mc_word_is(what, "off"))) {
        store_rlx(&session->cache->settings.detail, on);
        mc_count_detail(on);
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
        mc_stats_end(session);
    } else if (mc_word_is(which, "sizes")) {
        sizes_stats(session, false, false);
    } else if (mc_word_is(which, "sizes_enable") || mc_word_is(which, "sizes_disable")) {
        sizes_stats(session, true, mc_word_is(which, "sizes_enable"));
    } else if (mc_word_is(which, "cachedump")) {
        dump_class(session, line);
    } else if (mc_word_is(which, "conns")) {
        if (session->cache->tell_connections) session->cache->tell_connections(session);
        mc_stats_end(session);
    } else if (mc_word_is(which, "detail")) {
        detail(session, line);
    } else if (mc_word_is(which, "reset")) {
        mc_reset_counts(session->cache);
        mc_say(session, "RESET");
    } else {
        mc_say(session, "ERROR");
    }
}
