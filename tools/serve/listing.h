/* SPDX-License-Identifier: MIT */
/* A page with the contents of a directory. */
#ifndef SERVE_LISTING_H
#define SERVE_LISTING_H

#include "connection.h"
#include "parse.h"

/* `path` is decoded, and empty for the root; otherwise it ends in a slash. Returns the status. */
int listing_reply(struct connection *c, const struct request *r, const char *path);

#endif
