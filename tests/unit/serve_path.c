/* SPDX-License-Identifier: MIT */
/* The server's paths, ranges, dates and conditions. */
#include "../test.h"

#include "condition.h"
#include "date.h"
#include "mime.h"
#include "range.h"
#include "target.h"

#include <stdio.h>

static struct text text(const char *t) { return (struct text){t, (uint32_t)strlen(t)}; }

TEST(paths_are_decoded) {
    static const char *const cases[][2] = {
        {"/", ""},
        {"/a", "a"},
        {"/a/", "a/"},
        {"//a//b", "a/b"},
        {"/./a/./", "a/"},
        {"/a/..", ""},
        {"/a/b/..", "a/"},
        {"/a/b/../c", "a/c"},
        {"/%61%2fb", "a/b"},
        {"/a%20b", "a b"},
        {"/a/%2e%2e", ""},
        {"/...", "..."},
        {"/..a", "..a"},
        {"/a/%2E/b", "a/b"},
        {"/a%252e", "a%2e"},
        {"/%C3%A4", "ä"},
        {"/a\\..\\b", "a\\..\\b"},
        {"/a/b/c/../../d", "a/d"},
        {"/a/.", "a/"},
    };
    char path[TARGET_MOST];
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int n = target_decode(text(cases[i][0]), path);
        CHECK_EQ(n, strlen(cases[i][1]));
        CHECK(!strcmp(path, cases[i][1]));
    }
}

TEST(paths_that_lead_out_are_refused) {
    static const char *const cases[] = {
        "/..",         "/../",    "/../a",      "/a/../..",  "/a/../../b", "/%2e%2e", "/%2e%2e/a", "/.%2e/a",
        "/%2E./a",     "/..%2fa", "/a/..%2f..", "/%00",      "/a%00.txt",  "/%",      "/%4",       "/%zz",
        "/a/%2f../..", "//..",    "/./..",      "/././../a", "a",          "",        "/%2f..",    "/..%2F..%2F",
    };
    char path[TARGET_MOST];
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) CHECK_EQ(target_decode(text(cases[i]), path), -400);
}

TEST(long_paths) {
    static char raw[2 * TARGET_MOST], path[TARGET_MOST];
    memset(raw, 'a', sizeof raw);
    raw[0] = '/';
    CHECK_EQ(target_decode((struct text){raw, TARGET_MOST - 1}, path), TARGET_MOST - 2);
    CHECK_EQ(target_decode((struct text){raw, TARGET_MOST + 1}, path), -414);
    for (size_t i = 0; i < sizeof raw; i += 2) raw[i] = '/';
    CHECK_EQ(target_decode((struct text){raw, sizeof raw}, path), -414);
}

TEST(paths_are_encoded) {
    char to[16];
    CHECK_EQ(target_encode("a b/\"", 5, to, sizeof to), 9);
    CHECK(!memcmp(to, "a%20b/%22", 9));
    CHECK_EQ(target_encode("a&lt;'<", 7, to, sizeof to), 13);
    CHECK(!memcmp(to, "a%26lt;%27%3C", 13));
    CHECK_EQ(target_encode("????????", 8, to, sizeof to), 24);
}

TEST(ranges) {
    struct range list[RANGES_MOST];
    CHECK_EQ(range_parse(text("bytes=0-0"), 10, list), 1);
    CHECK(list[0].first == 0 && list[0].last == 0);
    CHECK_EQ(range_parse(text("bytes=5-"), 10, list), 1);
    CHECK(list[0].first == 5 && list[0].last == 9);
    CHECK_EQ(range_parse(text("bytes=-3"), 10, list), 1);
    CHECK(list[0].first == 7 && list[0].last == 9);
    CHECK_EQ(range_parse(text("bytes=-99999999999999999999999"), 10, list), 1);
    CHECK(list[0].first == 0 && list[0].last == 9);
    CHECK_EQ(range_parse(text("Bytes=2-99999999999999999999"), 10, list), 1);
    CHECK(list[0].first == 2 && list[0].last == 9);
    CHECK_EQ(range_parse(text("bytes=0-1, 20-30 ,8-"), 10, list), 2);
    CHECK(list[1].first == 8 && list[1].last == 9);
}

