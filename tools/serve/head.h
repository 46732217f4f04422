/* SPDX-License-Identifier: MIT */
/* The heads of answers, and the pages for errors. */
#ifndef SERVE_HEAD_H
#define SERVE_HEAD_H

#include "connection.h"
#include "parse.h"

/* Writes the end of every head: Date, Connection, and the empty line. Returns its size, at most HEAD_END_MOST. */
#define HEAD_END_MOST 80
size_t head_end(const struct connection *c, const struct request *r, char *to);

/* Writes a head. Without `type` there is no Content-Type. `fields` are whole lines, or TEXT(""). */
void head_write(struct connection *c, const struct request *r, int status, const char *type, uint64_t length,
                struct text fields);

/* Answers with a page about the status; to HEAD, without the page. Returns the status. */
int head_error(struct connection *c, const struct request *r, int status, struct text fields);

#endif
