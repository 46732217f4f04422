/* SPDX-License-Identifier: MIT */
/*
 * Listeners. With a ring, a single request accepts again and again. Connections wait in a list until a fiber asks for
 * them. Without a ring each fiber accepts by itself.
 *
 *   a fiber that accepts                           the ring, for each connection, under its lock
 *   1. if the list is empty and no request is      1. locks; appends the connection to the list; if the
 *      pending: locks, makes a request                request has ended, it is no longer pending; unlocks
 *   2. waits for the semaphore                     2. posts the semaphore
 *   3. locks; removes an entry; unlocks. If other
 *      fibers wait and no request is pending:
 *      repeats step 1 for them
 *
 * A request ends with an error, which is appended to the list, or because the kernel had no room for its next
 * completion. So each fiber learns of the error that it runs into, and none waits for a connection that will not come.
 *
 * The listener may be freed when its request has ended and the ring's lock was free after that: then the last call of
 * the ring has returned.
 */
#define _GNU_SOURCE
#include "base/sys.h"
#include "driver/uring.h"
#include "io/engine.h"
#include "sched/rings/rings.h"

#include <unistd.h>

struct listener {
    struct weft__op op;
    struct weft_sem there; /* counts the entries of the list */
    struct weft__lock lock;
    int flags;
    bool under_way;
    _Atomic unsigned asking; /* number of fibers that wait for a connection */
    int *list;
    unsigned first, count, room;
};
_Static_assert(sizeof(struct listener) <= sizeof(struct weft_listener), "it has the room");

/* Locked. Without memory for the list the connection is dropped, as when the kernel's own queue is full. */
static bool listener_grow(struct listener *l) {
    unsigned room = l->room ? 2 * l->room : 16;
    int *list = weft__alloc(room * sizeof *list);
    if (!list) return false;
    for (unsigned i = 0; i < l->count; i++) list[i] = l->list[(l->first + i) % l->room];
    weft__free(l->list);
    l->list = list;
    l->first = 0;
    l->room = room;
    return true;
}

/* Appends a connection or an error to the list. */
static void listener_put(struct listener *l, int result, bool is_last) {
    weft__lock(&l->lock);
    bool kept = l->count < l->room || listener_grow(l);
    if (kept) l->list[(l->first + l->count++) % l->room] = result;
    if (is_last) l->under_way = false;
    weft__unlock(&l->lock);
    if (!kept && result >= 0) close(result);
    weft_sem_post(&l->there);
}

static void listener_accepted(struct weft__op *op, int result, unsigned flags) {
    if (result == -ECANCELED) result = -EBADF;
    if (result == WEFT_RING_LEFT) result = -EINTR; /* the fiber makes another request */
    listener_put(container_of(op, struct listener, op), result, !(flags & WEFT_COMPLETION_MORE));
}

/* Makes the request, unless it is pending. */
static void listener_begin(struct listener *l) {
    weft__lock(&l->lock);
    bool is_ours = !l->under_way && !l->count;
    if (is_ours) l->under_way = true;
    weft__unlock(&l->lock);
    if (!is_ours) return;
    int err;
    while ((err = weft__engine()->accept_all(&l->op, l->flags)) == -EBUSY) weft_yield();
    if (err) listener_put(l, err, true);
}

/* -EAGAIN: the connection was dropped for lack of memory. */
static int listener_take(struct listener *l) {
    weft__lock(&l->lock);
    int fd = -EAGAIN;
    if (l->count) {
        fd = l->list[l->first];
        l->first = (l->first + 1) % l->room;
        l->count--;
    }
    weft__unlock(&l->lock);
    return fd;
}

static int accept_from_list(struct listener *l) {
    int fd;
    do {
        if (weft_sem_try(&l->there)) {
            listener_begin(l);
            int err = weft_sem_wait(&l->there);
            if (err) return err;
        }
        fd = listener_take(l);
        if (load_rlx(&l->asking) > 1) listener_begin(l);
    } while (fd == -EAGAIN || fd == -EINTR);
    return fd;
}

WEFT_PUBLIC int weft_listener_accept(struct weft_listener *listener) {
    struct listener *l = (struct listener *)listener;
    if (!l) return -EINVAL;
    if (!weft__io_current_fiber()) return -EPERM;
    const struct weft__request alone = {.code = WEFT_IO_ACCEPT, .fd = l->op.fd, .flags = (uint32_t)l->flags};
    add_ar(&l->asking, 1);
    int fd = weft__engine() == &weft__engine_uring ? accept_from_list(l) : -ENOTSUP;
    if (fd == -ENOTSUP) fd = (int)weft__io_run(&alone); /* no ring, or it cannot accept */
    add_ar(&l->asking, -1);
    return fd;
}

WEFT_PUBLIC int weft_listener_begin(struct weft_listener *listener, int fd, int flags) {
    if (!listener) return -EINVAL;
    if (!weft__io_current_fiber()) return -EPERM;
    struct listener *l = (struct listener *)listener;
    *l = (struct listener){.op = {.fn = listener_accepted, .at_once = true, .fd = fd}, .flags = flags};
    return 0;
}

static bool listener_is_under_way(struct listener *l) {
    weft__lock(&l->lock);
    bool is = l->under_way;
    weft__unlock(&l->lock);
    return is;
}

/* The end of the request is in the list as an error, and counted like a connection. */
static void end_request(struct listener *l) {
    struct weft_shield shield;
    weft_shield_begin(&shield);
    if (listener_is_under_way(l)) weft__ring_cancel(&l->op);
    while (listener_is_under_way(l)) {
        (void)!weft_sem_wait(&l->there); /* in a shield */
        int fd = listener_take(l);
        if (fd >= 0) close(fd);
    }
    weft_shield_end(&shield);
    weft__lock(&l->op.ring->lock);
    weft__unlock(&l->op.ring->lock);
}

WEFT_PUBLIC int weft_listener_end(struct weft_listener *listener) {
    struct listener *l = (struct listener *)listener;
    if (!l) return -EINVAL;
    if (!weft__io_current_fiber()) return -EPERM;
    if (load_acq(&l->asking)) return -EBUSY;
    if (l->op.ring) end_request(l);
    for (int fd; (fd = listener_take(l)) != -EAGAIN;)
        if (fd >= 0) close(fd);
    weft__free(l->list);
    l->list = NULL;
    l->room = 0;
    return 0;
}
