/* SPDX-License-Identifier: MIT */
/* The state of a connection. Kept small: an idle connection has only this and a few frames. */
#ifndef SERVE_CONNECTION_H
#define SERVE_CONNECTION_H

#include "input.h"
#include "output.h"

#include <netinet/in.h>

struct connection {
    int fd;
    bool keep;     /* keep the connection after the current answer */
    uint64_t body; /* bytes of the body of the current answer */
    struct input in;
    struct output out;
    char peer[INET6_ADDRSTRLEN]; /* the client's address; empty until it is needed */
};

/*
 * A connection begins with connection_greet, after a deadline for its first bytes was set. If that returns true,
 * another fiber may continue with connection_run. The call that sees the end closes the descriptor.
 *
 *   connection_greet   until the first answer; true: the client may send more requests
 *   connection_run     until the client has closed, or is dropped
 */
bool connection_greet(int fd);
void connection_run(int fd);

#endif
