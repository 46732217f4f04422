/* SPDX-License-Identifier: MIT */
/*
 * The sessions that a client can resume: the last few of each server, by name and port, in a table of fixed size.
 * Servers with the same hash replace each other. A session of TLS 1.3 is used once, as its specification asks, so that
 * an observer cannot tell that two connections belong to the same client.
 */
#include "tls.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { SLOTS = 256, A_SERVER = 4 };

struct session_slot {
    char *server;
    unsigned count;
    SSL_SESSION *session[A_SERVER]; /* the newest last */
};

struct tls_sessions {
    pthread_mutex_t lock;
    struct session_slot slots[SLOTS];
};

static void empty_slot(struct session_slot *slot) {
    while (slot->count) SSL_SESSION_free(slot->session[--slot->count]);
    free(slot->server);
    slot->server = NULL;
}

struct tls_sessions *weft__tls_sessions_new(void) {
    struct tls_sessions *sessions = calloc(1, sizeof *sessions);
    if (sessions) pthread_mutex_init(&sessions->lock, NULL);
    return sessions;
}

void weft__tls_sessions_forget(struct tls_sessions *sessions) {
    pthread_mutex_lock(&sessions->lock);
    for (unsigned i = 0; i < SLOTS; i++) empty_slot(&sessions->slots[i]);
    pthread_mutex_unlock(&sessions->lock);
}

void weft__tls_sessions_free(struct tls_sessions *sessions) {
    if (!sessions) return;
    weft__tls_sessions_forget(sessions);
    pthread_mutex_destroy(&sessions->lock);
    free(sessions);
}

static struct session_slot *session_slot_of(struct tls_sessions *sessions, const char *server) {
    uint32_t hash = 2166136261u; /* FNV-1a */
    for (const char *p = server; *p; p++) hash = (hash ^ (unsigned char)*p) * 16777619u;
    return &sessions->slots[hash % SLOTS];
}

void weft__tls_sessions_put(struct tls_sessions *sessions, const char *server, SSL_SESSION *session) {
    pthread_mutex_lock(&sessions->lock);
    struct session_slot *slot = session_slot_of(sessions, server);
    if (!slot->server || strcmp(slot->server, server) != 0) {
        empty_slot(slot);
        slot->server = strdup(server);
    }
    if (slot->count == A_SERVER) {
        SSL_SESSION_free(slot->session[0]);
        slot->count--;
        for (unsigned i = 0; i < slot->count; i++) slot->session[i] = slot->session[i + 1];
    }
    if (slot->server)
        slot->session[slot->count++] = session;
    else
        SSL_SESSION_free(session);
    pthread_mutex_unlock(&sessions->lock);
}

static bool is_fresh(SSL_SESSION *session) {
    return SSL_SESSION_is_resumable(session) &&
           (long)time(NULL) - SSL_SESSION_get_time(session) < SSL_SESSION_get_timeout(session);
}

SSL_SESSION *weft__tls_sessions_take(struct tls_sessions *sessions, const char *server) {
    SSL_SESSION *found = NULL;
    pthread_mutex_lock(&sessions->lock);
    struct session_slot *slot = session_slot_of(sessions, server);
    if (slot->server && !strcmp(slot->server, server))
        while (!found && slot->count) {
            found = slot->session[--slot->count];
            if (is_fresh(found)) break;
            SSL_SESSION_free(found);
            found = NULL;
        }
    if (found && SSL_SESSION_get_protocol_version(found) < TLS1_3_VERSION && SSL_SESSION_up_ref(found))
        slot->count++; /* it may be used again */
    pthread_mutex_unlock(&sessions->lock);
    return found;
}
