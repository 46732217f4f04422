/* SPDX-License-Identifier: MIT */
/* Text into a descriptor, a buffer at a time. See report.h. */
#include "look/report.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

static void out_flush(struct weft__out *o) {
    for (size_t done = 0; !o->err && done < o->n;) {
        ssize_t wrote = write(o->fd, o->text + done, o->n - done);
        if (wrote >= 0)
            done += (size_t)wrote;
        else if (errno != EINTR)
            o->err = -errno;
    }
    o->n = 0;
}

static void out_put(struct weft__out *o, const char *text, size_t n) {
    while (n) {
        size_t room = sizeof o->text - o->n, some = n < room ? n : room;
        memcpy(o->text + o->n, text, some);
        o->n += some;
        text += some;
        n -= some;
        if (o->n == sizeof o->text) out_flush(o);
    }
}

void weft__out(struct weft__out *o, const char *format, ...) {
    char line[1024];
    va_list list;
    va_start(list, format);
    int n = vsnprintf(line, sizeof line, format, list);
    va_end(list);
    if (n > 0) out_put(o, line, (size_t)n < sizeof line ? (size_t)n : sizeof line - 1);
}

void weft__out_quoted(struct weft__out *o, const char *text) {
    out_put(o, "\"", 1);
    for (; *text; text++) {
        unsigned char c = (unsigned char)*text;
        if (c == '"' || c == '\\')
            weft__out(o, "\\%c", c);
        else if (c < ' ' || c >= 0x7f)
            weft__out(o, "\\u%04x", c); /* a name may hold anything */
        else
            out_put(o, text, 1);
    }
    out_put(o, "\"", 1);
}

int weft__out_end(struct weft__out *o) {
    out_flush(o);
    return o->err;
}
