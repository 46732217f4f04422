/* SPDX-License-Identifier: MIT */
/* The state of a connection. Kept small: an idle connection has only this and a few frames. */
#ifndef SERVE_CONNECTION_H
#define SERVE_CONNECTION_H

#include "input.h"
#include "output.h"

#include <netinet/in.h>

struct connection {
    int fd;
    bool keep;     /* after the answer that is being made */
    uint64_t body; /* its bytes, without the head */
    struct input in;
    struct output out;
    char peer[INET6_ADDRSTRLEN]; /* empty until it is asked for */
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
