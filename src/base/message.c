/* SPDX-License-Identifier: MIT */
/* See message.h. */
#define _GNU_SOURCE
#include "base/message.h"

#include "base/assert.h"

#include "base/atomic.h"

#include <poll.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct line {
    char text[512];
    size_t used;
};

static void message_put(struct line *l, const char *s) {
    while (*s && l->used < sizeof l->text - 1) l->text[l->used++] = *s++;
}

static void message_put_number(struct line *l, uint64_t n, unsigned base) {
    char digits[32];
    char *p = digits + sizeof digits - 1;
    *p = 0;
    do *--p = "0123456789abcdef"[n % base];
    while (n /= base);
    message_put(l, p);
}

/* A full pipe or terminal would block the caller. A line is short enough that a pipe takes it whole. */
static bool has_room(int fd) {
    struct pollfd p = {.fd = fd, .events = POLLOUT};
    return poll(&p, 1, 0) != 0;
}

static void message_say(const char *format, va_list args, bool waits) {
    struct line l = {.used = 0};
    message_put(&l, "weft: ");
    for (const char *p = format; *p; p++) {
        if (*p != '%') {
            message_put(&l, (char[]){*p, 0});
            continue;
        }
        switch (*++p) {
        case 's': {
            const char *s = va_arg(args, const char *);
            message_put(&l, s ? s : "?");
            break;
        }
        case 'd': {
            int n = va_arg(args, int);
            if (n < 0) message_put(&l, "-");
            message_put_number(&l, n < 0 ? -(uint64_t)n : (uint64_t)n, 10);
            break;
        }
        case 'u': message_put_number(&l, va_arg(args, unsigned), 10); break;
        case 'z': message_put_number(&l, va_arg(args, size_t), 10); break;
        case 'x':
            message_put(&l, "0x");
            message_put_number(&l, va_arg(args, uint64_t), 16);
            break;
        }
    }
    l.text[l.used++] = '\n';
    if (!waits && !has_room(STDERR_FILENO)) return;
    ssize_t ignored = write(STDERR_FILENO, l.text, l.used);
    (void)ignored;
}

void weft__say(const char *format, ...) {
    va_list args;
    va_start(args, format);
    message_say(format, args, true);
    va_end(args);
}

void weft__say_if_room(const char *format, ...) {
    va_list args;
    va_start(args, format);
    message_say(format, args, false);
    va_end(args);
}

void weft__die(const char *format, ...) {
    static _Atomic int dying;
    /* Long enough for the first thread to abort. A handler of SIGABRT that dies here again is not blocked for ever. */
    if (add_rlx(&dying, 1)) poll(NULL, 0, 1000);
    va_list args;
    va_start(args, format);
    message_say(format, args, true);
    va_end(args);
    abort();
}

const char *weft__error_text(int err) {
    const char *s = strerrordesc_np(-err);
    return s ? s : "unknown error";
}

void weft__assert_failed(const char *condition, const char *file, int line, const char *function) {
    weft__die("broken invariant in %s, %s:%d: %s", function, file, line, condition);
}
