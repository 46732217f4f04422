/* SPDX-License-Identifier: MIT */
/*
 * Channels, futures and select. weft.h includes this header and says how to read it.
 *
 * Every object here may be used by any number of fibers of all clusters, and by threads, at the same time. It serves
 * waiters in order of arrival, and lives in memory that the program chooses.
 */
#ifndef WEFT_CHAN_H
#define WEFT_CHAN_H

#include "weft/sync.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---------------------------------------------------------------------------------------------
 * Channels
 *
 * A channel carries items of one size from senders to receivers. Each item is received once, in the order of sending,
 * and goes to the receiver that has waited longest. Without a buffer, a send returns when a receiver has taken the
 * item. With a buffer, a send returns when the item is in the buffer.
 *
 * A channel is a plain struct:
 *
 *     struct weft_chan a = WEFT_CHAN_INIT(sizeof(int));       no buffer
 *     struct job room[64];
 *     struct weft_chan b = WEFT_CHAN_BUFFERED(room);          item size and capacity are those of the array
 *     struct weft_chan d = WEFT_CHAN_OVER(p, size, n);        a buffer for n items at p, less than 4 GiB
 *     struct weft_chan *c = weft_chan_make(sizeof(int), n);   on the heap, with its buffer
 *
 * A zeroed struct is a channel without a buffer whose items have no bytes. There is nothing to destroy, except a
 * channel from weft_chan_make. To receive until the sender closes the channel:
 *
 *     while (weft_chan_recv(&b, &job) == 0) handle(&job);
 *
 * A send that returns an error has not delivered its item, and a receive that returns an error has not taken one. That
 * also holds for -ECANCELED and -ETIMEDOUT.
 * ------------------------------------------------------------------------------------------ */

struct weft_waiter;

/* A channel. Its members are internal. */
struct weft_chan {
    uint64_t word; /* lock, kinds of waiters, number of items */
    uint32_t size, capacity;
    uint32_t first, next; /* offsets in the buffer: the next item to receive, the next free slot */
    uint32_t bytes;       /* size of the buffer */
    uint32_t reserved;
    void *buffer;
    struct weft_waiter *receivers, *senders; /* waiting */
    void *ahead;                             /* a hint for prefetching: probably the fiber of the first waiter */
};

/*
 * Initialise a struct weft_chan: over memory at `buffer` for `capacity` items of `size` bytes; over an array; or
 * without a buffer.
 */
#define WEFT_CHAN_OVER(buffer, size, capacity) \
    { 0, (uint32_t)(size), (uint32_t)(capacity), 0, 0, (uint32_t)((size) * (capacity)), 0, (buffer), NULL, NULL, NULL }
#define WEFT_CHAN_BUFFERED(array) WEFT_CHAN_OVER(array, sizeof((array)[0]), sizeof(array) / sizeof((array)[0]))
#define WEFT_CHAN_INIT(size) WEFT_CHAN_OVER(NULL, size, 0)

/*
 * Allocates a channel and its buffer.
 *
 *   size       bytes of an item; may be 0
 *   capacity   items that the buffer holds; 0: no buffer
 *
 * Errors: returns NULL if memory is exhausted or the buffer would have 4 GiB or more.
 * [fiber thread]
 */
WEFT_MUST_USE struct weft_chan *weft_chan_make(size_t size, size_t capacity);

/*
 * Frees a channel from weft_chan_make, with the items in it. Does nothing for NULL.
 *
 * Errors:
 *   -EBUSY    a sender or receiver waits on the channel
 *   -EINVAL   the channel is not from weft_chan_make
 * [fiber thread]
 */
int weft_chan_free(struct weft_chan *chan);

/*
 * Sends a copy of *item. Waits while the buffer is full; without a buffer, until a receiver has taken the item.
 *
 * Errors:
 *   -EPIPE    the channel is closed, or was closed during the wait
 *   -EINVAL   chan is NULL, or item is NULL although items have bytes
 * [fiber thread; parks, cancel]
 */
WEFT_MUST_USE int weft_chan_send(struct weft_chan *chan, const void *item);
WEFT_MUST_USE int weft_chan_send_until(struct weft_chan *chan, const void *item, uint64_t deadline);

/*
 * Sends a copy of *item if that needs no wait.
 *
 * Errors:
 *   -EAGAIN   the buffer is full, or no receiver waits
 *   -EPIPE    the channel is closed
 *   -EINVAL   as weft_chan_send
 * [fiber thread]
 */
