/*
 * weft: channels, select, futures. Included by weft.h; how to read it stands there.
 *
 * Everything here works between fibers of any cluster and threads, serves in order of arrival, lives
 * where the program puts it, and is used as well by many as by two.
 */
#ifndef WEFT_CHAN_H
#define WEFT_CHAN_H

#include "weft/sync.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---------------------------------------------------------------------------------------------
 * Channels: items of one size, from those that send to those that receive
 *
 * A channel without a buffer hands each item from sender to receiver: both are there. One with a
 * buffer keeps what nobody receives yet, up to its capacity. An item goes to the receiver that has
 * waited longest, straight into its memory; each item is received once, in the order of sending.
 *
 * The channel is a plain struct:
 *
 *     struct weft_chan a = WEFT_CHAN_INIT(sizeof(int));       no buffer
 *     struct job room[64];
 *     struct weft_chan b = WEFT_CHAN_BUFFERED(room);          items and their number as in the array
 *     struct weft_chan d = WEFT_CHAN_OVER(p, size, n);        room for n items at p; less than 4 GiB
 *     struct weft_chan *c = weft_chan_make(sizeof(int), n);   on the heap, with its buffer
 *
 * Zeros are a channel without buffer whose items have no bytes. There is nothing to destroy, except
 * what was made. Receiving until the sender has closed the channel:
 *
 *     while (weft_chan_recv(&b, &job) == 0) ...
 *
 * A send that returns an error has not delivered the item, a receive that returns one has not taken
 * any: also after -ECANCELED and -ETIMEDOUT.
 * ------------------------------------------------------------------------------------------ */

struct weft_waiter;
struct weft_chan {
    uint64_t word; /* lock, who waits, how many items are there */
    uint32_t size, capacity;
    uint32_t first, next; /* byte in the buffer to receive from, and to send to */
    uint32_t bytes;       /* of the buffer */
    uint32_t reserved;
    void *buffer;
    struct weft_waiter *receivers, *senders; /* that wait */
    void *ahead;                             /* perhaps the first one's fiber: good for a prefetch */
};
#define WEFT_CHAN_OVER(buffer, size, capacity) \
    { 0, (uint32_t)(size), (uint32_t)(capacity), 0, 0, (uint32_t)((size) * (capacity)), 0, (buffer), NULL, NULL, NULL }
#define WEFT_CHAN_BUFFERED(array) WEFT_CHAN_OVER(array, sizeof((array)[0]), sizeof(array) / sizeof((array)[0]))
#define WEFT_CHAN_INIT(size) WEFT_CHAN_OVER(NULL, size, 0)

/* A channel for items of so many bytes, 0 too, with room for so many; 0: no buffer. NULL: no memory,
 * or 4 GiB and more.  [fiber thread] */
struct weft_chan *weft_chan_make(size_t size, size_t capacity);

/* Frees what weft_chan_make made, and the items in it; nothing is done for NULL. -EBUSY: somebody
 * waits there. -EINVAL: it was not made by weft_chan_make.  [fiber thread] */
int weft_chan_free(struct weft_chan *chan);

/*
 * Sends a copy of *item. Waits while the buffer is full, or until a receiver has taken the item if
 * there is none. -EPIPE: the channel is closed, or was closed meanwhile. -EINVAL: chan NULL, or item
 * NULL although items have bytes. -ETIMEDOUT. -ECANCELED.  [fiber thread; parks, cancel]
 */
int weft_chan_send(struct weft_chan *chan, const void *item);
int weft_chan_send_until(struct weft_chan *chan, const void *item, uint64_t deadline);

/* Sends if no wait is needed; -EAGAIN: it is.  [fiber thread] */
int weft_chan_send_try(struct weft_chan *chan, const void *item);

/*
 * Receives into *item; with NULL the item is dropped. Waits while there is none. -EPIPE: the channel
 * is closed, and everything that was sent has been received. -EINVAL: chan NULL. -ETIMEDOUT.
 * -ECANCELED.  [fiber thread; parks, cancel]
 */
int weft_chan_recv(struct weft_chan *chan, void *item);
int weft_chan_recv_until(struct weft_chan *chan, void *item, uint64_t deadline);

/* Receives if no wait is needed; -EAGAIN: it is.  [fiber thread] */
int weft_chan_recv_try(struct weft_chan *chan, void *item);

/*
 * Nothing more will be sent. Whoever waits is woken: receivers, because there is nothing to wait for,
 * senders with their items not delivered. What is in the buffer can still be received. -EALREADY: it
 * is closed. -EINVAL: NULL.  [fiber thread]
 */
int weft_chan_close(struct weft_chan *chan);

/* How many items are in the buffer now, and how many it has room for; 0 for NULL.  [fiber thread] */
size_t weft_chan_len(const struct weft_chan *chan);
size_t weft_chan_cap(const struct weft_chan *chan);

/* ---------------------------------------------------------------------------------------------
 * Futures: a value, or an error, that will be there once
 *
 * Set once, by whoever has it; any number wait for it. A future may be freed when the wait that saw
 * it done has returned, and nobody else waits.
 * ------------------------------------------------------------------------------------------ */

struct weft_future {
    struct weft_queue queue;
    void *value;
    int error;
};
#define WEFT_FUTURE_INIT \
    { {0, NULL, NULL}, NULL, 0 }