TEST(ranges_that_are_none) {
    static const char *const ignored[] = {"bytes",       "bytes=",      "bytes=a-b",   "bytes=3-2", "items=0-1",
                                          "bytes=0-1,x", "bytes=0-,0-", "bytes=1-2-3", "bytes=-"};
    static const char *const outside[] = {"bytes=10-", "bytes=10-20", "bytes=-0", "bytes=99999999999999999999-",
                                          "bytes=10-,11-"};
    struct range list[RANGES_MOST];
    for (size_t i = 0; i < sizeof ignored / sizeof *ignored; i++) CHECK_EQ(range_parse(text(ignored[i]), 10, list), 0);
    for (size_t i = 0; i < sizeof outside / sizeof *outside; i++) CHECK_EQ(range_parse(text(outside[i]), 10, list), -1);
    CHECK_EQ(range_parse(text("bytes=0-"), 0, list), -1);
    char many[256] = "bytes=0-0";
    for (int i = 0; i < RANGES_MOST; i++) strcat(many, ",1-1");
    CHECK_EQ(range_parse(text(many), 1000, list), 0);
}

TEST(dates) {
    char date[DATE_SIZE + 1] = "";
    date_write(date, 784111777);
    CHECK(!strcmp(date, "Sun, 06 Nov 1994 08:49:37 GMT"));
    CHECK_EQ(date_read(text("Sun, 06 Nov 1994 08:49:37 GMT")), 784111777);
    CHECK_EQ(date_read(text("Sunday, 06-Nov-94 08:49:37 GMT")), 784111777);
    CHECK_EQ(date_read(text("Sun Nov  6 08:49:37 1994")), 784111777);
    CHECK_EQ(date_read(text("Tue, 29 Feb 2000 00:00:00 GMT")), 951782400);
    CHECK_EQ(date_read(text("Sat, 31 Dec 2016 23:59:60 GMT")), 1483228800); /* a leap second */
    CHECK_EQ(date_read(text("Thu, 01 Jan 1970 00:00:00 GMT")), 0);
    static const char *const none[] = {"yesterday",
                                       "",
                                       "Sun, 31 Feb 1994 08:49:37 GMT",
                                       "Sun, 29 Feb 1900 08:49:37 GMT",
                                       "Sun, 29 Feb 2001 08:49:37 GMT",
                                       "Sun, 31 Apr 1994 08:49:37 GMT",
                                       "Sun, 00 Nov 1994 08:49:37 GMT",
                                       "Sun, 32 Jan 1994 08:49:37 GMT",
                                       "Sun, 06 Nov 1994 24:49:37 GMT",
                                       "Sun, 06 Nov 1994 08:60:37 GMT",
                                       "Sun, 06 Nov 1994 08:49:61 GMT",
                                       "Sun, 6 Nov 1994 08:49:37 GMT",
                                       "Sun, 06 Nov 1994 8:49:37 GMT",
                                       "Sun, 06 Nov 94 08:49:37 GMT",
                                       "Sun, 06 Nov 1994 08:49:37 UTC",
                                       "Sun, 06 Nov 1994 08:49:37",
                                       "Sun, 06 Nov 1994 08:49:37 GMT ",
                                       " Sun, 06 Nov 1994 08:49:37 GMT",
                                       "Sun,06 Nov 1994 08:49:37 GMT",
                                       "Son, 06 Nov 1994 08:49:37 GMT",
                                       "Sun, 06 Now 1994 08:49:37 GMT",
                                       "Sun, 06  Nov 1994 08:49:37 GMT",
                                       "Sun, -6 Nov 1994 08:49:37 GMT",
                                       "Sunday, 31-Feb-94 08:49:37 GMT",
                                       "Sunday, 06-Nov-1994 08:49:37 GMT",
                                       "Sun, 06-Nov-94 08:49:37 GMT",
                                       "Someday, 06-Nov-94 08:49:37 GMT",
                                       "Sun Feb 31 08:49:37 1994",
                                       "Sun Nov  0 08:49:37 1994",
                                       "Sun Nov 6 08:49:37 1994",
                                       "Sun Nov  6 08:49:37 94",
                                       "Sun Nov  6 08:49:37 1994 GMT"};
    for (size_t i = 0; i < sizeof none / sizeof *none; i++)
        if (date_read(text(none[i])) != -1) test_fail(__FILE__, __LINE__, "it is taken for a date: %s", none[i]);
}

