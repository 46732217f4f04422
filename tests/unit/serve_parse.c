/* SPDX-License-Identifier: MIT */
/* Heads and bodies of requests at the server: which are accepted and which refused. The result must not depend on the
 * pieces in which they come. */
#include "../test.h"

#include "chunks.h"
#include "parse.h"

#include <stdio.h>
#include <stdlib.h>

static struct request r;

/* In memory of exactly its size, so that a sanitizer sees a byte too far. */
static int parse(const char *text, size_t size) {
    static char *copy;
    free(copy);
    copy = malloc(size ? size : 1);
    memcpy(copy, text, size);
    return parse_head(&r, copy, size, 0);
}

static int parse_text(const char *text) { return parse(text, strlen(text)); }

static bool is(struct text t, const char *wanted) {
    return text_is(t, (struct text){wanted, (uint32_t)strlen(wanted)});
}

TEST(a_request_is_read) {
    CHECK_EQ(parse_text("GET /a/b?c=d HTTP/1.1\r\nHost: x\r\nRange:  bytes=1-2\t \r\nUser-Agent:\r\n\r\nrest"),
             PARSE_DONE);
    CHECK_EQ(r.method, METHOD_GET);
    CHECK(is(r.path, "/a/b") && is(r.query, "?c=d") && is(r.line, "GET /a/b?c=d HTTP/1.1"));
    CHECK(is(r.fields[FIELD_RANGE], "bytes=1-2") && is(r.fields[FIELD_USER_AGENT], ""));
    CHECK(request_has(&r, FIELD_USER_AGENT) && !request_has(&r, FIELD_REFERER));
    CHECK(r.keep && !r.old && !r.body && !r.chunked);
    CHECK_EQ(r.size, strlen("GET /a/b?c=d HTTP/1.1\r\nHost: x\r\nRange:  bytes=1-2\t \r\nUser-Agent:\r\n\r\n"));
}

TEST(pieces_make_no_difference) {
    const char text[] = "\r\nHEAD /index.html HTTP/1.1\r\nHost: localhost\r\nConnection: keep-alive, Close\r\n\r\n";
    size_t seen = 0;
    for (size_t n = 0; n < sizeof text - 1; n++) {
        CHECK_EQ(parse(text, n), PARSE_MORE);
        CHECK_EQ(parse_head(&r, text, n, seen), PARSE_MORE);
        seen = n;
    }
    CHECK_EQ(parse_head(&r, text, sizeof text - 1, seen), PARSE_DONE);
    CHECK(r.method == METHOD_HEAD && !r.keep && r.size == sizeof text - 1);
}

TEST(forms_of_the_target) {
    static const char *const cases[][3] = {
        {"GET http://host:80/x?y HTTP/1.1", "/x", "?y"},
        {"GET HTTP://host HTTP/1.1", "/", ""},
        {"GET http://host?q HTTP/1.1", "/", "?q"},
        {"OPTIONS * HTTP/1.1", "*", ""},
        {"GET //a HTTP/1.1", "//a", ""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[256];
        snprintf(text, sizeof text, "%s\r\nHost: h\r\n\r\n", cases[i][0]);
        CHECK_EQ(parse_text(text), PARSE_DONE);
        CHECK(is(r.path, cases[i][1]) && is(r.query, cases[i][2]));
    }
}

TEST(methods_and_versions) {
    CHECK_EQ(parse_text("POST / HTTP/1.1\r\nHost: h\r\n\r\n"), PARSE_DONE);
    CHECK_EQ(r.method, METHOD_KNOWN);
    CHECK_EQ(parse_text("BREW / HTTP/1.1\r\nHost: h\r\n\r\n"), PARSE_DONE);
    CHECK_EQ(r.method, METHOD_UNKNOWN);
    CHECK_EQ(parse_text("GET / HTTP/1.0\r\n\r\n"), PARSE_DONE);
    CHECK(r.old && !r.keep);
    CHECK_EQ(parse_text("GET / HTTP/1.0\r\nConnection: Keep-Alive\r\n\r\n"), PARSE_DONE);
    CHECK(r.keep);
    CHECK_EQ(parse_text("GET / HTTP/1.9\r\nHost: h\r\n\r\n"), PARSE_DONE);
    CHECK_EQ(parse_text("GET / HTTP/2.0\r\nHost: h\r\n\r\n"), 505);
    CHECK_EQ(parse_text("GET / HTTP/0.9\r\nHost: h\r\n\r\n"), 400);
}

TEST(what_is_wrong_is_refused) {
    static const char *const cases[] = {
        "GET / HTTP/1.1\r\n\r\n",                       /* no Host */
        "GET / HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n", /* two */
        "GET / HTTP/1.1\nHost: a\n\n",                  /* lines without CR */
        "GET / HTTP/1.1\r\nHost : a\r\n\r\n",           /* a space before the colon */
        "GET / HTTP/1.1\r\nHost: a\r\n b\r\n\r\n",      /* folded */
        "GET / HTTP/1.1\r\nHost: a\r\n: b\r\n\r\n",     /* no name */
        "GET / HTTP/1.1\r\nHost: a\r\nnoname\r\n\r\n",  /* no colon */
        "GET / HTTP/1.1\r\nHost: a\rb\r\n\r\n",         /* CR within */
        "GET / HTTP/1.1\r\nHost: a\r\nX: \x01\r\n\r\n", /* a control character */
        "GET  / HTTP/1.1\r\nHost: a\r\n\r\n",           /* two spaces */
        "GET / HTTP/1.1 \r\nHost: a\r\n\r\n",           /* one behind */
        "GET /a b HTTP/1.1\r\nHost: a\r\n\r\n",         /* one within */
        "GET / http/1.1\r\nHost: a\r\n\r\n",            /* lower case */
        "GET /\r\nHost: a\r\n\r\n",                     /* no version */
        "GET a HTTP/1.1\r\nHost: a\r\n\r\n",            /* neither path nor address */
        "GET /#x HTTP/1.1\r\nHost: a\r\n\r\n",          /* a fragment */
        "G@T / HTTP/1.1\r\nHost: a\r\n\r\n",            /* no method */
        "\x16\x03\x01",                                 /* TLS */
        " GET / HTTP/1.1\r\nHost: a\r\n\r\n",           /* a space before */
        "GET / HTTP/1.1\r\nHost: a\r\nContent-Length: 1, 1\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: a\r\nContent-Length: +1\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: a\r\nContent-Length: \r\n\r\n",
        "GET / HTTP/1.1\r\nHost: a\r\nContent-Length: 99999999999999999999\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 1\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n",
        "GET / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n",
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) CHECK_EQ(parse_text(cases[i]), 400);
    CHECK_EQ(parse_text("GET / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip, chunked\r\n\r\n"), 501);
    CHECK_EQ(parse_text("GET / HTTP/1.1\r\nHost: a\r\nExpect: more\r\n\r\n"), 417);
    CHECK_EQ(parse("GET / HTTP/1.1\r\nHost: a\0b\r\n\r\n", 29), 400);
}

TEST(hosts) {
    static const char *const good[] = {"",      "a",      "a.b-c_d~1",    "127.0.0.1:80",
                                       "a:",    ":8080",  "[::1]",        "[fe80::1]:80",
                                       "a%20b", "%C3%A4", "A!$&'()*+,;=", "[v1.a]"};
    static const char *const bad[] = {"a b", "a/c", "a b/c", "u@h",      "a:b", "a:80:80",  "[::1", "[]", "[::1]a",
                                      "::1", "a%2", "a%zz",  "\xc3\xa4", "a\"", "http://a", "a?",   "a#"};
    char text[128];
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        snprintf(text, sizeof text, "GET / HTTP/1.1\r\nHost: %s\r\n\r\n", good[i]);
        CHECK_EQ(parse_text(text), PARSE_DONE);
    }
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        snprintf(text, sizeof text, "GET / HTTP/1.%d\r\nHost: %s\r\n\r\n", (int)(i & 1), bad[i]);
        CHECK_EQ(parse_text(text), 400);
    }
}

