/* SPDX-License-Identifier: MIT */
/*
 * The server to measure. It is a separate process, pinned to the first processor that we may use; we use the last. If
 * there is a limit, it is in a control group with that limit.
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
    char scratch[SERVER_PATH]; /* a directory for the server's files; removed at the stop */
    char group[SERVER_PATH];   /* the control group; "": none */
};

/* The limits of the server. At most one may be set. */
struct limit {
    unsigned quota;  /* percent of its processor; 0: no limit */
    unsigned memory; /* MiB, including the page cache that its reads fill; 0: no limit */
};

/* Chooses a port, and makes the scratch directory. */
void server_prepare(struct server *server);

/* Starts argv (ends with NULL) and waits until it accepts connections at the port. Ends the program if that takes more
 * than ten seconds. Afterwards we are on the last processor. */
void server_start(struct server *server, char *const *argv, struct limit limit);

uint64_t server_cpu(const struct server *server); /* ns, user and system time of all threads and children */
void server_stop(struct server *server);          /* asks it to end, waits a little, then kills it */

#endif
