/* SPDX-License-Identifier: MIT */
/* The answer to a request: what its path leads to, and how much of it. */
#ifndef SERVE_REPLY_H
#define SERVE_REPLY_H

#include "connection.h"
#include "parse.h"

/* Returns the status. Some of it may still be gathered in c->out. */
int reply(struct connection *c, const struct request *r);

#endif
