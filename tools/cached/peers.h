/* SPDX-License-Identifier: MIT */
/*
 * The connected clients: for stats conns, and to disconnect clients that have been idle too long (-o idle_timeout).
 *
 * A connection is in the list from its first byte to its last, and its descriptor is valid while it is in the list. A
 * fiber that visits the list holds the connection at which it stops: that connection stays in the list until it is
 * released.
 */
#ifndef CACHED_PEERS_H
#define CACHED_PEERS_H

#include "session.h"

/* Waits for a command; works on a command; sends a value; has got its last answer; gets lines of a log. */
enum mc_peer_state { MC_PEER_WAITS, MC_PEER_WORKS, MC_PEER_SENDS_VALUE, MC_PEER_CLOSES, MC_PEER_WATCHES };

struct mc_peer {
    struct mc_peer *previous, *next;
    int fd;
    unsigned held; /* the number of fibers that hold the peer */
    _Atomic uint8_t state;
    _Atomic bool idle;     /* the server disconnects it because it was idle */
    _Atomic uint32_t last; /* the second of the last bytes from the client */
};

void mc_peer_begin(struct mc_peer *peer, int fd);
void mc_peer_end(struct mc_peer *peer);

/* The first records what the connection waits for, the second that bytes have arrived. */
static inline void mc_peer_waits(struct mc_peer *peer, const struct mc_session *session) {
    store_rlx(&peer->state, session->upload.item ? MC_PEER_SENDS_VALUE : MC_PEER_WAITS);
}
static inline void mc_peer_works(struct mc_peer *peer) {
    store_rlx(&peer->state, MC_PEER_WORKS);
    store_rlx(&peer->last, mc_now());
}
static inline void mc_peer_watches(struct mc_peer *peer) { store_rlx(&peer->state, MC_PEER_WATCHES); }
static inline void mc_peer_closes(struct mc_peer *peer) { store_rlx(&peer->state, MC_PEER_CLOSES); }

/* Disconnects clients that have waited for a command for more than `seconds`. Returns how many. */
uint64_t mc_peers_end_idle(uint32_t seconds);
/* Disconnects all clients, in any state. */
void mc_peers_end_all(void);

/* stats conns, without its last line: listening sockets and then connections; or sockets for datagrams. */
void mc_peers_tell(struct mc_session *session, const int *listeners, int count, bool datagrams);

#endif