/* Two digits stand for a year between 49 years ago and 50 years ahead. */
TEST(dates_with_two_digits) {
    time_t now = time(NULL);
    struct tm tm;
    CHECK(gmtime_r(&now, &tm) != NULL);
    for (int ahead = -49; ahead <= 50; ahead++) {
        char date[64];
        int year = tm.tm_year + 1900 + ahead;
        struct tm wanted = {.tm_year = year - 1900, .tm_mday = 1};
        snprintf(date, sizeof date, "Friday, 01-Jan-%02d 00:00:00 GMT", year % 100);
        CHECK_EQ(date_read(text(date)), timegm(&wanted));
    }
}

static int check(enum field field, const char *value) {
    struct request r = {.given = 1u << field};
    r.fields[field] = text(value);
    return condition_check(&r, TEXT("\"tag\""), 784111777);
}

TEST(conditions) {
    CHECK_EQ(check(FIELD_IF_NONE_MATCH, "\"tag\""), 304);
    CHECK_EQ(check(FIELD_IF_NONE_MATCH, "\"a\", W/\"tag\""), 304);
    CHECK_EQ(check(FIELD_IF_NONE_MATCH, "*"), 304);
    CHECK_EQ(check(FIELD_IF_NONE_MATCH, "\"other\""), 200);
    CHECK_EQ(check(FIELD_IF_MATCH, "\"tag\""), 200);
    CHECK_EQ(check(FIELD_IF_MATCH, "W/\"tag\""), 412);
    CHECK_EQ(check(FIELD_IF_MATCH, "*"), 200);
    CHECK_EQ(check(FIELD_IF_MODIFIED_SINCE, "Sun, 06 Nov 1994 08:49:37 GMT"), 304);
    CHECK_EQ(check(FIELD_IF_MODIFIED_SINCE, "Sun, 06 Nov 1994 08:49:36 GMT"), 200);
    CHECK_EQ(check(FIELD_IF_MODIFIED_SINCE, "no date"), 200);
    CHECK_EQ(check(FIELD_IF_MODIFIED_SINCE, "Thu, 31 Feb 2030 08:49:37 GMT"), 200);
    CHECK_EQ(check(FIELD_IF_UNMODIFIED_SINCE, "Thu, 31 Feb 1990 08:49:37 GMT"), 200);
    CHECK_EQ(check(FIELD_IF_UNMODIFIED_SINCE, "Sun, 06 Nov 1994 08:49:36 GMT"), 412);
    CHECK_EQ(check(FIELD_IF_UNMODIFIED_SINCE, "Sun, 06 Nov 1994 08:49:37 GMT"), 200);
}

static int check_head(const char *fields) {
    static char head[256];
    struct request r;
    snprintf(head, sizeof head, "GET / HTTP/1.1\r\nHost: a\r\n%s\r\n", fields);
    CHECK_EQ(parse_head(&r, head, strlen(head), 0), PARSE_DONE);
    return condition_check(&r, TEXT("\"tag\""), 784111777);
}

TEST(lines_of_a_list_are_one_list) {
    CHECK_EQ(check_head("If-None-Match: \"a\"\r\nIf-None-Match: \"tag\"\r\n"), 304);
    CHECK_EQ(check_head("If-None-Match:\r\nIf: \"tag\"\r\nif-none-match:\"b\" ,W/\"tag\" \r\n"), 304);
    CHECK_EQ(check_head("If-None-Match: \"a\"\r\nX: \"tag\"\r\nIF-NONE-MATCH: \"b\"\r\nY: \"tag\"\r\n"), 200);
    CHECK_EQ(check_head("If-None-Match: \"a\"\r\nIf-None-Match-Not: \"tag\"\r\nIf-None-Match:\r\n"), 200);
    CHECK_EQ(check_head("If-Match: \"a\"\r\nIf-Match: \"b\"\r\nIf-Match: \"tag\"\r\n"), 200);
    CHECK_EQ(check_head("If-Match: \"a\"\r\nIf-Match: W/\"tag\"\r\n"), 412);
}

TEST(types) {
    CHECK(!strcmp(mime_type("a/b.HTML"), "text/html; charset=utf-8"));
    CHECK(!strcmp(mime_type("a.html/b"), "application/octet-stream"));
    CHECK(!strcmp(mime_type("x.tar.gz"), "application/gzip"));
}
