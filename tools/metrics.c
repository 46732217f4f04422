/* SPDX-License-Identifier: MIT */
/* See metrics.h. Clients are answered one after the other, because a collector asks only every few seconds. */
#include "metrics.h"

#include "command.h"
#include "weft.h"
#include "weft/io.h"

#include <errno.h>
#include <netdb.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#define PATIENCE (5 * WEFT_SECOND) /* with one client */

static int listener = -1;
static char address[NI_MAXHOST + NI_MAXSERV + 4];

/* --- listening --------------------------------------------------------------------------------------------- */

static int listen_at(const struct addrinfo *a) {
    const int on = 1;
    int fd = socket(a->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0) return -errno;
    if (!setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) && !bind(fd, a->ai_addr, a->ai_addrlen) &&
        !listen(fd, 16))
        return fd;
    int err = errno;
    close(fd);
    return -err;
}

static void name_address(void) {
    struct sockaddr_storage at;
    socklen_t size = sizeof at;
    char host[NI_MAXHOST] = "", port[NI_MAXSERV] = "";
    getsockname(listener, (struct sockaddr *)&at, &size);
    getnameinfo((struct sockaddr *)&at, size, host, sizeof host, port, sizeof port, NI_NUMERICHOST | NI_NUMERICSERV);
    snprintf(address, sizeof address, strchr(host, ':') ? "[%s]:%s" : "%s:%s", host, port);
}

const char *metrics_address(void) { return address; }

int metrics_listen(const char *where) {
    char host[NI_MAXHOST] = "127.0.0.1";
    const char *colon = strrchr(where, ':'), *port = colon ? colon + 1 : where, *from = where;
    struct addrinfo hints = {.ai_flags = AI_NUMERICSERV | AI_PASSIVE, .ai_socktype = SOCK_STREAM}, *list;
    char *end;
    unsigned long number = strtoul(port, &end, 10);
    if (port[0] < '0' || port[0] > '9' || *end || number > 65535 || (colon && colon == where))
        return usage("--metrics wants a port, or ADDRESS:PORT, not '%s'", where);
    if (colon) {
        bool brackets = where[0] == '[' && colon[-1] == ']';
        from += brackets;
        snprintf(host, sizeof host, "%.*s", (int)(colon - from - brackets), from);
    }
    if (getaddrinfo(host, port, &hints, &list)) return usage("--metrics: no such address: '%s'", host);
    int fd = listen_at(list);
    freeaddrinfo(list);
    if (fd < 0) {
        fprintf(stderr, "weft: cannot listen at %s for --metrics: %s\n", where, strerror(-fd));
        return EXIT_WRONG;
    }
    listener = fd;
    name_address();
    return 0;
}

/* --- answering ------------------------------------------------------------------------------------------------ */

/* Receives the head of a request, and returns its first line. Returns false if the head did not arrive. */
static bool read_head(int fd, char *head, size_t size, uint64_t deadline) {
    size_t n = 0;
    while (n + 1 < size) {
        ssize_t got = weft_recv_until(fd, head + n, size - 1 - n, 0, deadline);
        if (got <= 0) return false;
        n += (size_t)got;
        head[n] = 0;
        if (strstr(head, "\r\n\r\n") || strstr(head, "\n\n")) return true;
    }
    return false;
}

static bool send_all(int fd, const char *text, size_t n, uint64_t deadline) {
    while (n) {
        ssize_t sent = weft_send_until(fd, text, n, MSG_NOSIGNAL, deadline);
        if (sent < 0) return false;
        text += sent;
        n -= (size_t)sent;
    }
    return true;
}

static void answer(int fd, const char *status, const char *type, const char *body, size_t n, bool with_body,
                   uint64_t deadline) {
    char head[256];
    int size = snprintf(head, sizeof head,
                        "HTTP/1.1 %s\r\nContent-Type: %s\r\nContent-Length: %zu\r\nConnection: close\r\n\r\n", status,
                        type, n);
    if (send_all(fd, head, (size_t)size, deadline) && with_body) send_all(fd, body, n, deadline);
}

static void refuse(int fd, const char *status, uint64_t deadline) {
    answer(fd, status, "text/plain", "try /metrics\n", 13, true, deadline);
}

/* Writes to a file in memory first, because the size must be known, and so that a slow client holds nothing up. */
static void answer_metrics(int fd, bool with_body, uint64_t deadline) {
    int file = memfd_create("metrics", MFD_CLOEXEC);
    off_t size = 0;
    char *text = NULL;
    if (file >= 0 && !weft_metrics(file)) size = lseek(file, 0, SEEK_END);
    if (size > 0) text = mmap(NULL, (size_t)size, PROT_READ, MAP_SHARED, file, 0);
    if (file >= 0) close(file);
    if (!text || text == MAP_FAILED) {
        refuse(fd, "503 Service Unavailable", deadline);
        return;
    }
    answer(fd, "200 OK", "text/plain; version=0.0.4; charset=utf-8", text, (size_t)size, with_body, deadline);
    munmap(text, (size_t)size);
}

static void serve_one(int fd) {
    char head[4096], method[8], path[64];
    uint64_t deadline = weft_now() + PATIENCE;
    if (!read_head(fd, head, sizeof head, deadline)) return;
    if (sscanf(head, "%7s %63s HTTP/", method, path) != 2)
        refuse(fd, "400 Bad Request", deadline);
    else if (strcmp(method, "GET") != 0 && strcmp(method, "HEAD") != 0)
        refuse(fd, "405 Method Not Allowed", deadline);
    else if (strcmp(path, "/metrics") != 0 && strncmp(path, "/metrics?", 9) != 0)
        refuse(fd, "404 Not Found", deadline);
    else
        answer_metrics(fd, method[0] == 'G', deadline);
}

int metrics_serve(void) {
    while (listener >= 0) {
        int fd = weft_accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
        if (fd >= 0) {
            serve_one(fd);
            weft_shutdown(fd, SHUT_WR);
            weft_close(fd);
        } else if (errno == ECANCELED || errno == EBADF || errno == EINVAL || weft_sleep_for(10 * WEFT_MILLISECOND))
            return 0;
    }
    return 0;
}
