/* SPDX-License-Identifier: MIT */
/* Sockets for the examples: listen on a port of this machine, accept connections, and serve them until a signal. */
#ifndef NET_H
#define NET_H

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <weft/scope.h>
#include <weft/signal.h>
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

/* A server: each connection is a fiber of the scope, and serve gets its socket. */
struct server {
    struct weft_scope scope;
    int listener;
    int (*serve)(void *socket);
};

__attribute__((unused)) static int accept_connections(void *arg) {
    struct server *server = arg;
    for (int fd; (fd = accept_next(server->listener)) >= 0;)
        if (weft_scope_spawn(&server->scope, NULL, server->serve, (void *)(intptr_t)fd)) weft_close(fd);
    return -errno;
}

/* Serves until SIGINT or SIGTERM, which end all connections. Returns 0, or 1 after an error. */
__attribute__((unused)) static int serve_until_signal(const char *port, int (*serve)(void *socket)) {
    struct weft_signals signals = WEFT_SIGNALS_INIT;
    struct server server = {.listener = listen_on(port), .serve = serve};
    if (server.listener < 0 || weft_signals_begin(&signals, WEFT_SIGNAL(SIGINT) | WEFT_SIGNAL(SIGTERM))) return 1;
    weft_scope_begin(&server.scope, WEFT_FOREVER);
    int err = weft_scope_spawn(&server.scope, NULL, accept_connections, &server);
    if (!err) err = weft_signals_next(&signals, NULL); /* a number: the signal; less: accept_connections has failed */
    weft_scope_cancel(&server.scope);
    weft_scope_end(&server.scope);
    weft_signals_end(&signals);
    weft_close(server.listener);
    return err < 0;
}

#endif
