/* SPDX-License-Identifier: MIT */
/*
 * The sockets between ranks. Rank 0 has a socket to every rank, which breaks when that rank dies. Ranks on different
 * nodes have a socket to each other for all their messages. The higher rank connects. It sends its number and the job's
 * token, which it got by MPI, so no other program can connect.
 */
#define _GNU_SOURCE
#include "dist/dist.h"

#include <arpa/inet.h>
#include <errno.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#define WEFT_CONNECT_MS 60000

/* The address by which other nodes reach this node: WEFT_DIST_ADDRESS, or the first that is not the loopback's. */
static struct in_addr own_address(bool only_node) {
    struct in_addr address = {htonl(INADDR_LOOPBACK)};
    const char *given = getenv("WEFT_DIST_ADDRESS");
    struct ifaddrs *all = NULL;
    if (only_node || (given && inet_aton(given, &address)) || getifaddrs(&all)) return address;
    for (struct ifaddrs *i = all; i; i = i->ifa_next) {
        if (!i->ifa_addr || i->ifa_addr->sa_family != AF_INET || !(i->ifa_flags & IFF_UP) ||
            i->ifa_flags & IFF_LOOPBACK)
            continue;
        address = ((struct sockaddr_in *)(void *)i->ifa_addr)->sin_addr;
        break;
    }
    freeifaddrs(all);
    return address;
}

static int bound_socket(int type, struct sockaddr_in *address) {
    socklen_t size = sizeof *address;
    int fd = socket(AF_INET, type | SOCK_CLOEXEC, 0);
    if (fd < 0) return -errno;
    if (bind(fd, (void *)address, sizeof *address) || getsockname(fd, (void *)address, &size)) {
        int err = -errno;
        close(fd);
        return err;
    }
    return fd;
}

/* Returns a listening socket, and opens the socket for datagrams at the same port. */
int weft__dist_listen(struct sockaddr_in *address, bool only_node) {
    for (unsigned tries = 0; tries < 100; tries++) {
        *address = (struct sockaddr_in){.sin_family = AF_INET, .sin_addr = own_address(only_node)};
        int fd = bound_socket(SOCK_STREAM, address);
        if (fd < 0) return fd;
        weft__dist.bell_fd = bound_socket(SOCK_DGRAM | SOCK_NONBLOCK, address);
        if (weft__dist.bell_fd >= 0 && !listen(fd, 4096)) return fd;
        if (weft__dist.bell_fd >= 0) close(weft__dist.bell_fd);
        weft__dist.bell_fd = -1;
        close(fd);
    }
    return -EADDRINUSE;
}

/* Lets the kernel find out that the other machine is dead. A dead process breaks the socket at once. */
static void set_options(int fd) {
    int one = 1, seconds = (int)(weft__dist.detect / WEFT_SECOND) + 1, probes = 3;
    unsigned ms = (unsigned)(weft__dist.detect / WEFT_MILLISECOND);
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &one, sizeof one);
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &seconds, sizeof seconds);
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &seconds, sizeof seconds);
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &probes, sizeof probes);
    setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &ms, sizeof ms);
}

static bool is_socket(unsigned rank) {
    const struct weft__dist *d = &weft__dist;
    return rank != d->rank && (d->peers[rank].local == UINT32_MAX || !rank || !d->rank);
}

static void use_connection(unsigned rank, int fd) {
    struct weft__dist *d = &weft__dist;
    struct weft__dist_peer *peer = &d->peers[rank];
    set_options(fd);
    struct weft__dist_link *l = calloc(1, sizeof *l);
    if (!l) weft__dist_die("no memory for the link to rank %u", rank);
    l->rank = rank;
    l->fd = fd;
    if (!rank || !d->rank) peer->control = l;
    if (peer->local == UINT32_MAX) peer->data = l;
    d->links[d->link_count++] = l;
}

static int dial_rank(unsigned rank, const struct sockaddr_in *address) {
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct weft__dist_head hello = {WEFT_MSG_HELLO, 0, 0, weft__dist.token, weft__dist.rank};
    if (fd < 0) return -errno;
    if (connect(fd, (const void *)address, sizeof *address) ||
        send(fd, &hello, sizeof hello, MSG_NOSIGNAL) != sizeof hello) {
        int err = errno ? -errno : -EIO;
        close(fd);
        return err;
    }
    use_connection(rank, fd);
    return 0;
}

/* Accepts a connection. If it does not send the token, it belongs to another program, and is closed. */
static int admit_connection(int fd) {
    struct weft__dist *d = &weft__dist;
    struct weft__dist_head hello = {0};
    struct timeval patience = {5, 0};
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    ssize_t n = recv(fd, &hello, sizeof hello, MSG_WAITALL);
    bool is_known = n == sizeof hello && hello.type == WEFT_MSG_HELLO && hello.a == d->token && hello.b > d->rank &&
                    hello.b < d->ranks && is_socket((unsigned)hello.b);
    if (!is_known) {
        close(fd);
        return 0;
    }
    use_connection((unsigned)hello.b, fd);
    return 1;
}

int weft__dist_connect(int listener, const struct sockaddr_in *addresses) {
    struct weft__dist *d = &weft__dist;
    unsigned expected = 0;
    for (unsigned r = 0; r < d->rank; r++) {
        int err = is_socket(r) ? dial_rank(r, &addresses[r]) : 0;
        if (err) return err;
    }
    for (unsigned r = d->rank + 1; r < d->ranks; r++) expected += is_socket(r);
    while (expected) {
        struct pollfd waits = {listener, POLLIN, 0};
        int n = poll(&waits, 1, WEFT_CONNECT_MS);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) return n ? -errno : -ETIMEDOUT;
        int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
        if (fd >= 0) expected -= (unsigned)admit_connection(fd);
    }
    return 0;
}
