/* SPDX-License-Identifier: MIT */
/* Messages: one line, one write, whatever the text. */
#include "../test.h"

#include "base/message.h"

#include <limits.h>
#include <string.h>

static struct test_child child;

static void formats(void *unused) {
    (void)unused;
    weft__say("s %s n %s d %d %d %d u %u x %x z %z", "text", (char *)NULL, 0, INT_MIN, INT_MAX, UINT_MAX,
              (uint64_t)0xdeadbeef01, (size_t)12345678901);
}

TEST(every_format) {
    test_child(&child, formats, NULL);
    CHECK(test_child_exited(&child, 0));
    CHECK(
        !strcmp(child.said, "weft: s text n ? d 0 -2147483648 2147483647 u 4294967295 x 0xdeadbeef01 z 12345678901\n"));
}

static void long_line(void *unused) {
    (void)unused;
    char text[3000];
    memset(text, 'x', sizeof text - 1);
    text[sizeof text - 1] = 0;
    weft__say("%s%s", text, text);
    weft__say("after");
}

TEST(a_long_line_is_cut_and_ended) {
    test_child(&child, long_line, NULL);
    CHECK(test_child_exited(&child, 0));
    CHECK_EQ(test_lines_with(child.said, "weft: "), 2);
    CHECK(strlen(child.said) < 700);
    CHECK_HAS(child.said, "x\nweft: after\n");
}

static void die(void *unused) {
    (void)unused;
    weft__die("the end of %s", "it");
}

TEST(dying_says_why_and_aborts) {
    test_child(&child, die, NULL);
    CHECK(test_child_aborted(&child));
    CHECK_HAS(child.said, "weft: the end of it\n");
}

TEST(errors_have_words) {
    CHECK_HAS(weft__error_text(-ENOMEM), "memory");
    CHECK(strlen(weft__error_text(-EAGAIN)) > 0);
    CHECK_HAS(weft__error_text(-99999), "unknown");
}
