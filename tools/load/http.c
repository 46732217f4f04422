/* SPDX-License-Identifier: MIT */
/*
 * HTTP/1.1: a GET of the same path for each request. The first answer counts as right. All others must have the same
 * status, length and content, however they mark their end: by a Content-Length, by chunks, or by the end of the
 * connection. With a set of files: a GET of a random file, and the set has the right answer. See load.h.
 */
#include "fileset.h"
#include "load.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define HEADERS 8192 /* the most bytes of the head of an answer */
#define STATUS_AT 9  /* the position of the status in "HTTP/1.1 200" */

/* The position in the answer that is being read. Zero is the beginning. */
enum { HEAD, SIZED, TO_THE_END, CHUNK_SIZE, CHUNK_DATA, CHUNK_END, TRAILER };

enum { LENGTH_NOT_TOLD = -1, LENGTH_UNREADABLE = -2 };
struct head {
    size_t size;     /* of the whole head, with the empty line; 0: incomplete */
    unsigned status; /* 0: not an answer of HTTP/1 */
    long long length;
    bool chunked, last;
};

/* Does the value of a line have the word in its list? A line ends in CR. */
static bool has_word(const char *value, const char *word) {
    for (;;) {
        value += strspn(value, " \t,");
        size_t n = strcspn(value, " \t,;\r\n");
        if (n == strlen(word) && !strncasecmp(value, word, n)) return true;
        if (!n && *value != ';') return false;
        value += n + (value[n] == ';');
    }
}

/* Returns the text after the name, or NULL if the line has another name. */
static const char *value_of(const char *line, const char *name) {
    size_t size = strlen(name);
    return strncasecmp(line, name, size) ? NULL : line + size + strspn(line + size, " \t");
}

static void read_line(struct head *head, const char *line) {
    const char *value;
    if ((value = value_of(line, "content-length:"))) {
        head->length = isdigit((unsigned char)*value) ? strtoll(value, NULL, 10) : LENGTH_UNREADABLE;
    } else if ((value = value_of(line, "connection:"))) {
        if (has_word(value, "keep-alive")) head->last = false;
        if (has_word(value, "close")) head->last = true;
    } else if ((value = value_of(line, "transfer-encoding:"))) {
        head->chunked = has_word(value, "chunked");
    }
}

/* Reads a head. In HTTP/1.0 an answer is the last of its connection, unless its head says otherwise. */
static struct head read_head(const char *bytes, size_t size) {
    struct head head = {.length = LENGTH_NOT_TOLD};
    const char *end = memmem(bytes, size, "\r\n\r\n", 4);
    if (!end) return head;
    head.size = (size_t)(end - bytes) + 4;
    if (end - bytes < STATUS_AT + 3 || memcmp(bytes, "HTTP/1.", 7)) return head;
    head.status = (unsigned)strtoul(bytes + STATUS_AT, NULL, 10);
    head.last = bytes[7] == '0';
    for (const char *line = bytes; line < end && (line = memchr(line, '\n', (size_t)(end - line)));) {
        char first = *++line | ' ';
        if (first == 'c' || first == 't') read_line(&head, line);
    }
    return head;
}

/* Writes a request for a file of a set: GET, the path, and the rest, which prepare has written. */
static size_t request_file(struct load_link *link, unsigned i, char *out) {
    const struct load *load = link->load;
    size_t file = fileset_choose(load->set, (double)load_random(link) / 4294967296.0);
    link->asked[i].key = (uint32_t)file;
    char *end = stpcpy(stpcpy(out, "GET /"), load->set->files[file].path);
    memcpy(end, load->request_text, load->request_size);
    return (size_t)(end - out) + load->request_size;
}

static size_t request(struct load_link *link, unsigned i, char *out) {
    if (link->load->set) return request_file(link, i, out);
    memcpy(out, link->load->request_text, link->load->request_size);
    return link->load->request_size;
}

