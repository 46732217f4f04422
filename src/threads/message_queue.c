/* SPDX-License-Identifier: MIT */
/* POSIX message queues: on Linux a queue is a descriptor that can be polled. */
#define _GNU_SOURCE
#include "threads/threads.h"
#include "weft/io.h"

#include <errno.h>
#include <mqueue.h>
#include <poll.h>

REAL(mq_timedreceive);
REAL(mq_timedsend);

/* Parks until the queue may have a message, or room. False: the deadline has passed, or a signal has come. */
static bool await_queue(mqd_t queue, short events, uint64_t deadline) {
    struct weft__interruptible i;
    struct pollfd fd = {.fd = queue, .events = events};
    for (;;) {
        weft__interrupt_begin(&i, deadline);
        int ready = weft_poll(&fd, 1, -1);
        bool again = weft__interrupt_end(&i);
        if (ready > 0) return true;
        if (!weft__interrupt_explain(deadline, ETIMEDOUT) || !again) return false;
    }
}

static bool is_direct_queue(mqd_t queue) {
    struct mq_attr attr;
    return !weft__caller_parks() || mq_getattr(queue, &attr) || attr.mq_flags & O_NONBLOCK;
}

/* Makes attempts with a time that has passed, and parks between them, until the result is not ETIMEDOUT. */
#define QUEUE_CALL(queue, events, time, direct, attempt) \
    ({ \
        const struct timespec past_ = {0, 0}; \
        __typeof__(attempt) result_ = -1; \
        if (is_direct_queue(queue) || ((time) && weft__time_is_bad(time))) \
            result_ = direct; \
        else { \
            uint64_t deadline_ = (time) ? weft__time_deadline(time, CLOCK_REALTIME) : WEFT_FOREVER; \
            weft__cancel_point(); \
            while ((result_ = attempt) < 0 && errno == ETIMEDOUT) \
                if (!await_queue(queue, events, deadline_)) break; \
        } \
        result_; \
    })

static ssize_t queue_receive(mqd_t queue, char *buffer, size_t size, unsigned *priority, const struct timespec *time) {
    return QUEUE_CALL(queue, POLLIN, time, real(mq_timedreceive)(queue, buffer, size, priority, time),
                      real(mq_timedreceive)(queue, buffer, size, priority, &past_));
}
static int queue_send(mqd_t queue, const char *message, size_t size, unsigned priority, const struct timespec *time) {
    return QUEUE_CALL(queue, POLLOUT, time, real(mq_timedsend)(queue, message, size, priority, time),
                      real(mq_timedsend)(queue, message, size, priority, &past_));
}

WEFT_INTERPOSED ssize_t mq_timedreceive(mqd_t queue, char *buffer, size_t size, unsigned *priority,
                                        const struct timespec *time) {
    return queue_receive(queue, buffer, size, priority, time);
}
WEFT_INTERPOSED ssize_t mq_receive(mqd_t queue, char *buffer, size_t size, unsigned *priority) {
    return queue_receive(queue, buffer, size, priority, NULL);
}
WEFT_INTERPOSED int mq_timedsend(mqd_t queue, const char *message, size_t size, unsigned priority,
                                 const struct timespec *time) {
    return queue_send(queue, message, size, priority, time);
}
WEFT_INTERPOSED int mq_send(mqd_t queue, const char *message, size_t size, unsigned priority) {
    return queue_send(queue, message, size, priority, NULL);
}
