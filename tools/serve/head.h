/* SPDX-License-Identifier: MIT */
/* The heads of answers, and the pages that go with an error. */
#ifndef SERVE_HEAD_H
#define SERVE_HEAD_H

#include "connection.h"
#include "parse.h"

/* The end of every head: Date, Connection, and the empty line. Returns how many bytes, HEAD_END_MOST at most. */
#define HEAD_END_MOST 80
size_t head_end(const struct connection *c, const struct request *r, char *to);

/* A head that is not ready-made; type NULL: none is given. `fields` are whole lines, or TEXT(""). */
void head_write(struct connection *c, const struct request *r, int status, const char *type, uint64_t length,
                struct text fields);

/* An answer that only says so, in a page; to HEAD, without the page. Returns the status. */
int head_error(struct connection *c, const struct request *r, int status, struct text fields);

#endif
