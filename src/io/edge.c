/* SPDX-License-Identifier: MIT */
/* See edge.h. */
#define _GNU_SOURCE
#include "io/edge.h"

#include "io/poll_thread.h"

#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>

struct weft__edge weft__edges[WEFT_EDGES];
static _Atomic unsigned used; /* no number at or above this was ever used */
static _Atomic bool distrusted;

unsigned weft__edges_limit(void) { return load_rlx(&used); }

WEFT_COLD void weft__edge_disable(void) { store_rlx(&distrusted, true); }

static uint32_t generation_after(uint32_t mode) { return (mode & ~(WEFT_EDGE_GENERATION - 1u)) + WEFT_EDGE_GENERATION; }

static uint32_t round_of(uint32_t mode) { return WEFT_EDGE_ROUND | mode / WEFT_EDGE_GENERATION; }

/* If the number is still registered, weft_close did not close it. */
void weft__edge_note_connection(int fd) {
    if (!weft__edge_covers(fd)) return;
    struct weft__edge *e = &weft__edges[fd];
    uint32_t mode = load_rlx(&e->mode);
    if (unlikely(mode & WEFT_EDGE_ON)) weft__edge_disable();
    for (unsigned seen = load_rlx(&used); (unsigned)fd >= seen && !cas_ar(&used, &seen, (unsigned)fd + 1);) {
    }
    store_rlx(&e->drained, load_rlx(&e->reports) - 1);
    store_rlx(&e->mode, generation_after(mode) | WEFT_EDGE_MADE);
}

void weft__edge_end(int fd) {
    if (!weft__edge_covers(fd)) return;
    struct weft__edge *e = &weft__edges[fd];
    uint32_t mode = load_rlx(&e->mode);
    if (mode % WEFT_EDGE_GENERATION) store_rlx(&e->mode, generation_after(mode));
}

static bool is_tcp(int fd) {
    int protocol = 0;
    socklen_t size = sizeof protocol;
    return !getsockopt(fd, SOL_SOCKET, SO_PROTOCOL, &protocol, &size) && protocol == IPPROTO_TCP;
}

static WEFT_COLD uint32_t edge_begin(int fd, struct weft__edge *e) {
    uint32_t mode = load_rlx(&e->mode);
    int err = load_rlx(&distrusted) || !is_tcp(fd) ? -EPERM : weft__poll_thread_add_edge(fd, round_of(mode));
    store_rlx(&e->mode, err ? generation_after(mode) : mode | WEFT_EDGE_ON);
    return err ? 0 : round_of(mode);
}

uint32_t weft__edge_register(int fd) {
    if (!weft__edge_covers(fd)) return 0;
    struct weft__edge *e = &weft__edges[fd];
    uint32_t mode = load_rlx(&e->mode);
    if (likely(mode & WEFT_EDGE_ON)) return likely(!load_rlx(&distrusted)) ? round_of(mode) : 0;
    return mode & WEFT_EDGE_MADE ? edge_begin(fd, e) : 0;
}

uint32_t weft__edge_get_round(int fd) { return round_of(load_rlx(&weft__edges[fd].mode)); }

bool weft__edge_report(int fd, uint32_t round, uint32_t events) {
    struct weft__edge *e = &weft__edges[fd];
    uint32_t mode = load_rlx(&e->mode);
    if (unlikely(!(mode & WEFT_EDGE_ON) || round_of(mode) != round)) return false;
    if (unlikely(events & ~(uint32_t)(POLLIN | POLLOUT))) store_rlx(&e->mode, mode | WEFT_EDGE_ODD);
    store_rel(&e->reports, load_rlx(&e->reports) + 1); /* pairs with weft__edge_count_reports */
    return true;
}

void weft__edges_reset(void) {
    for (unsigned i = 0; i < load_rlx(&used); i++) {
        uint32_t mode = load_rlx(&weft__edges[i].mode);
        if (mode & WEFT_EDGE_ON) store_rlx(&weft__edges[i].mode, generation_after(mode) | WEFT_EDGE_MADE);
        store_rlx(&weft__edges[i].drained, load_rlx(&weft__edges[i].reports) - 1);
        store_rlx(&weft__edges[i].watch, 0);
    }
}

/* The poller belongs to the parent. Forget all numbers. */
void weft__edges_after_fork(void) {
    memset(weft__edges, 0, load_rlx(&used) * sizeof *weft__edges);
    store_rlx(&used, 0);
}
