/* SPDX-License-Identifier: MIT */
/*
 * Parses the head of a request: its first line and its fields, up to the empty line. It only reads memory, without
 * system calls. The results are parts of that memory.
 *
 * It is strict where leniency would let two readers of a stream find different ends of a request:
 * lines end in CR LF, no space before a colon, no folded lines, one Content-Length or one
 * "Transfer-Encoding: chunked" and never both, one Host, which is a name or an address.
 */
#ifndef SERVE_PARSE_H
#define SERVE_PARSE_H

#include "text.h"

#include <stddef.h>

#define HEAD_MOST 8192       /* the most bytes of a head */
#define HEAD_FIELDS_MOST 100 /* the most lines of a head */

enum method { METHOD_GET, METHOD_HEAD, METHOD_KNOWN, METHOD_UNKNOWN };

enum field {
    FIELD_HOST,
    FIELD_CONNECTION,
    FIELD_CONTENT_LENGTH,
    FIELD_TRANSFER_ENCODING,
    FIELD_EXPECT,
    FIELD_RANGE,
    FIELD_IF_RANGE,
    FIELD_IF_MATCH,
    FIELD_IF_NONE_MATCH,
    FIELD_IF_MODIFIED_SINCE,
    FIELD_IF_UNMODIFIED_SINCE,
    FIELD_REFERER,
    FIELD_USER_AGENT,
    FIELDS
};

struct request {
    enum method method;
    struct text line;           /* the first line, without its end */
    struct text path;           /* as the client sent it: with percent signs, without the query */
    struct text query;          /* including its question mark */
    struct text fields[FIELDS]; /* the first line of each field, trimmed */
    uint32_t given;             /* a bit for each field that is present */
    uint32_t repeated;          /* a bit for each field that is present more than once */
    uint32_t size;              /* bytes of the head */
    uint64_t body;              /* bytes of the body that follows */
    bool chunked;               /* the body is chunked */
    bool expects;               /* the client waits for "100 Continue" before it sends the body */
    bool old;                   /* HTTP/1.0 */
    bool keep;                  /* keep the connection after the answer */
};

static inline bool request_has(const struct request *r, enum field f) { return r->given >> f & 1; }

/* Finds the next line of a list field, after the line *value. False: there is no further line. */
bool request_next(const struct request *r, enum field f, struct text *value);

/*
 * Returns PARSE_MORE (the head is incomplete), PARSE_DONE, or the status of the answer: 400, 414, 417, 431, 501 or 505.
 * With a status, only line, method and old are set, as far as they were read, and the following bytes cannot be
 * understood. `seen`: an earlier call has returned PARSE_MORE for this many bytes.
 */
enum { PARSE_MORE = 0, PARSE_DONE = 200 };
int parse_head(struct request *r, const char *data, size_t size, size_t seen);

#endif
