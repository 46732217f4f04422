/* SPDX-License-Identifier: MIT */
/*
 * serve-echo, serve-accept: weft's servers for `echo` and `accept` (io/served.c). Each connection has a fiber. They run
 * until the process is killed.
 *
 *   port=  of 127.0.0.1
 */
#include "load/load.h"
#include "own.h"
#include "weft/io.h"

#include <netinet/tcp.h>
#include <unistd.h>

#define BACKLOG 4096
#define ROOM 4096

static int listen_at(uint64_t port) {
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    int one = 1, fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    load_raise_descriptors(65536);
    if (fd < 0) fail("socket", errno);
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one); /* connections inherit it */
    if (bind(fd, (struct sockaddr *)&at, sizeof at) || listen(fd, BACKLOG)) fail("listen", errno);
    return fd;
}

static void *echo(void *p) {
    int fd = (int)(intptr_t)p;
    char bytes[ROOM];
    for (ssize_t n; (n = weft_recv(fd, bytes, sizeof bytes, 0)) > 0;)
        if (weft_send(fd, bytes, (size_t)n, MSG_NOSIGNAL) != n) break;
    weft_close(fd);
    return NULL;
}

void own_serve_echo(const struct args *args, struct result *result) {
    int listener = listen_at(arg(args, "port"));
    for (int fd; (fd = weft_accept4(listener, NULL, NULL, SOCK_NONBLOCK)) >= 0;) {
        must(weft_spawn(NULL, NULL, echo, (void *)(intptr_t)fd), "weft_spawn");
    }
    result->right = false;
    fail("weft_accept4", errno);
}

void own_serve_accept(const struct args *args, struct result *result) {
    int listener = listen_at(arg(args, "port"));
    for (int fd; (fd = weft_accept4(listener, NULL, NULL, 0)) >= 0;) weft_close(fd);
    result->right = false;
    fail("weft_accept4", errno);
}
