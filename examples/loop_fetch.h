/* SPDX-License-Identifier: MIT */
/*
 * What the fibers of loop_epoll.c, loop_glib.c and loop_libuv.c do: connect to a port of this machine, read a line, and
 * deliver it. The loop is the program's own, on its own thread; fibers run on the workers.
 */
#ifndef LOOP_FETCH_H
#define LOOP_FETCH_H

#include <stdint.h>
#include <string.h>
#include <weft.h>

#include "net.h"

struct answer {
    char port[8], text[128];
    void (*deliver)(struct answer *answer); /* called by the fiber; takes the answer over */
};

static int fetch_line(const char *port, char *text, size_t size) {
    size_t have = 0;
    ssize_t n = 0;
    int fd = weft_tcp_dial("127.0.0.1", port, WEFT_FOREVER);
    if (fd < 0) return fd;
    while (have < size - 1 && !memchr(text, '\n', have) && (n = weft_read(fd, text + have, size - 1 - have)) > 0)
        have += (size_t)n;
    int err = n < 0 ? -errno : 0;
    weft_close(fd);
    text[have] = 0;
    text[strcspn(text, "\r\n")] = 0;
    return err;
}

static void *fetch(void *arg) {
    struct answer *answer = arg;
    struct weft_scope limit;
    weft_scope_begin(&limit, weft_now() + 30 * WEFT_SECOND);
    int err = fetch_line(answer->port, answer->text, sizeof answer->text);
    weft_scope_end(&limit);
    if (err) snprintf(answer->text, sizeof answer->text, "failed: %s", strerror(-err));
    answer->deliver(answer);
    return NULL;
}

/* Called by the loop; does not wait. Returns 0 or a negative errno. */
static int fetch_begin(const char *port, void (*deliver)(struct answer *answer)) {
    struct answer *answer = calloc(1, sizeof *answer);
    if (!answer) return -ENOMEM;
    snprintf(answer->port, sizeof answer->port, "%.7s", port);
    answer->deliver = deliver;
    int err = weft_spawn(NULL, NULL, fetch, answer);
    if (err) free(answer);
    return err;
}

/* Cuts what was read from standard input into lines, and begins a fetch for each. Returns how many, or -1 at the end.
 */
static int fetch_lines_of_input(void (*deliver)(struct answer *answer)) {
    static char buffer[512];
    static size_t have;
    int begun = 0;
    ssize_t n = read(STDIN_FILENO, buffer + have, sizeof buffer - have);
    if (n <= 0) return -1;
    have += (size_t)n;
    for (char *end; (end = memchr(buffer, '\n', have));) {
        *end = 0;
        if (fetch_begin(buffer, deliver) == 0) begun++;
        have -= (size_t)(end + 1 - buffer);
        memmove(buffer, end + 1, have);
    }
    if (have == sizeof buffer) have = 0; /* no port is that long */
    return begun;
}

#endif
