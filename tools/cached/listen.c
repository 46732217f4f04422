/* SPDX-License-Identifier: MIT */
#include "listen.h"

#include "weft.h"

#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

static bool secure[MC_LISTENERS_MOST];

bool mc_listens_secure(int i) { return secure[i]; }

static int complain(const char *what, const char *where) {
    fprintf(stderr, "weft: cached: %s %s: %s\n", what, where, strerror(errno));
    return -1;
}

/* Connections inherit most of these options. They do not linger: an answer is sent before the end, or is not wanted. */
static void set_options(int fd, int family, int type) {
    int on = 1;
    struct linger linger = {0, 0};
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (family == AF_INET6) setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof on);
    if (type == SOCK_DGRAM) return;
    setsockopt(fd, SOL_SOCKET, SO_LINGER, &linger, sizeof linger);
    if (family == AF_UNIX) return;
    setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

static int open_one(const struct sockaddr *address, socklen_t size, int type, unsigned backlog) {
    int fd = socket(address->sa_family, type | SOCK_CLOEXEC | (type == SOCK_DGRAM ? SOCK_NONBLOCK : 0), 0);
    if (fd < 0) return -1;
    set_options(fd, address->sa_family, type);
    if (!bind(fd, address, size) && (type == SOCK_DGRAM || !listen(fd, (int)backlog))) return fd;
    int saved = errno;
    close(fd);
    errno = saved;
    return -1;
}

static int listen_unix(const struct mc_settings *settings, int *fds) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    struct stat s;
    if (strlen(settings->socket_path) >= sizeof address.sun_path) {
        errno = ENAMETOOLONG;
        return complain("socket", settings->socket_path);
    }
    strcpy(address.sun_path, settings->socket_path);
    if (!lstat(address.sun_path, &s) && S_ISSOCK(s.st_mode)) unlink(address.sun_path);
    mode_t mask = umask((mode_t)(~settings->socket_mask & 0777));
    fds[0] = open_one((struct sockaddr *)&address, sizeof address, SOCK_STREAM, settings->backlog);
    umask(mask);
    return fds[0] < 0 ? complain("socket", settings->socket_path) : 1;
}

/* Opens the sockets of an address: host, host:port or [host]:port; NULL: all addresses. Adds them to fds. */
static int listen_host(const struct mc_settings *settings, char *host, int type, int *fds, int n) {
    static const char notls[] = "notls:";
    bool plain = host && !strncmp(host, notls, strlen(notls));
    if (plain) host += strlen(notls);
    char number[16], *port = number, *shown = host ? host : number;
    int wanted = type == SOCK_DGRAM ? settings->udp_port : settings->port;
    snprintf(number, sizeof number, "%d", wanted > 0 ? wanted : 0);
    char *colon = host ? strrchr(host, ':') : NULL;
    if (host && host[0] == '[') {
        char *close = strchr(host, ']');
        colon = close && close[1] == ':' ? close + 1 : NULL;
        if (close) *close = 0;
        host++;
    } else if (colon && strchr(host, ':') != colon) {
        colon = NULL; /* an IPv6 address */
    }
    if (colon) *colon = 0;
    if (colon && type == SOCK_STREAM) port = colon + 1; /* datagrams use the port of -U */
    struct addrinfo hints = {.ai_flags = AI_PASSIVE, .ai_socktype = type}, *list;
    int err = getaddrinfo(host && strcmp(host, "*") ? host : NULL, port, &hints, &list);
    if (err) {
        fprintf(stderr, "weft: cached: %s: %s\n", shown, gai_strerror(err));
        return -1;
    }
    int before = n, failed = 0;
    for (struct addrinfo *a = list; a && n < MC_LISTENERS_MOST && !failed; a = a->ai_next) {
        fds[n] = open_one(a->ai_addr, a->ai_addrlen, type, settings->backlog);
        if (fds[n] >= 0) {
            if (type == SOCK_STREAM) secure[n] = settings->tls.on && !plain;
            n++;
        } else if (errno != EAFNOSUPPORT && errno != EADDRNOTAVAIL) { /* some machines have no IPv6 */
            failed = errno;
        }
    }
    freeaddrinfo(list);
    errno = failed ? failed : errno;
    return n > before && !failed ? n : complain("cannot listen on", shown);
}

static int listen_all(const struct mc_settings *settings, int type, int *fds) {
    if (!settings->listen) return listen_host(settings, NULL, type, fds, 0);
    char *hosts = strdup(settings->listen), *rest = hosts;
    int n = 0;
    for (char *host; n >= 0 && rest && (host = strsep(&rest, ","));)
        if (*host) n = listen_host(settings, host, type, fds, n);
    free(hosts);
    return n;
}

int mc_listen(const struct mc_settings *settings, int *fds) {
    if (settings->socket_path) return listen_unix(settings, fds);
    if (settings->port || settings->listen) return listen_all(settings, SOCK_STREAM, fds);
    if (!settings->udp_port) fprintf(stderr, "weft: cached: no port and no socket: only a signal reaches it\n");
    return 0;
}

int mc_listen_udp(const struct mc_settings *settings, int *fds) {
    return settings->udp_port && !settings->socket_path ? listen_all(settings, SOCK_DGRAM, fds) : 0;
}

static void tell_ports(FILE *file, const char *kind, const int *fds, int count) {
    for (int i = 0; i < count; i++) {
        union {
            struct sockaddr any;
            struct sockaddr_in v4;
            struct sockaddr_in6 v6;
        } a;
        socklen_t size = sizeof a;
        if (getsockname(fds[i], &a.any, &size)) continue;
        if (a.any.sa_family == AF_INET) fprintf(file, "%s INET: %u\n", kind, ntohs(a.v4.sin_port));
        if (a.any.sa_family == AF_INET6) fprintf(file, "%s INET6: %u\n", kind, ntohs(a.v6.sin6_port));
    }
}

void mc_tell_ports(const int *streams, int stream_count, const int *datagrams, int datagram_count) {
    const char *name = getenv("MEMCACHED_PORT_FILENAME");
    char begun[4096];
    if (!name || (size_t)snprintf(begun, sizeof begun, "%s.lck", name) >= sizeof begun) return;
    FILE *file = fopen(begun, "we");
    if (!file) {
        complain("cannot write", begun);
        return;
    }
    tell_ports(file, "TCP", streams, stream_count);
    tell_ports(file, "UDP", datagrams, datagram_count);
    fclose(file);
    rename(begun, name);
}
