/* SPDX-License-Identifier: MIT */
/* echo: sends `size` bytes, which must come back. Each message is another piece of the pattern. See load.h. */
#include "load.h"

#include <string.h>

static const char *prepare(struct load *load) {
    load->content_size = load->request_room = load->answer_room = load->plan->size;
    load->content = load_pattern(load->plan->size);
    return load->content ? NULL : "no memory";
}

static size_t request(struct load_link *link, unsigned i, char *out) {
    size_t size = link->load->content_size;
    link->asked[i].key = (uint32_t)(link->random++ % LOAD_OFFSETS);
    memcpy(out, link->load->content + link->asked[i].key, size);
    return size;
}

/* Takes bytes of an answer. Long messages come in pieces: body_at counts the compared bytes of this message. */
static size_t take(struct load_link *link, unsigned i, const char *bytes, size_t size, bool *done,
                   enum load_fault *fault) {
    size_t left = link->load->content_size - link->body_at, n = size < left ? size : left;
    if (memcmp(bytes, link->load->content + link->asked[i].key + link->body_at, n)) *fault = LOAD_CONTENT;
    link->body_at += n;
    *done = link->body_at == link->load->content_size;
    if (*done) link->body_at = 0;
    return n;
}

const struct load_protocol load_echo = {"echo", NULL, false, prepare, request, take};