TEST(limits) {
    static char text[3 * HEAD_MOST];
    memset(text, 'a', sizeof text);
    memcpy(text, "GET /", 5);
    CHECK_EQ(parse(text, HEAD_MOST - 1), PARSE_MORE);
    CHECK_EQ(parse(text, HEAD_MOST), 414);
    memcpy(text, "GET / HTTP/1.1\r\nX: ", 19);
    CHECK_EQ(parse(text, HEAD_MOST), 431);
    memcpy(text + 2 * HEAD_MOST, "\r\nHost: a\r\n\r\n", 13);
    CHECK_EQ(parse(text, 2 * HEAD_MOST + 13), 431);
    size_t n = (size_t)sprintf(text, "GET / HTTP/1.1\r\nHost: a\r\n");
    for (int i = 0; i < HEAD_FIELDS_MOST; i++) n += (size_t)sprintf(text + n, "a: b\r\n");
    sprintf(text + n, "\r\n");
    CHECK_EQ(parse(text, n + 2), 431);
}

TEST(a_body_is_announced) {
    CHECK_EQ(parse_text("GET / HTTP/1.1\r\nHost: a\r\nContent-Length: 00123\r\nExpect: 100-Continue\r\n\r\n"),
             PARSE_DONE);
    CHECK(r.body == 123 && r.expects && !r.chunked);
    CHECK_EQ(parse_text("GET / HTTP/1.1\r\nHost: a\r\ntransfer-encoding: Chunked\r\n\r\n"), PARSE_DONE);
    CHECK(r.chunked && !r.expects);
}

static int chunks_in_pieces(const char *text, size_t step, size_t *total) {
    struct chunks c = {0};
    size_t size = strlen(text), used;
    int end = 0;
    *total = 0;
    while (*total < size && !end) {
        size_t n = size - *total < step ? size - *total : step;
        end = chunks_skip(&c, text + *total, n, &used);
        *total += used;
    }
    return end;
}

TEST(chunks_are_found_to_their_end) {
    static const char *const good[] = {"0\r\n\r\n", "5\r\nhello\r\n0\r\n\r\n",
                                       "A;x=\"y\"\r\n0123456789\r\n00\r\nT: v\r\nU: w\r\n\r\n"};
    static const char *const bad[] = {"\r\n",        "g\r\n",         "5\r\nhello0\r\n",      "-1\r\n",
                                      "0\n\n",       "5\nhello",      "1234567890123456\r\n", "0\r\nx\n",
                                      "5 \r\nhello", "5\t;a\r\nhello"};
    for (size_t step = 1; step < 60; step++) {
        for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
            size_t total, size = strlen(good[i]);
            char text[128];
            snprintf(text, sizeof text, "%sGET", good[i]);
            CHECK_EQ(chunks_in_pieces(text, step, &total), 1);
            CHECK_EQ(total, size);
        }
        for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
            size_t total;
            CHECK_EQ(chunks_in_pieces(bad[i], step, &total), -1);
        }
    }
}
