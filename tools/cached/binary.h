/* SPDX-License-Identifier: MIT */
/*
 * The binary protocol: frames of 24 bytes, extras, a key and a value. A frame is looked at when all of it is there.
 *
 * A client chooses its protocol by its first byte (unless -B has chosen for it): 0x80 is the magic of a frame.
 */
#ifndef CACHED_BINARY_H
#define CACHED_BINARY_H

#include "session.h"

/* What comes while the session does not speak the text protocol, or not yet: how many bytes were used. */
size_t mc_special_feed(struct mc_session *session, const char *bytes, size_t n);

/* A statistic as a frame; without a name, the end of them. */
void mc_binary_stat(struct mc_session *session, const char *name, const char *value, size_t size);

#endif
