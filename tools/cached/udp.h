/* SPDX-License-Identifier: MIT */
/*
 * Requests and answers in datagrams. Each begins with four numbers of 16 bits, high byte first: the number of the
 * request, which the client chose; the index of the datagram in the answer, from 0; the number of datagrams in the
 * answer; and zero. A request is one datagram. An answer has as many as it needs, of at most 1400 bytes.
 */
#ifndef CACHED_UDP_H
#define CACHED_UDP_H

#include "cache.h"

/* Answers the requests at a socket, until it is cancelled. Several fibers may serve one socket. */
int mc_udp(struct mc_cache *cache, int fd);

#endif
