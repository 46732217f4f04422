/* SPDX-License-Identifier: MIT */
/*
 * Names and passwords (-Y FILE), and a session that has not given any yet: it may say nothing but
 *
 *     set KEY FLAGS TIME SIZE\r\n
 *     NAME PASSWORD\r\n
 *
 * of which only the last line counts. The answer is STORED, and then it is a session like others.
 */
#ifndef CACHED_AUTH_H
#define CACHED_AUTH_H

#include "session.h"

/* Reads the file; "NAME:PASSWORD" a line, 8 of them at most. NULL, or what is wrong; then what was read before

 * stays. */
const char *mc_auth_load(const char *file);

/* What a client sends that has not authenticated itself: how many bytes were used. */
size_t mc_auth_feed(struct mc_session *session, const char *bytes, size_t n);

#endif
