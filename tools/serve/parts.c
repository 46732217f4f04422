/* SPDX-License-Identifier: MIT */
/* See parts.h. */
#include "parts.h"

#include "base/atomic.h"
#include "head.h"

#include <stdio.h>
#include <sys/random.h>

#define BOUNDARY "weft-%016jx%016jx"
#define BOUNDARY_SIZE (5 + 32)
#define PART_MOST 512 /* the most bytes of the head of a part */

static uintmax_t secret;
static _Atomic uint64_t counter;

void parts_begin(void) {
    if (getrandom(&secret, sizeof secret, GRND_NONBLOCK) < 0) secret = (uintmax_t)(uintptr_t)&secret;
}

static int part_head(char *to, const char *boundary, const struct file *f, struct range range) {
    return snprintf(to, PART_MOST, "\r\n--%s\r\nContent-Type: %s\r\nContent-Range: bytes %ju-%ju/%ju\r\n\r\n", boundary,
                    f->type.at, (uintmax_t)range.first, (uintmax_t)range.last, (uintmax_t)f->state.size);
}

static uint64_t size_of(struct range range) { return range.last - range.first + 1; }

static int reply_none(struct connection *c, const struct request *r, const struct file *f) {
    char fields[64];
    int n = snprintf(fields, sizeof fields, "Content-Range: bytes */%ju\r\n", (uintmax_t)f->state.size);
    return head_error(c, r, 416, (struct text){fields, (uint32_t)n});
}

static int reply_one(struct connection *c, const struct request *r, const struct file *f, struct range range) {
    char fields[PART_MOST];
    int n = snprintf(fields, sizeof fields, "Content-Range: bytes %ju-%ju/%ju\r\n%.*s", (uintmax_t)range.first,
                     (uintmax_t)range.last, (uintmax_t)f->state.size, (int)f->validators.size, f->validators.at);
    head_write(c, r, 206, f->type.at, size_of(range), (struct text){fields, (uint32_t)n});
    output_file(&c->out, f, range.first, size_of(range));
    return 206;
}

static int reply_several(struct connection *c, const struct request *r, const struct file *f,
                         const struct range *ranges, int n) {
    char boundary[BOUNDARY_SIZE + 1], type[BOUNDARY_SIZE + 48], part[PART_MOST];
    uint64_t length = 2 + 2 + BOUNDARY_SIZE + 2 + 2; /* the last boundary has two more dashes */
    snprintf(boundary, sizeof boundary, BOUNDARY, secret, (uintmax_t)add_rlx(&counter, 1));
    snprintf(type, sizeof type, "multipart/byteranges; boundary=%s", boundary);
    for (int i = 0; i < n; i++) length += (uint64_t)part_head(part, boundary, f, ranges[i]) + size_of(ranges[i]);
    head_write(c, r, 206, type, length, f->validators);
    for (int i = 0; i < n; i++) {
        int size = part_head(part, boundary, f, ranges[i]);
        output_text(&c->out, (struct text){part, (uint32_t)size});
        output_file(&c->out, f, ranges[i].first, size_of(ranges[i]));
    }
    output_format(&c->out, "\r\n--%s--\r\n", boundary);
    return 206;
}

int parts_reply(struct connection *c, const struct request *r, const struct file *f, const struct range *ranges,
                int n) {
    if (n < 0) return reply_none(c, r, f);
    return n == 1 ? reply_one(c, r, f, ranges[0]) : reply_several(c, r, f, ranges, n);
}
