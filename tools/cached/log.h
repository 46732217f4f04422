/* SPDX-License-Identifier: MIT */
/*
 * What watchers see: a line for each event that a client has asked for with `watch`, in memcached's words.
 *
 * Each watcher has a buffer of its own, of a fixed size. The fiber in which something happens writes the line into
 * the buffers of all watchers that want it, and goes on: it never waits for a watcher. A watcher with a full buffer
 * loses the line, and is told how many it has lost, as `skipped=N`, before the next line that fits. The watcher's
 * fiber (watcher.c) empties the buffer.
 *
 * As long as nothing is watched, an event costs one test of mc_observed.
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
    MC_LOG_NEVER = 16,    /* events of machinery that is not there: a watcher of these gets no line */
    MC_COUNT_DETAIL = 32, /* counts by prefix are wanted: not an event, but tested along with them */
};

/* What is wanted, of all these. One load tells that nothing is. */
extern _Atomic unsigned mc_observed;
static inline bool mc_wanted(unsigned events) { return unlikely(load_rlx(&mc_observed) & events); }
void mc_count_detail(bool on);

/* --- events; the caller may hold a shard, and none of these waits ---------------------------------------- */

enum mc_found { MC_FOUND_NOT, MC_FOUND, MC_FOUND_FLUSHED, MC_FOUND_EXPIRED };
/* What an event tells of an item. cls counts from 0; fd is the client's. */
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

/* Begins to collect lines. NULL and errno: EUSERS, there are too many; ENOMEM. */
struct mc_watcher *mc_watcher_begin(unsigned events, size_t room);
void mc_watcher_end(struct mc_watcher *watcher);

/* The lines that have come: some bytes in a row, 0 if there is nothing; and so many of them have been sent. */
size_t mc_watcher_lines(struct mc_watcher *watcher, char **bytes);
void mc_watcher_sent(struct mc_watcher *watcher, size_t n);

/* Waits for lines. 0; or -ECANCELED, or -EPIPE after mc_watcher_stop. */
int mc_watcher_wait(struct mc_watcher *watcher);
void mc_watcher_stop(struct mc_watcher *watcher);

struct mc_log_counts {
    uint64_t watchers, sent, skipped, written;
};
void mc_log_counts(struct mc_log_counts *counts);
void mc_log_reset(void);

/* The number of the last line, which goes on across a restart. */
uint64_t mc_log_number(void);
void mc_log_number_set(uint64_t number);

/* A key as it stands in lines of a log or a dump: other characters than letters, digits and -._~ as %XX. Returns the
 * end. */
#define MC_URI_MOST (3 * MC_KEY_MOST)
char *mc_put_uri(char *to, const char *key, size_t size);

#endif