WEFT_MUST_USE int weft_chan_send_try(struct weft_chan *chan, const void *item);

/*
 * Receives an item. Waits while there is none.
 *
 *   item   receives a copy; NULL drops the item
 *
 * Errors:
 *   -EPIPE    the channel is closed, and every item sent before has been received
 *   -EINVAL   chan is NULL
 * [fiber thread; parks, cancel]
 */
WEFT_MUST_USE int weft_chan_recv(struct weft_chan *chan, void *item);
WEFT_MUST_USE int weft_chan_recv_until(struct weft_chan *chan, void *item, uint64_t deadline);

/*
 * Receives an item if there is one.
 *
 * Errors:
 *   -EAGAIN   there is no item
 *   -EPIPE    the channel is closed and empty
 *   -EINVAL   chan is NULL
 * [fiber thread]
 */
WEFT_MUST_USE int weft_chan_recv_try(struct weft_chan *chan, void *item);

/*
 * Closes a channel: nothing more can be sent. Items in the buffer can still be received. Waiting receivers wake with
 * -EPIPE. Waiting senders wake with -EPIPE, and their items were not delivered.
 *
 * Errors:
 *   -EALREADY   the channel is closed
 *   -EINVAL     chan is NULL
 * [fiber thread]
 */
int weft_chan_close(struct weft_chan *chan);

/*
 * Return the number of items in the buffer at this moment, and the number that it can hold. 0 for NULL.
 *
 * Errors: none.
 * [fiber thread]
 */
size_t weft_chan_len(const struct weft_chan *chan);
size_t weft_chan_cap(const struct weft_chan *chan);

/* ---------------------------------------------------------------------------------------------
 * Futures
 *
 * A future is a value, or an error, that will be there later. It is set once, and any number of callers wait for it.
 * Its memory may be freed when a wait has seen it done and nothing else waits for it.
 * ------------------------------------------------------------------------------------------ */

/* A value that will be there later. Its members are internal. */
struct weft_future {
    struct weft_queue queue;
    void *value;
    int error;
};

/* Initialises a struct weft_future. */
#define WEFT_FUTURE_INIT \
    { {0, NULL, NULL}, NULL, 0 }

/*
 * Complete a future with a value (set) or with an error (fail), and wake all waiters. Neither call waits; a timer
 * function may use them.
 *
 *   error   a negative errno
 *
 * Errors:
 *   -EALREADY   the future is done
 *   -EINVAL     future is NULL, or error is not negative
 * [fiber thread]
 */
int weft_future_set(struct weft_future *future, void *value);
int weft_future_fail(struct weft_future *future, int error);

/*
 * Waits until a future is done. Returns 0 and stores the value, or returns the error that the future was given.
 *
 *   value   receives the value; may be NULL
 *
 * Errors:
 *   -EINVAL   future is NULL
 *   other     the error of weft_future_fail
 * [fiber thread; parks, cancel]
 */
WEFT_MUST_USE int weft_future_wait(struct weft_future *future, void **value);
WEFT_MUST_USE int weft_future_wait_until(struct weft_future *future, void **value, uint64_t deadline);

/*
 * Does what weft_future_wait does, without waiting.
 *
 * Errors:
 *   -EAGAIN   the future is not done
 *   -EINVAL   future is NULL
 *   other     the error of weft_future_fail
 * [fiber thread]
 */
WEFT_MUST_USE int weft_future_try(struct weft_future *future, void **value);

/*
 * Waits until all n futures are done. Returns 0, or the error of the first future in the array that has one.
 *
 * Errors:
 *   -EINVAL   futures or one of its elements is NULL
 *   other     the error of a future
 * [fiber thread; parks, cancel]
 */
WEFT_MUST_USE int weft_future_all(struct weft_future *const *futures, unsigned n);
WEFT_MUST_USE int weft_future_all_until(struct weft_future *const *futures, unsigned n, uint64_t deadline);

/*
 * Waits until one of n futures is done, with a value or an error, and returns its index. An element that is NULL is
 * never done. If several are done, returns any of them.
 *
 * Errors:
 *   -EINVAL   futures is NULL, or n does not fit into an int
 *   -ENOMEM   n exceeds 16, and memory is exhausted
 * [fiber thread; parks, cancel]
 */
