/* SPDX-License-Identifier: MIT */
/* The body of a request, which the server does not use: read and dropped, so that the next request can follow. */
#ifndef SERVE_BODY_H
#define SERVE_BODY_H

#include "connection.h"
#include "parse.h"

#define BODY_MOST (64 * 1024)

/* 0, or the status to answer with: 400, 408, 413. Waits within the time for slow clients. r's texts are gone then. */
int body_drop(struct connection *c, const struct request *r);

#endif
