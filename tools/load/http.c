/*
 * HTTP/1.1: GET of one path, again and again. The first answer is taken for the right one; all others must
 * have its status, its length and its content. Answers need a Content-Length. See load.h.
 */
#include "load.h"
#include "weft/io.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define HEADERS 8192 /* bytes of an answer's headers, at most */
#define STATUS_AT 9  /* "HTTP/1.1 200" */
#define LENGTH_NAME "content-length:"

struct head {
    size_t size; /* of it all, with the empty line; 0: its end has not come */
    unsigned status;
    long long length; /* -1: not told */
};

static struct head read_head(const char *bytes, size_t size) {
    struct head head = {0, 0, -1};
    const char *end = memmem(bytes, size, "\r\n\r\n", 4);
    if (!end || end - bytes < STATUS_AT + 3) return head;
    head.size = (size_t)(end - bytes) + 4;
    if (!memcmp(bytes, "HTTP/1.", 7)) head.status = (unsigned)strtoul(bytes + STATUS_AT, NULL, 10);
    for (const char *line = bytes; line < end && (line = memchr(line, '\n', (size_t)(end - line)));)
        if ((*++line == 'C' || *line == 'c') && !strncasecmp(line, LENGTH_NAME, strlen(LENGTH_NAME)))
            head.length = strtoll(line + strlen(LENGTH_NAME), NULL, 10);
    return head;
}

static size_t request(struct load_link *link, unsigned i, char *out) {
    (void)i;
    memcpy(out, link->load->request_text, link->load->request_size);
    return link->load->request_size;
}

/* body_end: the length that this answer tells, plus one; 0 while its headers are read. */
static size_t take_head(struct load_link *link, const char *bytes, size_t size, enum load_fault *fault) {
    struct head head = read_head(bytes, size);
    if (!head.size) return 0;
    if (head.status != 200)
        *fault = LOAD_STATUS;
    else if (head.length != (long long)link->load->content_size)
        *fault = LOAD_LENGTH;
    link->body_at = 0;
    link->body_end = (size_t)head.length + 1;
    return head.size;
}

static size_t take(struct load_link *link, unsigned i, const char *bytes, size_t size, bool *done,
                   enum load_fault *fault) {
    const struct load *load = link->load;
    size_t taken = link->body_end ? 0 : take_head(link, bytes, size, fault);
    (void)i;
    if (*fault || !link->body_end) return taken;
    size_t left = load->content_size - link->body_at, n = size - taken < left ? size - taken : left;
    if (memcmp(bytes + taken, load->content + link->body_at, n)) *fault = LOAD_CONTENT;
    link->body_at += n;
    *done = link->body_at == load->content_size;
    if (*done) link->body_end = 0;
    return taken + n;
}

/* All of an answer, headers included; its head is filled in. NULL: there is no good one. */
static char *fetch(struct load_link *link, struct head *head) {
    size_t room = HEADERS, size = 0;
    char *bytes = malloc(room);
    while (bytes && (!head->size || size < head->size + (size_t)head->length)) {
        ssize_t n = size < room ? weft_recv(link->fd, bytes + size, room - size, 0) : 0;
        if (n <= 0) break;
        size += (size_t)n;
        if (head->size) continue;
        *head = read_head(bytes, size);
        if (!head->size) continue;
        if (head->length < 0) break;
        char *more = realloc(bytes, room = head->size + (size_t)head->length + 1);
        if (!more) break;
        bytes = more;
    }
    if (bytes && head->size && head->length >= 0 && size == head->size + (size_t)head->length) return bytes;
    free(bytes);
    return NULL;
}

static const char *learn(struct load *load) {
    static char problem[128];
    struct head head = {0, 0, -1};
    struct load_plan alone = *load->plan;
    struct load one = *load;
    one.plan = &alone;
    alone.depth = 1;
    struct load_link *link = load_link_new(&one, 0);
    if (!link) return "no memory";
    char *bytes = NULL;
    struct weft_scope scope;
    weft_scope_begin(&scope, weft_now() + alone.timeout);
    if (load_dial(link))
        snprintf(problem, sizeof problem, "no connection: %s", strerror(errno));
    else if (weft_send(link->fd, load->request_text, load->request_size, MSG_NOSIGNAL) < 0 ||
             !(bytes = fetch(link, &head)))
        snprintf(problem, sizeof problem, "the first request had no good answer");
    else if (head.status != 200)
        snprintf(problem, sizeof problem, "the first answer has status %u", head.status);
    else
        problem[0] = 0;
    weft_scope_end(&scope);
    load_link_free(link);
    if (problem[0]) {
        free(bytes);
        return problem;
    }
    load->content = bytes;
    load->content_size = (size_t)head.length;
    load->answer_room = head.size + 256 + load->content_size; /* dates and such may be longer */
    memmove(bytes, bytes + head.size, load->content_size);
    return NULL;
}

static const char *prepare(struct load *load) {
    static char text[3 * LOAD_PATH];
    const struct load_plan *plan = load->plan;
    load->request_size = (size_t)snprintf(text, sizeof text, "GET %s HTTP/1.1\r\nHost: %s\r\n%s\r\n", plan->path,
                                          plan->host, plan->one_request ? "Connection: close\r\n" : "");
    load->request_text = text;
    load->request_room = load->request_size;
    load->answer_room = HEADERS;
    return learn(load);
}

const struct load_protocol load_http = {"http", "80", true, prepare, request, take};
