/* SPDX-License-Identifier: MIT */
/* See log.h. One lock for all watchers orders the lines. It is held only to copy lines. */
#include "log.h"

#include "base/lock.h"
#include "clock.h"
#include "weft.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/time.h>

#define LINE_MOST 1280
#define SKIPPED_MOST 40 /* bytes of the line that reports lost lines */

/* A ring buffer: `used` bytes, which begin at `at`. */
struct mc_watcher {
    unsigned events;
    bool stopped;
    bool told; /* the semaphore was posted, and the fiber has not run since */
    struct weft_sem lines;
    uint64_t skipped;
    size_t room, at, used;
    char ring[];
};

_Atomic unsigned mc_observed;

static struct {
    struct weft__lock lock;
    struct mc_watcher *watchers[MC_WATCHERS_MOST];
    bool detail;
    uint64_t number;
    struct mc_log_counts counts;
} logs;

/* Called with the lock held. */
static void observe(void) {
    unsigned events = logs.detail ? MC_COUNT_DETAIL : 0;
    for (unsigned i = 0; i < MC_WATCHERS_MOST; i++)
        if (logs.watchers[i]) events |= logs.watchers[i]->events;
    store_rlx(&mc_observed, events);
}

void mc_count_detail(bool on) {
    weft__lock(&logs.lock);
    logs.detail = on;
    observe();
    weft__unlock(&logs.lock);
}

/* --- lines into rings ------------------------------------------------------------------------------------- */

static void ring_add(struct mc_watcher *w, const char *bytes, size_t n) {
    size_t end = (w->at + w->used) % w->room, first = n < w->room - end ? n : w->room - end;
    memcpy(w->ring + end, bytes, first);
    memcpy(w->ring, bytes + first, n - first);
    w->used += n;
}

static void give(struct mc_watcher *w, const char *line, size_t n) {
    if (w->room - w->used < n + SKIPPED_MOST) {
        w->skipped++;
        logs.counts.skipped++;
        return;
    }
    if (w->skipped) {
        char text[SKIPPED_MOST];
        ring_add(w, text, (size_t)sprintf(text, "skipped=%llu\n", (unsigned long long)w->skipped));
        w->skipped = 0;
    }
    ring_add(w, line, n);
    logs.counts.sent++;
    if (w->told) return;
    w->told = true;
    weft_sem_post(&w->lines);
}

/* Time and number are set here, under the lock, so that they rise from line to line. */
static void tell(unsigned event, const char *rest, size_t n) {
    char line[LINE_MOST];
    struct timeval now;
    weft__lock(&logs.lock);
    gettimeofday(&now, NULL);
    int head = sprintf(line, "ts=%lld.%d gid=%llu ", (long long)now.tv_sec, (int)now.tv_usec,
                       (unsigned long long)++logs.number);
    memcpy(line + head, rest, n);
    logs.counts.written++;
    for (unsigned i = 0; i < MC_WATCHERS_MOST; i++)
        if (logs.watchers[i] && logs.watchers[i]->events & event) give(logs.watchers[i], line, (size_t)head + n);
    weft__unlock(&logs.lock);
}

/* --- events ------------------------------------------------------------------------------------------------ */

char *mc_put_uri(char *to, const char *key, size_t size) {
    static const char hex[] = "0123456789ABCDEF";
    for (size_t i = 0; i < size; i++) {
        unsigned char c = (unsigned char)key[i];
        bool plain = (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '-' ||
                     c == '.' || c == '_' || c == '~';
        if (plain) {
            *to++ = (char)c;
            continue;
        }
        *to++ = '%';
        *to++ = hex[c >> 4];
        *to++ = hex[c & 15];
    }
    return to;
}

static char *put_key(char *at, const char *type, const char *key, size_t size) {
    return mc_put_uri(at + sprintf(at, "type=%s key=", type), key, size);
}

void mc_log_get(const struct mc_event *event, enum mc_found found) {
    static const char *const names[] = {"not_found", "found", "flushed", "expired"};
    char text[LINE_MOST - 128], *at = put_key(text, "item_get", event->key, event->key_size);
    bool there = found == MC_FOUND;
    at += sprintf(at, " status=%s clsid=%u cfd=%d size=%u\n", names[found], there ? event->cls + 1 : 0, event->fd,
                  there ? event->size : 0);
    tell(MC_LOG_FETCHERS, text, (size_t)(at - text));
}

void mc_log_store(const struct mc_event *event, const char *status, const char *command) {
    char text[LINE_MOST - 128], *at = put_key(text, "item_store", event->key, event->key_size);
    at += sprintf(at, " status=%s cmd=%s ttl=%u clsid=%u cfd=%d size=%u\n", status, command,
                  event->expires ? event->expires - mc_now() : 0, event->cls + 1, event->fd, event->size);
    tell(MC_LOG_MUTATIONS, text, (size_t)(at - text));
}

void mc_log_eviction(const struct mc_item *item) {
    char text[LINE_MOST - 128], *at = put_key(text, "eviction", mc_item_key(item), item->key_size);
    at += sprintf(at, " fetch=%s ttl=%lld la=%u clsid=%u size=%u\n", item->bits & MC_FETCHED ? "yes" : "no",
                  item->expires ? (long long)item->expires - mc_now() : -1, mc_now() - item->last, item->cls + 1u,
                  item->size);
    tell(MC_LOG_EVICTIONS, text, (size_t)(at - text));
}

/* Writes "rip=ADDRESS rport=PORT transport=KIND". */
static char *put_peer(char *at, const struct sockaddr *peer) {
    char text[INET6_ADDRSTRLEN] = "unix";
    unsigned port = 0;
    const struct sockaddr_in *v4 = (const struct sockaddr_in *)peer;
    const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)peer;
    if (peer->sa_family == AF_INET) {
        inet_ntop(AF_INET, &v4->sin_addr, text, sizeof text);
        port = ntohs(v4->sin_port);
    } else if (peer->sa_family == AF_INET6) {
        inet_ntop(AF_INET6, &v6->sin6_addr, text, sizeof text);
        port = ntohs(v6->sin6_port);
    }
    return at + sprintf(at, "rip=%s rport=%u transport=%s", text, port, strcmp(text, "unix") ? "tcp" : "local");
}

