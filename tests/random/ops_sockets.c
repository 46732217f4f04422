/* SPDX-License-Identifier: MIT */
/* Sockets: messages in both directions, datagrams, connections. */
#define _GNU_SOURCE
#include "io.h"

#include "weft/stream.h"

#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/un.h>
#include <unistd.h>

/* --- messages to and fro ---------------------------------------------------------------------- */

enum { MESSAGE = 100 };
struct talk {
    struct weft_latch open;
    int fd[2];
    unsigned turns;
};

static bool make_talk(struct program *p, struct op *op) {
    struct talk *t = op->data;
    t->turns = 1 + (unsigned)choose(p, 20);
    OK(weft_latch_init(&t->open, 1));
    return true;
}

struct lent {
    int fd;
    struct weft_lease lease;
};
static int call_recv_lease(void *lent) {
    struct lent *l = lent;
    return (int)weft_recv_lease(l->fd, &l->lease);
}

/* A message in pieces, some of them in memory that weft lends. */
static void receive(struct party *p, int fd, unsigned char *to, size_t size) {
    for (size_t done = 0; done < size;) {
        if (!is_thread(p->actor) && one_in(p, 3) && size - done == MESSAGE) {
            struct lent l = {.fd = fd};
            int n = insist_on(p, call_recv_lease, &l);
            SO(n > 0 && (size_t)n <= size - done);
            memcpy(to + done, l.lease.data, (size_t)n);
            weft_lease_return(&l.lease);
            done += (size_t)n;
        } else {
            int n = read_some(p, fd, to + done, size - done);
            SO(n > 0);
            done += (size_t)n;
        }
    }
}

static void run_talk(struct party *p) {
    struct talk *t = p->op->data;
    unsigned char message[MESSAGE];
    if (p->role == 0) {
        OK(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | (one_in(p, 2) ? SOCK_NONBLOCK : 0), 0, t->fd));
        OK(weft_latch_count_down(&t->open, 1));
    }
    OK(insist(p, wait_for_latch, &t->open));
    for (unsigned i = 0; i < 2 * t->turns; i++) {
        if (i % 2 == p->role) {
            fill_bytes(p->op, message, i * MESSAGE, MESSAGE);
            write_all(p, t->fd[p->role], message, MESSAGE);
        } else {
            receive(p, t->fd[p->role], message, MESSAGE);
            check_bytes(p->op, message, i * MESSAGE, MESSAGE);
        }
        pause_a_bit(p);
    }
    if (one_in(p, 2)) OK(weft_shutdown(t->fd[p->role], SHUT_WR));
    close_file(t->fd[p->role]);
}

/* --- datagrams: the others send to role 0, whole and in order --------------------------------- */

struct datagrams {
    struct weft_latch open;
    int fd[2];
    unsigned each;
};
struct datagram {
    uint32_t sender, number;
};

static bool make_datagrams(struct program *p, struct op *op) {
    struct datagrams *d = op->data;
    d->each = 1 + (unsigned)choose(p, 30);
    OK(weft_latch_init(&d->open, 1));
    return true;
}

struct message {
    int fd;
    bool vector;
    struct datagram datagram;
};
static int call_send(void *context) {
    struct message *m = context;
    struct iovec part = {&m->datagram, sizeof m->datagram};
    struct msghdr header = {.msg_iov = &part, .msg_iovlen = 1};
    ssize_t n = m->vector ? weft_sendmsg(m->fd, &header, 0) : weft_send(m->fd, &m->datagram, sizeof m->datagram, 0);
    return n < 0 ? -errno : (int)n;
}
static int call_recv(void *context) {
    struct message *m = context;
    struct iovec part = {&m->datagram, sizeof m->datagram};
    struct msghdr header = {.msg_iov = &part, .msg_iovlen = 1};
    ssize_t n = m->vector ? weft_recvmsg(m->fd, &header, 0) : weft_recv(m->fd, &m->datagram, sizeof m->datagram, 0);
    return n < 0 ? -errno : (int)n;
}

static void receive_datagrams(struct party *p, struct datagrams *d) {
    uint32_t next[PARTIES] = {0};
    OK(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, d->fd));
    OK(weft_latch_count_down(&d->open, 1));
    for (unsigned i = d->each * (p->op->parties - 1); i; i--) {
        struct message m = {.fd = d->fd[0], .vector = one_in(p, 2)};
        WANT(insist_on(p, call_recv, &m), (int)sizeof m.datagram);
        SO(m.datagram.sender < p->op->parties);
        WANT(m.datagram.number, next[m.datagram.sender]++);
        pause_a_bit(p);
    }
    WANT(weft_ready_try(d->fd[0], POLLIN), -EAGAIN);
    close_file(d->fd[0]);
    close_file(d->fd[1]);
}

static void send_datagrams(struct party *p, struct datagrams *d) {
    OK(insist(p, wait_for_latch, &d->open));
    for (unsigned i = 0; i < d->each; i++) {
        struct message m = {d->fd[1], one_in(p, 2), {p->role, i}};
        WANT(insist_on(p, call_send, &m), (int)sizeof m.datagram);
        pause_a_bit(p);
    }
}

static void run_datagrams(struct party *p) { (p->role ? send_datagrams : receive_datagrams)(p, p->op->data); }

/* --- connections: role 0 accepts one from each of the others ---------------------------------- */

struct server {
    struct weft_latch open;
    union {
        struct sockaddr any;
        struct sockaddr_un local;
        struct sockaddr_in tcp;
    } address;
    socklen_t length;
    bool tcp, listener, dials;
    unsigned turns;
};

