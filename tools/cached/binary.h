/* SPDX-License-Identifier: MIT */
/*
 * The binary protocol: frames of 24 bytes, extras, a key and a value. A frame is processed when it is complete.
 *
 * A client chooses its protocol by its first byte (unless -B has chosen for it): 0x80 is the magic of a frame.
 */
#ifndef CACHED_BINARY_H
#define CACHED_BINARY_H

#include "session.h"

/* Takes bytes of a session that does not speak the text protocol, or not yet. Returns how many it used. */
size_t mc_special_feed(struct mc_session *session, const char *bytes, size_t n);

/* Sends a statistic as a frame; without a name, the end of the list. */
void mc_binary_stat(struct mc_session *session, const char *name, const char *value, size_t size);

#endif
