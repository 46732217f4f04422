/* SPDX-License-Identifier: MIT */
/*
 * splice and sendfile move bytes between descriptors of all kinds. Whichever of the two the call waits for, a
 * cancellation or a close of either ends it. Nothing is moved from or to the next file that gets the number.
 */
#define _GNU_SOURCE
#include "../state.h"
#include "io.h"

#include <stdio.h>
#include <termios.h>

enum { IN = 710, OUT = 711 }; /* numbers that no other code uses */
enum { MUCH = 4000000 };

/* --- descriptors at which a call has to wait -------------------------------------------------- */

static int kept[4], kept_count; /* the other ends of these stay open meanwhile */
static void keep(int fd) { kept[kept_count++] = fd; }
static void let_go(void) {
    while (kept_count) CHECK(!close(kept[--kept_count]));
}
static void put_at(int number, int fd) {
    CHECK_EQ(dup3(fd, number, O_CLOEXEC), number);
    CHECK(!close(fd));
}

static void from_ends(enum ends kind) {
    int e[2];
    make_ends(kind, e);
    put_at(IN, e[0]);
    keep(e[1]);
}
static void from_pipe(void) { from_ends(PIPE); }
static void from_socket(void) { from_ends(TCP); }
static void from_local(void) { from_ends(LOCAL); }
static void from_file(void) {
    int file = make_file();
    CHECK(!ftruncate(file, MUCH));
    put_at(IN, file);
}
static void from_pipe_with_bytes(void) {
    from_pipe();
    CHECK_EQ(write(kept[kept_count - 1], "text", 4), 4);
}

static void make_terminal(int *screen) {
    struct termios t;
    int keyboard = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
    if (keyboard < 0 || grantpt(keyboard) || unlockpt(keyboard)) test_skip("no terminals here");
    *screen = open(ptsname(keyboard), O_RDWR | O_NOCTTY | O_CLOEXEC);
    CHECK(*screen >= 0 && !tcgetattr(*screen, &t));
    cfmakeraw(&t);
    CHECK(!tcsetattr(*screen, TCSANOW, &t));
    keep(keyboard);
}
static void from_terminal(void) {
    int screen;
    make_terminal(&screen);
    put_at(IN, screen);
}
static void to_terminal(void) {
    int screen;
    make_terminal(&screen);
    put_at(OUT, screen);
}

static void to_ends(enum ends kind, bool full) {
    int e[2];
    make_ends(kind, e);
    if (kind == TCP) CHECK(!setsockopt(e[1], SOL_SOCKET, SO_SNDBUF, &(int){4096}, sizeof(int)));
    if (full) fill_up(e);
    put_at(OUT, e[1]);
    keep(e[0]);
}
static void to_pipe(void) { to_ends(PIPE, false); }
static void to_full_pipe(void) { to_ends(PIPE, true); }
static void to_socket(void) { to_ends(TCP, false); }
static void to_full_socket(void) { to_ends(TCP, true); }
static void to_file(void) { put_at(OUT, make_file()); }

static long long splices(void) { return told(weft_splice(IN, NULL, OUT, NULL, 10000, 0)); }
static long long sends(void) { return told(weft_sendfile(OUT, IN, NULL, MUCH)); }
static long long splices_under_way(void) {
    struct weft_io io;
    CHECK_EQ(weft_io_splice(&io, IN, NULL, OUT, NULL, 10000, 0), 0);
    return weft_io_wait(&io);
}

static const struct {
    const char *name;
    void (*from)(void), (*to)(void);
    long long (*moves)(void);
} ways[] = {
    {"pipe to pipe", from_pipe, to_pipe, splices},
    {"pipe to full pipe", from_pipe_with_bytes, to_full_pipe, splices},
    {"pipe to file", from_pipe, to_file, splices},
    {"pipe to file, under way", from_pipe, to_file, splices_under_way},
    {"file to full pipe", from_file, to_full_pipe, splices},
    {"pipe to socket", from_pipe, to_socket, splices},
    {"pipe to full socket", from_pipe_with_bytes, to_full_socket, splices},
    {"socket to pipe", from_socket, to_pipe, splices},
    {"local socket to pipe", from_local, to_pipe, splices},
    {"terminal to pipe", from_terminal, to_pipe, splices},
    {"pipe to terminal", from_pipe, to_terminal, splices},
    {"file to socket", from_file, to_socket, sends},
    {"file to full pipe, sent", from_file, to_full_pipe, sends},
    {"file to terminal", from_file, to_terminal, sends},
    {"socket to pipe, sent", from_socket, to_pipe, sends},
};

/* --- ended from outside ----------------------------------------------------------------------------------------- */

static void *moves(void *way) { return (void *)(intptr_t)ways[(intptr_t)way].moves(); }
static void *moves_for_a_while(void *way) {
    struct weft_scope scope;
    weft_scope_begin(&scope, weft_now() + WEFT_MILLISECOND);
    void *result = moves(way);
    weft_scope_end(&scope);
    return result;
}

enum ending { CANCELLED, LATE, IN_CLOSED, OUT_CLOSED, ENDINGS };
static const int results[ENDINGS] = {-ECANCELED, -ETIMEDOUT, -EBADF, -EBADF};