static bool make_server(struct program *p, struct op *op) {
    struct server *s = op->data;
    s->tcp = choose(p, 2);
    s->turns = 1 + (unsigned)choose(p, 4);
    if (s->tcp) {
        s->address.tcp = (struct sockaddr_in){.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
        s->length = sizeof s->address.tcp;
    } else { /* a name that is no file: its first byte is 0 */
        struct sockaddr_un *a = &s->address.local;
        a->sun_family = AF_UNIX;
        int n = snprintf(a->sun_path + 1, sizeof a->sun_path - 1, "weft-random-%d-%u-%llx", (int)getpid(), op->number,
                         (unsigned long long)op->seed);
        s->length = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)n);
    }
    s->listener = choose(p, 2) && !is_thread(op->actor[0]);
    s->dials = s->tcp && choose(p, 2) && !is_thread(op->actor[0]);
    OK(weft_latch_init(&s->open, 1));
    return true;
}

struct accepting {
    int fd;
    struct weft_listener listener;
};
static int call_accept(void *a) {
    int fd = weft_accept(((struct accepting *)a)->fd, NULL, NULL);
    return fd < 0 ? -errno : fd;
}
static int call_listener(void *a) { return weft_listener_accept(&((struct accepting *)a)->listener); }

static int socket_of(const struct server *s) {
    int fd = socket(s->address.any.sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    SO(fd >= 0);
    return fd;
}

/* No fiber uses the connection any more. So a plain close, which weft does not see, is allowed, too. */
static void close_connection(struct party *p, int fd) {
    if (one_in(p, 6))
        OK(close(fd));
    else
        close_file(fd);
}

/* False: a dial that was cancelled had connected, and has closed the connection. */
static bool answer(struct party *p, struct server *s, int fd, unsigned char *seen) {
    unsigned char byte, first = 0;
    for (unsigned i = 0; i < s->turns; i++) {
        int n = read_some(p, fd, &byte, 1);
        if (n != 1 && s->dials && !i) {
            SO(n == 0 || n == -ECONNRESET);
            close_file(fd);
            return false;
        }
        WANT(n, 1);
        if (!i) first = byte;
        WANT(byte, first);
        byte = (unsigned char)~byte;
        write_all(p, fd, &byte, 1);
    }
    SO(first && first < p->op->parties && !seen[first]++);
    close_connection(p, fd);
    return true;
}

/* A listening socket, and the address that it got. */
static int call_listen(void *unused) { return (void)unused, weft_tcp_listen("127.0.0.1", "0", 8); }
static int listen_at(struct party *p, struct server *s) {
    int fd = s->dials ? insist_on(p, call_listen, NULL) : socket_of(s);
    SO(fd >= 0);
    if (!s->dials) OK(bind(fd, &s->address.any, s->length));
    if (!s->dials) OK(listen(fd, 8));
    OK(getsockname(fd, &s->address.any, &s->length));
    if (s->dials) WANT(weft_tcp_port(fd), ntohs(s->address.tcp.sin_port));
    return fd;
}

static void serve(struct party *p, struct server *s) {
    struct accepting a = {.fd = listen_at(p, s)};
    if (s->listener) OK(weft_listener_begin(&a.listener, a.fd, SOCK_CLOEXEC));
    OK(weft_latch_count_down(&s->open, 1));
    unsigned char seen[PARTIES] = {0};
    for (unsigned i = 1; i < p->op->parties;) {
        int fd = insist_on(p, s->listener ? call_listener : call_accept, &a);
        SO(fd >= 0);
        i += answer(p, s, fd, seen);
    }
    if (s->listener) OK(weft_listener_end(&a.listener));
    close_file(a.fd);
}

struct connecting {
    int fd;
    struct server *server;
};
static int call_connect(void *context) {
    struct connecting *c = context;
    return weft_connect(c->fd, &c->server->address.any, c->server->length) ? -errno : 0;
}

static int call_dial(void *context) {
    char port[8];
    snprintf(port, sizeof port, "%u", (unsigned)ntohs(((struct server *)context)->address.tcp.sin_port));
    return weft_tcp_dial("127.0.0.1", port, WEFT_FOREVER);
}

static int connection_to(struct party *p, struct server *s) {
    if (s->dials && !is_thread(p->actor)) {
        int fd = insist_on(p, call_dial, s);
        SO(fd >= 0);
        return fd;
    }
    struct connecting c = {socket_of(s), s};
    int err = insist_on(p, call_connect, &c);
    SO(!err || err == -EISCONN); /* a cancelled attempt may still have succeeded */
    return c.fd;
}

static void connect_to(struct party *p, struct server *s) {
    OK(insist(p, wait_for_latch, &s->open));
    int fd = connection_to(p, s);
    for (unsigned i = 0; i < s->turns; i++) {
        unsigned char byte = (unsigned char)p->role;
        write_all(p, fd, &byte, 1);
        read_all(p, fd, &byte, 1);
        WANT(byte, (unsigned char)~p->role);
        pause_a_bit(p);
    }
    close_connection(p, fd);
}

static void run_server(struct party *p) { (p->role ? connect_to : serve)(p, p->op->data); }

static const struct kind kinds[] = {
    {"talk", 25, BY_THREADS, 2, 2, sizeof(struct talk), make_talk, run_talk, NULL},
    {"datagrams", 20, BY_THREADS, 2, 5, sizeof(struct datagrams), make_datagrams, run_datagrams, NULL},
    {"server", 15, BY_THREADS, 2, 5, sizeof(struct server), make_server, run_server, NULL},
    {0},
};
const struct family family_sockets = {kinds, NULL, NULL};
