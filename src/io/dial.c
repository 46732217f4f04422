/* SPDX-License-Identifier: MIT */
/*
 * Connections by name: weft/stream.h. It uses the public calls only.
 *
 * A dial tries the addresses of a name in the order of getaddrinfo, which puts the best first. When an address does not
 * answer within WEFT_DIAL_PATIENCE the next attempt begins beside it, so a host whose first address is unreachable does
 * not cost the time-out of the kernel. The first connection wins.
 */
#define _GNU_SOURCE
#include "base/base.h"
#include "base/sys.h"

#include <weft/stream.h>

#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#define WEFT_DIAL_PATIENCE (250 * WEFT_MILLISECOND)
#define WEFT_DIAL_MOST 16 /* attempts; further addresses are not tried */

static int look_up(const char *host, const char *service, int flags, struct addrinfo **found) {
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = flags};
    int why = weft_getaddrinfo(host, service, &hints, found);
    switch (why) {
    case 0: return 0;
    case EAI_SYSTEM: return -errno;
    case EAI_MEMORY: return -ENOMEM;
    case EAI_AGAIN: return -EAGAIN;
    default: return -ENOENT;
    }
}

/* --- dial --------------------------------------------------------------------------------------------- */

struct attempt {
    struct weft_io io;
    int fd;
};

struct dial {
    unsigned begun;
    int error; /* of the last attempt that failed */
    const struct addrinfo *next;
    struct weft_future *futures[WEFT_DIAL_MOST]; /* NULL: not under way */
    struct attempt attempts[WEFT_DIAL_MOST];
};

static bool has_next(const struct dial *d) { return d->next && d->begun < WEFT_DIAL_MOST; }

static bool dial_is_under_way(const struct dial *d) {
    for (unsigned i = 0; i < d->begun; i++)
        if (d->futures[i]) return true;
    return false;
}

static void begin_next(struct dial *d) {
    const struct addrinfo *to = d->next;
    struct attempt *a = &d->attempts[d->begun];
    d->next = to->ai_next;
    a->fd = socket(to->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    int err = a->fd < 0 ? -errno : weft_io_connect(&a->io, a->fd, to->ai_addr, to->ai_addrlen);
    if (err) {
        if (a->fd >= 0) weft_close(a->fd);
        d->error = err;
        return;
    }
    d->futures[d->begun++] = &a->io.future;
}

/* Takes the result of an attempt that is done: its socket, or an error. */
static int dial_finish(struct dial *d, unsigned which) {
    struct attempt *a = &d->attempts[which];
    ssize_t result = weft_io_wait(&a->io);
    d->futures[which] = NULL;
    if (result >= 0) return a->fd;
    weft_close(a->fd);
    return d->error = (int)result;
}

/* Waits for the first connection. Begins a further attempt when one has failed, and when none has succeeded for a
 * while. */
static int dial_first_of(struct dial *d, uint64_t deadline) {
    for (;;) {
        if (has_next(d)) begin_next(d);
        if (!dial_is_under_way(d)) {
            if (has_next(d)) continue;
            return d->error;
        }
        uint64_t patience = has_next(d) ? weft_now() + WEFT_DIAL_PATIENCE : WEFT_FOREVER;
        int which = weft_future_any_until(d->futures, d->begun, patience < deadline ? patience : deadline);
        if (which >= 0) {
            int fd = dial_finish(d, (unsigned)which);
            if (fd >= 0) return fd;
        } else if (which != -ETIMEDOUT || weft_cancelled() || weft_now() >= deadline) {
            return which;
        }
    }
}

/* Cancels the attempts that have not won, and closes their sockets. A cancelled attempt may have connected. */
static void dial_give_up(struct dial *d) {
    for (unsigned i = 0; i < d->begun; i++)
        if (d->futures[i]) weft_io_cancel(&d->attempts[i].io);
    for (unsigned i = 0; i < d->begun; i++) {
        if (!d->futures[i]) continue;
        int fd = dial_finish(d, i);
        if (fd >= 0) weft_close(fd);
    }
}

static int dial_all(const struct addrinfo *addresses, uint64_t deadline) {
    struct dial *d = weft__alloc(sizeof *d);
    if (!d) return -ENOMEM;
    d->next = addresses;
    d->error = -ENOENT;
    int fd = dial_first_of(d, deadline);
    dial_give_up(d);
    weft__free(d);
    return fd;
}

WEFT_PUBLIC int weft_tcp_dial(const char *host, const char *service, uint64_t deadline) {
    struct addrinfo *addresses;
    struct weft_scope scope;
    int on = 1;
    if (!service) return -EINVAL;
    if (!weft_self().id) return -EPERM;
    weft_scope_begin(&scope, deadline); /* of a fiber: it does not fail */
    int fd = look_up(host, service, 0, &addresses);
    if (!fd) {
        fd = dial_all(addresses, deadline);
        freeaddrinfo(addresses);
    }
    weft_scope_end(&scope);
    if (fd >= 0) setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    return fd;
}

static int unix_address(const char *path, struct sockaddr_un *address) {
    if (!path) return -EINVAL;
    if (strlen(path) >= sizeof address->sun_path) return -ENAMETOOLONG;
    *address = (struct sockaddr_un){.sun_family = AF_UNIX};
    strcpy(address->sun_path, path);
    return 0;
}

WEFT_PUBLIC int weft_unix_dial(const char *path, uint64_t deadline) {
    struct sockaddr_un address;
    int err = unix_address(path, &address);
    if (err) return err;
    if (!weft_self().id) return -EPERM;
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0) return -errno;
    if (!weft_connect_until(fd, (const struct sockaddr *)&address, sizeof address, deadline)) return fd;
    err = -errno;
    weft_close(fd);
    return err;
}

