/* SPDX-License-Identifier: MIT */
/*
 * The streams that memcached was asked (streams.txt), to a session without sockets: whole, byte by byte, and cut into
 * two at every place. The answers are always those that were recorded.
 */
#include "session.h"
#include "../test.h"

#include <stdio.h>
#include <stdlib.h>

#define TEXT_MOST (8 << 20)
#define PHASES_MOST 16

struct text {
    char *bytes;
    size_t size;
};

struct phase {
    struct text said;
    unsigned pause; /* seconds before it */
};

struct stream {
    char name[64];
    struct phase phases[PHASES_MOST];
    int count;
    struct text answer;
};

static void text_add(struct text *text, const char *bytes, size_t n) {
    if (!text->bytes) CHECK((text->bytes = malloc(TEXT_MOST)));
    CHECK(text->size + n <= TEXT_MOST);
    memcpy(text->bytes + text->size, bytes, n);
    text->size += n;
}

/* Escapes as protocol.py does. */
static void text_add_escaped(struct text *text, const char *line) {
    for (; *line && *line != '\n'; line++) {
        size_t times = 1;
        char c = *line;
        if (c == '\\' && line[1] == '*') {
            times = strtoul(line + 2, (char **)&line, 10);
            c = *line;
        } else if (c == '\\') {
            switch (*++line) {
            case 'r': c = '\r'; break;
            case 'n': c = '\n'; break;
            case 't': c = '\t'; break;
            case '0': c = 0; break;
            case 'x':
                c = (char)strtoul((char[]){line[1], line[2], 0}, NULL, 16);
                line += 2;
                break;
            default: c = *line;
            }
        }
        while (times--) text_add(text, &c, 1);
    }
}

/* Reads the next stream. Returns false at the end. */
static bool read_stream(FILE *file, struct stream *stream) {
    static char line[1 << 16];
    static char name[64];
    while (!name[0]) {
        if (!fgets(line, sizeof line, file)) return false;
        if (!strncmp(line, "= ", 2)) snprintf(name, sizeof name, "%.*s", (int)strcspn(line + 2, "\n"), line + 2);
    }
    memset(stream, 0, sizeof *stream);
    memcpy(stream->name, name, sizeof name);
    name[0] = 0;
    bool separate = true;
    while (fgets(line, sizeof line, file)) {
        if (!strncmp(line, "= ", 2)) {
            snprintf(name, sizeof name, "%.*s", (int)strcspn(line + 2, "\n"), line + 2);
            return true;
        }
        if (line[0] == '~') {
            separate = true;
            CHECK(stream->count < PHASES_MOST);
            stream->phases[stream->count].pause = (unsigned)atof(line + 2);
        } else if (line[0] == '>') {
            if (separate) stream->count++;
            separate = false;
            text_add_escaped(&stream->phases[stream->count - 1].said, line + 2);
        } else if (line[0] == '<') {
            text_add_escaped(&stream->answer, line + 2);
        }
    }
    return true;
}

static void free_stream(struct stream *stream) {
    for (int i = 0; i < stream->count; i++) free(stream->phases[i].said.bytes);
    free(stream->answer.bytes);
}

/* --- a session that answers into memory ---------------------------------------------------------------- */

static int gather(void *arg, struct iovec *parts, int n) {
    for (int i = 0; i < n; i++) text_add(arg, parts[i].iov_base, parts[i].iov_len);
    return 0;
}

struct client {
    struct mc_session session;
    struct text answer;
    char buffer[MC_REPLY_SIZE];
};

static void client_begin(struct client *client, struct mc_cache *cache) {
    mc_session_begin(&client->session, cache, 0);
    struct mc_reply *reply = &client->session.reply;
    reply->begin = reply->at = client->buffer;
    reply->end = client->buffer + sizeof client->buffer;
    reply->send = gather;
    reply->arg = &client->answer;
}

/* Feeds a copy, so that a sanitizer notices reads beyond the end. */
static void feed(struct client *client, const char *bytes, size_t n) {
    if (!n || client->session.closing) return;
    char *copy = malloc(n);
    CHECK(copy);
    memcpy(copy, bytes, n);
    char *where;
    size_t room = mc_session_target(&client->session, &where);
    if (room && room >= n) {
        memcpy(where, copy, n);
        mc_session_received(&client->session, n);
    } else {
        mc_session_feed(&client->session, copy, n);
    }
    mc_reply_send(&client->session.reply);
    free(copy);
}

