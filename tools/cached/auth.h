/* SPDX-License-Identifier: MIT */
/*
 * Names and passwords (-Y FILE). A session without authentication may only send
 *
 *     set KEY FLAGS TIME SIZE\r\n
 *     NAME PASSWORD\r\n
 *
 * Only the second line matters. After the answer STORED the session is an ordinary session.
 */
#ifndef CACHED_AUTH_H
#define CACHED_AUTH_H

#include "session.h"

/* Reads the file: at most 8 lines "NAME:PASSWORD". Returns NULL, or the error; after an error the entries read before
 * stay valid. */
const char *mc_auth_load(const char *file);

/* Takes bytes of a client that has not authenticated itself. Returns how many it used. */
size_t mc_auth_feed(struct mc_session *session, const char *bytes, size_t n);

#endif
