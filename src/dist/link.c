/* SPDX-License-Identifier: MIT */
/*
 * Messages: this file writes them to a link, and puts them together from the bytes that arrive on a link.
 *
 * Any fiber may send. Bytes that do not fit into the ring or socket wait in the queue of the link; weft__dist_progress
 * sends them later. Any fiber may handle messages, but only one at a time, under the lock of the job.
 */
#include "dist/dist.h"

#include <errno.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

/* --- out -------------------------------------------------------------------------------------------- */

static struct weft__dist_out *out_make(const struct weft__dist_head *head, const void *payload, size_t size,
                                       size_t sent) {
    size_t whole = sizeof *head + size, left = whole - sent;
    struct weft__dist_out *out = malloc(sizeof *out + left);
    if (!out) weft__dist_die("no memory for a message of %zu bytes", whole);
    *out = (struct weft__dist_out){NULL, left, 0};
    size_t from_head = sent < sizeof *head ? sizeof *head - sent : 0;
    memcpy(out->bytes, (const char *)head + sent, from_head);
    if (left > from_head)
        memcpy(out->bytes + from_head, (const char *)payload + (size - (left - from_head)), left - from_head);
    return out;
}

static size_t write_some(struct weft__dist_link *l, const struct iovec *parts, int n) {
    size_t done = 0;
    if (l->fd < 0) {
        for (int i = 0; i < n; i++) {
            size_t wrote = weft__dist_ring_write(l->to, parts[i].iov_base, parts[i].iov_len);
            done += wrote;
            if (wrote < parts[i].iov_len) break;
        }
        return done;
    }
    struct msghdr message = {.msg_iov = (struct iovec *)parts, .msg_iovlen = (size_t)n};
    ssize_t wrote;
    do wrote = sendmsg(l->fd, &message, MSG_DONTWAIT | MSG_NOSIGNAL);
    while (wrote < 0 && errno == EINTR);
    return wrote > 0 ? (size_t)wrote : 0; /* a broken socket is noticed by its reader */
}

static void flush_locked(struct weft__dist_link *l) {
    while (l->first) {
        struct weft__dist_out *out = l->first;
        struct iovec part = {out->bytes + out->sent, out->size - out->sent};
        out->sent += write_some(l, &part, 1);
        if (out->sent < out->size) break;
        if (!(l->first = out->next)) l->last = NULL;
        free(out);
    }
    atomic_store_explicit(&l->queued, l->first != NULL, memory_order_relaxed);
}

/* The ring or socket is full. For a ring, asks the reader to ring our bell when there is room. The doorman learns by an
 * edge that a socket has room. Either may have happened before the bytes were in the queue, so looks again. */
static void wait_for_room(struct weft__dist_link *l) {
    if (!l->first) return;
    if (l->fd < 0) {
        atomic_store_explicit(&l->to->full, 1, memory_order_seq_cst);
        atomic_thread_fence(memory_order_seq_cst); /* pairs with drain_ring */
    }
    flush_locked(l);
}

static void link_send(struct weft__dist_link *l, const struct weft__dist_head *head, const void *payload) {
    struct iovec parts[2] = {{(void *)head, sizeof *head}, {(void *)payload, head->size}};
    weft_mutex_lock(&l->lock);
    size_t sent = l->first || l->closed ? 0 : write_some(l, parts, head->size ? 2 : 1);
    if (sent < sizeof *head + head->size && !l->closed) {
        struct weft__dist_out *out = out_make(head, payload, head->size, sent);
        *(l->last ? &l->last->next : &l->first) = out;
        l->last = out;
        atomic_store_explicit(&l->queued, true, memory_order_relaxed);
        wait_for_room(l);
    }
    weft_mutex_unlock(&l->lock);
    bool looks_for_answer = head->type == WEFT_MSG_STEAL && !head->b && !weft__dist.crowded;
    if (l->fd < 0) weft__dist_ring_bell(&weft__dist.peers[l->rank], looks_for_answer);
}

void weft__dist_send(unsigned to, uint32_t type, uint32_t flags, uint64_t a, uint64_t b, const void *payload,
                     size_t size) {
    struct weft__dist_head head = {type, flags, size, a, b};
    if (weft__dist_is_lost(to)) return;
    COUNT(messages, 1);
    COUNT(bytes, sizeof head + size);
    link_send(weft__dist.peers[to].data, &head, payload);
}

