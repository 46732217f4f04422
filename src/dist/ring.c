/* SPDX-License-Identifier: MIT */
/*
 * Shared memory between the ranks of a node: a ring of bytes for each ordered pair, and a bell for each rank.
 *
 * A ring has one writer and one reader. So a rank that dies in the middle of a write leaves nothing locked, and readers
 * do not see bytes that it had not published.
 *
 * The bell and sleep:
 *   the sender                                   the receiver that is about to sleep
 *   1. writes to the ring                        1. asleep = 1
 *   2. from |= its bit, rung |= MESSAGE          2. full fence
 *   3. full fence                                3. if rung, does not sleep
 *   4. if asleep, sends a datagram
 * A receiver that runs sees `rung` at its next fork. A receiver that computes without forks gets a datagram, too, when
 * it has not looked for WEFT_BELL_PATIENCE. Then the doorman makes the talker ready, and a spare worker runs it. A
 * thief that looks for the answer leaves that datagram out, and rings again if no answer comes.
 */
#include "dist/dist.h"

#include <sys/socket.h>

#define WEFT_BELL_PATIENCE (500 * WEFT_MICROSECOND)

static size_t bells_size(unsigned locals) { return (locals * sizeof(struct weft__dist_bell) + 4095) & ~(size_t)4095; }

size_t weft__dist_segment_size(unsigned locals) {
    return bells_size(locals) + (size_t)locals * locals * sizeof(struct weft__dist_ring);
}

void weft__dist_segment_use(void *segment) {
    struct weft__dist *d = &weft__dist;
    struct weft__dist_ring *rings = (void *)((char *)segment + bells_size(d->locals));
    d->bells = segment;
    d->bell = &d->bells[d->local];
    for (unsigned r = 0; r < d->ranks; r++) {
        struct weft__dist_peer *peer = &d->peers[r];
        if (r == d->rank || peer->local == UINT32_MAX) continue;
        peer->data->to = &rings[(size_t)peer->local * d->locals + d->local];
        peer->data->from = &rings[(size_t)d->local * d->locals + peer->local];
    }
}

/* Returns how many bytes there was room for. */
size_t weft__dist_ring_write(struct weft__dist_ring *ring, const char *bytes, size_t size) {
    uint64_t head = atomic_load_explicit(&ring->head, memory_order_relaxed);
    uint64_t tail = atomic_load_explicit(&ring->tail, memory_order_acquire); /* pairs with the reader: it has copied */
    size_t room = WEFT_RING_BYTES - (size_t)(head - tail);
    if (size > room) size = room;
    size_t at = head % WEFT_RING_BYTES, first = WEFT_RING_BYTES - at < size ? WEFT_RING_BYTES - at : size;
    memcpy(ring->bytes + at, bytes, first);
    memcpy(ring->bytes, bytes + first, size - first);
    atomic_store_explicit(&ring->head, head + size, memory_order_release); /* pairs with the reader */
    return size;
}

static void send_datagram(const struct weft__dist_peer *peer) {
    char byte = 1;
    /* If it cannot be sent, the socket of the peer has datagrams already, or the peer is gone. */
    (void)!sendto(weft__dist.bell_fd, &byte, 1, MSG_DONTWAIT | MSG_NOSIGNAL, (const void *)&peer->address,
                  sizeof peer->address);
}

void weft__dist_ring_bell(struct weft__dist_peer *peer, bool looks_for_answer) {
    struct weft__dist *d = &weft__dist;
    struct weft__dist_bell *bell = &d->bells[peer->local];
    atomic_fetch_or_explicit(&bell->from[d->local / 64], UINT64_C(1) << d->local % 64, memory_order_release);
    atomic_fetch_or_explicit(&bell->rung, WEFT_BELL_MESSAGE, memory_order_release);
    atomic_thread_fence(memory_order_seq_cst); /* pairs with weft__dist_before_sleep */
    if (atomic_load_explicit(&bell->asleep, memory_order_relaxed)) {
        if (atomic_exchange_explicit(&bell->asleep, 0, memory_order_relaxed)) send_datagram(peer);
        return;
    }
    if (looks_for_answer) return;
    uint64_t now = weft_now(), looked = atomic_load_explicit(&bell->looked, memory_order_relaxed);
    if (looked + WEFT_BELL_PATIENCE > now || peer->rang + WEFT_BELL_PATIENCE > now) return;
    peer->rang = now;
    send_datagram(peer);
}