static void client_end(struct client *client) { mc_session_end(&client->session); }

/* Removes what memcached reports about its memory. */
static void make_plain(struct text *text) {
    char *from = text->bytes, *to = from, *end = from + text->size;
    bool debug = false;
    while (from < end) {
        if (end - from >= 3 && (from == text->bytes || from[-1] == '\n')) debug = !memcmp(from, "ME ", 3);
        if (debug && end - from > 5 && !memcmp(from, " cls=", 5))
            while (from < end && *from != '\r') from++;
        *to++ = *from++;
    }
    text->size = (size_t)(to - text->bytes);
}

static const struct mc_settings settings = {.limits = {.memory = 64 << 20, .item_most = 1 << 20, .workers = 1},
                                            .connections = 10};

/* Feeds a whole stream to a fresh cache: in pieces of `piece` bytes or, if that is 0, in two pieces with the given
 * cut. */
static void run_stream(const struct stream *stream, size_t piece, size_t cut) {
    static struct mc_cache cache;
    static struct client client;
    mc_clock_begin();
    CHECK_EQ(mc_cache_begin(&cache, &settings), 0);
    client.answer = (struct text){NULL, 0};
    text_add(&client.answer, "", 0);
    for (int i = 0; i < stream->count; i++) {
        const struct text *said = &stream->phases[i].said;
        for (unsigned s = 0; s < stream->phases[i].pause; s++) {
            store_rlx(&mc_clock, mc_now() + 1);
            mc_store_tick(&cache.store);
        }
        client_begin(&client, &cache);
        size_t at = cut < said->size ? cut : said->size;
        if (piece) {
            for (at = 0; at < said->size; at += piece)
                feed(&client, said->bytes + at, said->size - at < piece ? said->size - at : piece);
        } else {
            feed(&client, said->bytes, at);
            feed(&client, said->bytes + at, said->size - at);
        }
        client_end(&client);
    }
    make_plain(&client.answer);
    struct text *got = &client.answer;
    if (got->size != stream->answer.size || (got->size && memcmp(got->bytes, stream->answer.bytes, got->size)))
        test_fail(__FILE__, __LINE__, "%s, pieces of %zu, cut at %zu: %.*s\ninstead of\n%.*s", stream->name, piece, cut,
                  (int)(got->size < 4000 ? got->size : 4000), got->bytes,
                  (int)(stream->answer.size < 4000 ? stream->answer.size : 4000), stream->answer.bytes);
    free(got->bytes);
    struct mc_totals totals;
    mc_store_totals(&cache.store, &totals);
    uint64_t used = 0;
    for (unsigned c = 0; c < mc_classes(); c++) used += totals.used[c];
    CHECK(used >= totals.current); /* each item has a chunk, a long item several; a value that was cut short has
                                      returned its chunks */
    mc_cache_end(&cache);
}

static void each_stream(void (*fn)(const struct stream *stream)) {
    FILE *file = fopen(STREAMS, "r");
    CHECK(file);
    struct stream stream;
    int n = 0;
    for (; read_stream(file, &stream); n++) {
        fn(&stream);
        free_stream(&stream);
    }
    CHECK(n > 25);
    fclose(file);
}

static size_t longest(const struct stream *stream) {
    size_t most = 0;
    for (int i = 0; i < stream->count; i++)
        if (stream->phases[i].said.size > most) most = stream->phases[i].said.size;
    return most;
}

static void whole(const struct stream *stream) { run_stream(stream, 0, 0); }
TEST(streams_are_answered_as_memcached_does) { each_stream(whole); }

static void byte_by_byte(const struct stream *stream) {
    if (longest(stream) < 100000) run_stream(stream, 1, 0);
    run_stream(stream, 7, 0);
    run_stream(stream, 1400, 0);
}
TEST(streams_byte_by_byte) { each_stream(byte_by_byte); }

static void cut_everywhere(const struct stream *stream) {
    size_t size = longest(stream), step = size > 20000 ? size / 50 : test_scale();
    for (size_t cut = 1; cut < size; cut += step) run_stream(stream, 0, cut);
}
TEST_WITHIN(streams_cut_at_every_place, 60) { each_stream(cut_everywhere); }