/* It is done, with this value, or with this error: a negative errno. Never waits; a timer's function
 * may call it. -EALREADY: it was done. -EINVAL: NULL, or the error is not negative.  [fiber thread] */
int weft_future_set(struct weft_future *future, void *value);
int weft_future_fail(struct weft_future *future, int error);

/* Waits until it is done, and stores the value in *value (unless NULL); or returns the error that it
 * was given. -EINVAL: future NULL. -ETIMEDOUT. -ECANCELED.  [fiber thread; parks, cancel] */
int weft_future_wait(struct weft_future *future, void **value);
int weft_future_wait_until(struct weft_future *future, void **value, uint64_t deadline);

/* The same without waiting; -EAGAIN: it is not done.  [fiber thread] */
int weft_future_try(struct weft_future *future, void **value);

/* Waits until all n are done. 0, or the error of the first in the array that has one. -EINVAL: a NULL.
 * -ETIMEDOUT. -ECANCELED.  [fiber thread; parks, cancel] */
int weft_future_all(struct weft_future *const *futures, unsigned n);
int weft_future_all_until(struct weft_future *const *futures, unsigned n, uint64_t deadline);

/* Waits until one of the n is done, with a value or an error, and returns which; of several, any. A
 * NULL is never done. -EINVAL: futures NULL, or n too large for an int. -ENOMEM: n is more than 16, and
 * there is no memory. -ETIMEDOUT. -ECANCELED.  [fiber thread; parks, cancel] */
int weft_future_any(struct weft_future *const *futures, unsigned n);
int weft_future_any_until(struct weft_future *const *futures, unsigned n, uint64_t deadline);

/* ---------------------------------------------------------------------------------------------
 * Select: the first of several that can be done, and only that one
 *
 *     struct weft_case cases[] = {WEFT_CASE_RECV(&jobs, &job), WEFT_CASE_SEND(&log, &line),
 *                                 WEFT_CASE_FUTURE(&stop, NULL), WEFT_CASE_TIME(next_report)};
 *     switch (weft_select(cases, 4)) {
 *     case 0: ... job, if cases[0].result is 0
 *
 * If several can be done, each of them is as likely. A case with NULL in the place of the channel or
 * future can never be done. The same channel may be in several cases, and be sent to and received
 * from; a select is not its own partner.
 * ------------------------------------------------------------------------------------------ */

struct weft_case {
    void *on;   /* the channel or future, or the descriptor or time + 1 */
    void *item; /* to send, or where to receive; of a future: void **, where to store the value; or the events */
    unsigned kind;
    int result;       /* of the case that was chosen: what the call by itself would have returned */
    void *opaque[10]; /* in use until the select returns */
};
enum { WEFT_CASE_NONE, WEFT_CASE_SENDS, WEFT_CASE_RECEIVES, WEFT_CASE_AWAITS, WEFT_CASE_POLLS, WEFT_CASE_SLEEPS };
#define WEFT_CASE_SEND(chan, pointer) \
    { \
        (chan), (void *)(pointer), WEFT_CASE_SENDS, 0, { NULL } \
    }
#define WEFT_CASE_RECV(chan, pointer) \
    { \
        (chan), (pointer), WEFT_CASE_RECEIVES, 0, { NULL } \
    }
#define WEFT_CASE_FUTURE(future, pointer) \
    { \
        (future), (pointer), WEFT_CASE_AWAITS, 0, { NULL } \
    }
/* Until a descriptor is ready, see weft/poll.h; the result is what weft_ready would have returned. A
 * descriptor of -1 never is. */
#define WEFT_CASE_READY(fd, events) \
    { \
        (void *)((intptr_t)(fd) + 1), (void *)(intptr_t)(events), WEFT_CASE_POLLS, 0, { NULL } \
    }
/* Until that time, by weft_now(), has come; the result is 0. WEFT_FOREVER never comes. */
#define WEFT_CASE_TIME(time) \
    { \
        (void *)(uintptr_t)((uint64_t)(time) + 1), NULL, WEFT_CASE_SLEEPS, 0, { NULL } \
    }

/*
 * Waits until one of the n cases can be done, does it, and returns its index; its outcome is in its
 * `result`: 0, or -EPIPE for a channel that is closed, or a future's error, or the events. A descriptor that nobody can
 * wait for is a case that can be done, too: its `result` is the error, -EBADF for instance. Zeros are a case that can
 * never be done. -EINVAL: cases NULL and n not 0, n too large for an int, an unknown kind, a send of
 * NULL, unknown events. -ETIMEDOUT: the deadline of the call has passed; a case whose time comes no later is done
 * instead. -ECANCELED. With a descriptor among them, and none that can be done, also -ENOMEM, -EMFILE, -ENFILE, -EAGAIN
 * as weft_ready. After an error none was done.  [fiber thread; parks, cancel]
 */
int weft_select(struct weft_case *cases, unsigned n);
int weft_select_until(struct weft_case *cases, unsigned n, uint64_t deadline);

/* Does one if no wait is needed; -EAGAIN: there was a moment at which none could be done. [fiber thread] */
int weft_select_try(struct weft_case *cases, unsigned n);

#ifdef __cplusplus
}
#endif
#endif
