/* SPDX-License-Identifier: MIT */
/* The sockets that a server listens on. */
#ifndef CACHED_LISTEN_H
#define CACHED_LISTEN_H

#include "cache.h"

#define MC_LISTENERS_MOST 32

/* Opens the sockets of the settings. Returns how many, or a negative number after printing the error. */
int mc_listen(const struct mc_settings *settings, int *fds);
/* Are connections of the i-th TLS? */
bool mc_listens_secure(int i);
/* The same for datagrams. */
int mc_listen_udp(const struct mc_settings *settings, int *fds);

/* Writes the ports to the file that MEMCACHED_PORT_FILENAME names, if it does: a line for each socket, whole at

 * once. */
void mc_tell_ports(const int *streams, int stream_count, const int *datagrams, int datagram_count);

#endif
