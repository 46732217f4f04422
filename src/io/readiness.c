/* SPDX-License-Identifier: MIT */
/* See readiness.h. */
#define _GNU_SOURCE
#include "io/readiness.h"

#include "io/edge.h"
#include "io/fd_generation.h"
#include "io/poll_thread.h"
#include "sched/wait/cancel.h"

#include <poll.h>
#include <string.h>

#define WEFT_ALWAYS ((uint32_t)(POLLERR | POLLHUP)) /* always reported */
#define WEFT_ASKABLE \
    (POLLIN | POLLPRI | POLLOUT | POLLRDHUP | POLLRDNORM | POLLRDBAND | POLLWRNORM | POLLWRBAND | POLLERR | POLLHUP)

/* The value of a wait queue is the last round of a descriptor in it. */
enum { WEFT_DESCRIPTOR_QUEUES = 4096 };
static struct weft_queue queues[WEFT_DESCRIPTOR_QUEUES];

static struct weft_queue *queue_of(int fd) { return &queues[(unsigned)fd % WEFT_DESCRIPTOR_QUEUES]; }

static struct weft__descriptor *readiness_of(struct weft_waiter *w) {
    return container_of(w, struct weft__descriptor, waiter);
}

#define each_waiter(w, q) \
    (struct weft_waiter *w = (q)->first, *next_ = w ? w->next : NULL; w; w = next_, next_ = w ? w->next : NULL)

/* --- under the queue's lock -------------------------------------------------------------------------- */

static uint32_t round_in(uint64_t value) { return (uint32_t)(value / WEFT_QUEUE_ONE) & ~WEFT_EDGE_ROUND; }

/* Never 0, which is the round of the watched descriptor. */
static uint64_t next_round(uint64_t value) {
    value += WEFT_QUEUE_ONE;
    return round_in(value) ? value : value + WEFT_QUEUE_ONE;
}

static int readiness_arm(struct weft_queue *q, int fd, uint64_t *value) {
    uint32_t events = 0, round = round_in(*value = next_round(*value));
    weft__edge_end(fd);
    for
        each_waiter(w, q) {
            if (readiness_of(w)->fd != fd || readiness_of(w)->by_close) continue;
            readiness_of(w)->round = round;
            events |= readiness_of(w)->events;
        }
    return weft__poll_thread_arm(fd, events, round);
}

/* Writes the result before it wins the waiter: after that the memory belongs to the fiber. */
static void end_wait(struct weft_queue *q, struct weft__descriptor *d, int got, struct weft__list *won) {
    struct weft__fiber *f = d->waiter.fiber;
    weft__wait_queue_remove(q, &d->waiter);
    d->got = got;
    if (weft__wait_win(f, d->waiter.ticket, WEFT_WON_DONE))
        weft__list_put(won, &f->slot.link);
    else
        d->got = 0; /* another thread has won it; the waiter leaves under the lock that we hold, so its memory is still
                       valid */
}

static void readiness_end_all(struct weft_queue *q, int fd, int got, struct weft__list *won) {
    for
        each_waiter(w, q) if (readiness_of(w)->fd == fd) end_wait(q, readiness_of(w), got, won);
}

/*
 * --- checks for edges that were closed by the C library --------------------------------------------------
 *
 * A wait for a descriptor that is registered for edges (edge.h) would last for ever if the C library closed the number
 * and it is reused. So a wait that has lasted for a while is checked once, by registering the descriptor again: the
 * kernel refuses that if it is still registered. If the kernel accepts, the number refers to another file: it is armed
 * like any other, and the process stops using edges. A single timer serves all waits, and is armed only while there are
 * unchecked waits.
 */
#define WEFT_CHECK_EVERY (250 * WEFT_MILLISECOND) /* a wait is checked at its second tick */
enum { WEFT_WATCH_NONE, WEFT_WATCH_NEW, WEFT_WATCH_SEEN, WEFT_WATCH_CHECKED };

static struct weft__timer check = {.idle = true};
static struct weft__lock check_lock; /* protects the timer */

static bool is_awaited(struct weft_queue *q, int fd) {
    for
        each_waiter(w, q) if (readiness_of(w)->fd == fd && readiness_of(w)->round & WEFT_EDGE_ROUND) return true;
    return false;
}

/* Locked: this wait was there at the last tick. */
static void check_edge(struct weft_queue *q, int fd, uint64_t *value, struct weft__list *won) {
    int err = weft__poll_thread_check_edge(fd, weft__edge_get_round(fd));
    if (likely(err == -EEXIST)) return;
    weft__edge_disable();
    if (!err) err = readiness_arm(q, fd, value);
    if (err) readiness_end_all(q, fd, err, won);
}

