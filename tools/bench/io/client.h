/* SPDX-License-Identifier: MIT */
/*
 * The client of `echo` and `accept`. It is a plain epoll loop, so the measure does not change when weft does. Closed
 * loop: each connection has one message under way. Every answer is compared with the message.
 */
#ifndef BENCH_IO_CLIENT_H
#define BENCH_IO_CLIENT_H

#include "load/load.h"
#include "process.h"

struct client {
    const struct server *server;
    unsigned connections, size; /* size: bytes of a message; 0: connect, and wait for the end */
    uint64_t warm_up, duration; /* ns */
    /* results */
    uint64_t errors;
    uint64_t elapsed, cpu; /* ns of the measured part; cpu: of the server */
    struct histogram times;
};

void client_run(struct client *client);

#endif
