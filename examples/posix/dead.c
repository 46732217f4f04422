/* SPDX-License-Identifier: MIT */
/*
 * A server that never answers delays only the fibers that ask it, and a deadline of weft ends their calls, though these
 * know nothing of deadlines.
 *
 *     dead HOST PORT [FIBERS]
 */
#include "many.h"

#include <errno.h>
#include <netdb.h>
#include <sys/socket.h>
#include <unistd.h>

static const char *host, *port;

/* As a library does it: without time-outs. */
static ssize_t ask_server(int fd) {
    char answer[10];
    if (send(fd, "?", 1, MSG_NOSIGNAL) != 1) return -1;
    return recv(fd, answer, sizeof answer, 0);
}

static int ask(long number) {
    struct addrinfo hints = {.ai_family = AF_INET, .ai_socktype = SOCK_STREAM}, *found;
    struct weft_scope scope;
    (void)number;
    if (getaddrinfo(host, port, &hints, &found)) return -1;
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    if (fd < 0) return perror("socket"), -1;
    weft_scope_begin(&scope, weft_now() + 200 * WEFT_MILLISECOND);
    int err = connect(fd, found->ai_addr, found->ai_addrlen) || ask_server(fd) < 0 ? errno : 0;
    weft_scope_end(&scope);
    freeaddrinfo(found);
    close(fd);
    if (err != ETIMEDOUT) fprintf(stderr, "error %d\n", err);
    return err == ETIMEDOUT ? 0 : -1;
}

int main(int argc, char **argv) {
    if (argc < 3) return fprintf(stderr, "dead HOST PORT [FIBERS]\n"), 2;
    host = argv[1];
    port = argv[2];
    return many_run(argc > 3 ? atoi(argv[3]) : 100, ask);
}
