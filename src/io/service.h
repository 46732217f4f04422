/*
 * The service: a thread that sleeps in the poller (driver/poller.h), and hands on what it reports. It is
 * made when the first one waits, uses no CPU while nothing happens, and ends with the runtime; or, if
 * threads wait or signals are subscribed to without a runtime, when nobody does any more. While all workers are busy
 * it holds back (sched/dry.c).
 */
#ifndef WEFT_IO_SERVICE_H
#define WEFT_IO_SERVICE_H

#include "driver/poller.h"
#include "sched/sched.h"

/*
 * Before a wait that the service is to end, and after it. The runtime keeps the service for its fibers;
 * others hold it themselves (me: a thread's record, or NULL). -EMFILE, -ENFILE, -ENOMEM, -EAGAIN.
 */
int weft__service_hold(const struct weft__fiber *me);
void weft__service_release(const struct weft__fiber *me);

/* Only while it is held. */
int weft__service_arm(int fd, uint32_t events, uint32_t round);
/* Calls fn on the service's thread whenever there is something to read; for one descriptor, which is
 * forgotten when it is closed. */
int weft__service_watch(int fd, void (*fn)(void));
/* The signals that the service's thread takes, a bit each; it blocks all others. */
void weft__service_hear(uint64_t signals);

#endif
