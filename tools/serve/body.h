/* SPDX-License-Identifier: MIT */
/* Reads and drops the body of a request, which the server does not use, so that the next request can follow. */
#ifndef SERVE_BODY_H
#define SERVE_BODY_H

#include "connection.h"
#include "parse.h"

#define BODY_MOST (64 * 1024)

/* Returns 0, or the status of the answer: 400, 408, 413. Waits within the time for slow clients. Afterwards the texts
 * of r are invalid. */
int body_drop(struct connection *c, const struct request *r);

#endif
