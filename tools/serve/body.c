/* SPDX-License-Identifier: MIT */
/* See body.h. */
#include "body.h"

#include "chunks.h"
#include "deadlines.h"
#include "server.h"

/* Receives more of the body. Before the first wait, tells the client to send it. */
static int more(struct connection *c, bool *expects) {
    if (*expects) output_text(&c->out, TEXT("HTTP/1.1 100 Continue\r\n\r\n"));
    *expects = false;
    output_flush(&c->out);
    return !c->out.broken && input_wait(&c->in) ? 0 : deadline_expired(c->fd) ? 408 : 400;
}

static int drop_sized(struct connection *c, uint64_t left, bool expects) {
    for (;;) {
        uint32_t there = input_size(&c->in), n = left < there ? (uint32_t)left : there;
        input_use(&c->in, n);
        left -= n;
        if (!left) return 0;
        int err = more(c, &expects);
        if (err) return err;
    }
}

static int drop_chunks(struct connection *c, bool expects) {
    struct chunks chunks = {0};
    for (;;) {
        size_t used = 0;
        int end = chunks_skip(&chunks, input_data(&c->in), input_size(&c->in), &used);
        input_use(&c->in, (uint32_t)used);
        if (end < 0) return 400;
        if (chunks.bytes > BODY_MOST || chunks.left > BODY_MOST) return 413;
        if (end > 0) return 0;
        int err = more(c, &expects);
        if (err) return err;
    }
}

int body_drop(struct connection *c, const struct request *r) {
    if (r->body > BODY_MOST) return 413;
    deadline_set(c->fd, PHASE_READ, settings.slow);
    return r->chunked ? drop_chunks(c, r->expects) : drop_sized(c, r->body, r->expects);
}