/* Sets the expected content of the i-th answer. */
static void expect(struct load_link *link, unsigned i) {
    const struct load *load = link->load;
    uint32_t file = link->asked[i].key;
    link->right = load->set ? fileset_content(load->content, file) : load->content;
    link->right_size = load->set ? load->set->files[file].size : load->content_size;
}

/* Is it an interim answer, after which another head follows? A change of the protocol is an error, because the client
 * did not ask for it. */
static bool is_interim(const struct head *head) { return head->status / 100 == 1 && head->status != 101; }

/* Takes a head. After an interim answer link->part is still HEAD. */
static size_t take_head(struct load_link *link, const char *bytes, size_t size, enum load_fault *fault) {
    const struct load *load = link->load;
    struct head head = read_head(bytes, size);
    if (head.size > link->head_size) link->head_size = head.size;
    if (!head.size || is_interim(&head)) return head.size;
    link->status = head.status;
    link->last = head.last;
    link->body_at = 0;
    link->body_left = (size_t)head.length;
    if (head.status != 200)
        *fault = LOAD_STATUS;
    else if (head.length == LENGTH_UNREADABLE ||
             (!head.chunked && head.length >= 0 && !load->learns && (size_t)head.length != link->right_size))
        *fault = LOAD_LENGTH;
    link->part = head.chunked ? CHUNK_SIZE : head.length >= 0 ? SIZED : TO_THE_END;
    link->to_the_end = link->part == TO_THE_END;
    if (link->to_the_end) link->last = true;
    return head.size;
}

/* Takes bytes of the content: stores them if this is the first answer, and compares them otherwise. */
static void see(struct load_link *link, const char *bytes, size_t n, enum load_fault *fault) {
    struct load *load = link->load;
    if (load->learns) {
        char *more = realloc(load->content, load->content_size + n + 1);
        if (!more) {
            *fault = LOAD_LENGTH;
            return;
        }
        load->content = more;
        memcpy(more + load->content_size, bytes, n);
        load->content_size += n;
    } else if (n > link->right_size - link->body_at) {
        *fault = LOAD_LENGTH;
        return;
    } else if (memcmp(bytes, link->right + link->body_at, n)) {
        *fault = LOAD_CONTENT;
    }
    link->body_at += n;
}

/* Takes a line before, between or after chunks. */
static void take_line(struct load_link *link, const char *line, size_t size, bool *done, enum load_fault *fault) {
    bool empty = size == 2 && *line == '\r';
    if (link->part == CHUNK_SIZE) {
        if (!isxdigit((unsigned char)*line)) *fault = LOAD_LENGTH;
        link->body_left = strtoull(line, NULL, 16);
        link->part = link->body_left ? CHUNK_DATA : TRAILER;
    } else if (link->part == CHUNK_END) {
        if (!empty) *fault = LOAD_LENGTH;
        link->part = CHUNK_SIZE;
    } else {
        *done = empty;
    }
}

/* Takes chunks: data as far as it has come, and complete lines. */
static size_t take_chunks(struct load_link *link, const char *bytes, size_t size, bool *done, enum load_fault *fault) {
    size_t taken = 0;
    while (taken < size && !*done && !*fault) {
        const char *at = bytes + taken;
        size_t n = size - taken;
        if (link->part == CHUNK_DATA) {
            if (n > link->body_left) n = link->body_left;
            see(link, at, n, fault);
            link->body_left -= n;
            if (!link->body_left) link->part = CHUNK_END;
        } else {
            const char *end = memchr(at, '\n', n);
            if (!end) break;
            n = (size_t)(end - at) + 1;
            take_line(link, at, n, done, fault);
        }
        taken += n;
    }
    return taken;
}

static size_t take_body(struct load_link *link, const char *bytes, size_t size, bool *done, enum load_fault *fault) {
    if (link->part >= CHUNK_SIZE) return take_chunks(link, bytes, size, done, fault);
    size_t n = link->part == SIZED && size > link->body_left ? link->body_left : size;
    see(link, bytes, n, fault);
    link->body_left -= n;
    *done = link->part == SIZED && !link->body_left;
    return n;
}

