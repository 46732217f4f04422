/* SPDX-License-Identifier: MIT */
/* Sockets for the examples: listen on a port of this machine, and accept connections. */
#ifndef NET_H
#define NET_H

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <weft/stream.h>

/* Listens on a port of the loopback interface, 0 for any free one, and prints which. Returns the socket, or -1. */
__attribute__((unused)) static int listen_on(const char *port) {
    int fd = weft_tcp_listen("127.0.0.1", port, 0);
    if (fd < 0) {
        fprintf(stderr, "port %s: %s\n", port, strerror(-fd));
        return -1;
    }
    printf("listening on 127.0.0.1:%d\n", weft_tcp_port(fd));
    fflush(stdout);
    return fd;
}

/* Accepts the next connection. A client that has gone meanwhile does not count; without descriptors it waits until
 * other connections have ended. Returns the socket, or -1 and errno. */
__attribute__((unused)) static int accept_next(int listener) {
    for (;;) {
        int fd = weft_accept(listener, NULL, NULL);
        if (fd < 0 && (errno == EMFILE || errno == ENFILE)) {
            if (weft_sleep_for(10 * WEFT_MILLISECOND)) return -1;
        } else if (fd >= 0 || errno != ECONNABORTED) {
            return fd;
        }
    }
}

#endif
