/* SPDX-License-Identifier: MIT */
/* A connection that watches: sends the lines of its watcher until the client or the server ends. Runs in its fiber. */
#ifndef CACHED_WATCHER_H
#define CACHED_WATCHER_H

#include "session.h"

struct weft_tls;
/* tls: the stream for the lines; NULL: no TLS */
void mc_watch(struct mc_session *session, int fd, struct weft_tls *tls);

#endif
