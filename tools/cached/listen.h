/* SPDX-License-Identifier: MIT */
/* The sockets that a server listens on. */
#ifndef CACHED_LISTEN_H
#define CACHED_LISTEN_H

#include "cache.h"

#define MC_LISTENERS_MOST 32

/* Opens the sockets of the settings. Returns how many, or a negative number after printing the error. */
int mc_listen(const struct mc_settings *settings, int *fds);
/* Do the connections of the i-th socket use TLS? */
bool mc_listens_secure(int i);
/* Opens the sockets for datagrams, and returns like mc_listen. */
int mc_listen_udp(const struct mc_settings *settings, int *fds);

/* If MEMCACHED_PORT_FILENAME is set, writes the ports to that file, one line for each socket. The file appears
 * complete. */
void mc_tell_ports(const int *streams, int stream_count, const int *datagrams, int datagram_count);

#endif
