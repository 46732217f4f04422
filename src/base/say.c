/* See say.h. */
#define _GNU_SOURCE
#include "base/say.h"

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

static void put(struct line *l, const char *s) {
    while (*s && l->used < sizeof l->text - 1) l->text[l->used++] = *s++;
}

static void put_number(struct line *l, uint64_t n, unsigned base) {
    char digits[32];
    char *p = digits + sizeof digits - 1;
    *p = 0;
    do *--p = "0123456789abcdef"[n % base];
    while (n /= base);
    put(l, p);
}

/* A pipe or terminal that is full would hold up the caller. A line is shorter than what a pipe takes at once. */
static bool has_room(int fd) {
    struct pollfd p = {.fd = fd, .events = POLLOUT};
    return poll(&p, 1, 0) != 0;
}

static void say(const char *format, va_list args, bool waits) {
    struct line l = {.used = 0};
    put(&l, "weft: ");
    for (const char *p = format; *p; p++) {
        if (*p != '%') {
            put(&l, (char[]){*p, 0});
            continue;
        }
        switch (*++p) {
        case 's': {
            const char *s = va_arg(args, const char *);
            put(&l, s ? s : "?");
            break;
        }
        case 'd': {
            int n = va_arg(args, int);
            if (n < 0) put(&l, "-");
            put_number(&l, n < 0 ? -(uint64_t)n : (uint64_t)n, 10);
            break;
        }
        case 'u': put_number(&l, va_arg(args, unsigned), 10); break;
        case 'z': put_number(&l, va_arg(args, size_t), 10); break;
        case 'x':
            put(&l, "0x");
            put_number(&l, va_arg(args, uint64_t), 16);
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
    say(format, args, true);
    va_end(args);
}

void weft__say_if_room(const char *format, ...) {
    va_list args;
    va_start(args, format);
    say(format, args, false);
    va_end(args);
}

void weft__die(const char *format, ...) {
    static _Atomic int dying;
    /* Long enough for the first to abort. A handler of SIGABRT that comes here again is not held up for ever. */
    if (add_rlx(&dying, 1)) poll(NULL, 0, 1000);
    va_list args;
    va_start(args, format);
    say(format, args, true);
    va_end(args);
    abort();
}

const char *weft__error(int err) {
    const char *s = strerrordesc_np(-err);
    return s ? s : "unknown error";
}
