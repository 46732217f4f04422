/* SPDX-License-Identifier: MIT */
/* Parts of a file: one range, or several in a multipart body. */
#ifndef SERVE_PARTS_H
#define SERVE_PARTS_H

#include "connection.h"
#include "files.h"
#include "parse.h"
#include "range.h"

/* What range_parse found, but 0: 206, or 416 for -1. Returns the status. */
int parts_reply(struct connection *c, const struct request *r, const struct file *f, const struct range *ranges, int n);

/* The first part of a boundary that no client can know. */
void parts_begin(void);

#endif
