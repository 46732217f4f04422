/* SPDX-License-Identifier: MIT */
/*
 * The numbers of the runtime over HTTP, at an address of their own: what a server is asked for by its users and what it
 * tells those that run it are kept apart.
 */
#ifndef TOOLS_METRICS_H
#define TOOLS_METRICS_H

/* Opens the socket for "[ADDRESS:]PORT"; the address is 127.0.0.1 unless it is given. Before there are fibers. 0; else
 * what is wrong was said on standard error, and the exit code is returned. */
int metrics_listen(const char *where);

/* Answers until the fiber is cancelled; nothing to do if no socket was opened. 0 or -errno. */
int metrics_serve(void);

/* Where it listens: "127.0.0.1:9100"; "": nowhere. */
const char *metrics_address(void);

#endif
