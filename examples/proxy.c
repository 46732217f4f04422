/* SPDX-License-Identifier: MIT */
/*
 * A TCP proxy: proxy PORT HOST PORT
 *
 * Each connection is a fiber with a scope of two: one copies from the client to the server, one copies back. When one
 * side has sent everything, the other side is told so and the answer still arrives. When one side breaks, the scope
 * cancels the other copy. SIGINT or SIGTERM ends the proxy and all its connections.
 */
#include <string.h>
#include <weft.h>

#include "net.h"

static const char *server_host, *server_port;

struct copy {
    int from, to;
};

static int copy(void *arg) {
    struct copy *copy = arg;
    char buffer[16 * 1024];
    for (;;) {
        ssize_t n = weft_read(copy->from, buffer, sizeof buffer);
        if (n == 0) return weft_shutdown(copy->to, SHUT_WR), 0; /* the other direction goes on */
        if (n < 0 || weft_write(copy->to, buffer, (size_t)n) != n) return -EIO;
    }
}

static int serve(void *connection) {
    int client = (int)(intptr_t)connection,
        server = weft_tcp_dial(server_host, server_port, weft_now() + 10 * WEFT_SECOND);
    if (server < 0) {
        fprintf(stderr, "%s:%s: %s\n", server_host, server_port, strerror(-server));
        weft_close(client);
        return 0;
    }
    struct weft_scope both;
    struct copy there = {client, server}, back = {server, client};
    weft_scope_begin(&both, WEFT_FOREVER);
    int err = weft_scope_spawn(&both, NULL, copy, &there);
    if (!err) err = weft_scope_spawn(&both, NULL, copy, &back);
    if (err) weft_scope_fail(&both, err);
    weft_scope_end(&both); /* an error is this connection's alone */
    weft_close(server);
    weft_close(client);
    return 0;
}

static int run(void *port) { return serve_until_signal(port, serve); }

int main(int argc, char **argv) {
    if (argc != 4) return fprintf(stderr, "usage: proxy PORT HOST PORT\n"), 2;
    server_host = argv[2];
    server_port = argv[3];
    return weft_run(run, argv[1], NULL);
}
