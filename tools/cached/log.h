/* SPDX-License-Identifier: MIT */
/*
 * The lines for watchers: one for each event that a client has requested with `watch`, in memcached's words.
 *
 * Each watcher has a buffer of fixed size. The fiber with the event writes the line into the buffers of all watchers
 * that want it. It never waits for a watcher. A watcher with a full buffer loses the line. Before the next line that
 * fits, it gets the number of lost lines as `skipped=N`. The watcher's fiber (watcher.c) empties the buffer.
 *
 * Without watchers, an event costs one test of mc_observed.
 */
#ifndef CACHED_LOG_H
#define CACHED_LOG_H

#include "base/atomic.h"
#include "base/base.h"
#include "item.h"

#include <sys/socket.h>

#define MC_WATCHERS_MOST 20

enum {
    MC_LOG_FETCHERS = 1,
    MC_LOG_MUTATIONS = 2,
    MC_LOG_EVICTIONS = 4,
    MC_LOG_CONNECTIONS = 8,
    MC_LOG_NEVER = 16,    /* events of memcached's internals, which do not exist here: a watcher gets no lines */
    MC_COUNT_DETAIL = 32, /* counts by prefix are on: not an event, but tested together with the events */
};

/* The events that any watcher wants. One load shows that there are none. */
extern _Atomic unsigned mc_observed;
static inline bool mc_wanted(unsigned events) { return unlikely(load_rlx(&mc_observed) & events); }
void mc_count_detail(bool on);

/* --- events; the caller may hold a shard, and none of these waits ---------------------------------------- */

enum mc_found { MC_FOUND_NOT, MC_FOUND, MC_FOUND_FLUSHED, MC_FOUND_EXPIRED };
/* The data of an event about an item. cls counts from 0; fd belongs to the client. */
struct mc_event {
    const char *key;
    size_t key_size;
    uint32_t expires, size;
    unsigned cls;
    int fd;
};
void mc_log_get(const struct mc_event *event, enum mc_found found);
void mc_log_store(const struct mc_event *event, const char *status, const char *command);
void mc_log_eviction(const struct mc_item *item);

enum mc_close { MC_CLOSE_ERROR, MC_CLOSE_NORMAL, MC_CLOSE_IDLE, MC_CLOSE_SHUTDOWN };
void mc_log_connected(int fd, const struct sockaddr *peer);
void mc_log_closed(int fd, const struct sockaddr *peer, enum mc_close reason);

/* --- watchers -------------------------------------------------------------------------------------------- */

struct mc_watcher;

/* Begins to collect lines. NULL and errno: EUSERS, too many watchers; ENOMEM. */
struct mc_watcher *mc_watcher_begin(unsigned events, size_t room);
void mc_watcher_end(struct mc_watcher *watcher);

/* mc_watcher_lines returns a contiguous part of the collected lines, 0 bytes if there are none. mc_watcher_sent removes
 * bytes that were sent. */
size_t mc_watcher_lines(struct mc_watcher *watcher, char **bytes);
void mc_watcher_sent(struct mc_watcher *watcher, size_t n);

/* Waits for lines. Returns 0, -ECANCELED, or -EPIPE after mc_watcher_stop. */
int mc_watcher_wait(struct mc_watcher *watcher);
void mc_watcher_stop(struct mc_watcher *watcher);

struct mc_log_counts {
    uint64_t watchers, sent, skipped, written;
};
void mc_log_counts(struct mc_log_counts *counts);
void mc_log_reset(void);

/* The number of the last line, which continues across a restart. */
uint64_t mc_log_number(void);
void mc_log_number_set(uint64_t number);

/* Writes a key for lines of a log or a dump: characters other than letters, digits and -._~ as %XX. Returns the end. */
#define MC_URI_MOST (3 * MC_KEY_MOST)
char *mc_put_uri(char *to, const char *key, size_t size);

#endif