/* True: check again at the next tick. */
static bool check_wait(int fd, struct weft__list *won) {
    _Atomic uint32_t *watch = &weft__edges[fd].watch;
    struct weft_queue *q = queue_of(fd);
    uint64_t value = weft__wait_queue_lock(q);
    bool awaited = weft__edge_is_on(fd) && is_awaited(q, fd), is_new = load_rlx(watch) == WEFT_WATCH_NEW;
    if (awaited && !is_new) check_edge(q, fd, &value, won);
    store_rlx(watch, !awaited ? WEFT_WATCH_NONE : is_new ? WEFT_WATCH_SEEN : WEFT_WATCH_CHECKED);
    weft__wait_queue_unlock(q, value);
    return awaited && is_new;
}

static void check_all(void *unused);

/* Arms the timer for a check. False: not possible, because the caller is no fiber, or its worker ends. */
static WEFT_COLD bool check_later(void) {
    struct weft__worker *w = weft__self();
    if (!w) return false;
    weft__lock(&check_lock);
    bool armed = weft__timer_is_armed(&check) || weft__wheel_arm(&w->wheel, &check, weft__clock() + WEFT_CHECK_EVERY,
                                                                 (struct weft__due){check_all, NULL, 0}) >= 0;
    weft__unlock(&check_lock);
    return armed;
}

/*
 *   the timer                              a fiber that begins a wait
 *   1. fires: it is no longer armed        1. watch = NEW
 *   -- fence --                            -- fence --
 *   2. looks at each watch                 2. if the timer is not armed, arms it
 *
 * So the timer sees the wait, or the fiber arms the timer again.
 */
static void check_all(void *unused) {
    struct weft__list won = {NULL, NULL};
    bool again = false;
    fence_sc(); /* pairs with note_trust */
    for (unsigned fd = 0, n = weft__edges_limit(); fd < n; fd++) {
        uint32_t watch = load_rlx(&weft__edges[fd].watch);
        if (watch == WEFT_WATCH_NEW || watch == WEFT_WATCH_SEEN) again |= check_wait((int)fd, &won);
    }
    weft__make_all_ready(&won);
    if (again) check_later();
    (void)unused;
}

/* Locked. False: the wait would not be checked. Most often a wait is new already, and the timer armed. */
static bool note_trust(int fd) {
    _Atomic uint32_t *watch = &weft__edges[fd].watch;
    if (load_rlx(watch) != WEFT_WATCH_NEW) {
        store_rlx(watch, WEFT_WATCH_NEW);
        fence_sc(); /* pairs with check_all */
    }
    return likely(weft__timer_is_armed(&check)) || check_later();
}

/* --- both sides ----------------------------------------------------------------------------------------- */

int weft__readiness_enter(struct weft__descriptor *d) {
    struct weft_queue *q = queue_of(d->fd);
    uint64_t value = weft__wait_queue_lock(q);
    if (unlikely(d->generation && weft__fd_generation_is_stale(d->fd, d->generation))) {
        weft__wait_queue_unlock(q, value);
        return -EBADF;
    }
    d->round = d->tries ? weft__edge_register(d->fd) : 0;
    if (d->round && weft__edge_count_reports(d->fd) != d->seen) {
        weft__wait_queue_unlock(q, value);
        return 1;
    }
    weft__wait_queue_append(q, &d->waiter, WEFT_ON_DESCRIPTOR);
    bool is_watched = d->by_close || (d->round && likely(note_trust(d->fd)));
    int err = likely(is_watched) ? 0 : readiness_arm(q, d->fd, &value);
    if (unlikely(err)) weft__wait_queue_remove(q, &d->waiter);
    weft__wait_queue_unlock(q, value);
    return err;
}

bool weft__readiness_leave(struct weft__descriptor *d) {
    weft__wait_queue_leave(queue_of(d->fd), &d->waiter);
    return d->got != 0;
}

/* A report of an earlier round is ignored: if its event is still true, the current round reports it again. */
void weft__readiness_fire(const struct weft__report *report, struct weft__list *won) {
    struct weft_queue *q = queue_of(report->fd);
    bool others = false, is_edge = report->round & WEFT_EDGE_ROUND;
    uint64_t value = weft__wait_queue_lock(q);
    if (is_edge && unlikely(!weft__edge_report(report->fd, report->round, report->events))) {
        weft__wait_queue_unlock(q, value);
        return;
    }
    for
        each_waiter(w, q) {
            struct weft__descriptor *d = readiness_of(w);
            if (d->fd != report->fd || d->round != report->round) continue;
            uint32_t hits = report->events & (d->events | WEFT_ALWAYS);
            if (hits)
                end_wait(q, d, (int)hits, won);
            else
                others = true;
        }
    int err = others && !is_edge ? readiness_arm(q, report->fd, &value) : 0;
    if (unlikely(err)) readiness_end_all(q, report->fd, err, won);
    weft__wait_queue_unlock(q, value);
}