void weft__dist_control(unsigned to, uint32_t type, uint64_t a, uint64_t b) {
    struct weft__dist_head head = {type, 0, 0, a, b};
    COUNT(messages, 1);
    COUNT(bytes, sizeof head);
    if (weft__dist.peers[to].control) link_send(weft__dist.peers[to].control, &head, NULL);
}

/* --- in --------------------------------------------------------------------------------------------- */

static void take_message(struct weft__dist_link *l) {
    char *payload = l->payload;
    struct weft__dist_head head = l->head;
    l->payload = NULL;
    l->have = 0;
    if (!weft__dist_is_lost(l->rank)) weft__dist_handle(l->rank, &head, payload);
    free(payload);
}

/* Takes bytes that have arrived on a link, and handles the messages that are complete. */
static void feed_link(struct weft__dist_link *l, const char *bytes, size_t n) {
    while (n) {
        size_t in_head = l->have < sizeof l->head ? sizeof l->head - l->have : 0;
        size_t want = in_head ? in_head : sizeof l->head + l->head.size - l->have, take = want < n ? want : n;
        memcpy(in_head ? (char *)&l->head + l->have : l->payload + (l->have - sizeof l->head), bytes, take);
        l->have += take, bytes += take, n -= take;
        if (l->have < sizeof l->head) continue;
        if (l->have == sizeof l->head && l->head.size) {
            if (l->head.type == 0 || l->head.type >= WEFT_MSG_TYPES) weft__dist_die("rank %u sends nonsense", l->rank);
            if (!(l->payload = malloc(l->head.size)))
                weft__dist_die("no memory for a message of %zu bytes from rank %u", (size_t)l->head.size, l->rank);
            continue;
        }
        if (l->have == sizeof l->head + l->head.size) take_message(l);
    }
}

static void drain_ring(struct weft__dist_link *l) {
    struct weft__dist_ring *ring = l->from;
    uint64_t tail = atomic_load_explicit(&ring->tail, memory_order_relaxed);
    for (;;) {
        uint64_t head = atomic_load_explicit(&ring->head, memory_order_acquire); /* pairs with weft__dist_ring_write */
        if (head == tail) break;
        size_t at = tail % WEFT_RING_BYTES, n = (size_t)(head - tail);
        if (n > WEFT_RING_BYTES - at) n = WEFT_RING_BYTES - at;
        feed_link(l, ring->bytes + at, n);
        tail += n;
        atomic_store_explicit(&ring->tail, tail, memory_order_release); /* pairs with weft__dist_ring_write */
    }
    atomic_thread_fence(memory_order_seq_cst); /* pairs with wait_for_room */
    if (atomic_load_explicit(&ring->full, memory_order_relaxed)) {
        atomic_store_explicit(&ring->full, 0, memory_order_relaxed);
        weft__dist_ring_bell(&weft__dist.peers[l->rank], false);
    }
}

static void drain_socket(struct weft__dist_link *l) {
    char bytes[1024];
    while (!l->closed) {
        ssize_t n = recv(l->fd, bytes, sizeof bytes, MSG_DONTWAIT);
        if (n > 0)
            feed_link(l, bytes, (size_t)n);
        else if (n < 0 && errno == EINTR)
            continue;
        else if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
            return;
        else {
            l->closed = true;
            weft__dist_link_broke(l);
        }
    }
}

static void drain_rings(void) {
    struct weft__dist *d = &weft__dist;
    for (unsigned word = 0; word < (d->locals + 63) / 64; word++) {
        uint64_t bits = atomic_exchange_explicit(&d->bell->from[word], 0,
                                                 memory_order_acquire); /* pairs with weft__dist_ring_bell */
        while (bits) {
            unsigned local = word * 64 + (unsigned)__builtin_ctzll(bits);
            bits &= bits - 1;
            drain_ring(d->peers[d->local_ranks[local]].data);
        }
    }
}