static void ends_so(intptr_t way, enum ending how) {
    ways[way].from();
    ways[way].to();
    struct weft_fiber f = spawn(how == LATE ? moves_for_a_while : moves, (void *)way);
    if (how != LATE) await_state(state_waits, f);
    if (how == CANCELLED) CHECK_EQ(weft_cancel(f), 0);
    if (how == IN_CLOSED) CHECK_EQ(weft_close(IN), 0);
    if (how == OUT_CLOSED) CHECK_EQ(weft_close(OUT), 0);
    intptr_t got = (intptr_t)join(f);
    if (got <= 0 && got != results[how]) fprintf(stderr, "%s\n", ways[way].name);
    if (got <= 0) CHECK_EQ(got, results[how]); /* otherwise some bytes had been moved before */
    if (how != IN_CLOSED) CHECK_EQ(weft_close(IN), 0);
    if (how != OUT_CLOSED) CHECK_EQ(weft_close(OUT), 0);
    let_go();
}
static void all_ways(void *unused) {
    (void)unused;
    for (size_t way = 0; way < sizeof ways / sizeof *ways; way++)
        for (enum ending how = 0; how < ENDINGS; how++) ends_so((intptr_t)way, how);
}
TEST_WITHIN(waiters_at_both_ends_are_woken, 40) { each_runtime(all_ways); }

/* --- the next file that gets the number ------------------------------------------------------------------------- */

static void *drains(void *fd) {
    static char got[1 << 16];
    size_t others = 0;
    for (ssize_t n; (n = weft_read(*(int *)fd, got, sizeof got)) > 0;)
        for (ssize_t i = 0; i < n; i++) others += got[i] != 0;
    return (void *)(uintptr_t)others;
}
static void *sends_it(void *unused) { return (void)unused, (void *)(intptr_t)sends(); }
static void used_again(void *unused) {
    (void)unused;
    static char text[MUCH];
    int other = make_file();
    memset(text, 'x', sizeof text);
    CHECK_EQ(write(other, text, sizeof text), sizeof text);
    for (int way = 0; way < 2; way++) {
        from_file(); /* of zeros */
        to_ends(LOCAL, false);
        int end = kept[--kept_count];
        off_t at = 0;
        struct weft_io io;
        CHECK_EQ(weft_io_sendfile(&io, OUT, IN, &at, MUCH), 0);
        struct weft_fiber f = spawn(sends_it, NULL);
        await_state(state_waits, f);
        if (way) CHECK_EQ(weft_close(IN), 0);
        CHECK_EQ(lseek(other, 0, SEEK_SET), 0);
        if (way) CHECK_EQ(dup3(other, IN, O_CLOEXEC), IN);
        struct weft_fiber reader = spawn(drains, &end);
        intptr_t sent = (intptr_t)join(f);
        ssize_t under_way = weft_io_wait(&io);
        if (!way) CHECK_EQ(sent, MUCH);
        if (way) CHECK(sent < MUCH && (under_way == -EBADF || (under_way > 0 && under_way < MUCH)));
        CHECK_EQ(weft_close(OUT), 0);
        CHECK_EQ((intptr_t)join(reader), 0); /* bytes of the other file */
        CHECK(!weft_close(IN) && !weft_close(end));
    }
    CHECK_EQ(weft_close(other), 0);
}
TEST(a_number_that_is_used_again) { each_runtime(used_again); }

/* --- what is moved ---------------------------------------------------------------------------- */

/* From a file through a pipe to a file, more than the pipe holds: so the writer and the reader wait for each other. */
static int through[2];
static void *into_pipe(void *file) {
    off_t at = 0;
    for (ssize_t n; (n = weft_splice(*(int *)file, &at, through[1], NULL, 50000, 0)) != 0;) CHECK(n > 0);
    CHECK_EQ(at, MUCH / 4);
    CHECK_EQ(weft_close(through[1]), 0);
    return NULL;
}
static void moves_all(void *unused) {
    (void)unused;
    static char all[MUCH / 4], got[MUCH / 4];
    for (size_t i = 0; i < sizeof all; i++) all[i] = (char)(i * 7 + i / 251);
    int a = make_file(), b = make_file();
    CHECK_EQ(weft_write(a, all, sizeof all), sizeof all);
    make_ends(PIPE, through);
    struct weft_fiber f = spawn(into_pipe, &a);
    for (ssize_t n; (n = weft_splice(through[0], NULL, b, NULL, 70000, 0)) != 0;) CHECK(n > 0);
    join(f);
    CHECK_EQ(pread(b, got, sizeof got, 0), sizeof got);
    CHECK(!memcmp(all, got, sizeof all));
    CHECK(!weft_close(a) && !weft_close(b) && !weft_close(through[0]));
}
TEST(from_file_to_file_through_a_pipe) { each_runtime(moves_all); }

static void *types(void *fd) {
    CHECK_EQ(weft_write(*(int *)fd, "line", 4), 4);
    return NULL;
}
static void at_terminals(void *unused) {
    (void)unused;
    char got[8] = "";
    from_terminal();
    to_pipe();
    struct weft_fiber f = spawn(moves, (void *)(intptr_t)0);
    await_state(state_waits, f);
    types(&kept[0]);
    CHECK_EQ((intptr_t)join(f), 4);
    CHECK_EQ(read(kept[1], got, sizeof got), 4);
    CHECK(!strcmp(got, "line"));
    CHECK(!weft_close(IN) && !weft_close(OUT));
    let_go();
}
TEST(what_is_typed_goes_into_a_pipe) { each_runtime(at_terminals); }
