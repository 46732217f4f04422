/* See readiness.h. */
#define _GNU_SOURCE
#include "io/readiness.h"

#include "io/known.h"
#include "io/service.h"

#include <poll.h>
#include <string.h>

#define WEFT_ALWAYS ((uint32_t)(POLLERR | POLLHUP)) /* reported whether asked for or not */
#define WEFT_ASKABLE \
    (POLLIN | POLLPRI | POLLOUT | POLLRDHUP | POLLRDNORM | POLLRDBAND | POLLWRNORM | POLLWRBAND | POLLERR | POLLHUP)

/* The value of a queue is the last round of a descriptor in it. */
enum { WEFT_DESCRIPTOR_QUEUES = 4096 };
static struct weft_queue queues[WEFT_DESCRIPTOR_QUEUES];

static struct weft_queue *queue_of(int fd) { return &queues[(unsigned)fd % WEFT_DESCRIPTOR_QUEUES]; }

static struct weft__descriptor *of(struct weft_waiter *w) { return container_of(w, struct weft__descriptor, waiter); }

#define each_waiter(w, q) \
    (struct weft_waiter *w = (q)->first, *next_ = w ? w->next : NULL; w; w = next_, next_ = w ? w->next : NULL)

/* --- under the queue's lock -------------------------------------------------------------------------- */

/* Never 0, which is for what is watched always. */
static uint64_t next_round(uint64_t value) {
    value += WEFT_QUEUE_ONE;
    return (uint32_t)(value / WEFT_QUEUE_ONE) ? value : value + WEFT_QUEUE_ONE;
}

static int arm(struct weft_queue *q, int fd, uint64_t *value) {
    uint32_t events = 0, round = (uint32_t)((*value = next_round(*value)) / WEFT_QUEUE_ONE);
    for
        each_waiter(w, q) {
            if (of(w)->fd != fd || of(w)->by_close) continue;
            of(w)->round = round;
            events |= of(w)->events;
        }
    return weft__service_arm(fd, events, round);
}

/* What it has got is written before it is won: then the memory is its own again. */
static void end_wait(struct weft_queue *q, struct weft__descriptor *d, int got, struct weft__list *won) {
    struct weft__fiber *f = d->waiter.fiber;
    weft__queue_remove(q, &d->waiter);
    d->got = got;
    if (weft__wait_win(f, d->waiter.ticket, WEFT_WON_DONE))
        weft__list_put(won, &f->slot.link);
    else
        d->got = 0; /* another has; it leaves under the lock that we hold, so the memory is still there */
}

static void end_all(struct weft_queue *q, int fd, int got, struct weft__list *won) {
    for
        each_waiter(w, q) if (of(w)->fd == fd) end_wait(q, of(w), got, won);
}

/* --- both sides ----------------------------------------------------------------------------------------- */

int weft__readiness_enter(struct weft__descriptor *d) {
    struct weft_queue *q = queue_of(d->fd);
    uint64_t value = weft__queue_lock(q);
    if (unlikely(d->life && weft__known_other(d->fd, d->life))) {
        weft__queue_unlock(q, value);
        return -EBADF;
    }
    weft__queue_append(q, &d->waiter);
    int err = d->by_close ? 0 : arm(q, d->fd, &value);
    if (unlikely(err)) weft__queue_remove(q, &d->waiter);
    weft__queue_unlock(q, value);
    return err;
}

bool weft__readiness_leave(struct weft__descriptor *d) {
    weft__queue_leave(queue_of(d->fd), &d->waiter);
    return d->got != 0;
}

/* A report of an earlier round is ignored: what it was about is reported again in this one, if it is so. */
void weft__readiness_fire(const struct weft__report *report, struct weft__list *won) {
    struct weft_queue *q = queue_of(report->fd);
    bool others = false;
    uint64_t value = weft__queue_lock(q);
    for
        each_waiter(w, q) {
            struct weft__descriptor *d = of(w);
            if (d->fd != report->fd || d->round != report->round) continue;
            uint32_t hits = report->events & (d->events | WEFT_ALWAYS);
            if (hits)
                end_wait(q, d, (int)hits, won);
            else
                others = true;
        }
    int err = others ? arm(q, report->fd, &value) : 0;
    if (unlikely(err)) end_all(q, report->fd, err, won);
    weft__queue_unlock(q, value);
}

