/* SPDX-License-Identifier: MIT */
/* The access log, in the combined format. Lines are collected, and written once a second or when there are many. */
#ifndef SERVE_LOG_H
#define SERVE_LOG_H

#include "parse.h"

#include <stdint.h>

/* Opens the log. Returns 0 or a negative errno. */
int log_begin(const char *file);
void log_end(void);

bool log_wanted(void);

/* Logs a request. `peer` is the client's address. */
void log_request(const char *peer, const struct request *r, int status, uint64_t bytes);

/* Writes the collected lines. `reopen`: to a new file of that name, because the old file was moved away. */
void log_write(bool reopen);

#endif