void mc_log_connected(int fd, const struct sockaddr *peer) {
    char text[256], *at = text + sprintf(text, "type=conn_new ");
    at = put_peer(at, peer);
    at += sprintf(at, " cfd=%d\n", fd);
    tell(MC_LOG_CONNECTIONS, text, (size_t)(at - text));
}

void mc_log_closed(int fd, const struct sockaddr *peer, enum mc_close reason) {
    static const char *const names[] = {"error", "normal", "idle_timeout", "shutdown"};
    char text[256], *at = text + sprintf(text, "type=conn_close ");
    at = put_peer(at, peer);
    at += sprintf(at, " reason=%s cfd=%d\n", names[reason], fd);
    tell(MC_LOG_CONNECTIONS, text, (size_t)(at - text));
}

/* --- watchers ---------------------------------------------------------------------------------------------- */

/* Replaces `from` by `to`. False: there is no `from`. */
static bool exchange(struct mc_watcher *from, struct mc_watcher *to) {
    bool found = false;
    weft__lock(&logs.lock);
    for (unsigned i = 0; i < MC_WATCHERS_MOST && !found; i++) {
        found = logs.watchers[i] == from;
        if (found) logs.watchers[i] = to;
    }
    if (found) logs.counts.watchers += to ? 1 : (uint64_t)-1;
    observe();
    weft__unlock(&logs.lock);
    return found;
}

struct mc_watcher *mc_watcher_begin(unsigned events, size_t room) {
    struct mc_watcher *w = malloc(sizeof *w + room);
    if (!w) return NULL;
    *w = (struct mc_watcher){.events = events, .room = room};
    weft_sem_init(&w->lines, 0);
    if (exchange(NULL, w)) return w;
    free(w);
    errno = EUSERS;
    return NULL;
}

void mc_watcher_end(struct mc_watcher *watcher) {
    exchange(watcher, NULL);
    free(watcher);
}

size_t mc_watcher_lines(struct mc_watcher *w, char **bytes) {
    weft__lock(&logs.lock);
    size_t n = w->used < w->room - w->at ? w->used : w->room - w->at;
    *bytes = w->ring + w->at;
    weft__unlock(&logs.lock);
    return n;
}

void mc_watcher_sent(struct mc_watcher *w, size_t n) {
    weft__lock(&logs.lock);
    w->at = (w->at + n) % w->room;
    w->used -= n;
    weft__unlock(&logs.lock);
}

int mc_watcher_wait(struct mc_watcher *w) {
    int err = weft_sem_wait(&w->lines);
    weft__lock(&logs.lock);
    w->told = false;
    if (!err && w->stopped) err = -EPIPE;
    weft__unlock(&logs.lock);
    return err;
}

void mc_watcher_stop(struct mc_watcher *w) {
    weft__lock(&logs.lock);
    w->stopped = true;
    weft_sem_post(&w->lines);
    weft__unlock(&logs.lock);
}

void mc_log_counts(struct mc_log_counts *counts) {
    weft__lock(&logs.lock);
    *counts = logs.counts;
    weft__unlock(&logs.lock);
}

void mc_log_reset(void) {
    weft__lock(&logs.lock);
    logs.counts = (struct mc_log_counts){.watchers = logs.counts.watchers};
    weft__unlock(&logs.lock);
}

uint64_t mc_log_number(void) {
    weft__lock(&logs.lock);
    uint64_t number = logs.number;
    weft__unlock(&logs.lock);
    return number;
}

void mc_log_number_set(uint64_t number) {
    weft__lock(&logs.lock);
    logs.number = number;
    weft__unlock(&logs.lock);
}
