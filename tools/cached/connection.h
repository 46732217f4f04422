/* One client over a socket, until it goes or is sent away. Closes the descriptor. Runs as a fiber. */
#ifndef CACHED_CONNECTION_H
#define CACHED_CONNECTION_H

#include "cache.h"

void mc_connection(struct mc_cache *cache, int fd);

#endif