/* Takes bytes of an answer. Without bytes the connection has ended, which also ends an answer without a length. */
static size_t take(struct load_link *link, unsigned i, const char *bytes, size_t size, bool *done,
                   enum load_fault *fault) {
    size_t taken = 0, n;
    if (link->part == HEAD) expect(link, i);
    for (; link->part == HEAD && !*fault; taken += n)
        if (!(n = take_head(link, bytes + taken, size - taken, fault))) return taken;
    if (*fault) return taken;
    if (size)
        taken += take_body(link, bytes + taken, size - taken, done, fault);
    else
        *done = true;
    if (!*done || *fault) return taken;
    if (link->body_at != (link->load->learns ? link->load->content_size : link->right_size))
        *fault = size ? LOAD_LENGTH : LOAD_SHORT;
    link->part = HEAD;
    return taken;
}

/* Makes the first request, whose answer is compared with all others. Returns NULL, or the error. */
static const char *ask_first(struct load_link *link) {
    static char problem[128];
    struct weft_scope scope;
    weft_scope_begin(&scope, weft_now() + link->load->plan->timeout);
    enum load_fault fault = load_dial(link);
    if (fault) snprintf(problem, sizeof problem, "no connection: %s", strerror(errno));
    weft_scope_end(&scope);
    if (fault) return problem;
    switch (load_exchange(link, 1, 0, 0)) {
    case LOAD_FINE: return NULL;
    case LOAD_STATUS:
        if (!link->status) return "the first answer is not one of HTTP/1";
        snprintf(problem, sizeof problem, "the first answer has status %u", link->status);
        return problem;
    case LOAD_TIMEOUT: return "no answer to the first request in time";
    case LOAD_CLOSED: return "the first request was not answered";
    case LOAD_SHORT: return "the first answer is cut short";
    default: return "the first answer has a length that cannot be read, or is longer than it says";
    }
}

static const char *learn(struct load *load) {
    static struct load_tally nobodys;
    struct load_plan alone = *load->plan;
    struct load one = *load;
    one.plan = &alone;
    one.tally = &nobodys;
    one.learns = true;
    alone.depth = 1;
    struct load_link *link = load_link_new(&one, 0);
    if (!link) return "no memory";
    const char *problem = ask_first(link);
    /* more room, because a date or another field may be longer */
    load->answer_room = link->head_size + 256 + one.content_size;
    load->content = one.content;
    load->content_size = one.content_size;
    load_link_free(link);
    return problem;
}

static const char *prepare_set(struct load *load, const char *text) {
    static char problem[LOAD_PATH + 128];
    if (!(load->set = calloc(1, sizeof *load->set))) return "no memory";
    const char *wrong = fileset_read(load->set, load->plan->files);
    snprintf(problem, sizeof problem, "%.*s: %s", LOAD_PATH, load->plan->files, wrong ? wrong : "");
    if (wrong) return problem;
    load->request_text = strstr(text, " HTTP/1.1");
    load->request_size = strlen(load->request_text);
    load->request_room = load->request_size + FILESET_PATH + 8;
    load->answer_room = HEADERS + load->set->largest;
    load->content = load_pattern(load->set->largest);
    return load->content ? NULL : "no memory";
}

static const char *prepare(struct load *load) {
    static char text[3 * LOAD_PATH];
    const struct load_plan *plan = load->plan;
    load->request_size = (size_t)snprintf(text, sizeof text, "GET %s HTTP/1.1\r\nHost: %s\r\n%s\r\n", plan->path,
                                          plan->host, plan->one_request ? "Connection: close\r\n" : "");
    if (plan->files) return prepare_set(load, text);
    load->request_text = text;
    load->request_room = load->request_size;
    load->answer_room = HEADERS;
    return learn(load);
}

const struct load_protocol load_http = {"http", "80", true, prepare, request, take};
