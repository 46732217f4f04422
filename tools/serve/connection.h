/* SPDX-License-Identifier: MIT */
/* A connection: what its fiber knows. Kept small: this and a few frames are all that an idle one has. */
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
 * A connection begins with connection_greet. If that returns true, another fiber may go on with connection_run. A
 * deadline for its first bytes is set. Whichever call sees the end closes the descriptor.
 *
 *   connection_greet   until the first answer; true: the client may ask again
 *   connection_run     until the client has what it wants, or is given up
 */
bool connection_greet(int fd);
void connection_run(int fd);

#endif
