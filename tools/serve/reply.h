/* SPDX-License-Identifier: MIT */
/* The answer to a request: finds the file, and sends it or a part of it. */
#ifndef SERVE_REPLY_H
#define SERVE_REPLY_H

#include "connection.h"
#include "parse.h"

/* Returns the status. A part of the answer may still be in c->out. */
int reply(struct connection *c, const struct request *r);

#endif
