/* SPDX-License-Identifier: MIT */
#include "extended.h"

#include "command.h"

#include <errno.h>
#include <stdlib.h>
#include <strings.h>

bool mc_option_number(const char *text, unsigned long least, unsigned long most, int base, unsigned long *value) {
    char *end;
    errno = 0;
    *value = strtoul(text, &end, base);
    return text[0] >= '0' && text[0] <= '9' && !*end && !errno && *value >= least && *value <= most;
}

/* The kind of an option: ignored (memcached's internals), a switch, a number, a fraction or a text. */
enum { IGNORED, ANY, SWITCH, NUMBER, FRACTION, TEXT };
enum {
    MAXCONNS,
    HASHPOWER,
    IDLE,
    MODERN,
    CRAWLER,
    CRAWLER_SLEEP,
    CRAWLER_MOST,
    REASSIGN,
    AUTOMOVE,
    WINDOW,
    RATIO,
    CHUNK,
    MAINTAINER,
    HOT,
    WARM,
    HOT_FACTOR,
    WARM_FACTOR,
    TEMPORARY,
    WATCHER,
    WORKER,
    SIZES,
    OTHER,
    CHAIN,
    KEY,
    FORMAT,
    VERIFY,
    CIPHERS,
    ISSUERS,
    SESSIONS,
    KERNEL,
    LEAST
};

static const struct {
    const char *name;
    uint8_t kind, what;
    bool no; /* the option also exists with the prefix no_ */
    unsigned long least, most;
} options[] = {
    {"maxconns_fast", SWITCH, MAXCONNS, true, 0, 0},
    {"hashpower", NUMBER, HASHPOWER, false, 12, 32},
    {"idle_timeout", NUMBER, IDLE, false, 0, 1 << 30},
    {"modern", SWITCH, MODERN, true, 0, 0},
    {"lru_crawler", SWITCH, CRAWLER, true, 0, 0},
    {"lru_crawler_sleep", NUMBER, CRAWLER_SLEEP, false, 0, 1000000},
    {"lru_crawler_tocrawl", NUMBER, CRAWLER_MOST, false, 0, UINT32_MAX},
    {"slab_reassign", SWITCH, REASSIGN, true, 0, 0},
    {"slab_automove", ANY, AUTOMOVE, true, 0, 2},
    {"slab_automove_window", NUMBER, WINDOW, false, 3, 1 << 30},
    {"slab_automove_ratio", FRACTION, RATIO, false, 0, 0},
    {"slab_chunk_max", NUMBER, CHUNK, false, 1, 1 << 30},
    {"lru_maintainer", SWITCH, MAINTAINER, true, 0, 0},
    {"hot_lru_pct", NUMBER, HOT, false, 1, 79},
    {"warm_lru_pct", NUMBER, WARM, false, 1, 79},
    {"hot_max_factor", FRACTION, HOT_FACTOR, false, 0, 0},
    {"warm_max_factor", FRACTION, WARM_FACTOR, false, 0, 0},
    {"temporary_ttl", NUMBER, TEMPORARY, false, 0, INT32_MAX},
    {"watcher_logbuf_size", NUMBER, WATCHER, false, 2, 1 << 20}, /* KiB; a line is shorter than 2 */
    {"worker_logbuf_size", NUMBER, WORKER, false, 1, 1 << 20},
    {"track_sizes", SWITCH, SIZES, false, 0, 0},
    {"ssl_chain_cert", TEXT, CHAIN, false, 0, 0},
    {"ssl_key", TEXT, KEY, false, 0, 0},
    {"ssl_keyformat", TEXT, FORMAT, false, 0, 0},
    {"ssl_verify_mode", NUMBER, VERIFY, false, 0, 3},
    {"ssl_ciphers", TEXT, CIPHERS, false, 0, 0},
    {"ssl_ca_cert", TEXT, ISSUERS, false, 0, 0},
    {"ssl_session_cache", SWITCH, SESSIONS, false, 0, 0},
    {"ssl_kernel_tls", SWITCH, KERNEL, false, 0, 0},
    {"ssl_min_version", TEXT, LEAST, false, 0, 0},
    {"ssl_wbuf_size", IGNORED, OTHER, false, 0, 0},
    {"tail_repair_time", IGNORED, OTHER, false, 0, 0},
    {"hash_algorithm", IGNORED, OTHER, false, 0, 0},
    {"hashexpand", IGNORED, OTHER, true, 0, 0},
    {"slab_sizes", IGNORED, OTHER, false, 0, 0},
    {"inline_ascii_resp", IGNORED, OTHER, true, 0, 0},
    {"resp_obj_mem_limit", IGNORED, OTHER, false, 0, 0},
    {"read_buf_mem_limit", IGNORED, OTHER, false, 0, 0},
    {"drop_privileges", IGNORED, OTHER, true, 0, 0},
    {"relaxed_privileges", IGNORED, OTHER, false, 0, 0},
};

/* Sets the defaults of modern or of old versions of memcached. */
static void set_age(struct mc_tuning *tuning, bool modern) {
    store_rlx(&tuning->no_crawler, !modern);
    store_rlx(&tuning->no_reassign, !modern);
    store_rlx(&tuning->automove, modern);
    tuning->no_maintainer = !modern;
    store_rlx(&tuning->flat, !modern);
}

