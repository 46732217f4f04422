/* SPDX-License-Identifier: MIT */
/*
 * The cache as its clients see it: the items, the configuration, and counters.
 */
#ifndef CACHED_CACHE_H
#define CACHED_CACHE_H

#include "prefix.h"
#include "store.h"
#include "tuning.h"

#define MC_VERSION "1.6.18" /* the version for clients, which decide by it which commands they use */
#define MC_STRIPES 16
#define MC_FILES_BESIDE 64 /* descriptors for other purposes than connections */

/* Settings of TLS, from -Z and -o ssl_... */
struct mc_tls {
    bool on, sessions, kernel, only_newest; /* only_newest: TLS 1.3 */
    unsigned verify;                        /* 0 to 3, as in ssl_verify_mode */
    const char *chain, *key, *issuers, *ciphers;
};

struct mc_settings {
    struct mc_limits limits;
    unsigned connections; /* the largest number of connections */
    unsigned backlog;
    unsigned turn;         /* commands of one client before other clients have their turn; 0: no limit */
    int port;              /* 0: none; negative: any free port */
    unsigned idle_timeout; /* seconds until an idle connection is closed; 0: never */
    unsigned socket_mask;
    const char *listen; /* addresses, separated by commas; NULL: all */
    const char *socket_path;
    const char *pid_file, *user;
    const char *metrics;              /* where the metrics of the runtime are served: [ADDRESS:]PORT; NULL: nowhere */
    const char *auth_file;            /* names and passwords of its users; NULL: all clients may use it */
    const char *memory_file;          /* the file that keeps the items for the next start; NULL: none */
    int udp_port;                     /* like port */
    const char *binding;              /* the value of -B, for stats */
    size_t watcher_room, worker_room; /* bytes for the lines of a watcher; worker_room is only reported */
    bool wait_when_full;              /* when all connections are in use: new clients wait; otherwise they are turned
                                         away */
    bool shutdown_allowed, no_flush, no_dump, no_watch, lock_memory, track_sizes;
    bool daemon; /* run in the background: the command returns as soon as the server listens */
    _Atomic unsigned verbosity;
    _Atomic bool detail; /* counts by prefix */
    char delimiter;      /* the character that ends a prefix */
    struct mc_tuning tuning;
    struct mc_tls tls;
};

/* Each worker counts in its own cache line, usually. */
enum mc_count {
    MC_BYTES_READ,
    MC_BYTES_WRITTEN,
    MC_CMD_FLUSH,
    MC_CMD_META,
    MC_AUTH_CMDS,
    MC_AUTH_ERRORS,
    MC_YIELDS, /* times that a connection's turn ended before its commands did */
    MC_COUNTS
};
struct mc_stripe {
    _Atomic uint64_t counts[MC_COUNTS];
} __attribute__((aligned(64)));

struct mc_session;
struct mc_cache {
    struct mc_settings settings;
    struct mc_store store;
    struct mc_stripe stripes[MC_STRIPES];
    struct mc_prefixes prefixes;
    _Atomic uint64_t current_connections, total_connections, rejected_connections, listen_disabled, connections_most;
    _Atomic bool accepting, sizes_enabled;
    _Atomic uint64_t idle_kicks, not_accepting_us;
    _Atomic uint64_t crawl; /* classes that the crawler visits, as bits; 0: it rests */
    _Atomic uint64_t crawl_starts;
    /* When not 0: the server ends, and answers under way may continue until this time. */
    _Atomic uint64_t end_by;
    void (*shut_down)(struct mc_cache *cache, bool graceful); /* a client requests the end; may be NULL */
    /* called after `crawl` was set; NULL: the command crawls itself */
    void (*wake_crawler)(struct mc_cache *cache);
    void (*tell_connections)(struct mc_session *session); /* writes the lines of stats conns; may be NULL */
    const char *(*refresh_certs)(void);                   /* returns NULL, or the error; is NULL without TLS */
    void (*tell_tls)(struct mc_session *session);         /* writes lines of stats; may be NULL */
};

int mc_cache_begin(struct mc_cache *cache, const struct mc_settings *settings); /* -ENOMEM */
void mc_cache_end(struct mc_cache *cache);

/* Visits the classes in `crawl`, and sets it to 0. May wait. */
void mc_cache_crawl(struct mc_cache *cache);

/* Commands that only the server of the tests has: debugtime. */
extern bool mc_debug_commands;

void mc_count(struct mc_cache *cache, enum mc_count what, uint64_t n);
uint64_t mc_counted(const struct mc_cache *cache, enum mc_count what);
void mc_reset_counts(struct mc_cache *cache);

#endif
