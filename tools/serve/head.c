/* SPDX-License-Identifier: MIT */
/* See head.h. */
#include "head.h"

#include "tick.h"

#include <stdio.h>

static const char *words_of(int status) {
    switch (status) {
    case 200: return "OK";
    case 206: return "Partial Content";
    case 301: return "Moved Permanently";
    case 304: return "Not Modified";
    case 400: return "Bad Request";
    case 403: return "Forbidden";
    case 404: return "Not Found";
    case 405: return "Method Not Allowed";
    case 408: return "Request Timeout";
    case 412: return "Precondition Failed";
    case 413: return "Content Too Large";
    case 414: return "URI Too Long";
    case 416: return "Range Not Satisfiable";
    case 417: return "Expectation Failed";
    case 431: return "Request Header Fields Too Large";
    case 501: return "Not Implemented";
    case 503: return "Service Unavailable";
    case 505: return "HTTP Version Not Supported";
    default: return "Internal Server Error";
    }
}

size_t head_end(const struct connection *c, const struct request *r, char *to) {
    struct text end = TEXT("\r\n");
    if (!c->keep)
        end = TEXT("Connection: close\r\n\r\n");
    else if (r->old)
        end = TEXT("Connection: keep-alive\r\n\r\n");
    memcpy(to, tick_date(), TICK_DATE_SIZE);
    memcpy(to + TICK_DATE_SIZE, end.at, end.size);
    return TICK_DATE_SIZE + end.size;
}

/* A 304 has no length, because it sends no body. */
void head_write(struct connection *c, const struct request *r, int status, const char *type, uint64_t length,
                struct text fields) {
    char size[48] = "", *end;
    if (status != 304) snprintf(size, sizeof size, "Content-Length: %ju\r\n", (uintmax_t)length);
    output_format(&c->out, "HTTP/1.1 %d %s\r\nServer: weft\r\n%s%s%s%s%.*s", status, words_of(status),
                  type ? "Content-Type: " : "", type ? type : "", type ? "\r\n" : "", size, (int)fields.size,
                  fields.at);
    if ((end = output_room(&c->out, HEAD_END_MOST))) output_add(&c->out, head_end(c, r, end));
    c->body = r->method == METHOD_HEAD || status == 304 ? 0 : length;
}

int head_error(struct connection *c, const struct request *r, int status, struct text fields) {
    static const char page[] = "<!DOCTYPE html>\n<title>%d %s</title>\n<h1>%d %s</h1>\n";
    const char *words = words_of(status);
    int length = snprintf(NULL, 0, page, status, words, status, words);
    head_write(c, r, status, "text/html; charset=utf-8", (uint64_t)length, fields);
    if (r->method != METHOD_HEAD) output_format(&c->out, page, status, words, status, words);
    return status;
}