static void set_switch(struct mc_settings *settings, unsigned what, bool on) {
    struct mc_tuning *tuning = &settings->tuning;
    switch (what) {
    case MAXCONNS: settings->wait_when_full = !on; break;
    case MODERN: set_age(tuning, on); break;
    case CRAWLER: store_rlx(&tuning->no_crawler, !on); break;
    case REASSIGN: store_rlx(&tuning->no_reassign, !on); break;
    case AUTOMOVE: store_rlx(&tuning->automove, on); break;
    case MAINTAINER:
        tuning->no_maintainer = !on;
        store_rlx(&tuning->flat, !on);
        break;
    case SIZES: settings->track_sizes = true; break;
    case SESSIONS: settings->tls.sessions = on; break;
    case KERNEL: settings->tls.kernel = on; break;
    default: break;
    }
}

static void set_number(struct mc_settings *settings, unsigned what, unsigned long n) {
    struct mc_tuning *tuning = &settings->tuning;
    switch (what) {
    case HASHPOWER: settings->limits.hash_power = (unsigned)n; break;
    case IDLE: settings->idle_timeout = (unsigned)n; break;
    case CRAWLER_SLEEP: store_rlx(&tuning->crawler_sleep, (uint32_t)n); break;
    case CRAWLER_MOST: store_rlx(&tuning->crawler_most, (uint32_t)n); break;
    case AUTOMOVE: store_rlx(&tuning->automove, (uint32_t)n); break;
    case WINDOW: tuning->automove_window = (uint32_t)n; break;
    case CHUNK: tuning->chunk_most = (uint32_t)n; break;
    case HOT: store_rlx(&tuning->hot_percent, (uint32_t)n); break;
    case WARM: store_rlx(&tuning->warm_percent, (uint32_t)n); break;
    case TEMPORARY:
        store_rlx(&tuning->temporary_ttl, (int32_t)n);
        store_rlx(&tuning->temporary, true);
        break;
    case WATCHER: settings->watcher_room = (size_t)n << 10; break;
    case VERIFY: settings->tls.verify = (unsigned)n; break;
    case WORKER: settings->worker_room = (size_t)n << 10; break;
    default: break;
    }
}

static void set_fraction(struct mc_tuning *tuning, unsigned what, double value) {
    if (what == RATIO) store_rlx(&tuning->automove_ratio, value);
    if (what == HOT_FACTOR) store_rlx(&tuning->hot_factor, value);
    if (what == WARM_FACTOR) store_rlx(&tuning->warm_factor, value);
}

/* Accepts names and numbers, like memcached. */
static int set_least(struct mc_tls *tls, const char *value) {
    tls->only_newest = !strcmp(value, "tlsv1.3") || !strcmp(value, "3");
    if (tls->only_newest || !strcmp(value, "tlsv1.2") || !strcmp(value, "2")) return 0;
    return usage("-o ssl_min_version wants tlsv1.2 or tlsv1.3, not '%s': older versions are not safe", value);
}

static int set_text(struct mc_tls *tls, unsigned what, const char *value) {
    switch (what) {
    case CHAIN: tls->chain = value; return 0;
    case KEY: tls->key = value; return 0;
    case CIPHERS: tls->ciphers = value; return 0;
    case ISSUERS: tls->issuers = value; return 0;
    case LEAST: return set_least(tls, value);
    default: return strcasecmp(value, "PEM") ? usage("-o ssl_keyformat: only PEM is read, not '%s'", value) : 0;
    }
}

/* Returns 0, or the exit code. */
static int set(struct mc_settings *settings, size_t i, bool no, const char *value) {
    unsigned long n;
    unsigned what = options[i].what, kind = options[i].kind;
    if (kind == IGNORED) return 0;
    if (kind == SWITCH || no || (kind == ANY && !value)) {
        set_switch(settings, what, !no);
        return 0;
    }
    if (kind == TEXT)
        return value ? set_text(&settings->tls, what, value) : usage("-o %s wants a value", options[i].name);
    if (kind == FRACTION) {
        char *end = NULL;
        double fraction = value ? strtod(value, &end) : 0;
        if (!value || end == value || *end || !(fraction > 0)) return usage("-o %s wants a fraction", options[i].name);
        set_fraction(&settings->tuning, what, fraction);
        return 0;
    }
    if (!value || !mc_option_number(value, options[i].least, options[i].most, 10, &n))
        return usage("-o %s wants a number from %lu to %lu", options[i].name, options[i].least, options[i].most);
    set_number(settings, what, n);
    return 0;
}

static int one(struct mc_settings *settings, char *name) {
    char *value = strchr(name, '=');
    if (value) *value++ = 0;
    for (size_t i = 0; i < sizeof options / sizeof *options; i++) {
        bool no = options[i].no && !strncmp(name, "no_", 3) && !strcmp(name + 3, options[i].name);
        if (no || !strcmp(name, options[i].name)) return set(settings, i, no, value);
    }
    return usage("-o %s: there is no such option; docs/CACHED.md lists them", name);
}

int mc_extended_read(struct mc_settings *settings, char *list) {
    int code = 0;
    for (char *name; !code && (name = strsep(&list, ","));)
        if (*name) code = one(settings, name);
    return code;
}