/* --- listen ------------------------------------------------------------------------------------------- */

static int listen_at(const struct sockaddr *address, socklen_t length, int backlog) {
    int on = 1, off = 0;
    int fd = socket(address->sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0) return -errno;
    if (address->sa_family != AF_UNIX) setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (address->sa_family == AF_INET6) setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off);
    if (!bind(fd, address, length) && !listen(fd, backlog ? backlog : 1 << 20))
        return fd; /* the kernel applies its limit */
    int err = -errno;
    close(fd);
    return err;
}

/* Listens at the first address that can be bound. A socket of IPv6 takes connections of IPv4 as well, so addresses of
 * IPv6 come first. */
static int listen_at_one(const struct addrinfo *addresses, int backlog) {
    static const int families[] = {AF_INET6, AF_INET};
    int fd = -ENOENT;
    for (unsigned i = 0; i < 2; i++)
        for (const struct addrinfo *a = addresses; a; a = a->ai_next)
            if (a->ai_family == families[i]) {
                fd = listen_at(a->ai_addr, a->ai_addrlen, backlog);
                if (fd >= 0) return fd;
            }
    return fd;
}

WEFT_PUBLIC int weft_tcp_listen(const char *host, const char *service, int backlog) {
    struct addrinfo *addresses;
    if (!service || backlog < 0) return -EINVAL;
    int fd = look_up(host, service, AI_PASSIVE, &addresses);
    if (fd) return fd;
    fd = listen_at_one(addresses, backlog);
    freeaddrinfo(addresses);
    return fd;
}

WEFT_PUBLIC int weft_tcp_port(int fd) {
    union {
        struct sockaddr any;
        struct sockaddr_in v4;
        struct sockaddr_in6 v6;
    } address;
    socklen_t length = sizeof address;
    if (getsockname(fd, &address.any, &length)) return -errno;
    if (address.any.sa_family == AF_INET) return ntohs(address.v4.sin_port);
    if (address.any.sa_family == AF_INET6) return ntohs(address.v6.sin6_port);
    return -EAFNOSUPPORT;
}

/* Is there a socket at this path at which no program listens? Then a connection is refused. Other files refuse it, too,
 * so the type is checked first. */
static bool is_deserted(const struct sockaddr_un *address) {
    struct stat about;
    if (lstat(address->sun_path, &about) || !S_ISSOCK(about.st_mode)) return false;
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0) return false;
    bool refused = connect(fd, (const struct sockaddr *)address, sizeof *address) && errno == ECONNREFUSED;
    close(fd);
    return refused;
}

WEFT_PUBLIC int weft_unix_listen(const char *path, int backlog) {
    struct sockaddr_un address;
    int err = unix_address(path, &address);
    if (err) return err;
    if (backlog < 0) return -EINVAL;
    int fd = listen_at((const struct sockaddr *)&address, sizeof address, backlog);
    if (fd != -EADDRINUSE || !is_deserted(&address)) return fd;
    unlink(path);
    return listen_at((const struct sockaddr *)&address, sizeof address, backlog);
}
