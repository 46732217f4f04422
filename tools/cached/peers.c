/* SPDX-License-Identifier: MIT */
/* See peers.h. The lock protects a few steps along the list. Longer work holds a peer instead. */
#include "peers.h"

#include "linger.h"
#include "weft.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/un.h>

#define STEPS 64 /* steps along the list under one lock */

static struct weft__lock lock;
static struct mc_peer *first;
static size_t peers;

void mc_peer_begin(struct mc_peer *peer, int fd) {
    *peer = (struct mc_peer){.fd = fd, .state = MC_PEER_WAITS, .last = mc_now()};
    weft__lock(&lock);
    peer->next = first;
    if (first) first->previous = peer;
    first = peer;
    peers++;
    weft__unlock(&lock);
}

void mc_peer_end(struct mc_peer *peer) {
    weft__lock(&lock);
    while (peer->held) {
        weft__unlock(&lock);
        weft_yield();
        weft__lock(&lock);
    }
    if (peer->next) peer->next->previous = peer->previous;
    *(peer->previous ? &peer->previous->next : &first) = peer->next;
    peers--;
    weft__unlock(&lock);
}

/* Unlocks the list for a moment, so that others can use it; the peer stays in the list. Locked before and after. */
static void let_others(struct mc_peer *peer, void (*meanwhile)(struct mc_peer *peer)) {
    peer->held++;
    weft__unlock(&lock);
    if (meanwhile) meanwhile(peer);
    weft__lock(&lock);
    peer->held--;
}

/* Disconnects a peer. A command that has just arrived is still answered. */
static void send_away(struct mc_peer *peer) {
    store_rlx(&peer->idle, true);
    shutdown(peer->fd, SHUT_RD);
}

/* Is the peer idle? The clock may have advanced between the two reads, so the difference is signed. A client that has
 * not received all of its answer counts as busy for at most twice the time. */
static bool is_idle(const struct mc_peer *peer, uint32_t seconds) {
    int32_t since = (int32_t)(mc_now() - load_rlx(&peer->last));
    if (load_rlx(&peer->state) != MC_PEER_WAITS || since <= (int32_t)seconds) return false;
    return since / 2 > (int32_t)seconds || mc_all_arrived(peer->fd);
}

uint64_t mc_peers_end_idle(uint32_t seconds) {
    uint64_t ended = 0;
    unsigned steps = 0;
    weft__lock(&lock);
    for (struct mc_peer *p = first; p; p = p->next) {
        bool idle = is_idle(p, seconds);
        ended += idle;
        if (idle || !(++steps % STEPS)) let_others(p, idle ? send_away : NULL);
    }
    weft__unlock(&lock);
    return ended;
}

static void cut_off(struct mc_peer *peer) { shutdown(peer->fd, SHUT_RDWR); }

void mc_peers_end_all(void) {
    weft__lock(&lock);
    for (struct mc_peer *p = first; p; p = p->next) let_others(p, cut_off);
    weft__unlock(&lock);
}

/* --- stats conns --------------------------------------------------------------------------------------- */

struct seen {
    int fd;
    uint8_t state;
    uint32_t last;
};

/* Lists the connections in the order in which they were made. Connections that arrive meanwhile are left out. */
static struct seen *look(size_t *count) {
    weft__lock(&lock);
    size_t room = peers, n = 0;
    weft__unlock(&lock);
    struct seen *all = malloc((room + !room) * sizeof *all);
    if (!all) return NULL;
    weft__lock(&lock);
    for (struct mc_peer *p = first; p && n < room; p = p->next) {
        all[n++] = (struct seen){p->fd, load_rlx(&p->state), load_rlx(&p->last)};
        if (!(n % STEPS)) let_others(p, NULL);
    }
    weft__unlock(&lock);
    for (size_t i = 0; i < n / 2; i++) {
        struct seen other = all[i];
        all[i] = all[n - 1 - i];
        all[n - 1 - i] = other;
    }
    *count = n;
    return all;
}

static void tell_address(struct mc_session *session, const char *name, int fd,
                         int (*ask)(int fd, struct sockaddr *address, socklen_t *size)) {
    union {
        struct sockaddr any;
        struct sockaddr_in v4;
        struct sockaddr_in6 v6;
        struct sockaddr_un path;
        struct sockaddr_storage room;
    } a = {.any.sa_family = AF_UNSPEC};
    socklen_t size = sizeof a;
    char text[INET6_ADDRSTRLEN] = "";
    int type = SOCK_STREAM;
    socklen_t type_size = sizeof type;
    getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &type_size);
    const char *kind = type == SOCK_DGRAM ? "udp" : "tcp";
    if (ask(fd, &a.any, &size)) return; /* the peer has disconnected meanwhile */
    if (a.any.sa_family == AF_INET)
        mc_stat(session, name, "%s:%s:%u", kind, inet_ntop(AF_INET, &a.v4.sin_addr, text, sizeof text),
                ntohs(a.v4.sin_port));
    else if (a.any.sa_family == AF_INET6)
        mc_stat(session, name, "%s6:[%s]:%u", kind, inet_ntop(AF_INET6, &a.v6.sin6_addr, text, sizeof text),
                ntohs(a.v6.sin6_port));
    else
        mc_stat(session, name, "unix:%.*s", (int)sizeof a.path.sun_path,
                size > offsetof(struct sockaddr_un, sun_path) ? a.path.sun_path : "");
}

static void tell(struct mc_session *session, int fd, const char *state, uint32_t last, bool listens) {
    char name[48];
    snprintf(name, sizeof name, "%d:addr", fd);
    tell_address(session, name, fd, listens ? getsockname : getpeername);
    snprintf(name, sizeof name, "%d:listen_addr", fd);
    if (!listens) tell_address(session, name, fd, getsockname);
    snprintf(name, sizeof name, "%d:state", fd);
    mc_stat(session, name, "%s", state);
    snprintf(name, sizeof name, "%d:secs_since_last_cmd", fd);
    mc_stat(session, name, "%u", mc_now() - last);
}

static void tell_sockets(struct mc_session *session, const int *fds, int count, bool datagrams) {
    for (int i = 0; i < count; i++) {
        char name[48];
        snprintf(name, sizeof name, "%d:UDP", fds[i]);
        if (datagrams) mc_stat(session, name, "UDP");
        tell(session, fds[i], datagrams ? "conn_read" : "conn_listening", mc_now() - mc_uptime(), true);
    }
}

void mc_peers_tell(struct mc_session *session, const int *listeners, int count, bool datagrams) {
    static const char *const states[] = {"conn_read", "conn_parse_cmd", "conn_nread", "conn_closing", "conn_watch"};
    tell_sockets(session, listeners, count, datagrams);
    if (datagrams) return;
    size_t n = 0;
    struct seen *all = look(&n);
    for (size_t i = 0; i < n; i++) tell(session, all[i].fd, states[all[i].state], all[i].last, false);
    free(all);
}
