/* SPDX-License-Identifier: MIT */
/* Serves one client over a socket until it disconnects or is disconnected. Closes the descriptor. Runs as a fiber. */
#ifndef CACHED_CONNECTION_H
#define CACHED_CONNECTION_H

#include "cache.h"

/* secure: the connection begins with a TLS handshake. */
void mc_connection(struct mc_cache *cache, int fd, bool secure);

#endif
