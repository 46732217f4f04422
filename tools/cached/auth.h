/* SPDX-License-Identifier: MIT */
/*
 * Names and passwords (-Y FILE). A session without authentication may only send
 *
 *     set KEY FLAGS TIME SIZE\r\n
 *     NAME PASSWORD\r\n
 *
 * of which only the last line counts. After the answer STORED it is an ordinary session.
 */
#ifndef CACHED_AUTH_H
#define CACHED_AUTH_H

#include "session.h"

/* Reads the file; "NAME:PASSWORD" a line, 8 of them at most. NULL, or what is wrong; then what was read before

 * stays. */
const char *mc_auth_load(const char *file);

/* Takes bytes of a client that has not authenticated itself. Returns how many it used. */
size_t mc_auth_feed(struct mc_session *session, const char *bytes, size_t n);

#endif