/* A waiter that has not entered yet sees the new generation. */
void weft__readiness_close(int fd) {
    struct weft__list won = {NULL, NULL};
    struct weft_queue *q = queue_of(fd);
    uint64_t value = weft__wait_queue_lock(q);
    weft__fd_begin_close(fd);
    weft__edge_end(fd);
    readiness_end_all(q, fd, -EBADF, &won);
    weft__wait_queue_unlock(q, value);
    weft__make_all_ready(&won);
}

void weft__readiness_note_connection(int fd) {
    struct weft_queue *q = queue_of(fd);
    uint64_t value = weft__wait_queue_lock(q);
    weft__edge_note_connection(fd);
    weft__wait_queue_unlock(q, value);
}

void weft__readiness_reset(void) { weft__edges_reset(); }

void weft__readiness_after_fork(void) {
    memset(queues, 0, sizeof queues);
    memset(&check_lock, 0, sizeof check_lock);
    weft__edges_after_fork();
    if (weft__timer_is_armed(&check))
        weft__edge_disable(); /* a thread of the parent was just changing its wheel: the timer cannot be used */
}

/* --- the public calls ------------------------------------------------------------------------------------ */

short weft__readiness_filter(short events) { return (short)(events & WEFT_ASKABLE); }

bool weft__readiness_is_valid(short events) { return events == weft__readiness_filter(events); }

int weft__readiness_poll(int fd, short events) {
    struct pollfd p = {fd, events, 0};
    if (fd < 0) return -EBADF;
    if (poll(&p, 1, 0) < 0) return errno == EINTR ? 0 : -errno;
    return p.revents & POLLNVAL ? -EBADF : (uint16_t)p.revents;
}

/* also: another descriptor, whose close ends the wait, or NULL. */
static WEFT_SWITCHES int readiness_wait(struct weft__descriptor *d, struct weft__descriptor *also, uint64_t deadline) {
    struct weft__fiber *me = d->waiter.fiber;
    int err = weft__wait_begin(me, WEFT_WAIT_BY_CANCEL | WEFT_WAIT_OUTSIDE, &d->waiter.ticket);
    if (unlikely(err)) return err;
    if (also) also->waiter = (struct weft_waiter){.fiber = me, .ticket = d->waiter.ticket};
    if (also && unlikely((err = weft__readiness_enter(also)))) {
        weft__wait_withdraw(me, d->waiter.ticket);
        return err;
    }
    if (unlikely((err = weft__readiness_enter(d)))) {
        int ended = weft__wait_withdraw(me, d->waiter.ticket);
        if (err > 0) err = ended, d->got = (int)d->events;
    } else if (unlikely(
                   (err = weft__wait_block_for(me, d->waiter.ticket, deadline,
                                               weft__for(WEFT_ON_DESCRIPTOR, (void *)(uintptr_t)(unsigned)d->fd)))))
        weft__readiness_leave(d);
    if (also && weft__readiness_leave(also)) {
        weft__readiness_leave(d);
        return -EBADF;
    }
    return err ? err : d->got;
}

static int await_descriptor(struct weft__descriptor *d, struct weft__descriptor *also, uint64_t deadline) {
    struct weft__fiber *me = d->waiter.fiber = weft__me();
    if (!me) return -ENOMEM;
    int err = weft__poll_thread_hold(me);
    if (err) return err;
    err = readiness_wait(d, also, deadline);
    weft__poll_thread_release(me);
    return err;
}

static int await_one(int fd, short events, uint64_t generation, uint64_t deadline) {
    struct weft__descriptor d = {.fd = fd, .events = (uint16_t)events, .generation = generation};
    return await_descriptor(&d, NULL, deadline);
}

int weft__readiness_await(int fd, short events, uint64_t generation) {
    return await_one(fd, events, generation, WEFT_FOREVER);
}

int weft__readiness_await_again(const struct weft__again *a) {
    struct weft__descriptor d = {
        .fd = a->fd, .events = (uint16_t)a->events, .generation = a->generation, .seen = a->seen, .tries = a->tries};
    struct weft__descriptor also = {.fd = a->other, .generation = a->other_generation, .by_close = true};
    return await_descriptor(&d, a->other_generation ? &also : NULL, WEFT_FOREVER);
}

WEFT_PUBLIC int weft_ready_until(int fd, short events, uint64_t deadline) {
    if (!weft__readiness_is_valid(events)) return -EINVAL;
    uint64_t generation = weft__fd_generation_read(fd);
    int found = weft__readiness_poll(fd, events);
    if (!found) found = await_one(fd, events, generation, deadline);
    return likely(found != -ECANCELED && found != -ETIMEDOUT) ? found : weft__refused_if_cancelled(weft__me(), found);
}

WEFT_PUBLIC int weft_ready(int fd, short events) { return weft_ready_until(fd, events, WEFT_FOREVER); }

WEFT_PUBLIC int weft_ready_try(int fd, short events) {
    if (!weft__readiness_is_valid(events)) return -EINVAL;
    int found = weft__readiness_poll(fd, events);
    return found ? found : -EAGAIN;
}