WEFT_MUST_USE int weft_future_any(struct weft_future *const *futures, unsigned n);
WEFT_MUST_USE int weft_future_any_until(struct weft_future *const *futures, unsigned n, uint64_t deadline);

/* ---------------------------------------------------------------------------------------------
 * Select
 *
 * A select waits for several things and does exactly one of them:
 *
 *     struct weft_case cases[] = {WEFT_CASE_RECV(&jobs, &job), WEFT_CASE_SEND(&log, &line),
 *                                 WEFT_CASE_FUTURE(&stop, NULL), WEFT_CASE_TIME(next_report)};
 *     switch (weft_case_select(cases, 4)) {
 *     case 0: if (cases[0].result == 0) handle(&job); break;
 *
 * If several cases can be done at once, each is equally likely. A case with NULL in place of the channel or future is
 * never chosen. One channel may appear in several cases, for sending and for receiving; a select is not its own
 * partner.
 * ------------------------------------------------------------------------------------------ */

/* One case of a select. Initialise it with a WEFT_CASE_... macro; a zeroed case is never chosen. */
struct weft_case {
    void *on;   /* the channel or future; or the descriptor or time, plus 1 */
    void *item; /* the item to send, or where to store the received item or value; or the events */
    unsigned kind;
    int result;       /* of the chosen case: what the call by itself would have returned */
    void *opaque[10]; /* in use until the select returns */
};

/* Kinds of cases, set by the macros. */
enum { WEFT_CASE_NONE, WEFT_CASE_SENDS, WEFT_CASE_RECEIVES, WEFT_CASE_AWAITS, WEFT_CASE_POLLS, WEFT_CASE_SLEEPS };

/* A case that sends *pointer to a channel. */
#define WEFT_CASE_SEND(chan, pointer) \
    { \
        (chan), (void *)(pointer), WEFT_CASE_SENDS, 0, { NULL } \
    }

/* A case that receives from a channel into *pointer; with NULL the item is dropped. */
#define WEFT_CASE_RECV(chan, pointer) \
    { \
        (chan), (pointer), WEFT_CASE_RECEIVES, 0, { NULL } \
    }

/* A case that waits for a future and stores its value in *pointer, a void *; NULL drops the value. */
#define WEFT_CASE_FUTURE(future, pointer) \
    { \
        (future), (pointer), WEFT_CASE_AWAITS, 0, { NULL } \
    }

/*
 * A case that waits until a descriptor is ready (weft/poll.h). Its result is that of weft_ready. A descriptor of -1 is
 * never ready.
 */
#define WEFT_CASE_READY(fd, events) \
    { \
        (void *)((intptr_t)(fd) + 1), (void *)(intptr_t)(events), WEFT_CASE_POLLS, 0, { NULL } \
    }

/* A case that waits until a point in time of weft_now(). Its result is 0. WEFT_FOREVER is never reached. */
#define WEFT_CASE_TIME(time) \
    { \
        (void *)(uintptr_t)((uint64_t)(time) + 1), NULL, WEFT_CASE_SLEEPS, 0, { NULL } \
    }

/*
 * Waits until one of n cases can be done, does it, and returns its index. The outcome is in the `result` of the case:
 * 0, -EPIPE for a closed channel, the error of a future, or the events of a descriptor. If a descriptor cannot be
 * waited for, its case can be done at once, and its result is an error such as -EBADF. If the select itself returns an
 * error, no case was done.
 *
 * Errors:
 *   -EINVAL   cases is NULL and n is not 0, n does not fit into an int, an unknown kind or event, or NULL is sent
 *   -ENOMEM, -EMFILE, -ENFILE, -EAGAIN
 *             (with a descriptor) no memory, descriptors or threads, as weft_ready
 * [fiber thread; parks, cancel]
 */
WEFT_MUST_USE int weft_case_select(struct weft_case *cases, unsigned n);
WEFT_MUST_USE int weft_case_select_until(struct weft_case *cases, unsigned n, uint64_t deadline);

/*
 * Does one of n cases if that needs no wait, and returns its index.
 *
 * Errors:
 *   -EAGAIN   at some moment during the call no case could be done
 *   -EINVAL   as weft_case_select
 * [fiber thread]
 */
WEFT_MUST_USE int weft_case_select_try(struct weft_case *cases, unsigned n);

#ifdef __cplusplus
}
#endif
#endif
