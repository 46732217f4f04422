/* SPDX-License-Identifier: MIT */
/* TLS connections by name, and buffered streams on them. */
#define _GNU_SOURCE
#include "tls.h"
#include "weft/stream.h"

/* A server that answers each line with its length, and reports how its client has ended. */
struct lines {
    struct both both;
    int listener;
    char port[8];
    ssize_t ended;
};

static void *count_lines(void *p) {
    struct lines *lines = p;
    struct weft_stream stream;
    struct weft_tls *tls = weft_tls_open(lines->both.server, weft_accept(lines->listener, NULL, NULL), NULL);
    char *line, text[32];
    ssize_t n;
    CHECK(tls && weft_tls_stream_open(&stream, tls, 0) == 0);
    while ((n = weft_stream_line(&stream, &line)) >= 0) {
        int size = snprintf(text, sizeof text, "%zd\n", n);
        if (weft_stream_write(&stream, text, (size_t)size) || weft_stream_flush(&stream)) break; /* it has closed */
    }
    lines->ended = n;
    (void)!weft_stream_close(&stream);
    return NULL;
}

static void begin_lines(struct lines *lines) {
    begin_both(&lines->both);
    const char *path = issue(&lines->both.issuer, (struct wanted){.file = "local.pem", .names = "DNS:localhost"});
    CHECK_EQ(weft_tls_context_certificate(lines->both.server, path, NULL), 0);
    CHECK((lines->listener = weft_tcp_listen("127.0.0.1", "0", 0)) >= 0);
    snprintf(lines->port, sizeof lines->port, "%d", weft_tcp_port(lines->listener));
}

static void end_lines(struct lines *lines) {
    CHECK(!weft_close(lines->listener));
    end_both(&lines->both);
}

static void by_name(void *unused) {
    (void)unused;
    struct lines lines;
    struct weft_stream stream;
    char *line, long_line[3000];
    begin_lines(&lines);
    struct weft_fiber server = spawn(count_lines, &lines);
    struct weft_tls *tls = weft_tls_dial(lines.both.client, "localhost", lines.port, weft_now() + 10 * WEFT_SECOND);
    CHECK(tls && weft_tls_stream_open(&stream, tls, 0) == 0);
    memset(long_line, 'x', sizeof long_line);
    CHECK_EQ(weft_stream_write(&stream, "ab\n", 3), 0);
    CHECK_EQ(weft_stream_write(&stream, long_line, sizeof long_line), 0);
    CHECK_EQ(weft_stream_write(&stream, "\r\n", 2), 0);
    CHECK_EQ(weft_stream_flush(&stream), 0);
    CHECK(weft_stream_line(&stream, &line) == 1 && !strcmp(line, "2"));
    CHECK(weft_stream_line(&stream, &line) == 4 && !strcmp(line, "3000"));
    CHECK(!strcmp(weft_tls_host(tls), "localhost"));
    CHECK_EQ(weft_stream_close(&stream), 0);
    join(server);
    CHECK_EQ(lines.ended, -ENODATA); /* the peer announced its end: the connection was not cut */
    end_lines(&lines);
}
TEST(lines_by_name) { each_runtime(by_name); }

/* Errors are reported, and nothing is left open. */
static void refused(void *unused) {
    (void)unused;
    struct lines lines;
    struct weft_stream stream;
    begin_lines(&lines);
    struct weft_fiber server = spawn(count_lines, &lines);
    struct weft_tls *tls = weft_tls_dial(lines.both.client, "127.0.0.1", lines.port, WEFT_FOREVER);
    CHECK(tls && weft_tls_stream_open(&stream, tls, 0) == 0); /* the first certificate is for that address */
    CHECK_EQ(weft_stream_write(&stream, "x\n", 2), 0);
    CHECK_EQ(weft_stream_close(&stream), 0);
    join(server);

    CHECK_EQ(weft_tls_context_trust(lines.both.client, NULL), 0);
    server = spawn(count_lines, &lines);
    tls = weft_tls_dial(lines.both.client, "localhost", lines.port, WEFT_FOREVER);
    CHECK(tls && weft_tls_stream_open(&stream, tls, 0) == 0);
    CHECK_EQ(weft_stream_write(&stream, "x\n", 2), 0);
    CHECK_EQ(weft_stream_flush(&stream), -EKEYREJECTED);
    CHECK(strstr(weft_tls_reason(tls), "issuer"));
    CHECK_EQ(weft_stream_close(&stream), -EKEYREJECTED);
    join(server);
    CHECK(lines.ended < 0 && lines.ended != -ENODATA);

    CHECK(!weft_close(lines.listener));
    CHECK(!weft_tls_dial(lines.both.client, "localhost", lines.port, WEFT_FOREVER) && errno == ECONNREFUSED);
    CHECK(!weft_tls_dial(lines.both.client, NULL, "1", WEFT_FOREVER) && errno == EINVAL);
    CHECK(!weft_tls_dial(NULL, "localhost", "1", WEFT_FOREVER) && errno == EINVAL);
    CHECK(!weft_tls_dial(lines.both.server, "localhost", "1", WEFT_FOREVER) && errno == EINVAL);
    CHECK(weft_tls_stream_open(&stream, NULL, 0) < 0 && errno == EINVAL);
    end_both(&lines.both);
}
TEST(errors_are_reported) { test_in_fiber(2, refused, NULL); }

/* The client announces its end, and is gone. The server cannot announce its own end to any peer: that is an error, not
 * a loop. */
static void gone(void *unused) {
    (void)unused;
    struct both b;
    struct pair pair;
    char byte;
    begin_both(&b);
    meet_well(&pair, &b);
    CHECK_EQ(weft_tls_close(pair.client), 0);
    CHECK_EQ(weft_tls_read(pair.server, &byte, 1), 0);
    while (send(weft_tls_fd(pair.server), "x", 1, MSG_NOSIGNAL) == 1) CHECK_EQ(weft_sleep_for(WEFT_MILLISECOND), 0);
    CHECK(weft_tls_shutdown(pair.server) < 0 && (errno == EPIPE || errno == ECONNRESET));
    CHECK(weft_tls_shutdown(pair.server) < 0);
    CHECK_EQ(weft_tls_close(pair.server), 0);
    end_both(&b);
}
TEST(the_last_word_to_a_peer_that_is_gone) { test_in_fiber(2, gone, NULL); }
