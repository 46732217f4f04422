/* SPDX-License-Identifier: MIT */
/*
 * The server that is measured: a process of its own, pinned to the first processor we may use, while we
 * go to the last; in a control group that limits it, if a limit is asked for.
 */
#ifndef BENCH_IO_PROCESS_H
#define BENCH_IO_PROCESS_H

#include "measure.h"

#include <netinet/in.h>
#include <sys/types.h>

#define SERVER_PATH SCRATCH_SIZE

struct server {
    pid_t pid;
    unsigned port;
    struct sockaddr_in address;
    char scratch[SERVER_PATH]; /* a directory that it may fill; removed at the stop */
    char group[SERVER_PATH];   /* the control group; "": none */
};

/* What the server may use; at most one of the limits. */
struct limit {
    unsigned quota;  /* of a hundred parts of its processor; 0: all of it */
    unsigned memory; /* MiB, with the page cache that its reads fill; 0: all there is */
};

/* A port, and the scratch directory. */
void server_prepare(struct server *server);

/* Starts argv (NULL: no more) and waits until it takes connections at the port; ends the program if it
 * does not within ten seconds. Afterwards we are on the last processor. */
void server_start(struct server *server, char *const *argv, struct limit limit);

uint64_t server_cpu(const struct server *server); /* ns, user and system time of all threads and children */
void server_stop(struct server *server);          /* asks, waits a little, then kills it */

#endif
