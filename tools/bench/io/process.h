/*
 * The server that is measured: a process of its own, pinned to the first processor we may use, while we
 * go to the last. Its CPU time is that of all its threads, the kernel's workers for its rings included,
 * and of its children: user and system time, to the nanosecond, with the interrupts that came meanwhile.
 */
#ifndef BENCH_IO_PROCESS_H
#define BENCH_IO_PROCESS_H

#include "measure.h"

#include <netinet/in.h>
#include <sys/types.h>

#define SERVER_PROCESSES 4

struct server {
    pid_t pids[SERVER_PROCESSES]; /* its own, then its children */
    int count;
    struct sockaddr_in address;
};

/* A port of 127.0.0.1 that is free now. */
unsigned free_port(void);

/* Starts argv (NULL: no more) and waits until it takes connections at the port; ends the program if it
 * does not within ten seconds. Afterwards we are on the last processor. */
void server_start(struct server *server, char *const *argv, unsigned port);

uint64_t server_cpu(const struct server *server); /* ns; 0 when it has ended */
void server_stop(struct server *server);          /* asks, waits a little, then kills it */

#endif