/* Who has not entered yet sees by its life that it was closed. */
void weft__readiness_closes(int fd) {
    struct weft__list won = {NULL, NULL};
    struct weft_queue *q = queue_of(fd);
    uint64_t value = weft__queue_lock(q);
    weft__known_closes(fd);
    end_all(q, fd, -EBADF, &won);
    weft__queue_unlock(q, value);
    weft__make_all_ready(&won);
}

void weft__readiness_forked(void) { memset(queues, 0, sizeof queues); }

/* --- the public calls ------------------------------------------------------------------------------------ */

short weft__readiness_known(short events) { return (short)(events & WEFT_ASKABLE); }

bool weft__readiness_valid(short events) { return events == weft__readiness_known(events); }

int weft__readiness_look(int fd, short events) {
    struct pollfd p = {fd, events, 0};
    if (fd < 0) return -EBADF;
    if (poll(&p, 1, 0) < 0) return errno == EINTR ? 0 : -errno;
    return p.revents & POLLNVAL ? -EBADF : (uint16_t)p.revents;
}

/* also: another one, whose close ends the wait, or NULL. */
static WEFT_SWITCHES int wait(struct weft__descriptor *d, struct weft__descriptor *also, uint64_t deadline) {
    struct weft__fiber *me = d->waiter.fiber;
    int err = weft__wait_begin(me, WEFT_WAIT_BY_CANCEL | WEFT_WAIT_OUTSIDE, &d->waiter.ticket);
    if (unlikely(err)) return err;
    if (also) also->waiter = (struct weft_waiter){.fiber = me, .ticket = d->waiter.ticket};
    if (also && unlikely((err = weft__readiness_enter(also)))) {
        weft__wait_withdraw(me, d->waiter.ticket);
        return err;
    }
    if (unlikely((err = weft__readiness_enter(d))))
        weft__wait_withdraw(me, d->waiter.ticket);
    else if (unlikely((err = weft__wait_block(me, d->waiter.ticket, deadline))))
        weft__readiness_leave(d);
    if (also && weft__readiness_leave(also)) {
        weft__readiness_leave(d);
        return -EBADF;
    }
    return err ? err : d->got;
}

static int await(int fd, short events, uint32_t life, struct weft__descriptor *also, uint64_t deadline) {
    struct weft__descriptor d = {.waiter = {.fiber = weft__me()}, .fd = fd, .events = (uint16_t)events, .life = life};
    struct weft__fiber *me = d.waiter.fiber;
    if (!me) return -ENOMEM;
    int err = weft__service_hold(me);
    if (err) return err;
    err = wait(&d, also, deadline);
    weft__service_release(me);
    return err;
}

int weft__readiness_await(int fd, short events, uint32_t life) { return await(fd, events, life, NULL, WEFT_FOREVER); }

int weft__readiness_await_of_two(int fd, short events, uint32_t life, int other, uint32_t other_life) {
    struct weft__descriptor also = {.fd = other, .life = other_life, .by_close = true};
    return await(fd, events, life, &also, WEFT_FOREVER);
}

WEFT_PUBLIC int weft_ready_until(int fd, short events, uint64_t deadline) {
    if (!weft__readiness_valid(events)) return -EINVAL;
    uint32_t life = weft__known_life(fd);
    int found = weft__readiness_look(fd, events);
    return found ? found : await(fd, events, life, NULL, deadline);
}

WEFT_PUBLIC int weft_ready(int fd, short events) { return weft_ready_until(fd, events, WEFT_FOREVER); }

WEFT_PUBLIC int weft_ready_try(int fd, short events) {
    if (!weft__readiness_valid(events)) return -EINVAL;
    int found = weft__readiness_look(fd, events);
    return found ? found : -EAGAIN;
}