static void drain_links(void) {
    struct weft__dist *d = &weft__dist;
    for (unsigned i = 0; i < d->link_count; i++) {
        struct weft__dist_link *l = d->links[i];
        if (l->fd >= 0 && atomic_exchange_explicit(&l->ready, false, memory_order_acquire))
            drain_socket(l); /* doorman */
        if (!atomic_load_explicit(&l->queued, memory_order_relaxed)) continue;
        weft_mutex_lock(&l->lock);
        flush_locked(l);
        wait_for_room(l);
        weft_mutex_unlock(&l->lock);
        if (l->fd < 0) weft__dist_ring_bell(&d->peers[l->rank], false);
    }
}

/* If another fiber handles messages at the moment, the bell stays set, and the next fork or idle worker looks again. */
void weft__dist_progress(void) {
    struct weft__dist *d = &weft__dist;
    while (atomic_load_explicit(&d->bell->rung, memory_order_relaxed) & WEFT_BELL_MESSAGE) {
        if (weft_mutex_try(&d->lock)) return;
        atomic_fetch_and_explicit(&d->bell->rung, ~WEFT_BELL_MESSAGE, memory_order_acquire);
        /* Pairs with weft__dist_ring_bell: if the loads below miss a message, its sender sets the bell again. */
        atomic_thread_fence(memory_order_seq_cst);
        atomic_store_explicit(&d->bell->looked, weft_now(), memory_order_relaxed);
        drain_rings();
        drain_links();
        weft_mutex_unlock(&d->lock);
    }
}

void weft__dist_link_free(struct weft__dist_link *l) {
    for (struct weft__dist_out *next; l->first; l->first = next) {
        next = l->first->next;
        free(l->first);
    }
    free(l->payload);
    if (l->fd >= 0) close(l->fd);
    free(l);
}

/* --- what messages mean ------------------------------------------------------------------------------ */

/* Under the lock of the job. */
void weft__dist_handle(unsigned from, const struct weft__dist_head *head, char *payload) {
    struct weft__dist *d = &weft__dist;
    switch (head->type) {
    case WEFT_MSG_STEAL: weft__dist_give(from, (unsigned)head->a, head->b != 0); break;
    case WEFT_MSG_NONE:
        COUNT(refused, 1);
        if (from != d->asked) break;
        atomic_store(&d->answered, true);
        weft__dist_woken();
        break;
    case WEFT_MSG_CALLS: weft__dist_receive(from, head->a, payload, head->size, false); break;
    case WEFT_MSG_ON: weft__dist_receive(from, head->a, payload, head->size, true); break;
    case WEFT_MSG_RESULT: weft__dist_result(from, head->a, payload, head->size); break;
    case WEFT_MSG_DATA_GET:
    case WEFT_MSG_DATA:
    case WEFT_MSG_DATA_END: weft__dist_data_message(from, head, payload); break;
    case WEFT_MSG_NUMBER: weft__dist_number(from, head); break;
    case WEFT_MSG_ANSWER: weft__dist_answer(head->a, head->b, NULL, 0); break;
    case WEFT_MSG_STATS_GET: {
        struct weft_dist_stats stats;
        weft__dist_stats_own(&stats);
        weft__dist_send(from, WEFT_MSG_STATS, 0, head->a, 0, &stats, sizeof stats);
        break;
    }
    case WEFT_MSG_STATS: weft__dist_answer(head->a, 0, payload, head->size); break;
    case WEFT_MSG_TRACE_GET: weft__dist_trace_send(from, head->a); break;
    case WEFT_MSG_TRACE: weft__dist_answer(head->a, head->b, payload, head->size); break;
    case WEFT_MSG_PING: weft__dist_control(from, WEFT_MSG_PONG, head->a, 0); break;
    case WEFT_MSG_PONG: d->peers[from].heard = weft_now(); break;
    case WEFT_MSG_LOST: weft__dist_lose((unsigned)head->a); break;
    case WEFT_MSG_LEAVE:
        atomic_store(&d->peers[from].left, true);
        weft_unpark(d->main);
        break;
    case WEFT_MSG_END:
        d->status = (int)head->a;
        atomic_store(&d->ended, true);
        weft_unpark(d->main);
        break;
    default: weft__dist_die("rank %u sends a message of type %u", from, head->type);
    }
}
