/* SPDX-License-Identifier: MIT */
/* Sends parts of a file: one range, or several in a multipart body. */
#ifndef SERVE_PARTS_H
#define SERVE_PARTS_H

#include "connection.h"
#include "files.h"
#include "parse.h"
#include "range.h"

/* Answers with the result of range_parse, unless it was 0: 206, or 416 for -1. Returns the status. */
int parts_reply(struct connection *c, const struct request *r, const struct file *f, const struct range *ranges, int n);

/* Chooses the first part of the boundary, which no client can predict. */
void parts_begin(void);

#endif
