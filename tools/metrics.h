/* SPDX-License-Identifier: MIT */
/*
 * Serves the metrics of the runtime over HTTP at a separate address, so that the users of a server do not see them.
 */
#ifndef TOOLS_METRICS_H
#define TOOLS_METRICS_H

/* Opens the socket for "[ADDRESS:]PORT"; the default address is 127.0.0.1. Called before there are fibers. Returns 0,
 * or the exit code after printing the error. */
int metrics_listen(const char *where);

/* Answers until the fiber is cancelled. Returns at once if no socket was opened. Returns 0 or -errno. */
int metrics_serve(void);

/* Returns the address of the socket, such as "127.0.0.1:9100"; "" if there is none. */
const char *metrics_address(void);

#endif
