/* SPDX-License-Identifier: MIT */
/*
 * What the plain loops have in common. Each is a server called as
 *
 *     PROGRAM echo|hello|accept port=N
 *
 * that listens on 127.0.0.1 until it is killed:
 *
 *   echo     sends back what it gets
 *   hello    answers each HTTP request with the same 13 bytes, whatever is asked for
 *   accept   closes a connection as soon as it is there
 */
#ifndef IO_SERVER_H
#define IO_SERVER_H

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#define BACKLOG 4096
#define ROOM 4096 /* bytes that a connection can have under way */
#define DESCRIPTORS 65536

static const char hello[] = "HTTP/1.1 200 OK\r\nContent-Length: 13\r\n\r\nHello, world\n";
#define HELLO_SIZE (sizeof hello - 1)
#define REQUEST_END "\r\n\r\n"

enum work { ECHO, HELLO, ACCEPT };

static inline void fail(const char *what, int error) {
    fprintf(stderr, "%s: %s\n", what, strerror(error));
    exit(1);
}

static inline enum work work_asked(int argc, char **argv) {
    static const char *const names[] = {"echo", "hello", "accept"};
    for (int i = 0; argc > 1 && i < 3; i++)
        if (!strcmp(argv[1], names[i])) return (enum work)i;
    fprintf(stderr, "usage: %s echo|hello|accept port=N\n", argv[0]);
    exit(2);
}

static inline long number_asked(int argc, char **argv, const char *key, long otherwise) {
    size_t length = strlen(key);
    for (int i = 2; i < argc; i++)
        if (!strncmp(argv[i], key, length) && argv[i][length] == '=') return atol(argv[i] + length + 1);
    return otherwise;
}

/* Listens. Raises the limit of descriptors as far as permitted. */
static inline int listen_at(long port, int flags) {
    struct rlimit limit;
    if (!getrlimit(RLIMIT_NOFILE, &limit)) {
        limit.rlim_cur = limit.rlim_max;
        setrlimit(RLIMIT_NOFILE, &limit);
    }
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int one = 1, fd = socket(AF_INET, SOCK_STREAM | flags, 0);
    if (fd < 0) fail("socket", errno);
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one); /* connections inherit it */
    if (bind(fd, (struct sockaddr *)&at, sizeof at) || listen(fd, BACKLOG)) fail("listen", errno);
    return fd;
}

/* Returns how many requests end in the bytes. A request never comes in pieces here. */
static inline size_t requests_in(const char *bytes, size_t size) {
    size_t count = 0;
    const char *end = bytes + size;
    for (const char *p; (p = memmem(bytes, (size_t)(end - bytes), REQUEST_END, 4)); bytes = p + 4) count++;
    return count;
}

#endif
