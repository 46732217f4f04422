/* SPDX-License-Identifier: MIT */
/* TLS: the certificate, and the handshake of a connection. */
#ifndef CACHED_SECURE_H
#define CACHED_SECURE_H

#include "cache.h"

struct weft_tls;

/* Reads the files for -Z. Returns 0, or prints the error. */
int mc_secure_begin(const struct mc_settings *settings);
void mc_secure_end(void);

/* Reads the certificate, its key and the issuers again. Returns NULL, or the error: then nothing changes. */
const char *mc_secure_reload(void);

/* Makes the handshake, within ten seconds, and returns the stream. NULL: it failed, and the socket is closed. */
struct weft_tls *mc_secure_shake(int fd);

/* Writes the lines of stats about TLS. */
void mc_secure_tell(struct mc_session *session);

#endif
