/* SPDX-License-Identifier: MIT */
/* TLS: the certificate, and the handshake of a connection. */
#ifndef CACHED_SECURE_H
#define CACHED_SECURE_H

#include "cache.h"

struct weft_tls;

/* Reads what -Z needs. 0, or what is wrong has been said. */
int mc_secure_begin(const struct mc_settings *settings);
void mc_secure_end(void);

/* Reads the certificate, its key and the issuers again. NULL, or what is wrong: then all stays as it was. */
const char *mc_secure_reload(void);

/* A stream on the socket, after the handshake, which has ten seconds. NULL: there is none, and the socket is closed. */
struct weft_tls *mc_secure_shake(int fd);

/* Lines of stats. */
void mc_secure_tell(struct mc_session *session);

#endif
